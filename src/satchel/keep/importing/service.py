"""Service for importing the stores of other tools: readers turn them into lines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from satchel.base.errors import InvalidInput, unknown_name
from satchel.keep.moving.records import Imported
from satchel.keep.moving.service import Moving, Progress
from satchel.keep.projects import Service, Workplace

READERS = {
    "sqlew": "sqlew:read_sqlew",
    "bazinga": "bazinga:read_bazinga",
    "server-memory": "memories:read_server_memory",
    "claude": "memories:read_claude_memory",
    "claude-mem": "memories:read_claude_mem",
    "basic-memory": "memories:read_basic_memory",
}
"""The reader of each tool: module and function."""

_WITH_PROJECTS = ("sqlew", "bazinga", "claude-mem")


class Importing(Service):
    """Imports from other tools."""

    def __init__(self, workplace: Workplace, moving: Moving) -> None:
        super().__init__(workplace)
        self._moving = moving

    def take(
        self,
        tool: str,
        path: Path,
        *,
        source_project: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import everything readable from another tool's store, with its own times; the source is only read.

        Imported items get a stable identity, so importing again adds and updates items; where an item also changed
        here, the later state wins and the other one is kept. Retention starts at the import.

        Raises:
            NotFound, StoreForeign, StoreDamaged, Refused, Busy: the store cannot be read or belongs to another
                tool; nothing was written.
            Conflict: it holds several projects and no ``source_project`` was named.
            InvalidInput: the project or tool is unknown.
        """
        if tool not in READERS:
            raise unknown_name("tool", tool, READERS)
        if source_project is not None and tool not in _WITH_PROJECTS:
            raise InvalidInput(f"{tool} has no projects", "Leave the source project out")
        module, function = READERS[tool].split(":")
        read = getattr(import_module(f"satchel.keep.importing.{module}"), function)
        arriving = read(path, source_project) if tool in _WITH_PROJECTS else read(path)
        return self._moving.take(arriving, dry_run=dry_run, progress=progress)

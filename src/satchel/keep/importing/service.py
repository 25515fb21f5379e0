"""Taking over the stores of other tools: a reader for each makes lines of them, which are taken like any others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from satchel.base.errors import InvalidInput, unknown_name
from satchel.keep.moving.records import Imported
from satchel.keep.moving.service import Moving, Progress
from satchel.keep.projects import Service

READERS = {
    "sqlew": "sqlew:read_sqlew",
    "bazinga": "bazinga:read_bazinga",
    "server-memory": "server_memory:read_server_memory",
    "claude": "claude_memory:read_claude_memory",
}
"""What reads the store of each tool: the module and the function."""

_WITH_PROJECTS = ("sqlew", "bazinga")


class Importing(Service):
    """Imports from other tools."""

    def take(
        self,
        tool: str,
        path: Path,
        *,
        source_project: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Take over the store of another tool: everything of it that can be read, with its own times.

        What comes has an identity that follows from it, so that importing again adds what is missing here and brings
        what has changed there since; where it was changed here as well, the later state holds, and the other is kept.
        Nothing is too old: retention counts from the import. The store is only read.

        Args:
            tool: one of :data:`READERS`.
            path: its store: a database file or, of bazinga and Claude Code, a folder.
            source_project: the project to take, where the store holds several.
            dry_run: only say what would happen.
            progress: told about the lines done.

        Returns:
            What was taken, what was not, and why.

        Raises:
            NotFound, StoreForeign, StoreDamaged, Refused, Busy: it cannot be read, or is none of that tool; nothing was
                written.
            Conflict: it holds several projects, and none was named.
            InvalidInput: it holds no such project, or there is no such tool.
        """
        if tool not in READERS:
            raise unknown_name("tool", tool, READERS)
        if source_project is not None and tool not in _WITH_PROJECTS:
            raise InvalidInput(f"{tool} knows no projects", "Leave the source project out")
        module, function = READERS[tool].split(":")
        read = getattr(import_module(f"satchel.keep.importing.{module}"), function)
        arriving = read(path, source_project) if tool in _WITH_PROJECTS else read(path)
        return Moving(self._workplace).take(arriving, dry_run=dry_run, progress=progress)

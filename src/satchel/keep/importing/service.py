"""Taking over the stores of other tools: a reader for each makes lines of them, which are taken like any others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satchel.base.errors import InvalidInput, unknown_name
from satchel.keep.moving.records import Arriving, Imported
from satchel.keep.moving.service import Moving, Progress
from satchel.keep.projects import Service


def _sqlew(path: Path, project: str | None) -> Arriving:
    from satchel.keep.importing.sqlew import read_sqlew

    return read_sqlew(path, project)


def _bazinga(path: Path, project: str | None) -> Arriving:
    from satchel.keep.importing.bazinga import read_bazinga
    from satchel.keep.importing.bazinga_tables import find_database

    return read_bazinga(find_database(path), project)


def _server_memory(path: Path, project: str | None) -> Arriving:
    from satchel.keep.importing.server_memory import read_server_memory

    _refuse_project(project)
    return read_server_memory(path)


def _claude(path: Path, project: str | None) -> Arriving:
    from satchel.keep.importing.claude_memory import read_claude_memory

    _refuse_project(project)
    return read_claude_memory(path)


def _refuse_project(project: str | None) -> None:
    if project is not None:
        raise InvalidInput("this tool knows no projects", "Leave the source project out")


READERS: dict[str, Callable[[Path, str | None], Arriving]] = {
    "sqlew": _sqlew,
    "bazinga": _bazinga,
    "server-memory": _server_memory,
    "claude": _claude,
}
"""What reads the store of each tool: gets its path and the project to take."""


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
        arriving = READERS[tool](path, source_project)
        return Moving(self._workplace).take(arriving, dry_run=dry_run, progress=progress)

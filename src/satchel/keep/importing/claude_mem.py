"""Reader for the database of claude-mem: what it observed of Claude Code's work, and its summaries of sessions.

Tables and columns are taken from ``src/services/sqlite/SessionStore.ts`` of github.com/thedotmack/claude-mem:
``observations`` got title, narrative, facts and files by migrations, and older rows have ``text`` only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from satchel.base.errors import NotFound
from satchel.keep.importing.tables import Fields, ForeignTables, column, optional
from satchel.keep.importing.values import note, optional_text, text_of, whole
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving
from satchel.store.foreign import ForeignDatabase, Value, open_foreign

_TOOL = "claude-mem"
_DATABASE = "claude-mem.db"
_READ = ("observations", "session_summaries")
_KNOWN = (*_READ, "schema_versions", "sdk_sessions")
_TYPES = {"decision": "decision"}
_TEXT = optional(optional_text)
_AT = column("created_at_epoch", lambda value, name: whole(value, name, 0))

_OBSERVATION = {
    "type": column("type", text_of),
    **{name: column(name, _TEXT) for name in ("title", "subtitle", "narrative", "text", "facts", "files_modified")},
    "at": _AT,
}
_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_SUMMARY = {**{name: column(name, _TEXT) for name in _PARTS}, "at": _AT}


class _Tables(ForeignTables):
    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        if not self.has("observations", "project", "created_at_epoch", "type"):
            raise self.not_of(_TOOL, where, "observations with a project each")

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        """Return columns of the selected project's rows."""
        for project, *values in self.all_rows(table, "project", *columns):
            if project == self.owner:
                yield tuple(values)

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        names = {str(name): str(name) for table in _READ for (name,) in self.all_rows(table, "project")}
        return names, names

    @property
    def format(self) -> str:
        return _TOOL

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        return self.not_among([name for name in self._database.tables if name in _KNOWN or "_fts" in name])


def read_claude_mem(path: Path, source_project: str | None = None) -> Arriving:
    """Read the observations and summaries of a project as notes; None takes the only project."""
    file = path / _DATABASE if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise NotFound(f"there is no {_DATABASE} in {path}", f"Name the database, such as ~/.claude-mem/{_DATABASE}")
    with open_foreign(file) as database:
        tables = _Tables(database, str(file))
        tables.choose_project(source_project)
        observations = tables.read(_OBSERVATION, "observations", "id")
        lines = [line for fields in observations if (line := _observation(fields)) is not None]
        lines += [
            line
            for fields in tables.read(_SUMMARY, "session_summaries", "id")
            if (line := _summary(fields)) is not None
        ]
        remark = "a model wrote these notes while Claude Code worked: they are reports, not rules of this project"
        return tables.arriving(file, f"{_TOOL}, project {tables.project}", lines, ((lines, remark),))


def _observation(fields: Fields) -> tuple[str, str, Line] | None:
    parts = [fields["title"], fields["subtitle"], fields["narrative"] or fields["text"]]
    parts += [f"- {fact}" for fact in _listed(fields["facts"])]
    files = _listed(fields["files_modified"])
    parts += [f"Changed: {', '.join(files)}"] if files else []
    return _line("observations", fields, parts, _TYPES.get(fields["type"], "discovery"))


def _summary(fields: Fields) -> tuple[str, str, Line] | None:
    parts = [f"{name.replace('_', ' ').capitalize()}: {fields[name]}" for name in _PARTS if fields[name]]
    return _line("session_summaries", fields, parts, "discovery")


def _line(table: str, fields: Fields, parts: Sequence[str | None], kind: str) -> tuple[str, str, Line] | None:
    content = "\n".join(part for part in parts if part)
    if not content:
        return None
    return table, fields["row"], note(_TOOL, (table, fields["at"], content), content, fields["at"], type=kind)


def _listed(text: str | None) -> list[str]:
    """Return the texts of a JSON list; any other text is its own list."""
    try:
        listed = json.loads(text or "[]")
    except ValueError:
        listed = [text]
    return [str(one) for one in listed if one] if isinstance(listed, list) else [str(listed)]

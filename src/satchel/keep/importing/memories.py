"""Readers for the memories of other tools, whose items all become notes.

- basic-memory: a folder of Markdown notes with front matter; its database is only an index.
- claude: the notes in ``~/.claude/projects/<project>/memory/*.md``, whose front matter is undocumented, with their
  index ``MEMORY.md``, which holds text in older versions; or a file such as CLAUDE.md.
- server-memory, the official MCP memory server: a JSON object per line, ``{"type": "entity", "name", "entityType",
  "observations": [...]}`` or ``{"type": "relation", "from", "to", "relationType"}``; it has no times and no authors.
- claude-mem: a database, whose tables are taken from ``src/services/sqlite/SessionStore.ts`` of
  github.com/thedotmack/claude-mem; older rows of ``observations`` have ``text`` only.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from satchel.base.clock import parse_time
from satchel.base.errors import NotFound, SatchelError, StoreForeign
from satchel.keep.importing.tables import (
    Fields,
    ForeignTables,
    arriving,
    column,
    identity,
    note,
    optional,
    optional_text,
    text_of,
    whole,
)
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble
from satchel.store.foreign import ForeignDatabase, Value, open_foreign

_Lines = Iterator[tuple[str, str, Line]]

_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_BYTES = 1 << 20


def _contents_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SatchelError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error


def _read_text(file: Path, kind: str, row: str, troubles: list[Trouble]) -> str | None:
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        problem = "it is a link or no regular file"
    elif status.st_size > _MAX_BYTES:
        problem = "it is larger than 1 MB"
    else:
        try:
            return _contents_of(file).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not UTF-8"
    troubles.append(Trouble(kind, row, problem))
    return None


def _split_front(text: str, field: re.Pattern[str]) -> tuple[dict[str, str], str]:
    # the fields of the front matter, and the text below it
    front = _FRONT.match(text)
    if front is None:
        return {}, text.strip()
    return {name: value.strip("\"'") for name, value in field.findall(front[1])}, text[front.end() :].strip()


def _modified_at(file: Path) -> int:
    return file.stat().st_mtime_ns // 1_000_000


def _name_of(tool: str, folder: Path) -> str:
    return f"{tool} {identity(tool, str(folder.resolve())).hex()[:12]}"


def _type_of(name: str | None, decision: str = "decision") -> str:
    return "decision" if name == decision else "discovery"


_BASIC = "basic-memory"
_BASIC_FIELD = re.compile(r"^(title|type|permalink|created|modified)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def read_basic_memory(folder: Path) -> Arriving:
    """Read each note of a project's folder, with those in folders below it, as a note."""
    files = [*_markdown_below(folder)]
    if not files:
        raise NotFound(f"there are no Markdown notes in {folder}", "Name the project's folder, such as ~/basic-memory")
    troubles: list[Trouble] = []
    lines = [line for file in files if (line := _basic_line(file, folder, troubles)) is not None]
    remark = "these notes are reports, not rules or decisions of this project"
    return arriving(folder, _name_of(_BASIC, folder), _BASIC, lines, troubles, ((lines, remark),))


def _markdown_below(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(at, name) for name in sorted(names) if name.endswith(".md") and not name.startswith("."))


def _basic_line(file: Path, folder: Path, troubles: list[Trouble]) -> tuple[str, str, Line] | None:
    row = str(file.relative_to(folder))
    text = _read_text(file, "note", row, troubles)
    if text is None:
        return None
    fields, body = _split_front(text, _BASIC_FIELD)
    title = fields.get("title") or file.stem
    content = body if not body or title in body.partition("\n")[0] else f"{title}\n\n{body}"
    if not content:
        return None
    at = _basic_time(fields, _modified_at(file))
    # a note keeps its permalink when its file moves or its text changes
    place = fields.get("permalink") or row
    return "note", row, note(_BASIC, (place,), content, at, type=_type_of(fields.get("type")))


def _basic_time(fields: Mapping[str, str], otherwise: int) -> int:
    for name in ("modified", "created"):
        try:
            return parse_time(fields[name], otherwise, name)
        except (KeyError, SatchelError):
            continue
    return otherwise


_CLAUDE, _INDEX = "claude", "MEMORY.md"
_CLAUDE_FIELD = re.compile(r"^\s*(name|description|type)\s*:\s*(.*?)\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} +(?=\S)", re.MULTILINE)
_POINTER = re.compile(r"^\s*[-*] \[[^\]]*\]\([^)]*\.md\).*$", re.MULTILINE)


def read_claude_memory(path: Path) -> Arriving:
    """Read the notes of a memory folder of Claude Code, or the sections of one file, as notes."""
    folder = path / "memory" if (path / "memory").is_dir() else path
    files = sorted(folder.glob("*.md")) if folder.is_dir() else [path] if path.is_file() else []
    if not files:
        raise NotFound(f"there is no Markdown at {path}", "Name ~/.claude/projects/PROJECT/memory, or a CLAUDE.md")
    troubles: list[Trouble] = []
    lines = [line for file in files for line in _claude_lines(file, troubles, is_note=folder.is_dir())]
    noted = ((lines, "these notes are reports by Claude Code, not rules or decisions of this project"),)
    return arriving(path, _name_of(_CLAUDE, folder), "Claude Code's memory", lines, troubles, noted)


def _claude_lines(file: Path, troubles: list[Trouble], *, is_note: bool) -> _Lines:
    text = _read_text(file, "file", file.name, troubles)
    if text is None:
        return
    at = _modified_at(file)
    if is_note and file.name != _INDEX:
        fields, body = _split_front(text, _CLAUDE_FIELD)
        description = fields.get("description", "")
        content = "\n\n".join(part for part in (description if description not in {"", "|", ">"} else "", body) if part)
        if content:
            yield "memory", file.name, _claude_note(file.stem, content, at, _type_of(fields.get("type"), "feedback"))
        return
    # skip index lines that only point to a note
    for place, section in enumerate(_HEADING.split(_POINTER.sub("", text) if is_note else text)):
        heading, _, rest = section.strip().partition("\n")
        if rest.strip() or (place == 0 and heading):
            line = _claude_note(f"{file.name} {heading}", section.strip(), at, "discovery")
            yield "section", f"{file.name}: {heading[:60]}", line


def _claude_note(name: str, content: str, at: int, kind: str) -> Line:
    # a note keeps its identity when Claude rewrites it
    return note(_CLAUDE, ("memory", name), content, at, type=kind, agent=_CLAUDE)


_SERVER = "server-memory"


def read_server_memory(file: Path) -> Arriving:
    """Read each observation and relation of the memory server as a note that names its entity."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}", "Name the file of the memory server, such as memory.jsonl")
    raw = _contents_of(file)
    troubles: list[Trouble] = []
    lines = list(_server_lines(raw, _modified_at(file), troubles))
    if not lines and (troubles or raw.strip()):
        raise StoreForeign(f"{file} is not a file of the memory server", 'It has lines such as {"type":"entity",...}')
    noted = ((lines, "the memory server stores no times and authors: notes get the file's time"),)
    return arriving(file, _SERVER, _SERVER, lines, troubles, noted)


def _server_lines(raw: bytes, at: int, troubles: list[Trouble]) -> _Lines:
    for number, one in enumerate(raw.split(b"\n"), 1):
        row = f"line {number}"
        if not one.strip():
            continue
        try:
            for item in _objects(one.decode("utf-8-sig" if number == 1 else "utf-8")):
                for what, content in _server_notes(item):
                    yield what, row, note(_SERVER, (what, content), content, at)
        except UnicodeDecodeError as error:
            troubles.append(Trouble("line", row, f"byte {error.start + 1} is not UTF-8"))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            troubles.append(Trouble("line", row, f"it is neither an entity nor a relation: {error}"))


def _objects(line: str) -> Iterator[Line]:
    # processes that write at the same time leave two objects on one line
    text, decoder = line.strip(), json.JSONDecoder()
    while text:
        item, end = decoder.raw_decode(text)
        yield item
        text = text[end:].lstrip()


def _server_notes(item: Line) -> Iterator[tuple[str, str]]:
    if item["type"] == "entity":
        name, kind = str(item["name"]), str(item.get("entityType") or "entity")
        listed = item.get("observations") or ()
        observations = [listed] if isinstance(listed, str) else [str(one) for one in listed]
        for observation in observations or ["it has no observations"]:
            yield "entity", f"{name} ({kind}): {observation}"
    elif item["type"] == "relation":
        yield "relation", f"{item['from']} {item['relationType']} {item['to']}"
    else:
        raise ValueError(f"its type is {str(item['type'])[:40]!r}")


_MEM, _MEM_DATABASE = "claude-mem", "claude-mem.db"
_MEM_READ = ("observations", "session_summaries")
_MEM_TABLES = (*_MEM_READ, "schema_versions", "sdk_sessions")
_TEXT = optional(optional_text)
_AT = column("created_at_epoch", lambda value, name: whole(value, name, 0))
_OBSERVATION = {
    "type": column("type", text_of),
    **{name: column(name, _TEXT) for name in ("title", "subtitle", "narrative", "text", "facts", "files_modified")},
    "at": _AT,
}
_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_SUMMARY = {**{name: column(name, _TEXT) for name in _PARTS}, "at": _AT}


class _MemTables(ForeignTables):
    format = _MEM

    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        if not self.has("observations", "project", "created_at_epoch", "type"):
            raise self.not_of(_MEM, where, "observations with a project each")

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Value, ...]]:
        for project, *values in self.all_rows(table, "project", *columns):
            if project == self.owner:
                yield tuple(values)

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        names = {str(name): str(name) for table in _MEM_READ for (name,) in self.all_rows(table, "project")}
        return names, names

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        return self.not_among([name for name in self._database.tables if name in _MEM_TABLES or "_fts" in name])


def read_claude_mem(path: Path, source_project: str | None = None) -> Arriving:
    """Read the observations and summaries of a project as notes; None takes the only project."""
    file = path / _MEM_DATABASE if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        remedy = f"Name the database, such as ~/.claude-mem/{_MEM_DATABASE}"
        raise NotFound(f"there is no {_MEM_DATABASE} in {path}", remedy)
    with open_foreign(file) as database:
        tables = _MemTables(database, str(file))
        tables.choose_project(source_project)
        read = [
            *map(_observation, tables.read(_OBSERVATION, "observations", "id")),
            *map(_summary, tables.read(_SUMMARY, "session_summaries", "id")),
        ]
        lines = [line for line in read if line is not None]
        remark = "a model wrote these notes while Claude Code worked: they are reports, not rules of this project"
        return tables.arriving(file, f"{_MEM}, project {tables.project}", lines, ((lines, remark),))


def _observation(fields: Fields) -> tuple[str, str, Line] | None:
    parts = [fields["title"], fields["subtitle"], fields["narrative"] or fields["text"]]
    parts += [f"- {fact}" for fact in _listed(fields["facts"])]
    files = _listed(fields["files_modified"])
    parts += [f"Changed: {', '.join(files)}"] if files else []
    return _mem_line("observations", fields, parts, _type_of(fields["type"]))


def _summary(fields: Fields) -> tuple[str, str, Line] | None:
    parts = [f"{name.replace('_', ' ').capitalize()}: {fields[name]}" for name in _PARTS if fields[name]]
    return _mem_line("session_summaries", fields, parts, "discovery")


def _mem_line(table: str, fields: Fields, parts: Sequence[str | None], kind: str) -> tuple[str, str, Line] | None:
    content = "\n".join(part for part in parts if part)
    if not content:
        return None
    return table, fields["row"], note(_MEM, (table, fields["at"], content), content, fields["at"], type=kind)


def _listed(text: str | None) -> list[str]:
    # any other text than a JSON list is a list of one
    try:
        listed = json.loads(text or "[]")
    except ValueError:
        listed = [text]
    return [str(one) for one in listed if one] if isinstance(listed, list) else [str(listed)]

"""Reader for Claude Code's memory: the folder of notes of a project, and files such as CLAUDE.md.

Notes are ``~/.claude/projects/<project>/memory/*.md``, a fact each, with front matter (``name``, ``description``,
``type``: user, feedback, project or reference, possibly below ``metadata``); ``MEMORY.md`` is their index, and holds
text in older versions. The format of the front matter is undocumented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from satchel.base.errors import NotFound
from satchel.keep.importing.markdown import read_text, split_front
from satchel.keep.importing.values import arriving, identity, note
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble

_TOOL = "claude"
_INDEX = "MEMORY.md"
_TYPES = {"feedback": "decision"}
_FIELD = re.compile(r"^\s*(name|description|type)\s*:\s*(.*?)\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} +(?=\S)", re.MULTILINE)
_POINTER = re.compile(r"^\s*[-*] \[[^\]]*\]\([^)]*\.md\).*$", re.MULTILINE)


def read_claude_memory(path: Path) -> Arriving:
    """Read the notes of a memory folder, or the sections of one file, as notes."""
    folder = path / "memory" if (path / "memory").is_dir() else path
    files = sorted(folder.glob("*.md")) if folder.is_dir() else [path] if path.is_file() else []
    if not files:
        raise NotFound(f"there is no Markdown at {path}", "Name ~/.claude/projects/PROJECT/memory, or a CLAUDE.md")
    troubles: list[Trouble] = []
    lines = [line for file in files for line in _lines(file, troubles, is_note=folder.is_dir())]
    name = f"{_TOOL} {identity(_TOOL, str(folder.resolve())).hex()[:12]}"
    noted = ((lines, "these notes are reports by Claude Code, not rules or decisions of this project"),)
    return arriving(path, name, "Claude Code's memory", lines, troubles, noted)


def _lines(file: Path, troubles: list[Trouble], *, is_note: bool) -> Iterator[tuple[str, str, Line]]:
    text = read_text(file, "file", file.name, troubles)
    if text is None:
        return
    at = file.stat().st_mtime_ns // 1_000_000
    if is_note and file.name != _INDEX:
        fields, body = split_front(text, _FIELD)
        description = fields.get("description", "")
        content = "\n\n".join(part for part in (description if description not in {"", "|", ">"} else "", body) if part)
        if content:
            kind = _TYPES.get(fields.get("type", ""), "discovery")
            yield "memory", file.name, _note(file.stem, content, at, kind)
        return
    # skip index lines that only point to a note
    for place, section in enumerate(_HEADING.split(_POINTER.sub("", text) if is_note else text)):
        heading, _, rest = section.strip().partition("\n")
        if rest.strip() or (place == 0 and heading):
            note_of_section = _note(f"{file.name} {heading}", section.strip(), at, "discovery")
            yield "section", f"{file.name}: {heading[:60]}", note_of_section


def _note(name: str, content: str, at: int, kind: str) -> Line:
    # a note keeps its identity when Claude rewrites it
    return note(_TOOL, ("memory", name), content, at, type=kind, agent=_TOOL)

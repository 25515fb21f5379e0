"""Reader for the folder of Markdown notes of a basic-memory project, which is its store; its database is an index.

A note has front matter (``title``, ``type``, ``permalink``, ``tags``, ``created``, ``modified``), observations such as
``- [category] text #tag (context)`` and relations such as ``- relates_to [[Title]]``, which stay in its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.clock import parse_time
from satchel.base.errors import NotFound, SatchelError
from satchel.keep.importing.markdown import read_text, split_front
from satchel.keep.importing.values import arriving, identity, note
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble

_TOOL = "basic-memory"
_TYPES = {"decision": "decision"}
_FIELD = re.compile(r"^(title|type|permalink|created|modified)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def read_basic_memory(folder: Path) -> Arriving:
    """Read each note of a project's folder, with those in folders below it, as a note."""
    files = [*_files(folder)]
    if not files:
        raise NotFound(f"there are no Markdown notes in {folder}", "Name the project's folder, such as ~/basic-memory")
    troubles: list[Trouble] = []
    lines = [line for file in files if (line := _line(file, folder, troubles)) is not None]
    name = f"{_TOOL} {identity(_TOOL, str(folder.resolve())).hex()[:12]}"
    remark = "these notes are reports, not rules or decisions of this project"
    return arriving(folder, name, _TOOL, lines, troubles, ((lines, remark),))


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(at, name) for name in sorted(names) if name.endswith(".md") and not name.startswith("."))


def _line(file: Path, folder: Path, troubles: list[Trouble]) -> tuple[str, str, Line] | None:
    row = str(file.relative_to(folder))
    text = read_text(file, "note", row, troubles)
    if text is None:
        return None
    fields, body = split_front(text, _FIELD)
    title = fields.get("title") or file.stem
    content = body if not body or title in body.partition("\n")[0] else f"{title}\n\n{body}"
    if not content:
        return None
    at = _time(fields, file.stat().st_mtime_ns // 1_000_000)
    # a note keeps its permalink when its file moves or its text changes
    place = fields.get("permalink") or row
    return "note", row, note(_TOOL, (place,), content, at, type=_TYPES.get(fields.get("type", ""), "discovery"))


def _time(fields: Mapping[str, str], otherwise: int) -> int:
    for name in ("modified", "created"):
        try:
            return parse_time(fields[name], otherwise, name)
        except (KeyError, SatchelError):
            continue
    return otherwise

"""Reader for the folder of Markdown notes of a basic-memory project, which is its store; its database is an index.

A note has front matter (``title``, ``type``, ``permalink``, ``tags``, ``created``, ``modified``), observations such as
``- [category] text #tag (context)`` and relations such as ``- relates_to [[Title]]``, which stay in its text.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.clock import parse_time
from satchel.base.errors import NotFound, SatchelError
from satchel.keep.importing.values import arriving, contents_of, identity, note
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble

_TOOL = "basic-memory"
_TYPES = {"decision": "decision"}
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|type|permalink|created|modified)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_MAX_BYTES = 1 << 20


def read_basic_memory(folder: Path) -> Arriving:
    """Read each note of a project's folder, with those in folders below it, as a note."""
    troubles: list[Trouble] = []
    files = [*_files(folder, troubles)] if folder.is_dir() else []
    if not files and not troubles:
        raise NotFound(f"there are no Markdown notes in {folder}", "Name the project's folder, such as ~/basic-memory")
    lines = [line for file in files if (line := _line(file, folder, troubles)) is not None]
    name = f"{_TOOL} {identity(_TOOL, str(folder.resolve())).hex()[:12]}"
    remark = "these notes are reports, not rules or decisions of this project"
    return arriving(folder, name, _TOOL, lines, troubles, ((lines, remark),))


def _files(folder: Path, troubles: list[Trouble]) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(at, name) for name in sorted(names) if name.endswith(".md") and not name.startswith(".")):
            status = file.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                reason = "it is larger than 1 MB" if stat.S_ISREG(status.st_mode) else "it is a link or no regular file"
                troubles.append(Trouble("note", str(file.relative_to(folder)), reason))
            else:
                yield file


def _line(file: Path, folder: Path, troubles: list[Trouble]) -> tuple[str, str, Line] | None:
    row = str(file.relative_to(folder))
    try:
        text = contents_of(file).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        troubles.append(Trouble("note", row, f"byte {error.start + 1} is not UTF-8"))
        return None
    front = _FRONT.match(text)
    fields = {name: value.strip("\"'") for name, value in _FIELD.findall(front[1])} if front else {}
    body = (text[front.end() :] if front else text).strip()
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

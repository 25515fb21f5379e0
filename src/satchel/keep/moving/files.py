"""Reading of export files, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from satchel.base.clock import parse_time
from satchel.base.errors import NotFound, SatchelError, StoreForeign, StoreNewer
from satchel.keep.kind import Line
from satchel.keep.moving.lines import HEADER, SCHEMA
from satchel.keep.moving.records import Arriving, Trouble

END = "end"  # the kind of a complete file's last line

_REMEDY = "Name a file written by `satchel export`, or give the tool with --from"
_MAX_LINE_BYTES = 64 << 20
_MAX_HEADER_BYTES = 1 << 16
STANDARD_INPUT = Path("standard input")


def header_of(file: Path) -> Line | None:
    try:
        with file.open("rb") as stream:
            return _header(stream)
    except IsADirectoryError:
        return None
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}", _REMEDY) from None
    except OSError as error:
        raise SatchelError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error


def _header(stream: BinaryIO) -> Line | None:
    first = stream.readline(_MAX_HEADER_BYTES)
    try:
        line = json.loads(first.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and line.get("kind") == HEADER else None


def read_lines(file: Path, stream: BinaryIO | None = None) -> Arriving:
    """Read what ``satchel export`` wrote, line by line: from a file, or from a stream that ``file`` names."""
    header = header_of(file) if stream is None else _header(stream)
    if header is None:
        raise StoreForeign(f"{file} is not an export: its first line is not of kind {HEADER!r}", _REMEDY)
    schema = header.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise StoreForeign(f"{file} has no schema version", f"This program reads up to {SCHEMA}")
    if schema > SCHEMA:
        raise StoreNewer(
            f"{file} has lines of schema {schema}, and this program reads up to {SCHEMA}",
            "Nothing was imported; update Satchel",
        )
    header_project = header.get("project")
    project = header_project if isinstance(header_project, dict) else {}
    name, uid = project.get("name"), project.get("uid")
    count, exported = header.get("lines"), header.get("exported_at")
    try:
        written = parse_time(exported, 0) if isinstance(exported, str) else None
    except SatchelError:
        written = None
    arriving = Arriving(
        source=file,
        name=f"export of {uid}" if isinstance(uid, str) and len(uid) == 32 else "export",
        format=f"lines of schema {schema}",
        project=name if isinstance(name, str) else None,
        lines=iter(()),
        total=count if isinstance(count, int) else 0,
        written_at=written,
        header=header,
    )
    arriving.lines = _lines(file, stream, arriving)
    return arriving


def _lines(file: Path, source: BinaryIO | None, arriving: Arriving) -> Iterator[tuple[str, str, Line]]:
    read = 0
    with file.open("rb") if source is None else nullcontext(source) as stream:
        if source is None:
            stream.readline(_MAX_HEADER_BYTES)
        number = 1
        while raw := stream.readline(_MAX_LINE_BYTES):
            number += 1
            row = f"line {number}"
            if not raw.endswith(b"\n") and len(raw) == _MAX_LINE_BYTES:
                arriving.troubles.append(Trouble("line", row, f"it is longer than {_MAX_LINE_BYTES >> 20} MB"))
                _skip_line(stream)
                continue
            if not raw.strip():
                continue
            try:
                line = json.loads(raw.decode("utf-8"))
                if not isinstance(line, dict):
                    raise ValueError("it is not an object")
            except (ValueError, RecursionError) as error:
                is_cut = not raw.endswith(b"\n")
                reason = "the file is truncated in this line" if is_cut else f"it cannot be read: {_reason(error)}"
                arriving.troubles.append(Trouble("line", row, reason))
                continue
            kind = line.get("kind")
            if kind == END:
                arriving.end = line
                continue
            if kind == HEADER:
                # concatenated files are read as one
                continue
            read += 1
            yield str(kind)[:60], row, line
    if arriving.end is None:
        reason = f"the file is truncated: the end line is missing after {read:,} lines"
        arriving.troubles.append(Trouble("file", "its end", reason))


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8"
    return str(error) if not isinstance(error, RecursionError) else "it is nested too deeply"


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(_MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass

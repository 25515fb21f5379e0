"""Reader for the file of the official MCP memory server: entities with observations, and relations between them.

Format: a JSON object per line, ``{"type": "entity", "name", "entityType", "observations": [...]}`` or ``{"type":
"relation", "from", "to", "relationType"}``; it has no times and no authors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from satchel.base.errors import NotFound, StoreForeign
from satchel.keep.importing.values import arriving, contents_of, note
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble

_TOOL = "server-memory"


def read_server_memory(file: Path) -> Arriving:
    """Read each observation and relation as a note that names its entity."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}", "Name the file of the memory server, such as memory.jsonl")
    raw = contents_of(file)
    troubles: list[Trouble] = []
    lines = list(_lines(raw, file.stat().st_mtime_ns // 1_000_000, troubles))
    if not lines and (troubles or raw.strip()):
        raise StoreForeign(f"{file} is not a file of the memory server", 'It has lines such as {"type":"entity",...}')
    noted = ((lines, "the memory server stores no times and authors: notes get the file's time"),)
    return arriving(file, _TOOL, _TOOL, lines, troubles, noted)


def _lines(raw: bytes, at: int, troubles: list[Trouble]) -> Iterator[tuple[str, str, Line]]:
    for number, one in enumerate(raw.split(b"\n"), 1):
        row = f"line {number}"
        if not one.strip():
            continue
        try:
            for item in _objects(one.decode("utf-8-sig" if number == 1 else "utf-8")):
                for what, content in _notes(item):
                    yield what, row, note(_TOOL, (what, content), content, at)
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


def _notes(item: Line) -> Iterator[tuple[str, str]]:
    if item["type"] == "entity":
        name, kind = str(item["name"]), str(item.get("entityType") or "entity")
        given = item.get("observations") or ()
        observations = [given] if isinstance(given, str) else [str(one) for one in given]
        for observation in observations or ["it has no observations"]:
            yield "entity", f"{name} ({kind}): {observation}"
    elif item["type"] == "relation":
        yield "relation", f"{item['from']} {item['relationType']} {item['to']}"
    else:
        raise ValueError(f"its type is {str(item['type'])[:40]!r}")

"""Reading the file of the official memory server of MCP: entities with observations, and relations between them.

Format: a JSON object a line, ``{"type": "entity", "name", "entityType", "observations": [...]}`` or
``{"type": "relation", "from", "to", "relationType"}``; it names no times and no authors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.errors import NotFound, SatchelError, StoreForeign
from satchel.base.vocabulary import MAIN_RUN
from satchel.keep.importing.values import identity
from satchel.keep.moving.fields import Line
from satchel.keep.moving.records import Arriving, Trouble

_TOOL = "server-memory"


def read_server_memory(file: Path) -> Arriving:
    """Read what the memory server keeps: each observation and each relation is a note that names its entity.

    Args:
        file: its file, ``memory.json`` or ``memory.jsonl``.

    Raises:
        NotFound: there is no such file.
        StoreForeign: it holds nothing of the memory server.
    """
    if not file.is_file():
        raise NotFound(f"there is no file {file}", "Name the file of the memory server, such as memory.jsonl")
    try:
        raw = file.read_bytes()
        written = file.stat().st_mtime_ns // 1_000_000
    except OSError as error:
        raise SatchelError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error
    troubles: list[Trouble] = []
    lines = list(_lines(raw, iso(written), troubles))
    if not lines and (troubles or raw.strip()):
        raise StoreForeign(f"{file} is no file of the memory server", 'It has lines such as {"type":"entity",...}')
    return Arriving(
        source=file,
        name=_TOOL,
        format=_TOOL,
        project=None,
        lines=iter(lines),
        troubles=troubles,
        notes=["the memory server keeps no times and no authors: notes have the time of its file"] if lines else [],
        total=len(lines),
    )


def _lines(raw: bytes, at: str, troubles: list[Trouble]) -> Iterator[tuple[str, str, Line]]:
    for number, one in enumerate(raw.split(b"\n"), 1):
        row = f"line {number}"
        if not one.strip():
            continue
        try:
            for what, content in _notes(json.loads(one.decode("utf-8"))):
                uid = identity(_TOOL, what, content).hex()
                said = {"type": "discovery", "content": content, "run": MAIN_RUN, "created_at": at}
                yield what, row, {"kind": "entry", "uid": uid, **said}
        except UnicodeDecodeError as error:
            troubles.append(Trouble("line", row, f"byte {error.start + 1} is not UTF-8"))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            troubles.append(Trouble("line", row, f"it is neither an entity nor a relation: {error}"))


def _notes(said: Line) -> Iterator[tuple[str, str]]:
    """Yield the notes of a line, each with what it is.

    Raises:
        ValueError, KeyError, TypeError: it is no such line.
    """
    if said["type"] == "entity":
        name, kind = str(said["name"]), str(said.get("entityType") or "entity")
        observations = [str(one) for one in said.get("observations") or ()]
        for observation in observations or ["nothing was observed of it"]:
            yield "entity", f"{name} ({kind}): {observation}"
    elif said["type"] == "relation":
        yield "relation", f"{said['from']} {said['relationType']} {said['to']}"
    else:
        raise ValueError(f"its type is {str(said['type'])[:40]!r}")

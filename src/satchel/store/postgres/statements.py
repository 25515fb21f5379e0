"""Statements in the form that psycopg takes: ``%(name)s`` for ``:name``, and lists as one parameter."""

from __future__ import annotations

import re
from functools import lru_cache

from satchel.store.transaction import LIST_MARK, Parameters

# what is no parameter comes first: literals, quoted names, comments, casts
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|::)|:([A-Za-z_]\w*)|(%)""", re.DOTALL)

_LIST = re.compile(rf"\b(NOT )?IN \({re.escape(LIST_MARK)}([^)]*)\)")


def prepared(sql: str, parameters: Parameters | None) -> tuple[str, Parameters | None]:
    """Return a statement as psycopg takes it, and its parameters with the lists that stood in the text."""
    if LIST_MARK not in sql:
        return translated(sql), parameters or {}
    lists: dict[str, list[int] | list[bytes]] = {}

    def named(match: re.Match[str]) -> str:
        name = f"list{len(lists)}"
        texts = match[2].split(", ") if match[2] else []
        is_bytes = match[2].startswith("x'")
        lists[name] = [bytes.fromhex(text[2:-1]) for text in texts] if is_bytes else [int(text) for text in texts]
        return f"{'<> ALL' if match[1] else '= ANY'} (:{name})"

    return translated(_LIST.sub(named, sql)), {**(parameters or {}), **lists}


@lru_cache(maxsize=2_000)
def translated(sql: str) -> str:
    """Return a statement with psycopg's placeholders for its ``:name`` parameters."""
    return _TOKEN.sub(_placeholder, sql)


def _placeholder(match: re.Match[str]) -> str:
    if match[2]:
        return f"%({match[2]})s"
    return "%%" if match[3] else match[1].replace("%", "%%")

"""Conversion of statements to PostgreSQL: ``$1`` for the first ``:name``, and each list as one parameter."""

from __future__ import annotations

import re
from functools import lru_cache

from satchel.store.transaction import LIST_MARK, Parameters

# first everything that is not a parameter: literals, quoted names, comments, casts
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|::)|:([A-Za-z_]\w*)""", re.DOTALL)

_LIST = re.compile(rf"\b(NOT )?IN \({re.escape(LIST_MARK)}([^)]*)\)")


def with_lists(sql: str, parameters: Parameters | None) -> tuple[str, Parameters | None]:
    """Return a statement and its parameters with its lists moved to parameters."""
    if LIST_MARK not in sql:
        return sql, parameters
    lists: dict[str, list[int] | list[bytes]] = {}

    def as_parameter(match: re.Match[str]) -> str:
        name = f"list{len(lists)}"
        texts = match[2].split(", ") if match[2] else []
        is_bytes = match[2].startswith("x'")
        lists[name] = [bytes.fromhex(text[2:-1]) for text in texts] if is_bytes else [int(text) for text in texts]
        return f"{'<> ALL' if match[1] else '= ANY'} (:{name})"

    return _LIST.sub(as_parameter, sql), {**(parameters or {}), **lists}


@lru_cache(maxsize=2_000)
def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with numbers for its ``:name`` parameters, and the names in the order of the numbers."""
    names: dict[str, int] = {}

    def as_number(match: re.Match[str]) -> str:
        name: str | None = match[2]
        return match[1] if name is None else f"${names.setdefault(name, len(names) + 1)}"

    text = _TOKEN.sub(as_number, sql).encode()
    return text, tuple(names)

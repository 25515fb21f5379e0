"""Statements in the form that psycopg takes: ``%(name)s`` for ``:name``."""

from __future__ import annotations

import re
from functools import lru_cache

# what is no parameter comes first: literals, quoted names, comments, casts
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|::)|:([A-Za-z_]\w*)|(%)""", re.DOTALL)


@lru_cache(maxsize=2_000)
def translated(sql: str) -> str:
    """Return a statement with psycopg's placeholders for its ``:name`` parameters."""
    return _TOKEN.sub(_placeholder, sql)


def _placeholder(match: re.Match[str]) -> str:
    if match[2]:
        return f"%({match[2]})s"
    return "%%" if match[3] else match[1].replace("%", "%%")

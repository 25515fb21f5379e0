"""The tables of the search index on PostgreSQL."""

from __future__ import annotations

INDEX_TABLES: tuple[str, ...] = ()

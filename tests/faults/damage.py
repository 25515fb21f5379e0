"""Damage to files, as failing disks do it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw


def overwrite_leaves(file: Path, table: str) -> None:
    """Overwrite the leaf pages of a table with noise; header and schema stay whole.

    Args:
        file: a store that is closed.
        table: which table.
    """
    with closing(apsw.Connection(str(file))) as connection:
        select = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'"
        pages = [int(page) for (page,) in connection.execute(select, (table,))]
        size = int(connection.pragma("page_size"))
    with file.open("r+b") as stream:
        for page in pages:
            stream.seek((page - 1) * size)
            stream.write(b"\xa5" * size)

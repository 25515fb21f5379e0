"""All that a store keeps, as bytes, whatever database it is in."""

from __future__ import annotations

from every_table import every_row
from satchel import Satchel


def kept_bytes(satchel: Satchel) -> bytes:
    """Return the bytes of all files of a store, which is closed first, or all rows of a database."""
    engine = satchel.workplace.engine
    if engine.folder is None:
        with engine.read() as transaction:
            return repr(sorted(every_row(transaction).items())).encode()
    satchel.close()
    return b"".join(file.read_bytes() for file in sorted(engine.folder.rglob("*")) if file.is_file())

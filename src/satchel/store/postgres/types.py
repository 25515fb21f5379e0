"""Conversion of values: numbers as SQLite returns them, whole ones as integers, and booleans as 0 or 1."""

from __future__ import annotations

from functools import cache
from typing import Any

from psycopg import adapters as defaults
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.types.numeric import Int8Dumper, NumericLoader


class _Whole(NumericLoader):
    """Loads the sums of whole numbers as integers, other numerics as floats."""

    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class _Truth(Loader):
    """Loads booleans as 0 or 1."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _Bit(Dumper):
    """Sends booleans as 0 or 1, as the tables hold them."""

    oid = Int8Dumper.oid

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


@cache
def adapters() -> AdaptersMap:
    """Return the adapters of every connection.

    An int is always a bigint: with the type by its size, as psycopg's own default has it, one statement would be
    prepared once for each combination.
    """
    own = AdaptersMap(defaults)
    own.register_loader("numeric", _Whole)
    own.register_loader("bool", _Truth)
    own.register_dumper(bool, _Bit)
    own.register_dumper(int, Int8Dumper)
    return own

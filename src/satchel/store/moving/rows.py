"""The rows of a store, table by table, in an order and a form that are the same in every database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cache
from hashlib import blake2b
from operator import itemgetter
from typing import Final

from satchel.base.errors import StoreDamaged, StoreNewer
from satchel.base.records import NamedTuple, dataclass
from satchel.store.damage import is_damaged
from satchel.store.migrations import empty_store
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Row, Transaction

OF_THE_STORE: Final = frozenset({"store", "migrations"})
"""Tables about the store itself, which are not moved."""

_OF_SQLITE: Final = ("sqlite_", "documents_fts")
_KINDS: Final = {"TEXT": str, "BLOB": bytes, "DOUBLE PRECISION": float}

_MENDED: Final = (
    "Nothing was moved: `satchel forget` removes an item by its id, `satchel restore` goes back to a backup"
)

_FIRST_PAGE = 100
_MOST_ROWS = 5_000
_PAGE_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table of stored items.

    Attributes:
        columns: in the order of :attr:`kinds`.
        kinds: the type of each column's values that are not null.
        places: those of the primary key among the columns.
    """

    name: str
    columns: tuple[str, ...]
    kinds: tuple[type, ...]
    places: tuple[int, ...]

    @property
    def column_list(self) -> str:
        """The columns, as a statement lists them."""
        return ", ".join(f'"{column}"' for column in self.columns)

    @property
    def key(self) -> str:
        """The columns of the primary key, as a statement lists them."""
        return ", ".join(f'"{self.columns[place]}"' for place in self.places)

    def key_of(self, row: Row) -> Row:
        """Return the primary key of a row."""
        return tuple(row[place] for place in self.places)

    def label(self, row: Row) -> str:
        """Return the name of a row for people."""
        return _row_of(self, self.key_of(row))


class Page(NamedTuple):
    """Some rows of a table, in the order of the primary key.

    Attributes:
        form: their bytes in a digest, the same for every database.
    """

    rows: list[Row]
    form: bytes


class State(NamedTuple):
    """A fingerprint of a store that changes with writes.

    Attributes:
        uid: of the store, in hexadecimal digits.
        counters: changes with the change counter of any project, and with the number of rows of any table.
        rows: number of rows.
    """

    uid: str
    counters: str
    rows: int


@cache
def tables() -> tuple[Table, ...]:
    """Return the tables of stored items, by name: without the search index, which is built from them."""
    with closing(empty_store()) as connection:
        transaction = SqliteTransaction(connection)
        names = [
            name for (name,) in transaction.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        ]
        return tuple(
            _describe(transaction, name)
            for name in names
            if name not in OF_THE_STORE and not name.startswith(_OF_SQLITE)
        )


def _describe(transaction: Transaction, name: str) -> Table:
    columns = transaction.all("SELECT name, type, pk FROM pragma_table_info(:name) ORDER BY cid", {"name": name})
    return Table(
        name,
        tuple(column for column, _, _ in columns),
        tuple(_KINDS.get(declared, int) for _, declared, _ in columns),
        tuple(at for _, at in sorted((place, at) for at, (_, _, place) in enumerate(columns) if place)),
    )


def state_of(transaction: Transaction, location: str) -> State:
    """Return the state of a store.

    Raises:
        StoreNewer: it has a newer schema, whose rows could not be moved whole.
    """
    row = transaction.one("SELECT uid, (SELECT max(version) FROM migrations) FROM store")
    assert row is not None
    if row[1] > SCHEMA_VERSION:
        raise StoreNewer(
            f"{location} has schema version {row[1]}, and this Satchel knows {SCHEMA_VERSION}",
            "Upgrade Satchel; nothing was moved",
        )
    counts = transaction.all(f"SELECT {', '.join(f'(SELECT count(*) FROM {table.name})' for table in tables())}")[0]
    projects = transaction.all("SELECT id, uid, name, seq FROM projects ORDER BY id")
    counters = blake2b(repr((counts, projects)).encode(), digest_size=16).hexdigest()
    return State(row[0].hex(), counters, sum(counts))


def pages(transaction: Transaction, table: Table) -> Iterator[Page]:
    """Read a table by its primary key, some rows at a time.

    Raises:
        StoreDamaged: a row holds a value that its column cannot hold.
    """
    most, after = _FIRST_PAGE, ""
    values: dict[str, object] = {}
    while True:
        rows = transaction.all(
            f"SELECT {table.column_list} FROM {table.name} {after} ORDER BY {table.key} LIMIT {most}", values
        )
        damaged = next(filter(is_damaged, rows), None)
        if damaged is not None:
            raise StoreDamaged(f"{table.label(damaged)} contains text that is not valid UTF-8", _MENDED)
        if not rows:
            return
        page = _page(table, rows)
        yield page
        places = [f"key{number}" for number in range(len(table.places))]
        after = f"WHERE ({table.key}) > ({', '.join(f':{name}' for name in places)})"
        values = dict(zip(places, table.key_of(rows[-1]), strict=True))
        most = max(1, min(_MOST_ROWS, len(rows) * _PAGE_BYTES // len(page.form)))


def is_empty(transaction: Transaction) -> bool:
    return not transaction.all(f"SELECT {' OR '.join(f'EXISTS (SELECT 1 FROM {t.name})' for t in tables())}")[0][0]


def last_key(transaction: Transaction, table: Table) -> Row | None:
    """Return the highest primary key of a table, or None if it has no row."""
    highest = ", ".join(f'"{table.columns[place]}" DESC' for place in table.places)
    return transaction.one(f"SELECT {table.key} FROM {table.name} ORDER BY {highest} LIMIT 1")


def digests(transaction: Transaction) -> Iterator[tuple[Table, int, bytes]]:
    """Read every table, and yield its number of rows and their digest."""
    for table in tables():
        digest, count = blake2b(digest_size=16), 0
        for page in pages(transaction, table):
            digest.update(page.form)
            count += len(page.rows)
        yield table, count, digest.digest()


def _page(table: Table, rows: list[Row]) -> Page:
    for place, kind in enumerate(table.kinds):
        if not set(map(type, map(itemgetter(place), rows))) <= {kind, type(None)}:
            wrong = next(row for row in rows if row[place] is not None and type(row[place]) is not kind)
            raise StoreDamaged(
                f"{table.columns[place]} of {table.label(wrong)} is {type(wrong[place]).__name__}, not {kind.__name__}",
                _MENDED,
            )
    if float in table.kinds:
        # SQLite stores no sign of zero
        rows = [tuple(value + 0.0 if type(value) is float else value for value in row) for row in rows]
    return Page(rows, "".join(map(repr, rows)).encode("utf-8", "surrogatepass"))


def _row_of(table: Table, key: Row) -> str:
    return f"row {'/'.join(map(_text_of, key))} of {table.name}"


def _text_of(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)

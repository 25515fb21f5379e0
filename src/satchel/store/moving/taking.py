"""A store that is being filled with the rows of another: nobody else can use it before it is complete."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import ClassVar

from satchel.base.clock import Clock
from satchel.base.errors import Conflict, InvalidInput, SatchelError, TooLarge
from satchel.base.records import dataclass, field_names, replace
from satchel.store.moving import rows
from satchel.store.moving.rows import State, Table
from satchel.store.schema import BEING_FILLED
from satchel.store.transaction import Row, Transaction

_MARK = {"version": BEING_FILLED}

_MOST_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Record:
    """State of a move, stored among the target's migrations until the target is complete.

    Attributes:
        uid: of the source store, in hexadecimal digits.
        source: its location.
        counters: its state when the first row was read.
        min_reader, min_writer: the values that the complete store gets.
        removed: what was dropped from the tables until they are full, in a form to restore it from.
        is_checked: whether every row was copied and compared.
    """

    uid: str
    source: str
    counters: str
    min_reader: int
    min_writer: int
    removed: tuple[str, ...] = ()
    is_checked: bool = False


class _TakenBack(Exception):
    """Rolls back a trial transaction."""


class Taker(ABC):
    """Fills an empty store."""

    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors that the database raises for a row that it refuses."""

    def __init__(self, location: str, clock: Clock) -> None:
        self.location = location
        self._clock = clock
        self._token = os.urandom(8).hex()

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction that keeps every other writer out."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Transaction]: ...

    @abstractmethod
    def _insert(self, transaction: Transaction, table: Table, new: Sequence[Row]) -> None:
        """Insert rows, all or none."""

    @abstractmethod
    def _drop_foreign_keys(self, transaction: Transaction) -> tuple[str, ...]:
        """Drop foreign keys; return what is needed to restore them."""

    @abstractmethod
    def _restore_foreign_keys(self, transaction: Transaction, removed: tuple[str, ...]) -> None:
        """Restore foreign keys.

        Raises:
            StoreDamaged: a row refers to a missing row.
        """

    @abstractmethod
    def _empty(self, transaction: Transaction) -> None:
        """Delete every row and the search index."""

    @abstractmethod
    def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        """Raise each table's counter to the source's, so that no id is given twice."""

    def analyze(self) -> None:  # noqa: B027 -- optional
        """Update the planner's statistics once all rows are copied."""

    def without_deadline(self) -> AbstractContextManager[None]:
        """No-op: statements have no time limit here."""
        return nullcontext()

    @contextmanager
    def write(self, wait_ms: int | None = None) -> Iterator[Transaction]:  # noqa: ARG002 -- as engines have it
        """Open a write transaction, unless another program has begun to fill the store.

        Raises:
            Conflict: another program has.
        """
        with self._writing() as transaction:
            mine = {**_MARK, "token": self._token}
            if not transaction.execute(
                "UPDATE migrations SET applied_at = applied_at WHERE version = :version AND program = :token", mine
            ):
                raise Conflict(f"another program is filling {self.location}", "Wait until it is done")
            yield transaction

    def begin(self, state: State, source: str) -> tuple[Record, bool]:
        """Mark the store as being filled, or continue an unfinished move; return its record, and whether it is old.

        Raises:
            Conflict: the store is not empty, or holds an unfinished move of another store.
            InvalidInput: source and target are the same store.
        """
        with self._writing() as transaction:
            row = transaction.one("SELECT name FROM migrations WHERE version = :version", _MARK)
            if row is not None:
                record = _read(row[0])
                if record.uid != state.uid:
                    raise Conflict(
                        f"{self.location} holds an unfinished move of {record.source}",
                        "To continue it, run that move again; or name an empty place",
                    )
                transaction.execute(
                    "UPDATE migrations SET program = :token WHERE version = :version", {**_MARK, "token": self._token}
                )
                return record, True
            own = transaction.one("SELECT uid, min_reader, min_writer FROM store")
            assert own is not None
            if own[0].hex() == state.uid:
                raise InvalidInput(f"{self.location} is the source store", "Name another place")
            if not rows.is_empty(transaction):
                raise Conflict(
                    f"{self.location} is not empty",
                    "Nothing was changed; name a new file or another schema",
                )
            record = Record(state.uid, source, state.counters, own[1], own[2], self._drop_foreign_keys(transaction))
            transaction.run(
                "INSERT INTO migrations (version, name, program, applied_at) VALUES (:version, :name, :token, :now)",
                {**_MARK, "name": _written(record), "token": self._token, "now": self._clock()},
            )
            transaction.run("UPDATE store SET min_reader = :version, min_writer = :version", _MARK)
            return record, False

    def restart(self, record: Record, state: State) -> Record:
        """Delete every row, since the source has changed."""
        with self.write() as transaction:
            self._empty(transaction)
            removed = self._drop_foreign_keys(transaction) if record.is_checked else record.removed
            record = replace(record, counters=state.counters, removed=removed, is_checked=False)
            self._note(transaction, record)
        return record

    def put(self, table: Table, new: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            TooLarge, InvalidInput: the database refuses one of them, which is named.
        """
        try:
            with self.write() as transaction:
                self._insert(transaction, table, new)
        except self.refusals as error:
            raise self._refused(table, new) or error from error

    def _refused(self, table: Table, new: Sequence[Row]) -> SatchelError | None:
        """Insert rows one by one until one is refused, and roll back each."""
        for row in new:
            try:
                with suppress(_TakenBack), self.write() as transaction:
                    self._insert(transaction, table, [row])
                    raise _TakenBack
            except self.refusals as error:
                kind = TooLarge if isinstance(error, TooLarge) else InvalidInput
                return kind(
                    f"{self.location} cannot store {table.label(row)}: {' '.join(str(error).split())[:_MOST_SHOWN]}",
                    "Nothing is lost: remove or shorten the item in the source store "
                    "(`satchel forget` takes its id), then move again",
                )
        return None

    def note_checked(self, record: Record) -> None:
        """Record that every row was compared, and restore the foreign keys.

        Raises:
            StoreDamaged: a row refers to a missing row.
        """
        with self.write() as transaction:
            self._restore_foreign_keys(transaction, record.removed)
            self._note(transaction, replace(record, is_checked=True))

    def finish(self, record: Record, lift: int = 0) -> None:
        """Release the store for use; `lift` raises every project's change counter."""
        with self.write() as transaction:
            transaction.run("UPDATE projects SET seq = seq + :lift", {"lift": lift})
            transaction.run(
                "UPDATE store SET min_reader = :reader, min_writer = :writer",
                {"reader": record.min_reader, "writer": record.min_writer},
            )
            transaction.run("DELETE FROM migrations WHERE version = :version", _MARK)
        self.analyze()

    def _note(self, transaction: Transaction, record: Record) -> None:
        transaction.run(
            "UPDATE migrations SET name = :name WHERE version = :version", {**_MARK, "name": _written(record)}
        )


def _written(record: Record) -> str:
    return json.dumps({name: getattr(record, name) for name in field_names(record) or ()})


def _read(text: str) -> Record:
    fields = json.loads(text)
    return Record(**{**fields, "removed": tuple(fields["removed"])})

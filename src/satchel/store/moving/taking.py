"""A store that is being filled with the rows of another: nobody else can use it before it is whole."""

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

_NAMED = 120


@dataclass(frozen=True, slots=True)
class Record:
    """What a store that is being filled says of that; it stands among its migrations until it is whole.

    Attributes:
        uid: of the store whose rows are taken, in hexadecimal digits.
        source: where that is.
        counters: its state when the first row was read.
        min_reader, min_writer: what the store is to say of itself when it is whole.
        removed: what was taken from the tables until they are full, as the database needs it to put it back.
        is_checked: whether every row is there and was compared.
    """

    uid: str
    source: str
    counters: str
    min_reader: int
    min_writer: int
    removed: tuple[str, ...] = ()
    is_checked: bool = False


class _TakenBack(Exception):
    """Rolls a transaction back that was only to be tried."""


class Taker(ABC):
    """Fills an empty store.

    Args:
        location: the store, to name it.
        clock: what its record is stamped with.
    """

    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors of a row that the database does not take."""

    def __init__(self, location: str, clock: Clock) -> None:
        self.location = location
        self._clock = clock
        self._token = os.urandom(8).hex()

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction that keeps every other writer out."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Transaction]:
        """Open a read transaction."""

    @abstractmethod
    def _insert(self, transaction: Transaction, table: Table, new: Sequence[Row]) -> None:
        """Insert rows, all or none."""

    @abstractmethod
    def _loosen(self, transaction: Transaction) -> tuple[str, ...]:
        """Let rows refer to what is not there yet; return what is needed to undo that."""

    @abstractmethod
    def _tighten(self, transaction: Transaction, removed: tuple[str, ...]) -> None:
        """Undo :meth:`_loosen`.

        Raises:
            StoreDamaged: a row refers to what is not there.
        """

    @abstractmethod
    def _empty(self, transaction: Transaction) -> None:
        """Remove every row, the search index with them."""

    @abstractmethod
    def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        """Let no table give a number that was given before.

        Args:
            numbers: for each table the highest that the store it comes from has given.
        """

    def settle(self) -> None:  # noqa: B027 -- nothing to do is an answer
        """Do what is useful once all rows are there."""

    def without_deadline(self) -> AbstractContextManager[None]:
        """Do nothing: no statement has a deadline here."""
        return nullcontext()

    @contextmanager
    def write(self, wait_ms: int | None = None) -> Iterator[Transaction]:  # noqa: ARG002 -- as engines have it
        """Open a write transaction, unless another program has begun to fill the store.

        Raises:
            Conflict: one has.
        """
        with self._writing() as transaction:
            mine = {**_MARK, "token": self._token}
            if not transaction.execute(
                "UPDATE migrations SET applied_at = applied_at WHERE version = :version AND program = :token", mine
            ):
                raise Conflict(f"another program fills {self.location} now", "Let that one come to its end")
            yield transaction

    def begin(self, state: State, source: str) -> tuple[Record, bool]:
        """Mark the store as being filled; where that was begun before and not finished, go on with it.

        Args:
            state: of the store whose rows are to come.
            source: where that is.

        Returns:
            What the store says of that, and whether it was begun before.

        Raises:
            Conflict: the store holds something, or an unfinished move of another store.
            InvalidInput: both are one store.
        """
        with self._writing() as transaction:
            row = transaction.one("SELECT name FROM migrations WHERE version = :version", _MARK)
            if row is not None:
                record = _read(row[0])
                if record.uid != state.uid:
                    raise Conflict(
                        f"{self.location} holds an unfinished move of {record.source}",
                        "Move that one again to go on with it, or name an empty place",
                    )
                transaction.execute(
                    "UPDATE migrations SET program = :token WHERE version = :version", {**_MARK, "token": self._token}
                )
                return record, True
            own = transaction.one("SELECT uid, min_reader, min_writer FROM store")
            assert own is not None
            if own[0].hex() == state.uid:
                raise InvalidInput(f"{self.location} is the store that is to be moved", "Name another place")
            if not rows.is_empty(transaction):
                raise Conflict(
                    f"{self.location} is not empty",
                    "Nothing was changed; name a new file or another schema, or empty that one yourself",
                )
            record = Record(state.uid, source, state.counters, own[1], own[2], self._loosen(transaction))
            transaction.run(
                "INSERT INTO migrations (version, name, program, applied_at) VALUES (:version, :name, :token, :now)",
                {**_MARK, "name": _written(record), "token": self._token, "now": self._clock()},
            )
            transaction.run("UPDATE store SET min_reader = :version, min_writer = :version", _MARK)
            return record, False

    def begin_anew(self, record: Record, state: State) -> Record:
        """Remove every row: the store that they came from is another now."""
        with self.write() as transaction:
            self._empty(transaction)
            removed = self._loosen(transaction) if record.is_checked else record.removed
            record = replace(record, counters=state.counters, removed=removed, is_checked=False)
            self._note(transaction, record)
        return record

    def put(self, table: Table, new: Sequence[Row]) -> None:
        """Keep rows.

        Raises:
            TooLarge, InvalidInput: the database does not take one of them, which is named.
        """
        try:
            with self.write() as transaction:
                self._insert(transaction, table, new)
        except self.refusals as error:
            raise self._refused(table, new) or error from error

    def _refused(self, table: Table, new: Sequence[Row]) -> SatchelError | None:
        """Insert rows one by one until one is refused, and take each back."""
        for row in new:
            try:
                with suppress(_TakenBack), self.write() as transaction:
                    self._insert(transaction, table, [row])
                    raise _TakenBack
            except self.refusals as error:
                kind = TooLarge if isinstance(error, TooLarge) else InvalidInput
                return kind(
                    f"{self.location} cannot keep {table.named(row)}: {' '.join(str(error).split())[:_NAMED]}",
                    "Nothing of it is lost: remove or shorten the item in the store that it comes from "
                    "(`satchel forget` takes its id), then move again",
                )
        return None

    def note_checked(self, record: Record) -> None:
        """Note that every row is there, and let none refer to what is not.

        Raises:
            StoreDamaged: one does.
        """
        with self.write() as transaction:
            self._tighten(transaction, record.removed)
            self._note(transaction, replace(record, is_checked=True))

    def finish(self, record: Record, lift: int = 0) -> None:
        """Make the store one that others can use.

        Args:
            lift: by how much every project's change counter is raised.
        """
        with self.write() as transaction:
            transaction.run("UPDATE projects SET seq = seq + :lift", {"lift": lift})
            transaction.run(
                "UPDATE store SET min_reader = :reader, min_writer = :writer",
                {"reader": record.min_reader, "writer": record.min_writer},
            )
            transaction.run("DELETE FROM migrations WHERE version = :version", _MARK)
        self.settle()

    def _note(self, transaction: Transaction, record: Record) -> None:
        transaction.run(
            "UPDATE migrations SET name = :name WHERE version = :version", {**_MARK, "name": _written(record)}
        )


def _written(record: Record) -> str:
    return json.dumps({name: getattr(record, name) for name in field_names(record) or ()})


def _read(text: str) -> Record:
    fields = json.loads(text)
    return Record(**{**fields, "removed": tuple(fields["removed"])})

"""Moving all rows from one store into another: copied, compared, and only then released for use."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

from satchel.base.errors import NotFound, StoreDamaged
from satchel.base.records import dataclass
from satchel.store.moving import rows

if TYPE_CHECKING:
    from satchel.store.backups import Progress
    from satchel.store.engine import Engine
    from satchel.store.moving.rows import State, Table
    from satchel.store.moving.taking import Record, Taker
    from satchel.store.transaction import Row, Transaction

Indexing = Callable[["Taker", "Progress"], int]
"""Fills the search index of a store from its rows, and returns how many items it has."""

_Sums = dict[str, tuple[int, bytes]]
"""By table: the number of rows, and their digest."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Result of moving a store.

    Attributes:
        source, target: the stores; the source is unchanged.
        rows: number of rows copied and compared.
        indexed: number of items in the search index of the target.
        went_on: whether an interrupted move was completed.
        began_anew: whether the rows of such a move were dropped, since the source had changed.
        source_changed: whether the source was written to during the move, so that it holds more than the target.
    """

    source: str
    target: str
    rows: int
    indexed: int
    went_on: bool
    began_anew: bool
    source_changed: bool


def move(source: Engine, target: Engine, index: Indexing, progress: Progress, *, lift: int = 0) -> Moved:
    """Copy every row of a store into another, empty one, and compare them; nobody can use that one before the end.

    Called again, it continues an interrupted move, unless the source has changed. The source is read in one snapshot.
    The target may be a place without a store, an empty store, or an interrupted move of the same source. `lift` raises
    every project's change counter at the end.

    Raises:
        NotFound: there is no source.
        Conflict: the target is not empty, or another program fills it.
        InvalidInput, TooLarge: the target refuses a row, which is named.
        StoreDamaged: rows are not as Satchel writes them.
        SatchelError: one of the two cannot be used.
    """
    if not source.exists():
        raise NotFound(f"there is no store at {source.location}", "Name the file or the database of one")
    with source.without_deadline(), target.without_deadline():
        try:
            with target.upkeep.open_taker() as taker:
                one = _Move(source, taker, progress)
                record = one.fill()
                indexed = index(taker, progress)
                taker.finish(record, lift)
        finally:
            target.check_again()
        with source.read() as transaction:
            now = rows.state_of(transaction, source.location)
    return Moved(
        source.location,
        target.location,
        one.state.rows,
        indexed,
        one.went_on and not one.began_anew,
        one.began_anew,
        now != one.state,
    )


class _Move:
    """One move into a store.

    Attributes:
        state: of the source, as it was read.
    """

    state: State

    def __init__(self, source: Engine, taker: Taker, progress: Progress) -> None:
        self._source = source
        self._taker = taker
        self._progress = progress
        self._done = 0
        self.went_on = False
        self.began_anew = False

    def fill(self) -> Record:
        """Copy every row and compare them; return the target's record of the move."""
        while True:
            with self._source.read() as transaction:
                record = self._begin(transaction)
                if record.is_checked:
                    return record
                sums = self._copy(transaction)
                numbers = self._source.upkeep.highest_ids(transaction)
            self._taker.raise_numbers(numbers)
            wrong = self._wrong(sums)
            if not wrong:
                self._taker.note_checked(record)
                return record
            if not self.went_on or self.began_anew:
                raise StoreDamaged(
                    f"{', '.join(wrong)} of {self._taker.location} differ from what was copied there",
                    "Check the disk there; it cannot be used as a store, and the source is unchanged",
                )
            self._taker.restart(record, self.state)
            self.began_anew = True

    def _begin(self, transaction: Transaction) -> Record:
        self.state = rows.state_of(transaction, self._source.location)
        record, is_old = self._taker.begin(self.state, self._source.location)
        self.went_on = self.went_on or is_old
        if record.counters != self.state.counters:
            record = self._taker.restart(record, self.state)
            self.began_anew = True
        self._done = 0
        return record

    def _copy(self, transaction: Transaction) -> _Sums:
        sums = {}
        for table in rows.tables():
            last = self._last_key(table) if self.went_on else None
            digest, count = blake2b(digest_size=16), 0
            for page in rows.pages(transaction, table):
                digest.update(page.form)
                count += len(page.rows)
                new = page.rows if last is None else [row for row in page.rows if table.key_of(row) > last]
                if new:
                    self._taker.put(table, new)
                self._tell(len(page.rows))
            sums[table.name] = count, digest.digest()
        return sums

    def _last_key(self, table: Table) -> Row | None:
        with self._taker.read() as transaction:
            return rows.last_key(transaction, table)

    def _wrong(self, sums: _Sums) -> list[str]:
        """Return the tables whose rows differ from the source's."""
        wrong = []
        with self._taker.read() as transaction:
            for table, count, digest in rows.digests(transaction):
                self._tell(count)
                if sums[table.name] != (count, digest):
                    wrong.append(table.name)
        return wrong

    def _tell(self, count: int) -> None:
        self._done += count
        self._progress(min(self._done, 2 * self.state.rows), 2 * self.state.rows)

"""What every import does with what was read: prepares it, judges it against what is here, and keeps it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import dataclass
from satchel.keep import names
from satchel.keep.importing.records import ForeignStore, ImportConflict, Trouble
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction


class Foreign(Protocol):
    """What was read of one row."""

    @property
    def row(self) -> str:
        """What tells the row from others in a report."""


Read = TypeVar("Read", bound=Foreign)
Content = TypeVar("Content")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Ready(Generic[Read, Content]):
    """An item that can be kept.

    Attributes:
        uid: its lasting identity: the same whenever it is imported, and from whatever copy.
        source: what was read.
        content: what is kept of it, checked and cleaned.
        weight: how many changes of the store it takes.
    """

    uid: bytes
    source: Read
    content: Content
    weight: int = 1


class Outcome(Enum):
    """What becomes of one item."""

    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "present"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one item.

    Attributes:
        states: how many states of a decision are written beyond its first.
        conflict: what stands here otherwise, for a conflict.
    """

    outcome: Outcome
    states: int = 0
    conflict: ImportConflict | None = None


ADDED, UPDATED, PRESENT = Verdict(Outcome.ADDED), Verdict(Outcome.UPDATED), Verdict(Outcome.PRESENT)


def conflict(ref: str, item: str, reason: str) -> Verdict:
    """Return the verdict on an item that stands here otherwise and is left alone."""
    return Verdict(Outcome.CONFLICT, conflict=ImportConflict(ref, item, reason))


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of items, in the order in which an import takes them.

    Attributes:
        kind: what reports call it; None for what is not counted.
        judge: keeps an item unless something stands against it; gets what is known here of the item's uid.
        table: one of our own, where items are known by their uids.
        columns: what is known of them, separated by commas.
    """

    kind: str | None
    items: Sequence[Ready[Any, Any]]
    judge: Callable[[Any, Row | None], Verdict]
    table: str | None = None
    columns: str = "id"


class Taking(ABC):
    """Takes over one store: prepares all of it, then judges it batch by batch and keeps what is to be kept.

    Args:
        store: what was read.
        now: the time of the import, in milliseconds UTC.
        write: False for a preview.

    Attributes:
        troubles: what could not be read or prepared, or only in part.
        transaction: that of the batch.
        project: the number of our project; -1 before the first write for it.
    """

    transaction: Transaction

    def __init__(self, store: ForeignStore, workplace: Workplace, now: int, *, write: bool) -> None:
        self.workplace = workplace
        self.now = now
        self.write = write
        self.troubles = list(store.troubles)
        self.project = -1
        self._at = "", ""

    @abstractmethod
    def steps(self) -> Sequence[Step]:
        """Prepare everything, and return what is taken, in order."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What should be known of what was taken, beside what the store says."""

    def each(self, table: str, items: Iterable[Read], prepare: Callable[[Read], Done]) -> list[Done]:
        """Prepare items; one that is refused is reported and left out."""
        done: list[Done] = []
        for item in items:
            self._at = table, item.row
            try:
                done.append(prepare(item))
            except SatchelError as error:
                self.troubles.append(Trouble(*self._at, error.problem))
        return done

    def note(self, notes: Iterable[str]) -> None:
        """Report what was changed in the item that is being prepared."""
        self.troubles.extend(Trouble(*self._at, note, left_out=False) for note in notes)

    def name(self, value: str | None, field: str) -> str | None:
        """Return a name that is not essential; one that is none is reported and left out."""
        if value is None:
            return None
        try:
            return names.check_identifier(value, field)
        except InvalidInput as error:
            self.note([f"{error.problem}; left out"])
            return None

    def take(
        self, transaction: Transaction, project_id: int | None, step: Step, batch: Sequence[Ready[Any, Any]]
    ) -> list[Verdict]:
        """Judge some items of a step inside one transaction.

        Args:
            project_id: None before the first write for the project.
        """
        self.transaction = transaction
        self.project = -1 if project_id is None else project_id
        here: dict[bytes, Row] = {}
        if step.table is not None:
            listed = ", ".join(f"x'{one.uid.hex()}'" for one in batch)
            rows = transaction.all(
                f"SELECT uid, {step.columns} FROM {step.table} WHERE project_id = :project AND uid IN ({listed})",
                {"project": self.project},
            )
            here = {row[0]: row[1:] for row in rows}
        return [step.judge(one, here.get(one.uid)) for one in batch]

    def agent(self, name: str | None, *, acts: bool = True) -> tuple[int, str] | None:
        """Return the number and name of an agent, recorded on first use; None for no name.

        Args:
            acts: as :func:`satchel.keep.names.ensure_agent` has it.
        """
        if name is None:
            return None
        return names.ensure_agent(self.transaction, self.project, name, self.now, acts=acts)

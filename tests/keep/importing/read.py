"""What was read of a foreign database, by kinds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from satchel.base.clock import iso
from satchel.keep.importing.bazinga import read_bazinga as _bazinga
from satchel.keep.importing.sqlew import read_sqlew as _sqlew
from satchel.keep.moving.records import Arriving

NOW = 1_795_000_000


class Said(dict[str, Any]):
    """What a line says, by attributes; None for what it does not say."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    @property
    def states(self) -> list[Said]:
        """The states of a decision, the oldest first."""
        return [*map(Said, self.history), Said(self | {"set_at": self.updated_at})]


class Store:
    """A database as it was read, with ``troubles`` and ``notes``, and the lines of each kind."""

    def __init__(self, arriving: Arriving) -> None:
        self.lines = [Said(line) for _, _, line in arriving.lines]
        self.troubles = tuple(arriving.troubles)
        self.notes = tuple(arriving.notes)
        self.name, self.format, self.project = arriving.name, arriving.format, arriving.project
        self.not_taken = tuple(arriving.not_taken)

    def of(self, kind: str) -> tuple[Said, ...]:
        """Return the lines of a kind."""
        return tuple(line for line in self.lines if line.kind == kind)

    @property
    def counts(self) -> Counter[str]:
        """How many lines there are of each kind."""
        return Counter(line.kind for line in self.lines)

    @property
    def decision(self) -> Said:
        """The only decision."""
        (decision,) = self.of("decision")
        return decision


def read_sqlew(file: Path, project: str | None = None) -> Store:
    """Read a sqlew database."""
    return Store(_sqlew(file, project))


def read_bazinga(file: Path, project: str | None = None) -> Store:
    """Read a bazinga database."""
    return Store(_bazinga(file, project))


def values(decision: Said) -> list[str | float]:
    """Return the values that a decision had, the oldest first."""
    return [state.value for state in decision.states]


def at(seconds: int) -> str:
    """Return a time as lines have it."""
    return iso(seconds * 1_000)


def said(store: Store) -> list[tuple[str, str, str, bool]]:
    """Return all troubles: the table, the row, the reason, and whether the row is left out."""
    return [(one.table, one.row, one.reason, one.left_out) for one in store.troubles]

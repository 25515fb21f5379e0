"""Decisions as the ledger keeps them, and a look into every table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from every_table import every_row
from satchel import Satchel
from satchel.keep.decisions.service import Decisions
from satchel.store.transaction import Row

Dump = Callable[[], dict[str, list[Row]]]


@pytest.fixture
def decisions(satchel: Satchel) -> Decisions:
    """The decisions of a project in which nothing is written yet, without messages about changes."""
    return Decisions(satchel.workplace)


@pytest.fixture
def dump(satchel: Satchel) -> Dump:
    """Return every row of every table of the store, so that two moments can be compared."""

    def dumped() -> dict[str, list[Row]]:
        with satchel.workplace.engine.read() as transaction:
            return every_row(transaction)

    return dumped

"""What the doctor says of corrections."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from satchel import Satchel
from satchel.find.kind import Kind
from satchel.store.upkeep import Check

Write = Callable[[Satchel], str]

every_kind = pytest.mark.parametrize(
    ("write", "table", "holds"),
    [
        (
            lambda satchel: satchel.entries.write("discovery", "what is so").ref,
            Kind.ENTRY.table,
            "superseded_by = NULL",
        ),
        (lambda satchel: satchel.constraints.add("what must be").ref, Kind.CONSTRAINT.table, "active = 1"),
        (
            lambda satchel: satchel.strategies.save("ways", "what helps").ref,
            Kind.STRATEGY.table,
            "superseded_by = NULL",
        ),
    ],
    ids=["note", "rule", "strategy"],
)


def check(satchel: Satchel) -> Check:
    (found,) = [one for one in satchel.housekeeping.doctor() if one.name == "corrections"]
    return found


def spoil(satchel: Satchel, sql: str) -> None:
    with satchel.workplace.engine.write() as transaction:
        transaction.run(sql)


@every_kind
def test_those_of_what_is_there_are_in_order(satchel: Satchel, write: Write, table: str, holds: str) -> None:
    satchel.corrections.retract(write(satchel), agent="ann")
    satchel.corrections.undo(agent="ann")
    satchel.corrections.retract(write(satchel), agent="ann")
    assert check(satchel) == Check("corrections", "ok", "2 recorded")


@every_kind
def test_what_was_retracted_and_holds_fails(satchel: Satchel, write: Write, table: str, holds: str) -> None:
    ref = write(satchel)
    satchel.corrections.retract(ref)
    spoil(satchel, f"UPDATE {table} SET {holds}")
    found = check(satchel)
    assert (found.status, found.detail.startswith(f"{ref} was replaced or retracted but is")) == ("failed", True)
    satchel.corrections.retract(ref)
    assert check(satchel).status == "ok"


@every_kind
@pytest.mark.parametrize("column", ["item_id", "heir_id", "item_kind"])
def test_one_of_what_is_not_there_is_a_warning(
    satchel: Satchel, write: Write, table: str, holds: str, column: str
) -> None:
    satchel.corrections.retract(write(satchel))
    spoil(satchel, f"UPDATE corrections SET {'action = 1, heir_id = 1, ' * (column == 'heir_id')}item_kind = item_kind")
    assert check(satchel).status == "ok"
    spoil(satchel, f"UPDATE corrections SET {column} = 99")
    found = check(satchel)
    assert (found.status, found.detail[:8]) == ("warning", "1 of 1 r")

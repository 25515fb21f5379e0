"""Deliveries of what is gone: counted by the doctor, dropped by compacting, and never in the way of anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.find.kind import Kind
from satchel.keep import kept
from satchel.keep.kinds import KINDS, read_ref
from satchel.store.upkeep import Check

Fill = Callable[[Satchel, str], Mapping[str, str]]
Deliver = Callable[[Satchel, str], None]


def check(satchel: Satchel) -> Check:
    (found,) = [one for one in satchel.housekeeping.doctor() if one.name == "deliveries"]
    return found


def recorded(satchel: Satchel) -> int:
    return satchel.housekeeping.statistics().deliveries


def vanish(satchel: Satchel, ref: str) -> None:
    """Remove an item as a sweep does, which leaves its deliveries."""
    kind, number = read_ref(ref)
    with satchel.workplace.engine.write() as transaction:
        kept.delete(KINDS[kind], transaction, 1, [number])


def test_deliveries_of_what_is_there_are_in_order_and_stay(satchel: Satchel, fill: Fill, deliver: Deliver) -> None:
    for ref in fill(satchel, "alpha").values():
        deliver(satchel, ref)
    assert check(satchel) == Check("deliveries", "ok", f"{len(Kind)} recorded")
    satchel.housekeeping.compact()
    assert recorded(satchel) == len(Kind)


@pytest.mark.parametrize("kind", [thing.name.replace("_", " ") for thing in KINDS.values()])
def test_a_delivery_of_what_is_gone_is_counted_and_leaves_with_compacting(
    satchel: Satchel, fill: Fill, deliver: Deliver, kind: str
) -> None:
    refs = fill(satchel, "alpha")
    for ref in refs.values():
        deliver(satchel, ref)
    vanish(satchel, refs[kind])
    assert check(satchel).detail.startswith(f"{len(Kind)} recorded, 1 of deleted items; `satchel clear --compact`")
    satchel.housekeeping.compact()
    assert check(satchel) == Check("deliveries", "ok", f"{len(Kind) - 1} recorded")


def test_a_delivery_of_another_projects_item_fails_the_doctor(
    open_in: Callable[..., Satchel], project: Path, deliver: Deliver
) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = other.packages.save("about alpha", content="alpha").ref
    one.packages.save("about omega", content="omega")
    deliver(one, theirs)
    found = check(one)
    assert (found.status, found.detail.startswith("1 of 1 belong to another project")) == ("failed", True)

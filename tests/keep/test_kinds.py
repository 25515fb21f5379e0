"""The registry of kinds."""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.interfaces.text.search import USUAL_STATES
from satchel.keep.kinds import IN_EXPORT_ORDER, KINDS


def test_every_kind_is_registered_under_its_own_name_and_exported() -> None:
    assert {kind: KINDS[kind].kind for kind in Kind} == {kind: kind for kind in Kind}
    assert len(IN_EXPORT_ORDER) == len(KINDS)
    assert set(IN_EXPORT_ORDER) == set(KINDS)


def test_the_first_status_of_every_kind_is_left_out_of_results() -> None:
    assert {one.statuses[0] for one in KINDS.values()} == USUAL_STATES

"""What a token leads to: one project, as if its store held no other.

Two stores get the same writes of the project `one`; in only one of them others write to the project `two` between
these, which the words, names, files and runs of the first are used for as well. Whatever is asked with the token of
`one` has the same answer in both. Items are numbered for the whole store: the numbers of the store without `two` go on
where the other's do.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import ManualClock
from interfaces.http.twins import DatabaseTwin, Twin, compare
from store.postgres.places import new_place


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1_000_000))
def test_a_token_is_answered_as_if_its_project_were_alone(
    twins: Callable[[], tuple[Twin, Twin, ManualClock]], seed: int
) -> None:
    compare(twins(), seed, 30)


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1_000_000))
def test_a_token_is_answered_as_if_its_project_were_alone_whatever_is_asked(
    twins: Callable[[], tuple[Twin, Twin, ManualClock]], seed: int
) -> None:
    compare(twins(), seed, 150)


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1_000_000))
def test_a_token_for_a_database_is_answered_as_if_its_project_were_alone(seed: int) -> None:
    clock = ManualClock()
    with new_place() as one, new_place() as other:
        shared, alone = (DatabaseTwin(place.address, clock) for place in (one, other))
        try:
            compare((shared, alone, clock), seed, 120)
        finally:
            for twin in (shared, alone):
                twin.close()
                twin.one.close()

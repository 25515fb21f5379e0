"""What scratchpads say of an iteration and of a loop, judged without a store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.brief.loop_history import LoopStatus, fails, judge_pads, new_attempts, succeeded
from satchel.keep.entries.structured import Scratchpad
from tables import in_one_test


def pad(
    *attempted: str, done: bool | None = None, status: str | None = None, blockers: Sequence[str] = ()
) -> Scratchpad:
    return Scratchpad(1, done, status, blockers=tuple(blockers), attempted=attempted)


@in_one_test(
    ("status", "is_failure"),
    [
        ("failing", True),
        ("Tests: 2 failed, 3 passed", True),
        ("failures: 1", True),
        ("3 errors", True),
        ("not green", True),
        ("build broken", True),
        ("failures: 0, errors: 0", False),
        ("0 failed 5 passed", False),
        ("5 passed, no failures", False),
        ("credible", False),
        ("passing", False),
        ("", False),
        (None, False),
    ],
)
def test_what_a_test_status_says_of_failures(status: str | None, is_failure: bool) -> None:
    assert fails(status) == is_failure


@in_one_test(
    ("done", "status", "is_success"),
    [
        (None, "passing", True),
        (False, "PASSED", True),
        (None, "  Green ", True),
        (True, None, True),
        (True, "not run", True),
        (True, "12 passed, 0 failed", True),
        (True, "2 failed, 3 passed", False),
        (True, "not passing", False),
        (True, "red", False),
        (None, None, False),
        (False, None, False),
        (None, "12 passed, 0 failed", False),
        (None, "passing soon", False),
    ],
)
def test_when_an_iteration_succeeded(done: bool | None, status: str | None, is_success: bool) -> None:
    assert succeeded(pad("a", done=done, status=status)) == is_success


@in_one_test(
    ("earlier", "attempted", "new"),
    [
        ((), ("a", "b"), ["a", "b"]),
        ((pad("a"),), ("a", "b"), ["b"]),
        ((pad("A  Check"), pad("b")), ("a check", "B", "c "), ["c"]),
        ((pad("a"),), (" ", ""), []),
    ],
)
def test_which_attempts_are_new(earlier: Sequence[Scratchpad], attempted: tuple[str, ...], new: list[str]) -> None:
    assert new_attempts(pad(*attempted), earlier) == new


CACHE, LOCK, RETRY = "clear the build cache", "lock the token table", "retry the request with backoff"
STUCK, REPEATING, NEITHER = (True, False), (False, True), (False, False)


@in_one_test(
    ("pads", "how", "iterations"),
    [
        pytest.param([], NEITHER, 0, id="nothing was written"),
        pytest.param([pad(CACHE)], NEITHER, 1, id="one attempt"),
        pytest.param([pad(CACHE), pad(LOCK)], NEITHER, 2, id="two attempts that differ"),
        pytest.param([pad(CACHE), pad(CACHE, LOCK), pad(CACHE, LOCK, RETRY)], STUCK, 3, id="lists that grow"),
        pytest.param([pad(CACHE), pad(LOCK), pad(RETRY)], STUCK, 3, id="only the new one is listed"),
        pytest.param(
            [pad(CACHE, status="2 failed, 9 passed"), pad(LOCK, status="failing"), pad(RETRY, done=False)],
            STUCK,
            3,
            id="whatever the status says but success",
        ),
        pytest.param([pad(CACHE), pad(LOCK), pad(RETRY, status="passing")], NEITHER, 0, id="the last passed"),
        pytest.param([pad(CACHE), pad(LOCK), pad(RETRY, done=True)], NEITHER, 0, id="the last is done"),
        pytest.param(
            [pad(CACHE), pad(LOCK), pad(RETRY, done=True, status="1 failed, 8 passed")],
            STUCK,
            3,
            id="done with a failure is no success",
        ),
        pytest.param([pad(CACHE), pad(LOCK, status="green"), pad(RETRY)], NEITHER, 1, id="one between passed"),
        pytest.param([pad(CACHE), pad(LOCK), pad(" Clear the  BUILD cache")], REPEATING, 3, id="the first one again"),
        pytest.param([pad(CACHE), pad(CACHE)], REPEATING, 2, id="the same list again"),
        pytest.param([pad(CACHE), pad("clear the whole build cache")], REPEATING, 2, id="nearly the same words"),
        pytest.param([pad(CACHE), pad("clear it")], NEITHER, 2, id="few words in common"),
        pytest.param([pad(CACHE), pad(CACHE, " "), pad(LOCK)], NEITHER, 3, id="blank attempts are none"),
        pytest.param([pad(CACHE, LOCK, RETRY, done=False)], STUCK, 1, id="three approaches in one scratchpad"),
        pytest.param([pad(CACHE, LOCK, RETRY)], NEITHER, 1, id="three steps of which none failed"),
        pytest.param([pad(), pad(), pad()], NEITHER, 3, id="nothing was tried"),
        pytest.param([pad(CACHE), pad(), pad(LOCK), pad(RETRY)], STUCK, 4, id="one says nothing"),
        pytest.param(
            [pad(CACHE, blockers=["no disk"]), pad(LOCK, blockers=["no network"]), pad(RETRY, blockers=["no key"])],
            NEITHER,
            1,
            id="each time another blocker: that is progress",
        ),
        pytest.param(
            [pad(CACHE, blockers=["no key"]), pad(LOCK, blockers=["No  key"]), pad(RETRY, blockers=["no key", "x"])],
            STUCK,
            3,
            id="the blocker stays",
        ),
        pytest.param(
            [pad(CACHE, blockers=["no key"]), pad(LOCK), pad(RETRY, blockers=["no disk"])],
            STUCK,
            3,
            id="a blocker left out is not gone",
        ),
        pytest.param(
            [pad(CACHE), pad(LOCK), pad(RETRY), pad("write the test first")], STUCK, 4, id="the last three count"
        ),
        pytest.param([pad(CACHE), pad(CACHE), pad(LOCK), pad(RETRY)], STUCK, 4, id="an old repetition is over"),
    ],
)
def test_how_a_loop_stands(pads: Sequence[Scratchpad], how: tuple[bool, bool], iterations: int) -> None:
    is_stuck, is_repeating = how
    assert judge_pads(pads) == LoopStatus(is_stuck=is_stuck, is_repeating=is_repeating, iterations=iterations)


some_pads = st.builds(
    lambda attempted, status, done, blockers: pad(*attempted, status=status, done=done, blockers=blockers),
    st.lists(st.sampled_from([CACHE, CACHE.upper(), LOCK, RETRY, "", "x"]), max_size=4),
    st.sampled_from([None, "failing", "passing", "2 failed"]),
    st.sampled_from([None, False, True]),
    st.lists(st.sampled_from(["no key", "no disk"]), max_size=2),
)


@given(st.lists(some_pads, max_size=8))
def test_no_loop_is_stuck_and_repeating_or_so_without_enough_attempts(pads: list[Scratchpad]) -> None:
    found = judge_pads(pads)
    assert not (found.is_stuck and found.is_repeating)
    assert found.iterations >= found.is_stuck + 2 * found.is_repeating


@given(st.lists(some_pads, max_size=5), st.lists(some_pads, max_size=3))
def test_a_success_ends_what_was_before(before: list[Scratchpad], after: list[Scratchpad]) -> None:
    assert judge_pads([*before, pad(done=True), *after]).iterations <= len(after)

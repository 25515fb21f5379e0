"""Following a project from cursor to cursor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_here import register
from conftest import ManualClock
from days_of_use import vouch_in
from examples import examples
from satchel import InvalidInput, Satchel
from satchel.base.clock import DAY_MS
from satchel.keep import following, projects
from satchel.keep.following import START, Change, Cursor, Page, StreamItem
from tables import in_one_test


def read(satchel: Satchel, cursor: Cursor = START, limit: int = 1_000, kinds: frozenset[str] | None = None) -> Page:
    with satchel.workplace.engine.read() as transaction:
        project = projects.find(transaction, satchel.workplace)
        return following.read(transaction, project, cursor, limit, kinds)


def now(satchel: Satchel) -> Cursor:
    with satchel.workplace.engine.read() as transaction:
        return following.now(transaction, projects.find(transaction, satchel.workplace))


def missed_too_much(satchel: Satchel, cursor: Cursor) -> bool:
    with satchel.workplace.engine.read() as transaction:
        return following.missed_too_much(transaction, projects.find(transaction, satchel.workplace), cursor)


def keys(told: tuple[StreamItem, ...] | list[StreamItem]) -> list[tuple[bool, str, int]]:
    """What tells each thing that a listener was told from every other."""
    return [(isinstance(one.of, Change), one.of.kind, one.of.seq) for one in told]


def test_changes_and_events_follow_one_cursor(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "one", agent="ann")
    begin = now(satchel)
    satchel.files.claim(["a.py"], agent="ann")
    satchel.files.release(agent="ann")
    satchel.decisions.set("a.b", "c", agent="ann")
    page = read(satchel, begin)
    assert [one.of.kind for one in page.items] == ["decision", "release"], "the claim is gone"
    assert (page.cursor, page.is_last) == (now(satchel), True)
    assert read(satchel, page.cursor) == Page((), page.cursor, is_last=True)
    assert keys(read(satchel, page.items[0].cursor).items) == keys(page.items[1:])


def test_only_the_kinds_that_are_asked_for_are_told(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "one", agent="ann")
    satchel.files.claim(["a.py"], agent="ann")
    satchel.files.release(agent="ann")
    page = read(satchel, kinds=frozenset({"entry", "release"}))
    assert [one.of.kind for one in page.items] == ["entry", "release"]
    assert page.cursor == now(satchel)
    assert [one.of.kind for one in read(satchel, kinds=frozenset({"release"})).items] == ["release"]


@in_one_test("text", ["", "1", "1.", ".1", "-1.0", "1.2.3", "a.b", "1.0 ", "٣.٤", f"{'9' * 19}.0"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a cursor"):
        following.read_cursor(text)


def test_a_cursor_is_read_as_it_is_written() -> None:
    assert following.read_cursor(str(Cursor(12, 7))) == Cursor(12, 7)


@pytest.mark.parametrize("ahead", [(1, 0), (0, 1)])
def test_a_cursor_of_the_future_is_refused(satchel: Satchel, ahead: tuple[int, int]) -> None:
    satchel.entries.write("discovery", "one")
    reached = now(satchel)
    with satchel.workplace.engine.read() as transaction:
        project = projects.find(transaction, satchel.workplace)
        following.check(transaction, project, reached)
        with pytest.raises(InvalidInput, match="has not reached"):
            following.check(transaction, project, Cursor(reached.changes + ahead[0], reached.events + ahead[1]))


def test_an_unknown_kind_is_refused_with_the_nearest() -> None:
    assert following.read_kinds("entry, release") == {"entry", "release"}
    with pytest.raises(InvalidInput, match="Did you mean 'decision'"):
        following.read_kinds("entry,desision")
    with pytest.raises(InvalidInput):
        following.read_kinds("")


def test_more_than_a_listener_is_told_is_missed(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_MISSED", 4)
    satchel.decisions.set("a.b", "c")
    for _ in range(2):
        satchel.files.claim(["a.py"], agent="ann")
        satchel.files.release(agent="ann")
    assert not missed_too_much(satchel, START)
    satchel.decisions.set("c.d", "e")
    satchel.decisions.set("e.f", "g")
    assert missed_too_much(satchel, START)


def test_what_was_swept_is_missed_but_by_who_came_later(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a.py"], agent="ann")
    before = now(satchel)
    satchel.files.release(agent="ann")
    after = now(satchel)
    vouch_in(satchel, clock.advance(91 * DAY_MS))
    satchel.files.record("a.py", "modified")
    assert (missed_too_much(satchel, before), missed_too_much(satchel, after)) == (True, False)
    assert not missed_too_much(satchel, now(satchel))


def test_another_project_of_the_store_is_told_nothing(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    other.entries.write("discovery", "theirs")
    begin = now(other)
    one.entries.write("discovery", "ours", agent="ann")
    one.files.claim(["a.py"], agent="ann")
    one.files.release(agent="ann")
    assert now(other) == begin
    assert read(other, begin).items == ()
    assert [one.of.kind for one in read(other).items] == ["run", "entry"]


_WRITES: tuple[Callable[[Satchel, int], object], ...] = (
    lambda satchel, number: satchel.entries.write("discovery", f"note {number}", agent="ann"),
    lambda satchel, number: satchel.decisions.set(f"key.{number % 3}", str(number), agent="ann"),
    lambda satchel, number: satchel.messages.send(f"message {number}", agent="ann"),
    lambda satchel, number: satchel.files.claim([f"{number % 4}.py"], agent="ann"),
    lambda satchel, number: satchel.files.release(agent="ann") if number % 2 else None,
    lambda satchel, number: register(satchel, f"agent {number}"),
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, len(_WRITES) - 1)),
            st.tuples(st.just("read"), st.integers(1, 5), st.integers(0, 5)),
        ),
        max_size=40,
    )
)
def test_who_is_cut_off_anywhere_and_goes_on_is_told_each_change_once_in_order(
    open_in: Callable[..., Satchel], tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("one")
    (folder / ".git").mkdir()
    # each has connections of its own, as processes have
    writers = [open_in(folder) for _ in range(3)]
    cursor, told = START, list[StreamItem]()
    for number, (what, one, other) in enumerate(steps):
        if what == "write":
            _WRITES[other](writers[one], number)
            continue
        page = read(writers[0], cursor, one)
        taken = page.items[:other]
        told += taken
        cursor = page.cursor if len(taken) == len(page.items) else taken[-1].cursor if taken else cursor
    while not (page := read(writers[0], cursor, 3)).is_last or page.items:
        told += page.items
        cursor = page.cursor
    for writer in writers:
        writer.close()
    assert len(set(keys(told))) == len(told), "nothing twice"
    assert set(keys(read(writers[0]).items)) <= set(keys(told)), "no gap"
    cursors = [one.cursor for one in told]
    assert all(a.changes <= b.changes and a.events <= b.events and a != b for a, b in pairwise(cursors))
    assert page.cursor == now(writers[0])

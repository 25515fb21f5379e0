from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Entry, EntryPage, InvalidInput, NewEntry, Satchel
from satchel.base.clock import iso
from satchel.store.transaction import Transaction
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def contents(page: EntryPage) -> list[str]:
    return [entry.content for entry in page]


# Each filter of the list lets exactly one of two values of its field through, so that in the grid below, which holds
# every combination, a filter that is ignored doubles the result.
FILTERS: dict[str, Any] = {
    "types": ["discovery"],
    "author": "ANN",
    "task_id": "T1",
    "loop_id": "L1",
    "file": "./src/a.py",
    "query": "needle",
}
SIZES = (0, 1, 2, len(FILTERS) - 1, len(FILTERS))
SUBSETS = [set(chosen) for size in SIZES for chosen in itertools.combinations(FILTERS, size)]
"""Each alone, with each other, all but each, and all: conditions joined by AND have no more ways to hinder another."""


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """64 entries in the run r1: each combination of two types, agents, tasks, loops, files and words; 64 more in r2."""
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        for agent in ("Ann", "Bob"):
            satchel.entries.write_many(
                [
                    NewEntry(*text, task_id=task, loop_id=loop, file=file)
                    for text in itertools.product(("discovery", "error"), ("a needle", "hay"))
                    for task in ("T1", "T2")
                    for loop in ("L1", None)
                    for file in ("src/a.py", "src/b.py")
                ],
                run_id=run,
                agent=agent,
            )
    return satchel


def passes(entry: Entry, chosen: set[str]) -> bool:
    tests: dict[str, bool] = {
        "types": entry.type == "discovery",
        "author": entry.agent == "Ann",
        "task_id": entry.task_id == "T1",
        "loop_id": entry.loop_id == "L1",
        "file": entry.file == "src/a.py",
        "query": "needle" in entry.content,
    }
    return all(tests[name] for name in chosen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_filters_together_let_through_what_passes_all_of_them(grid: Satchel, order: str) -> None:
    everything = grid.entries.read(run_id="r1", order=order, limit=500).entries
    assert len(everything) == 64
    for chosen in SUBSETS:
        page = grid.entries.read(run_id="r1", order=order, limit=500, **{name: FILTERS[name] for name in chosen})
        expected = [entry.id for entry in everything if passes(entry, chosen)]
        assert [entry.id for entry in page] == expected, chosen
        assert page.total == len(expected) == 64 >> len(chosen)


def test_the_run_limits_the_reading_with_and_without_a_search(grid: Satchel) -> None:
    for options in ({}, {"query": "needle"}, {"after_seq": 0}):
        page = grid.entries.read(run_id="r2", limit=500, **options)
        assert {entry.run_id for entry in page} == {"r2"}
        assert page.run_id == "r2"


def test_several_types_are_any_of_them(satchel: Satchel) -> None:
    for kind in ("discovery", "error", "decision"):
        satchel.entries.write(kind, kind)
    assert contents(satchel.entries.read(types=["decision", "error", "error"], order="asc")) == ["error", "decision"]


def test_an_agent_task_loop_or_file_that_wrote_nothing_finds_nothing(grid: Satchel) -> None:
    nowhere: list[dict[str, Any]] = [{"author": "zoe"}, {"task_id": "T9"}, {"loop_id": "L9"}, {"file": "src/z.py"}]
    for options in nowhere:
        assert grid.entries.read(run_id="r1", **options).total == 0


def test_tasks_and_loops_are_compared_to_the_letter(grid: Satchel) -> None:
    close: list[dict[str, Any]] = [
        *({"task_id": name} for name in ("t1", "T")),
        *({"file": name} for name in ("src/A.py", "src")),
        {"loop_id": "l1"},
    ]
    for options in close:
        assert grid.entries.read(run_id="r1", **options).total == 0


@pytest.fixture
def in_time(satchel: Satchel, clock: ManualClock) -> tuple[Satchel, int]:
    """One entry a minute for three minutes; the clock stands at the last. Returns the time of the second too."""
    for number in range(3):
        if number:
            clock.advance(60_000)
        satchel.entries.write("discovery", f"minute {number}")
    return satchel, clock.now - 60_000


def test_since_takes_iso_8601_an_age_and_milliseconds_and_includes_the_moment(in_time: tuple[Satchel, int]) -> None:
    satchel, second = in_time
    for since in (iso(second), "1m", "60s", second):
        assert contents(satchel.entries.read(since=since, order="asc")) == ["minute 1", "minute 2"]
        assert satchel.entries.read(since=since, query="minute").total == 2
    assert satchel.entries.read(since=second + 1).total == 1
    assert satchel.entries.read(since="59s").total == 1


@in_one_test("since", ["", "yesterday", True, 2.5, -1, 2**70])
def test_a_time_that_is_none_is_refused(satchel: Satchel, since: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^since "):
        satchel.entries.read(since=since)


def test_status_chooses_live_superseded_or_all(satchel: Satchel) -> None:
    old = satchel.entries.write("codebase_analysis", {"summary": "old words"})
    new = satchel.entries.write("codebase_analysis", {"summary": "new words"})
    for search in (None, "words"):
        assert [entry.id for entry in satchel.entries.read(query=search)] == [new.id]
        assert [entry.id for entry in satchel.entries.read(status="live", query=search)] == [new.id]
        (superseded,) = satchel.entries.read(status="superseded", query=search)
        assert (superseded.id, superseded.superseded_by) == (old.id, new.id)
        assert satchel.entries.read(status="all", query=search).total == 2


@pytest.mark.parametrize("search", [None, "same"])
def test_the_order_is_by_time_and_then_by_id_when_the_clock_stands_still(
    satchel: Satchel, clock: ManualClock, search: str | None
) -> None:
    for _ in range(2):
        for _ in range(4):
            satchel.entries.write("discovery", "same")
        clock.advance(1)
    ascending = [entry.id for entry in satchel.entries.read(order="asc", query=search)]
    assert ascending == sorted(ascending)
    assert [entry.id for entry in satchel.entries.read(order="desc", query=search)] == ascending[::-1]


def test_without_an_order_the_newest_come_first(satchel: Satchel) -> None:
    for text in ("a", "b"):
        satchel.entries.write("discovery", text)
    page = satchel.entries.read()
    assert (contents(page), page.order) == (["b", "a"], "newest")


def test_time_counts_before_the_id(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "later")
    clock.advance(-5_000)
    satchel.entries.write("discovery", "earlier")
    assert contents(satchel.entries.read(order="asc")) == ["earlier", "later"]
    assert contents(satchel.entries.read(order="desc")) == ["later", "earlier"]


@pytest.fixture
def seven(satchel: Satchel) -> Satchel:
    satchel.entries.write_many(
        [NewEntry("discovery", "word " * (1 + number % 3) + f"of{number}") for number in range(7)]
    )
    return satchel


@in_one_test("options", [{}, {"order": "asc"}, {"query": "word"}, {"after_seq": 0}, {"status": "all"}])
@in_one_test("limit", [1, 3, 7, 11])
def test_paging_covers_everything_exactly_once(seven: Satchel, options: dict[str, Any], limit: int) -> None:
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = seven.entries.read(limit=limit, offset=offset, **options)
        assert (page.total, page.limit, page.offset) == (7, limit, offset)
        seen += [entry.id for entry in page]
        offset = page.next_offset
    assert len(seen) == 7
    assert seen == [entry.id for entry in seven.entries.read(limit=100, **options)]


@pytest.mark.parametrize("options", [{}, {"query": "word"}, {"after_seq": 0}])
def test_a_limit_of_zero_gives_the_total_alone(satchel: Satchel, options: dict[str, Any]) -> None:
    satchel.entries.write_many([NewEntry("discovery", "word")] * 3)
    page = satchel.entries.read(limit=0, **options)
    assert (page.entries, page.total, page.next_offset) == ((), 3, None)


def test_a_page_beyond_the_end_is_empty_and_the_last(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    page = satchel.entries.read(offset=5)
    assert (page.entries, page.total, page.next_offset) == ((), 1, None)


def test_the_default_limit_is_twenty(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x")] * 21)
    assert (len(satchel.entries.read()), satchel.entries.read().next_offset) == (20, 20)


@in_one_test(
    ("options", "problem"),
    [
        ({"limit": -1}, "limit -1 is out of range. Give 0 to 500"),
        ({"limit": 501}, "limit 501 is out of range. Give 0 to 500"),
        ({"limit": 2.5}, "limit 2.5 is not a whole number"),
        ({"offset": -1}, "offset -1 is out of range"),
        ({"offset": 1.0}, "offset 1.0 is not a whole number"),
        ({"types": []}, "types is no list of entry types"),
        ({"types": "discovery"}, "types is no list of entry types"),
        ({"types": ["discovery", "eror"]}, "unknown entry type 'eror'. Did you mean 'error'. Valid: discovery"),
        ({"query": ""}, "query is empty"),
        ({"query": " \n"}, "query is empty"),
        ({"author": ""}, "author is empty"),
        ({"task_id": " "}, "task_id is empty"),
        ({"loop_id": "{{loopId}}"}, "loop_id .* placeholder"),
        ({"file": ""}, "file is empty"),
        ({"file": "../x"}, "file .* names no file"),
        ({"status": "dead"}, "unknown status 'dead'.*Valid: live, superseded, all"),
        ({"order": "newest"}, "unknown order 'newest'.*Valid: desc, asc|unknown order 'newest'.*asc"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1.5}, "after_seq 1.5 is not a whole number"),
        ({"after_seq": 0, "order": "asc"}, "after_seq reads changes in their order"),
        ({"after_seq": 0, "query": "x"}, "after_seq reads changes in their order"),
        ({"run_id": ""}, "run_id is empty"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(satchel: Satchel, options: dict[str, Any], problem: str) -> None:
    satchel.entries.write("discovery", "x")
    with pytest.raises(InvalidInput, match=f"^({problem})"):
        satchel.entries.read(**options)


def follow(satchel: Satchel, cursor: int, between: Callable[[], None], **options: Any) -> Iterator[Entry]:
    """Read changes in small pages until there are none, and let something happen after each page."""
    while True:
        page = satchel.entries.read(after_seq=cursor, limit=2, status="all", **options)
        yield from page
        cursor = page.cursor
        between()
        if not page.entries:
            return


def test_a_cursor_sees_every_change_once_in_order_while_rows_change_in_between(satchel: Satchel) -> None:
    happened: list[tuple[int, int, int | None]] = []

    def note(page: EntryPage) -> None:
        for entry in page:
            change = (entry.seq, entry.id, entry.superseded_by)
            if change not in happened:
                happened.append(change)

    steps = iter(range(6))

    def change() -> None:
        # each new analysis changes the one before it, which the reader may have seen already or not
        if next(steps, None) is not None:
            satchel.entries.write("codebase_analysis", {"summary": "s"})
            satchel.entries.write("discovery", "d")
            note(satchel.entries.read(status="all", limit=500))

    satchel.entries.write_many([NewEntry("discovery", "first")] * 3)
    note(satchel.entries.read(status="all"))
    seen = [(entry.seq, entry.id, entry.superseded_by) for entry in follow(satchel, 0, change)]
    assert [seq for seq, _, _ in seen] == sorted({seq for seq, _, _ in seen})
    final = {(entry.seq, entry.id, entry.superseded_by) for entry in satchel.entries.read(status="all", limit=500)}
    assert final <= set(seen) <= set(happened)


def test_a_cursor_of_one_page_sees_only_what_came_later(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "before")
    cursor = satchel.entries.read().cursor
    assert satchel.entries.read(after_seq=cursor).total == 0
    satchel.entries.write("discovery", "after")
    page = satchel.entries.read(after_seq=cursor)
    assert (contents(page), page.order) == (["after"], "seq")


def test_counting_changes_does_not_move_the_cursor(satchel: Satchel) -> None:
    satchel.entries.write_many([NewEntry("discovery", "x")] * 3)
    counted = satchel.entries.read(after_seq=0, limit=0)
    assert counted.total == 3
    assert satchel.entries.read(after_seq=counted.cursor).total == 3


def test_changes_can_be_filtered(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x", task_id="T1")
    satchel.entries.write("discovery", "y", task_id="T2")
    assert contents(satchel.entries.read(after_seq=0, task_id="T2")) == ["y"]


def test_a_change_of_status_is_a_change(satchel: Satchel) -> None:
    satchel.entries.write("codebase_analysis", {"summary": "one"})
    cursor = satchel.entries.read().cursor
    satchel.entries.write("codebase_analysis", {"summary": "two"})
    page = satchel.entries.read(after_seq=cursor, status="all")
    assert [(entry.content, entry.superseded_by is None) for entry in page] == [
        ('{"summary":"two"}', True),
        ('{"summary":"one"}', False),
    ]


@contextmanager
def written_after_each_statement(monkeypatch: pytest.MonkeyPatch, other: Satchel) -> Iterator[None]:
    """Let another engine commit an entry after each statement of this thread."""
    reader = threading.get_ident()
    with other.workplace.engine.read() as opened:
        kind = type(opened)

    def interleave(name: str) -> Callable[..., Any]:
        original: Callable[..., Any] = getattr(kind, name)

        def run(transaction: Transaction, *arguments: Any) -> Any:
            result = original(transaction, *arguments)
            # a question that waits for others has begun nothing yet
            if threading.get_ident() == reader and getattr(transaction, "is_sent", True):
                thread = threading.Thread(target=other.entries.write, args=("discovery", "word, too"))
                thread.start()
                thread.join()
            return result

        return run

    with monkeypatch.context() as patch:
        for name in ("one", "all", "ask"):
            patch.setattr(kind, name, interleave(name))
        yield


@pytest.mark.parametrize(
    "options", [{}, {"query": "word"}, {"query": "word", "order": "asc"}, {"status": "all"}, {"after_seq": 0}]
)
def test_the_total_the_page_and_the_counter_are_of_one_moment(
    satchel: Satchel,
    open_in: Callable[..., Satchel],
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    satchel.entries.write_many([NewEntry("discovery", "word")] * 3)
    with written_after_each_statement(monkeypatch, open_in(project)):
        page = satchel.entries.read(**options)
    assert (page.total, contents(page)) == (3, ["word"] * 3)
    after = satchel.entries.read(after_seq=page.cursor)
    assert set(contents(after)) == {"word, too"}
    assert after.total == satchel.entries.read().total - 3


def test_reading_changes_nothing(grid: Satchel) -> None:
    before = grid.housekeeping.statistics()
    grid.entries.read(run_id="r1", author="someone new", query="needle")
    grid.entries.load_state("r1")
    grid.entries.prune(run_id="r1", keep=1, dry_run=True)
    after = grid.housekeeping.statistics()
    assert (after.seq, after.agents, after.total_entries) == (before.seq, before.agents, before.total_entries)


def test_a_read_only_satchel_reads_all_the_same(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project).entries.write("discovery", "x")
    assert contents(open_in(project, read_only=True).entries.read()) == ["x"]

"""Choosing from an inbox: every filter, order and page, following it, and what means nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents_here import register
from keep.messages.inboxes import HOUR, texts
from satchel import InvalidInput, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def filled(satchel: Satchel, clock: ManualClock) -> Satchel:
    """Six messages in Ann's inbox, an hour apart; the number in each is its place in time."""
    send = satchel.messages.send
    register(satchel, "Ann")
    sent: tuple[tuple[str, dict[str, Any]], ...] = (
        ("one cat", {"to": "Ann", "agent": "Bob", "type": "decision", "priority": "low"}),
        ("two", {"to": "Ann", "agent": "Cid", "type": "warning", "priority": "critical"}),
        ("three cat cat", {"agent": "Bob", "type": "request", "priority": "high"}),
        ("four", {"agent": "Cid", "type": "info", "priority": "medium"}),
        ("five", {"to": "Ann", "agent": "Bob", "type": "info", "priority": "critical"}),
        ("six", {"to": "Ann", "agent": "Ann", "type": "warning", "priority": "low"}),
    )
    for text, options in sent:
        send(text, **options)
        clock.advance(HOUR)
    send("another's cat", to="Bob", agent="Cid")
    send("own cat", agent="Ann")
    satchel.messages.mark_read(["m1", "m3", "m5"], agent="Ann")
    return satchel


CHOSEN: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["six", "five", "four", "three cat cat", "two", "one cat"]),
    ({"unread": True}, ["six", "four", "two"]),
    ({"types": ["warning"]}, ["six", "two"]),
    ({"types": ["decision", "request"]}, ["three cat cat", "one cat"]),
    ({"priority": "low"}, ["six", "five", "four", "three cat cat", "two", "one cat"]),
    ({"priority": "medium"}, ["five", "four", "three cat cat", "two"]),
    ({"priority": "high"}, ["five", "three cat cat", "two"]),
    ({"priority": "critical"}, ["five", "two"]),
    ({"sender": "bob"}, ["five", "three cat cat", "one cat"]),
    ({"sender": "Ann"}, ["own cat", "six"]),
    ({"since": "4h"}, ["six", "five", "four", "three cat cat"]),
    ({"order": "asc"}, ["one cat", "two", "three cat cat", "four", "five", "six"]),
    ({"order": "desc"}, ["six", "five", "four", "three cat cat", "two", "one cat"]),
    ({"query": "cat"}, ["three cat cat", "one cat"]),
    ({"query": "cat", "order": "asc"}, ["one cat", "three cat cat"]),
    ({"query": "cat", "order": "desc"}, ["three cat cat", "one cat"]),
    ({"query": "cat", "types": ["decision"]}, ["one cat"]),
    ({"query": "cat", "priority": "high"}, ["three cat cat"]),
    ({"query": "cat two", "sender": "Cid"}, ["two"]),
    ({"query": "cat", "since": "4h"}, ["three cat cat"]),
    ({"query": "cat two", "unread": True}, ["two"]),
    ({"unread": True, "types": ["warning"], "priority": "high", "sender": "Cid"}, ["two"]),
    ({"limit": 2}, ["six", "five"]),
    ({"limit": 2, "offset": 3}, ["three cat cat", "two"]),
    ({"limit": 2, "offset": 1, "order": "asc"}, ["two", "three cat cat"]),
    ({"limit": 2, "offset": 1, "unread": True}, ["four", "two"]),
    ({"limit": 1, "offset": 1, "priority": "high"}, ["three cat cat"]),
    ({"limit": 1, "offset": 1, "query": "cat"}, ["one cat"]),
    ({"offset": 6}, []),
]


@pytest.mark.parametrize(("options", "expected"), CHOSEN, ids=[str(options) for options, _ in CHOSEN])
def test_every_filter_chooses_what_it_says(filled: Satchel, options: dict[str, Any], expected: list[str]) -> None:
    page = filled.messages.inbox(agent="Ann", **options)
    assert texts(page) == expected
    unpaged = {name: value for name, value in options.items() if name not in {"limit", "offset"}}
    assert page.total == len(filled.messages.inbox(agent="Ann", **unpaged).items)
    assert page.unread == 3


@pytest.mark.parametrize("options", [{}, {"unread": True}, {"priority": "high"}, {"query": "cat"}, {"after_seq": 0}])
def test_a_limit_of_zero_gives_the_total_alone(filled: Satchel, options: dict[str, Any]) -> None:
    page = filled.messages.inbox(agent="Ann", limit=0, **options)
    assert page.items == ()
    assert page.total == filled.messages.inbox(agent="Ann", **options).total > 0


@pytest.mark.parametrize("is_to_all", [True, False])
def test_the_unread_ones_are_found_whether_they_are_to_all_or_to_the_agent_alone(
    satchel: Satchel, is_to_all: bool
) -> None:
    for number in range(6):
        satchel.messages.send(f"all {number}", agent="Bob")
        satchel.messages.send(f"one {number}", to="Ann", agent="Bob")
    read = [message for message in satchel.messages.inbox(agent="Ann") if (message.to is None) != is_to_all]
    satchel.messages.mark_read([message.ref for message in read], agent="Ann")
    page = satchel.messages.inbox(agent="Ann", unread=True, order="asc")
    assert texts(page) == [f"{'all' if is_to_all else 'one'} {number}" for number in range(6)]
    assert page.total == page.unread == 6


def test_pages_by_priority_fit_together(satchel: Satchel) -> None:
    for number in range(25):
        satchel.messages.send(f"n{number}", to="Ann" if number % 2 else None, priority="critical", agent="Bob")
        satchel.messages.send("low", to="Ann", priority="low", agent="Bob")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = satchel.messages.inbox(agent="Ann", priority="high", limit=4, offset=offset)
        assert page.total == 25
        seen += texts(page)
        offset = page.next_offset
    assert seen == [f"n{number}" for number in reversed(range(25))]


def test_a_page_says_how_it_is_ordered_and_limited(filled: Satchel) -> None:
    def order(**options: Any) -> str:
        return filled.messages.inbox(agent="Ann", **options).order

    assert order() == order(order="desc") == order(query="cat", order="desc") == "newest"
    assert order(order="asc") == "oldest"
    assert order(query="cat") == "relevance"
    assert order(after_seq=1) == "seq"
    page = filled.messages.inbox(agent="Ann", limit=2, offset=1)
    assert (page.limit, page.offset, page.next_offset, page.after_seq) == (2, 1, 3, None)
    assert page.seq == filled.housekeeping.statistics().seq


def test_messages_of_one_moment_are_in_the_order_they_were_sent(satchel: Satchel) -> None:
    for number in range(4):
        satchel.messages.send(f"n{number}", to="Ann" if number % 2 else None, agent="Bob")
    assert texts(satchel.messages.inbox(agent="Ann")) == ["n3", "n2", "n1", "n0"]
    assert texts(satchel.messages.inbox(agent="Ann", order="asc")) == ["n0", "n1", "n2", "n3"]


def test_the_time_of_reading_stands_beside_what_was_read(filled: Satchel, clock: ManualClock) -> None:
    read_at = {message.message: message.read_at for message in filled.messages.inbox(agent="Ann")}
    assert read_at["one cat"] == read_at["three cat cat"] == read_at["five"] == clock.now
    assert read_at["two"] is read_at["four"] is read_at["six"] is None


def test_a_search_scores_and_a_list_does_not(filled: Satchel) -> None:
    scores = [message.score for message in filled.messages.inbox(agent="Ann", query="cat")]
    assert all(score is not None and score > 0 for score in scores)
    assert [message.score for message in filled.messages.inbox(agent="Ann", limit=1)] == [None]


def test_the_texts_of_a_payload_are_searched_but_not_its_names(satchel: Satchel) -> None:
    satchel.messages.send("look", payload={"file": ["parser.py", {"why": "quadratic"}]}, agent="Ann")
    assert satchel.messages.inbox(agent="Bob", query="quadratic").total == 1
    assert satchel.messages.inbox(agent="Bob", query="why file").total == 0


def test_an_entry_of_the_same_number_is_not_taken_for_the_message(satchel: Satchel) -> None:
    satchel.messages.send("dog", agent="Bob")
    satchel.entries.write("discovery", "cat")
    assert satchel.messages.inbox(agent="Ann", query="cat").total == 0


def test_a_search_without_a_word_says_so(filled: Satchel) -> None:
    page = filled.messages.inbox(agent="Ann", query="??")
    assert (page.total, page.notes) == (0, ("'??' holds no word to search for",))


def test_a_sender_that_nobody_is_gives_an_empty_page_and_says_so(filled: Satchel) -> None:
    ways: list[dict[str, Any]] = [{}, {"query": "cat"}]
    for options in ways:
        page = filled.messages.inbox(agent="Ann", sender="Bobb", **options)
        assert (page.items, page.total, page.unread) == ((), 0, 3)
        assert page.notes[0] == "nobody here is called 'Bobb'; authors here: Bob, Cid, Ann"


class TestFollowing:
    def test_changes_come_in_their_order_and_the_cursor_goes_on(self, satchel: Satchel) -> None:
        for number in range(5):
            satchel.messages.send(f"n{number}", to="Ann" if number % 2 else None, agent="Bob")
            satchel.messages.send("not hers", to="Bob", agent="Cid")
        seen: list[str] = []
        cursor = 0
        while page := satchel.messages.inbox(agent="Ann", after_seq=cursor, limit=2):
            assert page.after_seq == cursor
            seen += texts(page)
            cursor = page.cursor
        assert seen == ["n0", "n1", "n2", "n3", "n4"]
        satchel.messages.send("later", agent="Bob")
        assert texts(satchel.messages.inbox(agent="Ann", after_seq=cursor)) == ["later"]

    def test_a_cursor_counts_only_what_came_after_it(self, filled: Satchel) -> None:
        four = next(message for message in filled.messages.inbox(agent="Ann") if message.message == "four")
        page = filled.messages.inbox(agent="Ann", after_seq=four.seq)
        assert (texts(page), page.total) == (["five", "six"], 2)

    def test_filters_hold_while_following(self, filled: Satchel) -> None:
        page = filled.messages.inbox(agent="Ann", after_seq=0, types=["warning"], unread=True)
        assert texts(page) == ["two", "six"]

    def test_the_clock_has_no_say_in_it(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.messages.send("first", agent="Bob")
        clock.advance(-HOUR)
        satchel.messages.send("second", agent="Bob")
        assert texts(satchel.messages.inbox(agent="Ann", after_seq=0)) == ["first", "second"]
        assert texts(satchel.messages.inbox(agent="Ann")) == ["first", "second"]
        assert texts(satchel.messages.inbox(agent="Ann", order="asc")) == ["second", "first"]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"types": []}, "types is no list of message types"),
        ({"types": "warning"}, "types is no list of message types"),
        ({"types": ["warnin"]}, "unknown message type 'warnin'. Did you mean 'warning'"),
        ({"priority": "urgent"}, "unknown priority 'urgent'. Valid: low, medium, high, critical"),
        ({"priority": ""}, "unknown priority ''"),
        ({"sender": " "}, "from is empty"),
        ({"agent": ""}, "agent is empty"),
        ({"thread": "x"}, "'x' is no id of a message"),
        ({"query": " "}, "query is empty"),
        ({"since": "yesterday"}, "since 'yesterday' is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"after_seq": 1, "query": "x"}, "after_seq reads changes in their order"),
        ({"order": "newest"}, "unknown order 'newest'"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"limit": -1}, "limit -1 is out of range"),
        ({"offset": -1}, "offset -1 is out of range"),
        ({"unread": "yes"}, "unread 'yes' is neither true nor false"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(satchel: Satchel, bad: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem.replace(".", r"\.")):
        satchel.messages.inbox(**{"agent": "Ann", **bad})

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, MessagePage, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000


def texts(page: MessagePage) -> list[str]:
    return [message.message for message in page]


class TestWhoSeesWhat:
    def test_two_agents_over_one_connection_have_two_inboxes(self, satchel: Satchel) -> None:
        satchel.messages.send("to Bob", to="Bob", agent="Ann")
        satchel.messages.send("to Ann", to="Ann", agent="Bob")
        assert texts(satchel.messages.inbox(agent="Ann")) == ["to Ann"]
        assert texts(satchel.messages.inbox(agent="Bob")) == ["to Bob"]

    def test_a_broadcast_reaches_everyone_but_its_sender(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        assert {name: satchel.messages.inbox(agent=name).total for name in ("Ann", "Bob", "Cid")} == {
            "Ann": 0,
            "Bob": 1,
            "Cid": 1,
        }

    def test_a_name_in_another_case_has_the_same_inbox(self, satchel: Satchel) -> None:
        satchel.messages.send("to Bob", to="Bob", agent="Ann")
        page = satchel.messages.inbox(agent="bOB")
        assert (page.agent, page.total) == ("Bob", 1)

    def test_an_agent_that_was_never_heard_of_sees_the_broadcasts(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        satchel.messages.send("secretly", to="Bob", agent="Ann")
        page = satchel.messages.inbox(agent="Newcomer")
        assert (page.agent, page.unread, texts(page)) == ("Newcomer", 1, ["hear"])

    def test_projects_of_one_store_are_apart(self, open_in: Callable[..., Satchel], project: Path) -> None:
        mine, other = open_in(project, project="mine"), open_in(project, project="other")
        other.messages.send("to all", agent="Ann")
        other.messages.send("to Bob", to="Bob", agent="Ann")
        mine.messages.send("hello", agent="Cid")
        assert texts(mine.messages.inbox(agent="Bob")) == ["hello"]
        assert mine.messages.inbox(agent="Bob").unread == 1

    def test_the_default_agent_reads_its_own_and_another_may_be_named(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        satchel = open_in(project, agent="Ann")
        satchel.messages.send("to Bob", to="Bob")
        satchel.messages.send("to Ann", to="Ann")
        assert texts(satchel.messages.inbox()) == ["to Ann"]
        assert texts(satchel.messages.inbox(agent="Bob")) == ["to Bob"]

    def test_without_an_agent_the_answer_says_how_to_give_one(self, satchel: Satchel) -> None:
        with pytest.raises(InvalidInput, match=r"needs an agent.*--agent or SATCHEL_AGENT"):
            satchel.messages.inbox()


class TestReadingWritesNothing:
    def test_reading_makes_no_store(self, satchel: Satchel, project: Path) -> None:
        page = satchel.messages.inbox(agent="Ann")
        assert (page.messages, page.total, page.unread, page.seq, page.agent) == ((), 0, 0, 0, "Ann")
        assert page.notes == ("nothing was written for this project yet",)
        assert not (project / ".satchel").exists()

    def test_reading_registers_nobody_and_marks_nothing(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        seq = satchel.housekeeping.statistics().seq
        satchel.messages.inbox(agent="Bob", sender="Cid")
        assert satchel.messages.inbox(agent="Bob").unread == 1
        assert [agent.name for agent in satchel.agents.list()] == ["Ann"]
        assert satchel.housekeeping.statistics().seq == seq

    def test_reading_works_where_nothing_can_be_written(self, open_in: Callable[..., Satchel], project: Path) -> None:
        open_in(project).messages.send("hear", agent="Ann")
        assert open_in(project, read_only=True).messages.inbox(agent="Bob").total == 1


@pytest.fixture
def filled(satchel: Satchel, clock: ManualClock) -> Satchel:
    """Six messages in Ann's inbox, an hour apart; the number in each is its place in time."""
    send = satchel.messages.send
    satchel.agents.register("Ann")
    for text, options in (
        ("one cat", {"to": "Ann", "agent": "Bob", "type": "decision", "priority": "low"}),
        ("two", {"to": "Ann", "agent": "Cid", "type": "warning", "priority": "critical"}),
        ("three cat cat", {"agent": "Bob", "type": "request", "priority": "high"}),
        ("four", {"agent": "Cid", "type": "info", "priority": "medium"}),
        ("five", {"to": "Ann", "agent": "Bob", "type": "info", "priority": "critical"}),
        ("six", {"to": "Ann", "agent": "Ann", "type": "warning", "priority": "low"}),
    ):
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
    ({"sender": "Ann"}, ["six"]),
    ({"since": "4h"}, ["six", "five", "four", "three cat cat"]),
    ({"order": "asc"}, ["one cat", "two", "three cat cat", "four", "five", "six"]),
    ({"order": "desc"}, ["six", "five", "four", "three cat cat", "two", "one cat"]),
    ({"search": "cat"}, ["three cat cat", "one cat"]),
    ({"search": "cat", "order": "asc"}, ["one cat", "three cat cat"]),
    ({"search": "cat", "order": "desc"}, ["three cat cat", "one cat"]),
    ({"search": "cat", "types": ["decision"]}, ["one cat"]),
    ({"search": "cat", "priority": "high"}, ["three cat cat"]),
    ({"search": "cat two", "sender": "Cid"}, ["two"]),
    ({"search": "cat", "since": "4h"}, ["three cat cat"]),
    ({"search": "cat two", "unread": True}, ["two"]),
    ({"unread": True, "types": ["warning"], "priority": "high", "sender": "Cid"}, ["two"]),
    ({"limit": 2}, ["six", "five"]),
    ({"limit": 2, "offset": 3}, ["three cat cat", "two"]),
    ({"limit": 2, "offset": 1, "order": "asc"}, ["two", "three cat cat"]),
    ({"limit": 2, "offset": 1, "unread": True}, ["four", "two"]),
    ({"limit": 1, "offset": 1, "priority": "high"}, ["three cat cat"]),
    ({"limit": 1, "offset": 1, "search": "cat"}, ["one cat"]),
    ({"offset": 6}, []),
]


@pytest.mark.parametrize(("options", "expected"), CHOSEN, ids=[str(options) for options, _ in CHOSEN])
def test_every_filter_chooses_what_it_says(filled: Satchel, options: dict[str, Any], expected: list[str]) -> None:
    page = filled.messages.inbox(agent="Ann", **options)
    assert texts(page) == expected
    unpaged = {name: value for name, value in options.items() if name not in {"limit", "offset"}}
    assert page.total == len(filled.messages.inbox(agent="Ann", **unpaged).messages)
    assert page.unread == 3


@pytest.mark.parametrize("options", [{}, {"unread": True}, {"priority": "high"}, {"search": "cat"}, {"after_seq": 0}])
def test_a_limit_of_zero_gives_the_total_alone(filled: Satchel, options: dict[str, Any]) -> None:
    page = filled.messages.inbox(agent="Ann", limit=0, **options)
    assert page.messages == ()
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

    assert order() == order(order="desc") == order(search="cat", order="desc") == "newest"
    assert order(order="asc") == "oldest"
    assert order(search="cat") == "relevance"
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
    scores = [message.score for message in filled.messages.inbox(agent="Ann", search="cat")]
    assert all(score is not None and score > 0 for score in scores)
    assert [message.score for message in filled.messages.inbox(agent="Ann", limit=1)] == [None]


def test_the_texts_of_a_payload_are_searched_but_not_its_names(satchel: Satchel) -> None:
    satchel.messages.send("look", payload={"file": ["parser.py", {"why": "quadratic"}]}, agent="Ann")
    assert satchel.messages.inbox(agent="Bob", search="quadratic").total == 1
    assert satchel.messages.inbox(agent="Bob", search="why file").total == 0


def test_an_entry_of_the_same_number_is_not_taken_for_the_message(satchel: Satchel) -> None:
    satchel.messages.send("dog", agent="Bob")
    satchel.entries.write("discovery", "cat")
    assert satchel.messages.inbox(agent="Ann", search="cat").total == 0


def test_a_search_without_a_word_says_so(filled: Satchel) -> None:
    page = filled.messages.inbox(agent="Ann", search="??")
    assert (page.total, page.notes) == (0, ("'??' holds no word to search for",))


def test_a_sender_that_nobody_is_gives_an_empty_page_and_says_so(filled: Satchel) -> None:
    ways: list[dict[str, Any]] = [{}, {"search": "cat"}]
    for options in ways:
        page = filled.messages.inbox(agent="Ann", sender="Bobb", **options)
        assert (page.messages, page.total, page.unread) == ((), 0, 3)
        assert page.notes == ("there is no agent 'Bobb'; did you mean 'Bob'?",)


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


class TestThreads:
    @pytest.fixture
    def talk(self, satchel: Satchel) -> Satchel:
        """m1 Ann to Bob, m2 Bob to Ann, m3 Ann to Cid, m4 Bob to all, all in one thread; m5 Ann to Bob in another."""
        send = satchel.messages.send
        send("m1 cat", to="Bob", agent="Ann")
        send("m2", reply_to="m1", agent="Bob")
        send("m3", reply_to="m2", to="Cid", type="warning", agent="Ann")
        send("m4 cat", reply_to="m1", to="all", priority="high", agent="Bob")
        send("m5", to="Bob", agent="Ann")
        return satchel

    @pytest.mark.parametrize("ref", ["m1", "m2", 3, "4"])
    def test_any_message_of_a_thread_names_it(self, talk: Satchel, ref: str | int) -> None:
        assert texts(talk.messages.inbox(agent="Ann", thread=ref)) == ["m4 cat", "m3", "m2", "m1 cat"]

    def test_each_sees_what_it_sent_or_got(self, talk: Satchel) -> None:
        assert texts(talk.messages.inbox(agent="Bob", thread="m1")) == ["m4 cat", "m2", "m1 cat"]
        assert texts(talk.messages.inbox(agent="Cid", thread="m1")) == ["m4 cat", "m3"]
        assert texts(talk.messages.inbox(agent="Dora", thread="m1")) == ["m4 cat"]

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"order": "asc"}, ["m1 cat", "m2", "m3", "m4 cat"]),
            ({"unread": True}, ["m4 cat"]),
            ({"types": ["warning"]}, ["m3"]),
            ({"priority": "high"}, ["m4 cat"]),
            ({"sender": "Ann"}, ["m3", "m1 cat"]),
            ({"search": "cat"}, ["m4 cat", "m1 cat"]),
            ({"after_seq": 0, "limit": 2}, ["m1 cat", "m2"]),
            ({"limit": 1, "offset": 2}, ["m2"]),
        ],
    )
    def test_filters_hold_in_a_thread(self, talk: Satchel, options: dict[str, Any], expected: list[str]) -> None:
        talk.messages.mark_read(["m2"], agent="Ann")
        assert texts(talk.messages.inbox(agent="Ann", thread="m1", **options)) == expected

    def test_a_thread_outlives_the_message_that_began_it(self, talk: Satchel, clock: ManualClock) -> None:
        clock.advance(100 * HOUR)
        talk.messages.send("m6", reply_to="m2", agent="Ann")
        clock.advance(100 * HOUR)
        assert texts(talk.messages.inbox(agent="Bob", thread="m1")) == ["m6"]
        talk.messages.send("m7", reply_to="m6", agent="Bob")
        assert texts(talk.messages.inbox(agent="Bob", thread="m7")) == ["m7", "m6"]
        assert talk.messages.inbox(agent="Bob", thread="m2").notes[0].startswith("there is no message m2")

    def test_an_unknown_thread_gives_an_empty_page_and_says_so(self, talk: Satchel) -> None:
        page = talk.messages.inbox(agent="Ann", thread="m99")
        assert (page.messages, page.total) == ((), 0)
        assert page.notes == ("there is no message m99 in this project, or it has expired",)

    @pytest.mark.usefixtures("talk")
    def test_a_thread_of_another_project_is_unknown(self, open_in: Callable[..., Satchel], project: Path) -> None:
        other = open_in(project, project="other")
        other.agents.register("Ann")
        page = other.messages.inbox(agent="Ann", thread="m1")
        assert (page.total, len(page.notes)) == (0, 1)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"types": []}, "types is no list of message types"),
        ({"types": "warning"}, "types is no list of message types"),
        ({"types": ["warnin"]}, "unknown message type 'warnin'. Did you mean 'warning'"),
        ({"priority": "urgent"}, "unknown priority 'urgent'. Valid: low, medium, high, critical"),
        ({"priority": ""}, "unknown priority ''"),
        ({"sender": " "}, "sender is empty"),
        ({"agent": ""}, "agent is empty"),
        ({"thread": "x"}, "'x' is no id of a message"),
        ({"search": " "}, "search is empty"),
        ({"since": "yesterday"}, "since 'yesterday' is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"after_seq": 1, "search": "x"}, "after_seq reads changes in their order"),
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


def test_a_payload_that_other_means_broke_is_shown_as_text_and_said(satchel: Satchel) -> None:
    satchel.messages.send("fine", payload={"a": 1}, agent="Bob")
    broken = satchel.messages.send("broken", payload={"a": "needle"}, agent="Bob")
    with satchel.workplace.engine.write() as transaction:
        transaction.execute("UPDATE agent_messages SET payload = '{needle' WHERE id = :id", {"id": broken.id})
    shown, fine = satchel.messages.inbox(agent="Ann")
    assert (shown.payload, shown.notes) == (
        "{needle",
        (f"the payload of {broken.ref} is no JSON; it is shown as text",),
    )
    assert (fine.payload, fine.notes) == ({"a": 1}, ())
    assert satchel.finding.search("needle").total == 1


def test_everything_finds_a_message_with_its_type_and_sender(satchel: Satchel) -> None:
    sent = satchel.messages.send("the gateway is down", to="Ann", type="warning", payload=["port 8080"], agent="Bob")
    (found,) = satchel.finding.search("gateway", kinds=["message"], types=["warning"], agent="Bob").results
    assert (found.ref, found.kind, found.type, found.agent, found.status) == (
        sent.ref,
        "message",
        "warning",
        "Bob",
        "live",
    )
    assert satchel.finding.search("8080").total == 1


def test_a_rebuilt_index_finds_the_same(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("read cat", to="Ann", agent="Bob")
    satchel.messages.send("unread cat", to="Ann", payload=["dog"], type="warning", agent="Bob")
    satchel.messages.mark_read(["m1"], agent="Ann")
    with satchel.workplace.engine.write() as transaction:
        transaction.execute("DELETE FROM documents")
        transaction.execute("DELETE FROM documents_fts")
    assert satchel.finding.rebuild(lambda *_: None) == 2
    assert satchel.messages.inbox(agent="Ann", search="cat").total == 2
    assert [found.ref for found in satchel.finding.search("dog", types=["warning"], kinds=["message"]).results] == [
        "m2"
    ]
    clock.advance(24 * HOUR)
    assert [found.ref for found in satchel.finding.search("cat", agent="Bob").results] == ["m2"]

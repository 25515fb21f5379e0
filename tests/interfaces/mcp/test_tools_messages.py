"""The tools of the toolset ``messages``, called as agents that share one connection call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from tables import in_one_test
from tool_asking import Asker, Case, by_tool, check_cases, check_format, field, fields, ids, untested

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
FULL: dict[str, Any] = {
    "message": "the token leaks",
    "to": "ben",
    "type": "warning",
    "priority": "high",
    "payload": {"file": "src/a.py", "lines": [1, 2]},
}


def sent(parameter: str, value: object) -> Case:
    return Case("send_message", parameter, {"message": "x", "agent": "ann", parameter: value}, field(parameter), value)


def got(parameter: str, value: object, *expected: str) -> Case:
    return Case("get_messages", parameter, {"agent": "ben", parameter: value}, ids("messages"), list(expected))


CASES = [
    *(sent(name, value) for name, value in FULL.items()),
    sent("reply_to", "m3")._replace(look=fields("reply_to", "thread", "to"), expected=("m3", "m3", "ben")),
    Case("send_message", "agent", {"message": "x", "agent": "cat"}, field("from"), "cat"),
    Case(
        "send_message",
        "answer_minutes",
        {"message": "x", "answer_minutes": 5, "agent": "cat"},
        lambda answer: "answer_by" in answer,
        True,
    ),
    Case("get_messages", "agent", {"agent": "ann"}, ids("messages"), ["m3"]),
    got("unread", True, "m5", "m4", "m1"),
    got("types", ["warning", "request"], "m2"),
    got("priority", "high", "m2"),
    got("from", "cat", "m4"),
    got("thread", "m5", "m5", "m3"),
    Case(
        "get_messages",
        "wait_seconds",
        {"agent": "ben", "wait_seconds": 46},
        lambda answer: answer,
        {"error": "invalid_input"},
    ),
    got("query", "which port?", "m5"),
    got("since", "150s", "m5", "m4"),
    got("after_seq", 0, "m1", "m2", "m4", "m5"),
    got("order", "asc", "m1", "m2", "m4", "m5"),
    got("limit", 1, "m5"),
    got("offset", 3, "m1"),
    Case("get_team", "all", {"all": True}, fields("total", "earlier"), (1, 0)),
    Case("get_team", "since", {"all": True, "since": "1h"}, fields("total", "earlier"), (0, 0)),
]


@pytest.fixture
def world(new_asker: Callable[[], Asker], clock: ManualClock) -> Callable[[], Asker]:
    """Stores of five messages, a minute apart: m1 to all, m2, m4 and m5 to ben, who has read m2, and m3 of ben.

    A session ended a day before.
    """

    def make() -> Asker:
        ask = new_asker()
        messages: list[dict[str, Any]] = [
            {"message": "standup at nine", "agent": "ann"},
            {"message": "the token leaks", "to": "ben", "type": "warning", "priority": "critical", "agent": "ann"},
            {"message": "what do I listen on", "to": "ann", "type": "request", "agent": "ben"},
            {"message": "hello", "to": "ben", "agent": "cat"},
            {"message": "port 8080", "reply_to": "m3", "agent": "ann"},
        ]
        for message in messages:
            ask.text("send_message", **message)
            clock.advance(MINUTE)
        ask.satchel.messages.mark_read(["m2"], agent="ben")
        with ask.satchel.workplace.engine.write() as transaction:
            yesterday = clock.now - 24 * 60 * MINUTE
            session = {"uid": b"1", "project_id": 1, "seen_at": yesterday, "ended_at": yesterday}
            transaction.add("sessions", session | {"created_at": yesterday})
        return ask

    return make


@pytest.mark.parametrize("cases", by_tool(CASES))
def test_every_parameter_counts(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    check_cases(world, cases)


def test_no_parameter_is_left_out_of_the_table() -> None:
    assert untested("messages", CASES) == set()


def test_the_format_is_chosen(world: Callable[[], Asker]) -> None:
    check_format(world(), "get_messages", {"agent": "ben", "thread": "m3"})


def test_the_format_of_what_was_sent_is_chosen(empty: Asker) -> None:
    assert empty.text("send_message", message="x", agent="ann").startswith("sent m1 to all")
    assert empty.fields("send_message", message="x", agent="ann")["id"] == "m2"
    assert "Valid: text, json" in empty.refused("send_message", message="x", agent="ann", format="yaml")


def test_every_field_comes_back(empty: Asker) -> None:
    kept = empty.fields("send_message", **FULL, agent="ann")
    (read,) = empty.fields("get_messages", agent="ben")["messages"]
    assert (FULL | {"from": "ann", "id": "m1", "thread": "m1"}).items() <= read.items()
    assert {name: value for name, value in kept.items() if name != "notes"} == read


def test_what_is_shown_is_read_from_then_on(empty: Asker) -> None:
    empty.text("send_message", **FULL, agent="ann")
    empty.text("send_message", message="another", to="ben", agent="ann")
    assert empty.fields("get_messages", agent="ben", limit=1)["unread"] == 1
    assert ids("messages")(empty.fields("get_messages", agent="ben", unread=True)) == ["m1"]
    assert ids("messages")(empty.fields("get_messages", agent="ben", unread=True)) == []
    assert empty.fields("get_messages", agent="ben")["messages"][0]["read_at"]


def test_a_total_alone_reads_nothing(empty: Asker) -> None:
    empty.text("send_message", **FULL, agent="ann")
    assert empty.fields("get_messages", agent="ben", limit=0)["unread"] == 1


def test_the_people_s_list_reads_nothing(world: Callable[[], Asker]) -> None:
    inbox = world().satchel.messages.inbox
    assert [inbox(agent="ben").unread for _ in range(2)] == [3, 3]


def test_the_fields_of_a_reply_come_back(world: Callable[[], Asker]) -> None:
    newest = world().fields("get_messages", agent="ben")["messages"][0]
    assert {"id": "m5", "from": "ann", "to": "ben", "reply_to": "m3", "thread": "m3"}.items() <= newest.items()


def test_when_a_message_was_read_comes_back(world: Callable[[], Asker]) -> None:
    messages = world().fields("get_messages", agent="ben")["messages"]
    assert [message["id"] for message in messages if "read_at" in message] == ["m2"]


@pytest.mark.parametrize("payload", [{"a": [1, None]}, [1, "x"], [], "plain words", 7, 0.5, False])
def test_a_payload_may_be_any_json(empty: Asker, payload: object) -> None:
    empty.text("send_message", message="x", payload=payload, agent="ann")
    (read,) = empty.fields("get_messages", agent="ben")["messages"]
    assert read["payload"] == payload


def test_a_payload_may_be_the_json_text_of_an_object(empty: Asker) -> None:
    empty.text("send_message", message="x", payload='{"a": [1]}', agent="ann")
    assert empty.fields("get_messages", agent="ben")["messages"][0]["payload"] == {"a": [1]}


def test_two_agents_over_one_connection_have_two_inboxes(empty: Asker) -> None:
    empty.text("send_message", message="to all", agent="ann")
    empty.text("send_message", message="to ben", to="ben", agent="ann")
    empty.text("send_message", message="to ann", to="ann", agent="ben")
    assert ids("messages")(empty.fields("get_messages", agent="ann")) == ["m3"]
    assert ids("messages")(empty.fields("get_messages", agent="ben")) == ["m2", "m1"]
    inboxes = [empty.satchel.messages.inbox(agent=agent).unread for agent in ("ann", "ben", "cat")]
    assert inboxes == [0, 0, 1]


def test_the_default_agent_has_an_inbox(new_asker: Callable[..., Asker]) -> None:
    ask = new_asker(agent="ben")
    ask.text("send_message", message="x", to="ben", agent="ann")
    assert ids("messages")(ask.fields("get_messages")) == ["m1"]


@pytest.mark.parametrize("types", [["warning"], '["warning"]', "warning"])
def test_types_may_be_a_list_its_json_text_or_one_type(world: Callable[[], Asker], types: object) -> None:
    assert ids("messages")(world().fields("get_messages", types=types, agent="ben")) == ["m2"]


def test_an_unknown_addressee_is_kept_and_said(world: Callable[[], Asker]) -> None:
    kept = world().fields("send_message", message="x", to="bne", agent="ann")
    assert kept["to"] == "bne"
    assert "did you mean 'ben'?" in kept["notes"][0]


@in_one_test(
    ("tool", "arguments", "told"),
    [
        ("send_message", {"agent": "ann"}, "send_message argument 'message' is missing"),
        ("send_message", {"message": "x", "agent": "ann", "type": "infos"}, "Did you mean 'info'?"),
        ("send_message", {"message": "x", "agent": "ann", "priority": "hihg"}, "Did you mean 'high'?"),
        ("send_message", {"message": "x", "agent": "ann", "reply_to": "m99"}, "there is no message m99"),
        ("send_message", {"message": "x", "agent": "ann", "form": "y"}, "unknown send_message argument 'form'"),
        ("get_messages", {"agent": "ben", "from_": "ann"}, "Did you mean 'from'?"),
        ("get_messages", {"agent": "ben", "types": ["infos"]}, "Did you mean 'info'?"),
        ("get_messages", {"agent": "ben", "thread": "x"}, "no id of a message"),
        ("get_messages", {"agent": "ben", "unread": "yes"}, "unread must be true or false"),
    ],
)
def test_a_faulty_call_is_refused(made: Asker, tool: str, arguments: dict[str, Any], told: str) -> None:
    refusal = made.refused(tool, **arguments)
    assert refusal.startswith("error [")
    assert told in refusal


@in_one_test(("tool", "arguments"), [("send_message", {"message": "x"}), ("get_messages", {})])
def test_a_call_of_nobody_is_refused(made: Asker, tool: str, arguments: dict[str, Any]) -> None:
    assert "agent" in made.refused(tool, **arguments)


def test_the_texts_name_who_and_what(world: Callable[[], Asker]) -> None:
    ask = world()
    told = ask.text("get_messages", agent="ben", limit=1)
    assert "messages for ben, 2 unread left" in told
    assert "\n port 8080" in told

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents, register
from clients_at_work import Clients
from kept_bytes import kept_bytes
from satchel import InvalidInput, Message, NotFound, Satchel, TooLarge
from satchel.base.processes import machine
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000
# a token of a published format, with the length and alphabet of a real one
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

WAITS = "nobody of that name is here yet; it waits for them"


def test_every_field_comes_back(satchel: Satchel, clock: ManualClock) -> None:
    register(satchel, "Bob")
    first = satchel.messages.send("shall we?", to="Ann", agent="Bob")
    clock.advance(5)
    sent = satchel.messages.send(
        "use\tsqlite\nplease",
        to="bob",
        type="decision",
        priority="high",
        payload={"files": ["a.py"], "n": 1.5},
        reply_to=first.ref,
        agent="Ann",
    )
    (read,) = satchel.messages.inbox(agent="bob")
    assert read == sent
    assert (read.sender, read.to, read.type, read.priority) == ("Ann", "Bob", "decision", "high")
    assert (read.message, read.payload) == ("use\tsqlite\nplease", {"files": ["a.py"], "n": 1.5})
    assert (read.reply_to, read.thread) == (first.id, first.id)
    assert (read.created_at, read.expires_at) == (clock.now, clock.now + 168 * HOUR)
    assert (read.read_at, read.score, read.notes) == (None, None, ())
    assert read.ref == f"m{read.id}"
    assert len(bytes.fromhex(read.uid)) == 16
    assert read.uid != first.uid
    assert read.seq == satchel.messages.inbox(agent="bob").seq == satchel.housekeeping.statistics().seq


def test_what_is_left_out_has_its_default(satchel: Satchel) -> None:
    sent = satchel.messages.send("hello", agent="Ann")
    assert (sent.to, sent.type, sent.priority, sent.payload, sent.reply_to) == (None, "info", "medium", None, None)
    assert sent.thread == sent.id
    assert sent.notes == ()


@pytest.mark.parametrize("kind", ["decision", "warning", "request", "info"])
def test_every_type_is_kept(satchel: Satchel, kind: str) -> None:
    satchel.messages.send("hello", type=kind, agent="Ann")
    assert [message.type for message in satchel.messages.inbox(agent="Bob")] == [kind]


@pytest.mark.parametrize("priority", ["low", "medium", "high", "critical"])
def test_every_priority_is_kept(satchel: Satchel, priority: str) -> None:
    satchel.messages.send("hello", priority=priority, agent="Ann")
    assert [message.priority for message in satchel.messages.inbox(agent="Bob")] == [priority]


@pytest.mark.parametrize(
    "payload", [{}, [], 0, False, 3.5, "", "text", "[draft] not JSON", {"a": None, "b": [True, {"c": "d"}]}, 2**80]
)
def test_any_json_value_is_a_payload(satchel: Satchel, payload: object) -> None:
    sent = satchel.messages.send("hello", payload=payload, agent="Ann")
    (read,) = satchel.messages.inbox(agent="Bob")
    assert read.payload == sent.payload == payload
    assert type(read.payload) is type(payload)


@pytest.mark.parametrize(("text", "value"), [(' {"a": [1]}', {"a": [1]}), ('["x", 2]', ["x", 2])])
def test_the_json_text_of_an_object_or_list_is_read(satchel: Satchel, text: str, value: object) -> None:
    assert satchel.messages.send("hello", payload=text, agent="Ann").payload == value


def test_a_text_that_is_json_of_something_else_stays_a_text(satchel: Satchel) -> None:
    assert satchel.messages.send("hello", payload="12", agent="Ann").payload == "12"


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.no_store
@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"a": math.nan}, "not a number"),
        ([math.inf], "not a number"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": 1e999}', "not a number"),
        (nested(40), "nested too deeply"),
        ("[" * 50 + "]" * 50, "nested too deeply"),
        ([2**5_000], "too large a number"),
        ("[" + "9" * 5_000 + "]", "payload cannot be read"),
        ({"a": b"bytes"}, "is a bytes"),
        ({1, 2}, "is a set"),
        ({"a": 1, 1: 2, "1": 3}, "two names"),
    ],
)
def test_a_payload_that_json_cannot_hold_is_refused(
    satchel: Satchel, project: Path, payload: object, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        satchel.messages.send("hello", payload=payload, agent="Ann")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@pytest.mark.no_store
@pytest.mark.parametrize(
    "payload",
    [
        ["x" * 300_000],
        "x" * 300_000,
        "[" + " " * 300_000 + "]",
        [TOKEN] * 7_000,  # smaller once it is redacted
        [{"password": "hunter2-Xy9q"}] * 9_000,  # larger once it is redacted
    ],
    ids=["list", "text", "JSON text", "before redaction", "after redaction"],
)
def test_a_payload_that_is_too_large_is_refused(satchel: Satchel, project: Path, payload: object) -> None:
    with pytest.raises(TooLarge, match=r"^payload has"):
        satchel.messages.send("hello", payload=payload, agent="Ann")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"message": ""}, "message is empty"),
    ({"message": " \n"}, "message is empty"),
    ({"message": 5}, "message must be text"),
    ({"type": "warn"}, "unknown message type 'warn'. Did you mean 'warning'? Valid: decision, warning, request, info"),
    ({"type": None}, "unknown message type None"),
    ({"priority": "critcal"}, "unknown priority 'critcal'. Did you mean 'critical'? Valid: low, medium, high"),
    ({"to": ""}, "to is empty"),
    ({"to": "{{agent}}"}, "is an unresolved placeholder"),
    ({"to": "x" * 201}, "to has 201 characters"),
    ({"to": TOKEN}, "to looks like a secret"),
    ({"agent": ""}, "agent is empty"),
    ({"agent": "a\nb"}, "control character"),
    ({"reply_to": "e5"}, "is no id of a message"),
    ({"reply_to": "latest"}, "is no id of a message"),
    ({"reply_to": True}, "is no id of a message"),
]


@pytest.mark.no_store
@pytest.mark.parametrize(("bad", "problem"), BAD, ids=[problem for _, problem in BAD])
def test_bad_input_writes_nothing(satchel: Satchel, project: Path, bad: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(problem)):
        satchel.messages.send(**{"message": "hello", "agent": "Ann", **bad})
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@pytest.mark.no_store
def test_a_message_that_is_too_large_is_refused(satchel: Satchel, project: Path) -> None:
    with pytest.raises(TooLarge, match=r"^message has"):
        satchel.messages.send("x" * 300_000, agent="Ann")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


@pytest.mark.no_store
def test_nobody_sends_without_a_name_and_the_answer_says_how_to_give_one(satchel: Satchel, project: Path) -> None:
    with pytest.raises(InvalidInput, match=r"needs an agent.*--agent or SATCHEL_AGENT"):
        satchel.messages.send("hello", to="Bob")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_the_default_agent_sends_and_another_may(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="Ann")
    assert satchel.messages.send("hello").sender == "Ann"
    assert satchel.messages.send("hello", agent="Bob").sender == "Bob"


def test_names_are_compared_without_case_and_shown_as_first_written(satchel: Satchel) -> None:
    satchel.messages.send("one", to="BOB", agent="Ann")
    sent = satchel.messages.send("two", to="ann", agent="bob")
    assert (sent.sender, sent.to) == ("BOB", "Ann")
    assert [agent.name for agent in agents(satchel)] == ["Ann", "BOB"]


def test_a_message_to_oneself_arrives(satchel: Satchel) -> None:
    satchel.messages.send("remember", to="ANN", agent="Ann")
    assert satchel.messages.inbox(agent="Ann").unread == 1


@pytest.mark.parametrize("name", ["all", "ALL", " All "])
def test_all_is_everyone_and_no_agent(satchel: Satchel, name: str) -> None:
    assert satchel.messages.send("hello", to=name, agent="Ann").to is None
    assert [agent.name for agent in agents(satchel)] == ["Ann"]


def test_a_message_to_a_person_who_never_wrote_names_the_nearest_who_did(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x", agent="human:robert")
    hints = {
        name: "".join(satchel.messages.send("hello", to=name, agent="Ann").notes)
        for name in ("human:robet", "human:bo", "human")
    }
    assert hints["human:robet"] == f"{WAITS}; did you mean 'human:robert'?"
    assert hints["human:bo"].startswith(WAITS)
    assert ("did you mean" in hints["human:bo"], hints["human"]) == (False, "")


def test_a_message_to_somebody_who_never_acted_is_kept_and_said_with_the_nearest_who_did(satchel: Satchel) -> None:
    register(satchel, "developer")
    satchel.messages.send("hello", to="develper", agent="Ann")
    sent = satchel.messages.send("hello", to="develper", agent="Ann")
    assert sent.notes == (f"{WAITS}; did you mean 'developer'?",)
    assert satchel.messages.inbox(agent="develper").total == 2
    assert {agent.name: agent.has_acted for agent in agents(satchel)} == {
        "developer": True,
        "develper": False,
        "Ann": True,
    }


def test_nobody_is_suggested_where_none_is_near(satchel: Satchel) -> None:
    sent = satchel.messages.send("hello", to="zzz", agent="Ann")
    assert sent.notes == (WAITS,)


def test_once_the_addressee_acted_nothing_is_said(satchel: Satchel) -> None:
    satchel.messages.send("hello", to="Bob", agent="Ann")
    satchel.messages.send("hi", to="Ann", agent="bob")
    assert satchel.messages.send("again", to="Bob", agent="Ann").notes == ()


def test_secrets_are_redacted_in_message_and_payload_and_said_once(satchel: Satchel) -> None:
    payload = {"log": [f"used {TOKEN} here"], "deep": {"x": TOKEN}, "password": "hunter2-Xy9q", TOKEN: 1, "n": 1}
    sent = satchel.messages.send(f"take {TOKEN}", payload=payload, agent="Ann")
    (read,) = satchel.messages.inbox(agent="Bob")
    assert read.message == "take [redacted:github-token]"
    assert read.payload == {
        "log": ["used [redacted:github-token] here"],
        "deep": {"x": "[redacted:github-token]"},
        "password": "[redacted:password]",
        "[redacted:github-token]": 1,
        "n": 1,
    }
    assert sent.notes == ("a secret was redacted (github-token)", "a secret was redacted (password)")


def test_a_secret_is_nowhere_in_the_store(satchel: Satchel) -> None:
    satchel.messages.send(f"take {TOKEN}", payload=[{"x": TOKEN}], agent="Ann")
    assert TOKEN.encode() not in kept_bytes(satchel)


def test_unclean_text_is_cleaned_and_said(satchel: Satchel) -> None:
    sent = satchel.messages.send("a\x00b", payload=["c\ud800d"], agent="Ann")
    assert (sent.message, sent.payload) == ("ab", ["c\ufffdd"])
    assert sent.notes == ("1 control character removed", "1 lone surrogate replaced by U+FFFD")


def test_sending_takes_one_seq(satchel: Satchel) -> None:
    register(satchel, "Bob")
    first = satchel.messages.send("one", to="Bob", agent="Ann")
    second = satchel.messages.send("two", to="Bob", agent="Ann")
    assert second.seq == first.seq + 1


class TestReplies:
    def test_a_reply_goes_to_the_sender_and_joins_the_thread(self, satchel: Satchel) -> None:
        first = satchel.messages.send("question", to="Bob", agent="Ann")
        second = satchel.messages.send("answer", reply_to=first.ref, agent="Bob")
        third = satchel.messages.send("thanks", reply_to=second.id, agent="Ann")
        assert [(message.to, message.reply_to, message.thread) for message in (second, third)] == [
            ("Ann", first.id, first.id),
            ("Bob", second.id, first.id),
        ]

    def test_a_reply_to_a_broadcast_goes_to_its_sender(self, satchel: Satchel) -> None:
        first = satchel.messages.send("question", agent="Ann")
        assert satchel.messages.send("answer", reply_to=first.ref, agent="Bob").to == "Ann"

    def test_a_reply_may_name_somebody_else(self, satchel: Satchel) -> None:
        first = satchel.messages.send("question", to="Bob", agent="Ann")
        assert satchel.messages.send("ask Cid", to="Cid", reply_to=first.ref, agent="Bob").to == "Cid"

    def test_a_reply_may_go_to_all(self, satchel: Satchel) -> None:
        first = satchel.messages.send("question", to="Bob", agent="Ann")
        assert satchel.messages.send("hear", to="all", reply_to=first.ref, agent="Bob").to is None

    @pytest.mark.parametrize("to", ["Bob", None])
    def test_whoever_answers_oneself_goes_on_to_the_addressee(self, satchel: Satchel, to: str | None) -> None:
        first = satchel.messages.send("question", to=to, agent="Ann")
        assert satchel.messages.send("more", reply_to=first.ref, agent="Ann").to == to

    def test_an_unknown_message_cannot_be_answered_and_nothing_is_written(self, satchel: Satchel) -> None:
        satchel.messages.send("question", agent="Ann")
        seq = satchel.housekeeping.statistics().seq
        with pytest.raises(NotFound, match="there is no message m9"):
            satchel.messages.send("answer", to="Cid", reply_to="m9", agent="Bob")
        assert satchel.housekeeping.statistics().seq == seq
        assert [agent.name for agent in agents(satchel)] == ["Ann"]

    def test_a_message_of_another_project_cannot_be_answered(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        other = open_in(project, project="other").messages.send("question", agent="Ann")
        with pytest.raises(NotFound, match=f"there is no message {other.ref}"):
            open_in(project, project="mine").messages.send("answer", reply_to=other.ref, agent="Bob")

    def test_an_expired_message_cannot_be_answered(self, satchel: Satchel, clock: ManualClock) -> None:
        first = satchel.messages.send("question", agent="Ann")
        clock.advance(168 * HOUR)
        with pytest.raises(NotFound, match="or it has expired"):
            satchel.messages.send("answer", reply_to=first.ref, agent="Bob")

    def test_what_nobody_sent_can_only_be_answered_to_somebody_named(self, satchel: Satchel) -> None:
        from satchel.keep.messages.updates import post

        work = satchel.workplace
        register(satchel, "Ann")
        with work.engine.write() as transaction:
            place = (transaction, 1, "of Satchel's own", work.clock(), work.retention)
            number = post(*place, sender=None, to=None)
        with pytest.raises(InvalidInput, match=f"m{number} has no sender to reply to. Name an agent with to, or 'all'"):
            satchel.messages.send("answer", reply_to=number, agent="Ann")
        assert satchel.messages.send("answer", to="all", reply_to=number, agent="Ann").thread == number

    def test_what_was_answered_is_not_named_any_more_once_it_has_expired(
        self, satchel: Satchel, clock: ManualClock
    ) -> None:
        first = satchel.messages.send("question", to="Bob", agent="Ann")
        clock.advance(100 * HOUR)
        satchel.messages.send("answer", reply_to=first.ref, agent="Bob")
        clock.advance(100 * HOUR)
        (answer,) = satchel.messages.inbox(agent="Ann")
        assert (answer.reply_to, answer.thread) == (None, first.id)


def test_a_posted_message_is_an_ordinary_one(satchel: Satchel, clock: ManualClock) -> None:
    from satchel.keep.messages.updates import post

    ann, bob = register(satchel, "Ann"), register(satchel, "Bob")
    work = satchel.workplace
    with work.engine.write() as transaction:
        place = (transaction, 1, "ttl was overtaken", clock.now, work.retention)
        number = post(*place, sender=ann.id, to=bob.id, type="warning", priority="critical")
    (read,) = satchel.messages.inbox(agent="Bob", query="overtaken")
    assert isinstance(read, Message)
    assert (read.id, read.sender, read.to, read.type, read.priority) == (number, "Ann", "Bob", "warning", "critical")
    assert (read.message, read.created_at, read.expires_at) == (
        "ttl was overtaken",
        clock.now,
        clock.now + 168 * HOUR,
    )
    assert read.seq == satchel.housekeeping.statistics().seq


def test_a_session_whose_process_is_gone_is_not_called_active(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(lambda **options: open_in(project, **options), monkeypatch)
    agent = clients.turn_to(clients.start())
    agent.entries.write("discovery", "x")
    name = agent.sessions.team().sessions[0].agents[0]
    with agent.workplace.engine.write() as transaction:
        gone = "UPDATE sessions SET machine = :machine, process = 4194303, process_started = 1"
        transaction.run(gone, {"machine": machine()})
    note = agent.messages.send("are you there?", to=name, agent="Eva").notes[-1]
    assert note.startswith(f"{name} left less than 1 min ago")


def test_who_has_a_session_is_here_though_it_has_written_nothing_yet(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    reader = open_in(project, agent="ben", caller=Caller.of_hook({}, "claude", "s1", begins=True))
    reader.sessions.enter()
    (note,) = open_in(project).messages.send("May I?", to="ben", agent="ann").notes
    assert note.startswith("ben is active")

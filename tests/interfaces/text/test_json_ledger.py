"""The ledger as plain JSON: every field of every record, times in ISO 8601, items with their short ids."""

from __future__ import annotations

import dataclasses
import json

import pytest

from satchel.base.paging import KeptPage, Page
from satchel.interfaces.text.json import fields_of
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import Decision, DecisionHistory, DecisionState, Similar
from satchel.keep.files.records import (
    Claim,
    Claimed,
    FileChange,
    FileCheck,
    FilesChecked,
    PendingClaim,
    RecentActivity,
    Released,
)
from satchel.keep.messages.records import MarkedRead, Message, MessagePage
from tables import in_one_test

AT = 1_767_225_600_000
ISO = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:01.500Z"

STATE = DecisionState(1, 200, "draft", "0.9", "data", ("a",), ("b",), "planner", "old", AT, AT + 1_500)
STATE_FIELDS = {
    "revision": 1,
    "value": 200,
    "status": "draft",
    "version": "0.9",
    "layer": "data",
    "tags": ["a"],
    "scopes": ["b"],
    "agent": "planner",
    "rationale": "old",
    "set_at": ISO,
    "replaced_at": LATER,
}
DECISION = Decision(
    id=12,
    uid="ab",
    seq=3,
    key="ttl",
    value=300,
    status="active",
    version="1.0.0",
    revision=2,
    layer="data",
    tags=("api",),
    scopes=("gateway",),
    agent="planner",
    rationale="why",
    created_at=AT,
    updated_at=AT + 1_500,
    score=1.5,
    notes=("a note",),
    replaced=STATE,
    similar=(Similar("d3", "ttls", "x", "key", 91),),
)
DECISION_FIELDS = {
    "id": "d12",
    "uid": "ab",
    "seq": 3,
    "key": "ttl",
    "value": 300,
    "status": "active",
    "version": "1.0.0",
    "revision": 2,
    "layer": "data",
    "tags": ["api"],
    "scopes": ["gateway"],
    "agent": "planner",
    "rationale": "why",
    "created_at": ISO,
    "updated_at": LATER,
    "score": 1.5,
    "notes": ["a note"],
    "replaced": STATE_FIELDS,
    "similar": [{"id": "d3", "key": "ttls", "value": "x", "by": "key", "likeness": 91}],
}
CONSTRAINT = Constraint(
    id=7,
    uid="ab",
    seq=3,
    category="security",
    text="x",
    priority="high",
    layer="data",
    tags=("api",),
    agent="planner",
    active=False,
    reason="done",
    deactivated_by="reviewer",
    deactivated_at=AT + 1_500,
    created_at=AT,
    score=1.5,
    notes=("a note",),
)
MESSAGE = Message(
    id=9,
    uid="ab",
    seq=3,
    sender="planner",
    to="builder",
    type="info",
    priority="high",
    message="x",
    payload={"a": None},
    reply_to=8,
    thread=2,
    created_at=AT,
    expires_at=AT + 1_500,
    read_at=AT,
    score=1.5,
    notes=("a note",),
)
CHANGE = FileChange(
    id=31,
    uid="ab",
    seq=3,
    file="a.py",
    change="created",
    agent="planner",
    worktree="/w",
    layer="data",
    description="x",
    created_at=AT,
    expires_at=AT + 1_500,
    score=1.5,
    notes=("a note",),
)
CLAIM = Claim(5, "ab", 3, "src/**", True, "planner", "/w", "why", AT, AT + 1_500)
CLAIM_FIELDS = {
    "uid": "ab",
    "seq": 3,
    "path": "src/**",
    "exclusive": True,
    "agent": "planner",
    "worktree": "/w",
    "reason": "why",
    "created_at": ISO,
    "expires_at": LATER,
    "automatic": False,
    "is_key": False,
}


def test_a_decision_has_all_its_fields() -> None:
    assert fields_of(DECISION) == DECISION_FIELDS


def test_a_constraint_has_all_its_fields() -> None:
    assert fields_of(CONSTRAINT) == {
        "id": "c7",
        "uid": "ab",
        "seq": 3,
        "category": "security",
        "text": "x",
        "priority": "high",
        "layer": "data",
        "tags": ["api"],
        "agent": "planner",
        "active": False,
        "reason": "done",
        "deactivated_by": "reviewer",
        "deactivated_at": LATER,
        "created_at": ISO,
        "score": 1.5,
        "notes": ["a note"],
    }


def test_a_message_has_all_its_fields_under_their_names_on_the_wire() -> None:
    assert fields_of(MESSAGE) == {
        "id": "m9",
        "uid": "ab",
        "seq": 3,
        "from": "planner",
        "to": "builder",
        "type": "info",
        "priority": "high",
        "message": "x",
        "payload": {"a": None},
        "reply_to": "m8",
        "thread": "m2",
        "created_at": ISO,
        "expires_at": LATER,
        "read_at": ISO,
        "score": 1.5,
        "notes": ["a note"],
    }


def test_a_file_change_has_all_its_fields() -> None:
    assert fields_of(CHANGE) == {
        "id": "f31",
        "uid": "ab",
        "seq": 3,
        "file": "a.py",
        "change": "created",
        "agent": "planner",
        "worktree": "/w",
        "layer": "data",
        "description": "x",
        "created_at": ISO,
        "expires_at": LATER,
        "score": 1.5,
        "notes": ["a note"],
    }


def test_a_claim_has_all_its_fields_but_the_number_that_nothing_takes() -> None:
    assert fields_of(CLAIM) == CLAIM_FIELDS


def test_what_is_not_set_is_left_out() -> None:
    bare = dataclasses.replace(DECISION, layer=None, tags=(), scopes=(), agent=None, rationale=None)
    bare = dataclasses.replace(bare, score=None, notes=(), replaced=None, similar=())
    assert fields_of(bare).keys() == DECISION_FIELDS.keys() - {
        "layer",
        "tags",
        "scopes",
        "agent",
        "rationale",
        "score",
        "notes",
        "replaced",
        "similar",
    }


@pytest.mark.parametrize("value", [0, 0.0, ""])
def test_a_value_that_is_nothing_much_is_kept(value: str | float) -> None:
    assert fields_of(dataclasses.replace(DECISION, value=value))["value"] == value


@in_one_test("payload", [[], {}, 0, "", False])
def test_a_payload_that_is_nothing_much_is_kept(payload: object) -> None:
    assert fields_of(dataclasses.replace(MESSAGE, payload=payload))["payload"] == payload


def test_a_message_to_everyone_says_null() -> None:
    assert fields_of(dataclasses.replace(MESSAGE, to=None, payload=None)).items() >= {("to", None)}
    assert "payload" not in fields_of(dataclasses.replace(MESSAGE, payload=None))


@in_one_test(
    ("fields", "name", "items"),
    [
        (
            fields_of(KeptPage((DECISION,), 3, 0, 1, 8, notes=("n",)), "decisions"),
            "decisions",
            [DECISION_FIELDS],
        ),
        (
            fields_of(KeptPage((CONSTRAINT,), 3, 0, 1, 8, notes=("n",)), "constraints"),
            "constraints",
            [fields_of(CONSTRAINT)],
        ),
        (
            fields_of(MessagePage((MESSAGE,), 3, 0, 1, 8, notes=("n",), agent="builder", unread=4), "messages"),
            "messages",
            [fields_of(MESSAGE)],
        ),
        (
            fields_of(KeptPage((CHANGE,), 3, 0, 1, 8, notes=("n",)), "changes"),
            "changes",
            [fields_of(CHANGE)],
        ),
        (fields_of(KeptPage((CLAIM,), 3, 0, 1, 8, notes=("n",)), "claims"), "claims", [CLAIM_FIELDS]),
    ],
)
def test_a_page_says_what_comes_next(fields: dict[str, object], name: str, items: list[object]) -> None:
    assert fields[name] == items
    assert {"total": 3, "next_offset": 1, "seq": 8}.items() <= fields.items()
    assert fields["notes"] == ["n"]


def test_an_inbox_says_whose_it_is_and_how_much_is_unread() -> None:
    fields = fields_of(MessagePage((), 0, 0, 20, 8, agent="builder", unread=4), "messages")
    assert (fields["agent"], fields["unread"]) == ("builder", 4)


def test_a_history_has_the_states_and_their_number() -> None:
    fields = fields_of(DecisionHistory(DECISION, Page((STATE,), 2, 0, 1)))
    assert fields == {"decision": DECISION_FIELDS, "history": [STATE_FIELDS], "total": 2, "next_offset": 1}


def test_answers_to_writes_have_all_their_fields() -> None:
    marked = MarkedRead("builder", ("m1",), ("m2",), ("m3",), ("m4",), 5)
    assert fields_of(marked) == {
        "agent": "builder",
        "marked": ["m1"],
        "already": ["m2"],
        "unknown": ["m3"],
        "foreign": ["m4"],
        "unread": 5,
    }
    assert fields_of(Claimed("planner", (CLAIM,), ("src/**",), (CLAIM,), (CLAIM,), ("n",), AT)) == {
        "agent": "planner",
        "claims": [CLAIM_FIELDS],
        "renewed": ["src/**"],
        "elsewhere": [CLAIM_FIELDS],
        "shared": [CLAIM_FIELDS],
        "notes": ["n"],
        "claimed_at": ISO,
        "lately": [],
        "waited_ms": 0,
        "new": [],
    }
    assert fields_of(RecentActivity("a.py", None)) == {"file": "a.py", "recent": []}
    lately = RecentActivity("a.py", "/w", (CHANGE,), AT)
    assert fields_of(lately) == {"file": "a.py", "worktree": "/w", "recent": [fields_of(CHANGE)], "unrecorded_at": ISO}
    wish = PendingClaim("ann", "a", True, AT)
    assert fields_of(Released("planner", ("a",), ("b",), (wish,), (CHANGE,), ("n",))) == {
        "agent": "planner",
        "released": ["a"],
        "not_held": ["b"],
        "wished": [fields_of(wish)],
        "changes": [fields_of(CHANGE)],
        "notes": ["n"],
        "by_others": [],
        "still": [],
    }


def test_what_was_checked_has_all_its_fields() -> None:
    one = FileCheck("a.py", "/w", "held", AT, (CLAIM,), (CLAIM,), (CLAIM,), (CHANGE,), AT)
    fields = fields_of(FilesChecked("builder", AT, (one,), ("n",)))
    assert fields == {
        "agent": "builder",
        "checked_at": ISO,
        "files": [
            {
                "file": "a.py",
                "worktree": "/w",
                "state": "held",
                "until": ISO,
                "claims": [CLAIM_FIELDS],
                "elsewhere": [CLAIM_FIELDS],
                "own": [CLAIM_FIELDS],
                "recent": [fields_of(CHANGE)],
                "unrecorded_at": ISO,
            }
        ],
        "notes": ["n"],
        "worktree": None,
    }
    json.dumps(fields, allow_nan=False)


def test_a_free_file_leaves_out_what_is_not_set() -> None:
    fields = fields_of(FileCheck("a.py", None, "free", None, (), (), (), ()))
    assert fields == {"file": "a.py", "state": "free", "claims": [], "elsewhere": [], "own": [], "recent": []}


def test_a_wish_says_since_when() -> None:
    assert fields_of(PendingClaim("ann", "a.py", True, AT)) == {
        "agent": "ann",
        "path": "a.py",
        "waits": True,
        "asked_at": ISO,
    }

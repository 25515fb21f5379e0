"""What a person looks at, as JSON: each operation by its name in the JSON API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from satchel import Satchel
from satchel.base.errors import NotFound
from satchel.base.wire import packed, unpacked
from satchel.interfaces.operations.room import OPERATIONS
from tables import in_one_test

BY_NAME = {one.name: one for one in OPERATIONS}


def ask(satchel: Satchel, name: str, **arguments: Any) -> dict[str, Any]:
    answer = BY_NAME[name].bound(satchel)(**arguments)
    assert unpacked(json.loads(json.dumps(packed(answer)))) == answer
    return json.loads(json.dumps(BY_NAME[name].json_maker()(answer)))  # type: ignore[no-any-return]


WRITING = [
    *("room_see", "room_answer", "room_release", "room_restore_claim"),
    *("room_unsee", "messages_mark_unread", "decisions_take_back"),
]


def test_they_have_the_names_of_the_api() -> None:
    assert list(BY_NAME) == [
        *("room_needs", "room_since", "room_where", "room_status", "room_conflicts", "room_reached"),
        *("room_thread", "room_history", "room_error"),
        *("room_spending", "room_sent", "room_facets", "room_flags", "room_briefings", "room_worktrees"),
        *WRITING,
    ]
    assert [name for name, one in BY_NAME.items() if one.writes] == WRITING


@in_one_test(
    "name",
    [
        "room_needs",
        "room_since",
        "room_where",
        "room_status",
        "room_conflicts",
        "room_reached",
        "room_spending",
        "room_sent",
        "room_facets",
        "room_briefings",
        "room_worktrees",
    ],
)
def test_each_answers_where_nothing_was_written(satchel: Satchel, name: str) -> None:
    assert ask(satchel, name)


def test_items_have_ids_and_times_that_programs_read(satchel: Satchel) -> None:
    ref = satchel.messages.send("which port?", to="human", type="request", agent="dev").ref
    (need,) = ask(satchel, "room_needs", person="human:ann")["items"]
    assert (need["id"], need["kind"], need["agent"], need["began_at"]) == (
        ref,
        "message",
        "dev",
        "2026-11-18T11:06:40.000Z",
    )


def test_what_is_seen_is_named_by_its_id(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="dev")
    satchel.files.record("a.py", "created", agent="dev")
    since = ask(satchel, "room_since", person="human:ann")
    assert since["totals"] == {"decision": 1, "files": 1}
    (edits,) = (one for one in since["items"] if one["kind"] == "files")
    assert edits["text"] == "a.py"
    seen = ask(satchel, "room_see", refs=[one["id"] for one in since["items"]], up_to=since["seq"], person="human:ann")
    assert seen["refs"] == [one["id"] for one in since["items"]]
    assert ask(satchel, "room_since", person="human:ann")["items"] == []


def test_conflicts_name_both(satchel: Satchel) -> None:
    satchel.files.claim(["src/"], agent="ann")
    satchel.files.record("src/a.py", "modified", agent="ben")
    (one,) = ask(satchel, "room_conflicts")["files"]
    assert ({party["agent"] for party in one["parties"]}, one["path"]) == ({"ann", "ben"}, "src/a.py")


def test_what_became_of_items_is_told_by_their_ids(satchel: Satchel) -> None:
    old = satchel.entries.write("discovery", "80", agent="dev").ref
    new = satchel.entries.write("discovery", "8080", supersedes=old, agent="dev").ref
    assert (
        ask(satchel, "room_history", ref=old)["replaced_by"],
        ask(satchel, "room_history", ref=new)["replaces"],
    ) == (
        new,
        [old],
    )
    met = satchel.patterns.report("KeyError", "'a'", solution="look before", agent="dev")
    assert ask(satchel, "room_error", ref=met.pattern.ref)["pattern"]["id"] == met.pattern.ref
    asked = satchel.messages.send("which port?", to="ann", agent="dev").ref
    assert ask(satchel, "room_thread", ref=asked)["total"] == 1
    with pytest.raises(NotFound):
        ask(satchel, "room_history", ref="e99")

"""What a person looks at over HTTP: asked and marked as seen with a person's token, and never marked by an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from http_serving import FixedTokens, served
from satchel import open_satchel


def test_a_person_looks_and_marks_what_they_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = tmp_path / "satchel.db"
    with open_satchel(store, "project", environ={}) as satchel:
        asked = satchel.messages.send("which port?", to="human:ann", agent="dev").ref
        decided = satchel.decisions.set("port", 80, agent="dev").ref
    with served(FixedTokens(store)) as server:

        def ask(name: str, token: str = "person-token", **arguments: Any) -> tuple[int, Any]:
            body = json.dumps({"person": "human:ann", **arguments}).encode()
            headers = {"Content-Type": "application/json"}
            answer = server.ask(f"/api/{name}", method="POST", token=token, headers=headers, body=body)
            return answer.status, answer.json()

        def ids(name: str) -> list[str]:
            status, found = ask(name)
            assert status == 200
            return [one["id"] for one in found["items"]]

        assert (ids("room_needs"), ids("room_since")) == ([asked], [decided])
        assert ask("room_see", "agent-token")[0] == 403
        assert ids("room_since") == [decided]
        assert ask("room_see", refs=[decided])[0] == 200
        assert ids("room_since") == []
        assert ask("room_unsee", ref="d9")[0] == 404
        assert [ask("room_unsee", ref=decided) for _ in range(2)] == [(200, {"result": True}), (200, {"result": False})]
        assert ids("room_since") == [decided]
        assert ask("room_see", refs=[decided])[0] == 200
        assert ask("room_answer", "agent-token", ref=asked, message="80")[0] == 403
        status, sent = ask("room_answer", ref=asked, message="80")
        assert (status, sent["from"], sent["to"]) == (200, "human:ann", "dev")
        assert ask("room_answer", ref=asked, message="80")[0] == 409
        assert ids("room_needs") == []
        assert server.ask("/api/room_where").status == server.ask("/api/room_conflicts").status == 200


def test_a_message_is_unread_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = tmp_path / "satchel.db"
    with open_satchel(store, "project", environ={}) as satchel:
        told = satchel.messages.send("the port is 80", to="human:ann", agent="dev").ref
        satchel.messages.mark_read([told], agent="human:ann")
    with served(FixedTokens(store)) as server:

        def ask(name: str, **arguments: Any) -> tuple[int, Any]:
            headers = {"Content-Type": "application/json"}
            body = json.dumps(arguments).encode()
            answer = server.ask(f"/api/{name}", method="POST", token="person-token", headers=headers, body=body)
            return answer.status, answer.json()

        assert ask("messages_mark_unread", refs=[told], agent="human:ann")[1]["result"] == [told]

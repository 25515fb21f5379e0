"""Every field of every record of the ledger comes back through ``--json``, with its value."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.base.clock import iso
from satchel.keep.decisions.records import Decision
from satchel.keep.messages.records import Message

Cli = Callable[..., tuple[int, str, str]]

TIMES = {
    "created_at",
    "updated_at",
    "expires_at",
    "read_at",
    "set_at",
    "replaced_at",
    "deactivated_at",
    "until",
    "claimed_at",
}
NAMES = {"sender": "from"}
"""Fields that are called otherwise in JSON."""

SECRET = "password=hunter2hunter2"


def expected(record: Any) -> dict[str, object]:
    """Return a record as JSON should hold it, field by field; the short id stands for the store's number."""
    return {
        NAMES.get(field.name, field.name): converted(record, field.name)
        for field in dataclasses.fields(record)
        if field.name != "id"
    } | ({"id": record.ref} if hasattr(record, "ref") else {})


def converted(record: Any, name: str) -> object:
    value = getattr(record, name)
    if value is not None and isinstance(record, Message) and name in {"reply_to", "thread"}:
        return f"m{value}"
    if value is not None and name in TIMES:
        return iso(value)
    if isinstance(value, tuple):
        return [expected(one) if dataclasses.is_dataclass(one) else one for one in value]
    return expected(value) if dataclasses.is_dataclass(value) else value


def set_fields(record: dict[str, object]) -> dict[str, object]:
    """Return the fields that say something; JSON may leave out the others."""
    return {name: value for name, value in record.items() if value is not None and value != []}


def asked(cli: Cli, *arguments: str) -> Any:
    status, out, err = cli(*arguments, "--json")
    assert status in {0, 4}, err
    return json.loads(out)


@pytest.fixture
def linked(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A linked worktree of the project, which becomes the current folder."""
    (folder / ".git").rmdir()
    other = tmp_path / "linked"
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("commit", "-q", "--allow-empty", "-m", "first"),
        ("worktree", "add", "-q", str(other)),
    ):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"},
        )
    monkeypatch.chdir(other)
    return other


@pytest.fixture
def satchel(folder: Path) -> Iterator[Satchel]:
    """The library, over the store that the commands use."""
    with open_satchel(cwd=folder, environ={}) as opened:
        yield opened


def decide(cli: Cli, value: str) -> Any:
    full = (
        "--tag",
        "a",
        "--scope",
        "s",
        "--layer",
        "data",
        "--version",
        "2.0.0",
        "--why",
        "because",
        "--path",
        "src/**",
        "--metadata",
        "ticket=7",
    )
    answer = asked(cli, "decide", "session_timeout", value, *full, "--status", "draft", "--agent", "planner")
    (decision,) = answer["decisions"]
    return decision


def test_a_decision_that_was_found(cli: Cli, satchel: Satchel) -> None:
    decide(cli, "300")
    (record,) = satchel.decisions.find(query="session")
    assert set_fields(expected(record)).keys() == expected(record).keys() - {
        "notes",
        "replaced",
        "similar",
        "proposed_by",
    }
    assert asked(cli, "decisions", "session")["decisions"] == [set_fields(expected(record))]


def test_a_decision_that_was_set(cli: Cli, satchel: Satchel) -> None:
    made = decide(cli, "first")
    (other,) = asked(cli, "decide", "session_timeouts", "2")["decisions"]
    made = decide(cli, SECRET)
    history = satchel.decisions.get("session_timeout")
    now, (before,) = expected(history.decision), history.history
    assert made.pop("notes")
    assert made.pop("replaced") == set_fields(expected(before))
    assert set_fields(expected(before)).keys() == expected(before).keys()
    assert made == set_fields(now)
    assert [similar.keys() for similar in other["similar"]] == [{"id", "key", "value", "by", "likeness"}]
    assert {"notes", "replaced", "similar"} < {field.name for field in dataclasses.fields(Decision)}


def test_the_history_of_a_decision(cli: Cli, satchel: Satchel) -> None:
    for value in ("1", "2", "3"):
        decide(cli, value)
    history = satchel.decisions.get("session_timeout", limit=1)
    assert asked(cli, "decisions", "--key", "session_timeout", "--limit", "1") == {
        "decision": set_fields(expected(history.decision)),
        "history": [expected(state) for state in history.history],
        "total": 2,
        "next_offset": 1,
    }


def test_a_constraint(cli: Cli, satchel: Satchel) -> None:
    kind = (
        "--category",
        "security",
        "--priority",
        "high",
        "--layer",
        "data",
        "--tag",
        "a",
        "--tag",
        "b",
        "--path",
        "src/**",
        "--metadata",
        "ticket=7",
    )
    added = asked(cli, "rule", "add", f"never log {SECRET}", *kind, "--agent", "planner")
    assert added["notes"]
    assert added["paths"] == ["src/**"]
    asked(cli, "retract", "c1", "--why", "old", "--agent", "builder")
    (record,) = satchel.constraints.find(status="all", query="log")
    assert expected(record).keys() - set_fields(expected(record)).keys() == {"notes", "stated_by", "for_person"}
    fields = {
        name: value for name, value in set_fields(expected(record)).items() if name not in {"unconfirmed", "confirmed"}
    }
    assert asked(cli, "rule", "list", "log", "--status", "all")["constraints"] == [fields]


def test_a_message(cli: Cli, satchel: Satchel) -> None:
    kind = ("--type", "request", "--priority", "high", "--payload", '{"n": 1}')
    asked(cli, "message", "send", "first", "--to", "planner", "--agent", "builder")
    sent = asked(cli, "message", "send", f"look {SECRET}", "--reply-to", "m1", *kind, "--agent", "planner")
    assert sent.pop("notes")
    (record,) = satchel.messages.inbox(agent="builder")
    assert sent == set_fields(expected(record))
    asked(cli, "message", "read", "m2", "--agent", "builder")
    asked(cli, "message", "send", "thanks", "--reply-to", "m2", "--agent", "builder")
    (record,) = satchel.messages.inbox(agent="builder", query="look")
    assert expected(record).keys() - set_fields(expected(record)).keys() == {"notes", "read_by", "answer_by"}
    assert asked(cli, "message", "list", "look", "--agent", "builder")["messages"] == [set_fields(expected(record))]
    (record,) = satchel.messages.inbox(agent="planner", sender="planner", query="look")
    assert expected(record).keys() - set_fields(expected(record)).keys() == {"notes", "read_at", "answer_by"}
    listed = asked(cli, "message", "list", "look", "--from", "planner", "--agent", "planner")["messages"]
    assert listed == [set_fields(expected(record))]


def test_a_message_to_everyone_says_so(cli: Cli) -> None:
    assert asked(cli, "message", "send", "hi", "--agent", "planner")["to"] is None


def test_a_file_change(cli: Cli, satchel: Satchel, linked: Path) -> None:
    what = ("--description", f"hid {SECRET}", "--layer", "data", "--agent", "planner")
    made = asked(cli, "file", "record", "src/a.py", "modified", *what)
    (record,) = satchel.files.changes(query="hid")
    assert made.pop("notes")
    assert made == set_fields(expected(dataclasses.replace(record, score=None)))
    assert record.worktree == str(linked)
    assert expected(record).keys() - set_fields(expected(record)).keys() == {"notes"}
    assert asked(cli, "file", "list", "hid")["changes"] == [set_fields(expected(record))]


def test_a_claim(cli: Cli, satchel: Satchel, linked: Path) -> None:
    claimed = asked(cli, "file", "claim", "src/", "--why", "tokens", "--agent", "planner")
    page = satchel.files.claims()
    (record,) = page
    assert record.worktree == str(linked)
    assert set_fields(expected(record)) == expected(record)
    assert claimed["claims"] == [expected(record)]
    assert asked(cli, "file", "claims")["claims"] == [expected(record)]


def test_what_claiming_met(cli: Cli, satchel: Satchel, linked: Path) -> None:
    satchel.files.claim(["src/a.py"], agent="elsewhere")
    asked(cli, "file", "claim", "--shared", "src/", "--agent", "builder")
    asked(cli, "file", "claim", "--shared", "src/", "--agent", "planner")
    again = asked(cli, "file", "claim", "--shared", "src/", "--agent", "planner")
    held = {claim.agent: set_fields(expected(claim)) for claim in satchel.files.claims()}
    assert held["builder"]["worktree"] == str(linked)
    assert again.pop("notes")
    assert again.pop("claimed_at")
    assert again == {
        "agent": "planner",
        "claims": [held["planner"]],
        "renewed": ["src/**"],
        "elsewhere": [held["elsewhere"]],
        "shared": [held["builder"]],
        "lately": [],
        "waited_ms": 0,
        "new": [],
    }


def test_whose_a_file_is(cli: Cli, satchel: Satchel, linked: Path) -> None:
    satchel.files.claim(["src/a.py"], agent="elsewhere")
    asked(cli, "file", "claim", "--shared", "src/", "--agent", "planner")
    asked(cli, "file", "claim", "--shared", "src/", "--agent", "builder")
    asked(cli, "file", "record", "src/a.py", "modified", "--agent", "builder")
    with open_satchel(cwd=linked, environ={}) as here:
        (one,) = here.files.check(["src/a.py"], agent="planner").files
    (kept,) = asked(cli, "file", "check", "src/a.py", "--agent", "planner")["files"]
    assert kept == {
        **set_fields(expected(one)),
        **{
            name: [set_fields(expected(claim)) for claim in getattr(one, name)]
            for name in ("claims", "elsewhere", "own", "recent")
        },
    }


def test_what_clearing_removed(cli: Cli) -> None:
    cli("file", "record", "src/a.py", "modified")
    assert asked(cli, "clear", "--file-changes-hours", "0", "--yes") == {
        "messages": 0,
        "file_changes": 1,
        "claims": 0,
        "error_patterns": 0,
        "conversations": 0,
        "done": True,
    }


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("command", ["decisions", "rule list", "message list --agent builder", "file list"])
def test_a_page_says_what_is_left_and_where_changes_go_on(cli: Cli, command: str) -> None:
    page = asked(cli, *command.split(), "--limit", "1")
    assert (page["next_offset"], page["total"] > 1) == (1, True)
    later = asked(cli, *command.split(), "--after-seq", str(page["seq"]))
    assert (later["total"], later["next_offset"]) == (0, None)
    first = asked(cli, *command.split(), "--after-seq", "0", "--limit", "1")
    rest = asked(cli, *command.split(), "--after-seq", str(first["seq"]))
    assert rest["total"] == page["total"] - 1

"""Every option of every command of the ledger changes what comes back; a test compares the tables with the program."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli_asking import Cli, asked, options_of

GROUPS = ("decide", "decisions", "constraint", "message", "file", "clear")
COMMON = {"--db", "--project", "--agent", "--json"}
"""Tested for all commands at once; what ``--json`` prints is tested with the commands."""

INBOX = ("message list", "--agent", "builder")

FILTERS: list[tuple[tuple[str, ...], str, tuple[str, ...], list[str]]] = [
    # command, option, what is given for it, what is found, in order
    (("decisions",), "WORDS", ("zebra",), ["d2"]),
    (("decisions",), "--status", ("--status", "draft"), ["d2"]),
    (("decisions",), "--layer", ("--layer", "data"), ["d2"]),
    (("decisions",), "--tag", ("--tag", "b"), ["d1"]),
    (("decisions", "--tag", "a", "--tag", "b"), "--match", ("--match", "all"), ["d1"]),
    (("decisions",), "--scope", ("--scope", "s1", "--scope", "s2"), ["d2", "d1"]),
    (("decisions",), "--min", ("--min", "11"), ["d3"]),
    (("decisions",), "--max", ("--max", "19.5"), ["d1"]),
    (("decisions",), "--author", ("--author", "builder"), ["d2"]),
    (("decisions",), "--since", ("--since", "2999-01-01"), []),
    (("decisions",), "--after-seq", ("--after-seq", "0"), ["d1", "d2", "d3"]),
    (("decisions",), "--order", ("--order", "asc"), ["d1", "d2", "d3"]),
    (("decisions",), "--limit", ("--limit", "1"), ["d3"]),
    (("decisions",), "--offset", ("--offset", "2"), ["d1"]),
    (("constraint list",), "WORDS", ("zebra",), ["c1"]),
    (("constraint list",), "--category", ("--category", "security"), ["c1"]),
    (("constraint list",), "--priority", ("--priority", "medium"), ["c2"]),
    (("constraint list",), "--layer", ("--layer", "data"), ["c1"]),
    (("constraint list",), "--tag", ("--tag", "b"), ["c2"]),
    (("constraint list", "--tag", "a", "--tag", "b"), "--match", ("--match", "all"), ["c2"]),
    (("constraint list",), "--status", ("--status", "inactive"), ["c3"]),
    (("constraint list",), "--author", ("--author", "planner"), ["c1"]),
    (("constraint list",), "--since", ("--since", "2999-01-01"), []),
    (("constraint list",), "--after-seq", ("--after-seq", "0"), ["c1", "c2"]),
    (("constraint list",), "--order", ("--order", "asc"), ["c1", "c2"]),
    (("constraint list",), "--limit", ("--limit", "1"), ["c2"]),
    (("constraint list",), "--offset", ("--offset", "1"), ["c1"]),
    (INBOX, "WORDS", ("zebra",), ["m1"]),
    (INBOX, "--unread", ("--unread",), ["m4", "m1"]),
    (INBOX, "--type", ("--type", "request", "--type", "warning"), ["m1"]),
    (INBOX, "--priority", ("--priority", "high"), ["m1"]),
    (INBOX, "--from", ("--from", "reviewer"), ["m2"]),
    (INBOX, "--thread", ("--thread", "m3"), ["m4", "m3", "m1"]),
    (INBOX, "--since", ("--since", "2999-01-01"), []),
    (INBOX, "--after-seq", ("--after-seq", "0"), ["m1", "m2", "m4"]),
    (INBOX, "--order", ("--order", "asc"), ["m1", "m2", "m4"]),
    (INBOX, "--limit", ("--limit", "1"), ["m4"]),
    (INBOX, "--offset", ("--offset", "2"), ["m1"]),
    (("file list",), "WORDS", ("zebra",), ["f1"]),
    (("file list",), "--file", ("--file", "src/"), ["f2", "f1"]),
    (("file list",), "--change", ("--change", "created"), ["f1"]),
    (("file list",), "--author", ("--author", "builder"), ["f2"]),
    (("file list",), "--layer", ("--layer", "data"), ["f1"]),
    (("file list",), "--since", ("--since", "2999-01-01"), []),
    (("file list",), "--after-seq", ("--after-seq", "0"), ["f1", "f2", "f3"]),
    (("file list",), "--order", ("--order", "asc"), ["f1", "f2", "f3"]),
    (("file list",), "--limit", ("--limit", "1"), ["f3"]),
    (("file list",), "--offset", ("--offset", "2"), ["f1"]),
    (("file claims",), "--author", ("--author", "planner"), ["src/a.py"]),
    (("file claims",), "--path", ("--path", "docs/c.md"), ["docs/**"]),
    (("file claims",), "--limit", ("--limit", "1"), ["docs/**"]),
    (("file claims",), "--offset", ("--offset", "1"), ["src/a.py"]),
]

ALPHA = ("decide", "alpha")
ADD = ("constraint add", "new rule")
SEND = ("message send", "new text", "--agent", "reviewer")
CLAIM = ("file claim", "new.py", "--agent", "builder")

WRITES: list[tuple[tuple[str, ...], str, tuple[str, ...], Mapping[str, object]]] = [
    # command, option, what is given for it, fields of the answer
    (ALPHA, "VALUE", ("11",), {"value": 11}),
    ((*ALPHA, "12"), "--text", ("--text",), {"value": "12"}),
    (ALPHA, "--tag", ("--tag", "c", "--tag", "d"), {"tags": ["c", "d"]}),
    (ALPHA, "--scope", ("--scope", "s3"), {"scopes": ["s3"]}),
    (ALPHA, "--layer", ("--layer", "data"), {"layer": "data"}),
    (ALPHA, "--version", ("--version", "1.1.0"), {"version": "1.1.0"}),
    (ALPHA, "--status", ("--status", "deprecated"), {"status": "deprecated"}),
    (ALPHA, "--why", ("--why", "tests"), {"rationale": "tests"}),
    (ALPHA, "--clear", ("--clear", "tags"), {"tags": None, "scopes": ["s1"], "layer": "business"}),
    (ADD, "--category", ("--category", "security"), {"category": "security"}),
    (ADD, "--priority", ("--priority", "critical"), {"priority": "critical"}),
    (ADD, "--layer", ("--layer", "data"), {"layer": "data"}),
    (ADD, "--tag", ("--tag", "c", "--tag", "d"), {"tags": ["c", "d"]}),
    (("constraint deactivate", "c1"), "--reason", ("--reason", "old"), {"reason": "old"}),
    (SEND, "--to", ("--to", "builder"), {"to": "builder"}),
    (SEND, "--type", ("--type", "warning"), {"type": "warning"}),
    (SEND, "--priority", ("--priority", "critical"), {"priority": "critical"}),
    (SEND, "--payload", ("--payload", '{"n": [1, null]}'), {"payload": {"n": [1, None]}}),
    (SEND, "--reply-to", ("--reply-to", "m3"), {"reply_to": "m3", "thread": "m1", "to": "builder"}),
    (("message read", "--agent", "builder"), "ID", ("m1",), {"marked": ["m1"], "unread": 1}),
    (("message read", "--agent", "builder"), "--all", ("--all",), {"marked": ["m1", "m4"], "unread": 0}),
    (("file record", "new.py", "created"), "--description", ("--description", "made"), {"description": "made"}),
    (("file record", "new.py", "created"), "--layer", ("--layer", "data"), {"layer": "data"}),
    (("file release", "--agent", "planner"), "PATHS", ("src/a.py", "x"), {"released": ["src/a.py"], "not_held": ["x"]}),
    (("file release", "--agent", "planner"), "--all", ("--all",), {"released": ["src/a.py"], "not_held": []}),
    (("clear", "--yes"), "--messages-hours", ("--messages-hours", "0"), {"messages": 4, "file_changes": 0}),
    (("clear", "--yes"), "--file-changes-hours", ("--file-changes-hours", "0"), {"messages": 0, "file_changes": 3}),
    (("clear", "--messages-hours", "0"), "--yes", ("--yes",), {"done": True}),
    (("clear", "--messages-hours", "0", "--yes"), "--preview", ("--preview",), {"done": False}),
]

CLAIMS: list[tuple[str, tuple[str, ...], Mapping[str, object]]] = [
    # option of ``file claim``, what is given for it, fields of the claim
    ("--shared", ("--shared",), {"exclusive": False}),
    ("--why", ("--why", "tests"), {"reason": "tests"}),
]

ALONE = {
    ("decide", "KEY"),
    ("decide", "--expect"),
    ("decisions", "--key"),
    ("constraint add", "TEXT"),
    ("constraint deactivate", "ID"),
    ("message send", "TEXT"),
    ("file record", "FILE"),
    ("file record", "CHANGE"),
    ("file check", "FILE"),
    ("file check", "--window"),
    ("file claim", "PATHS"),
    ("file claim", "--minutes"),
    ("clear", "--conversations-days"),
}
"""Those with a test of their own, here, in test_commands_ledger.py or in test_commands_housekeeping.py."""

AGENTS: list[tuple[tuple[str, ...], str]] = [
    # command, the field that says who acted
    (("decide", "new", "1"), "agent"),
    (("constraint add", "new rule"), "agent"),
    (("constraint deactivate", "c1"), "deactivated_by"),
    (("message send", "hi"), "from"),
    (("message list",), "agent"),
    (("message read", "m1"), "agent"),
    (("file record", "new.py", "created"), "agent"),
    (("file check", "new.py"), "agent"),
    (("file claim", "new.py"), "agent"),
    (("file release", "--all"), "agent"),
]

READS = [("decisions",), ("constraint list",), INBOX, ("file list",), ("file claims",)]
CHANGES = [
    ("decide", "alpha", "11"),
    ("constraint add", "new rule"),
    ("constraint deactivate", "c1"),
    ("message send", "hi", "--agent", "planner"),
    ("message read", "m1", "--agent", "builder"),
    ("file record", "new.py", "created"),
    ("file claim", "new.py", "--agent", "builder"),
    ("file release", "--all", "--agent", "planner"),
    ("clear", "--messages-hours", "0", "--yes"),
]


def found(answer: Mapping[str, Any]) -> list[str]:
    kind = next(kind for kind in ("decisions", "constraints", "messages", "changes", "claims") if kind in answer)
    return [item.get("id", item.get("path")) for item in answer[kind]]


def everything(folder: Path) -> list[str]:
    """Return what the project's store holds of the ledger, as text."""
    from satchel import open_satchel

    with open_satchel(cwd=folder, environ={}, agent="builder") as satchel:
        return [
            repr(page.items)
            for page in (
                satchel.decisions.find(),
                satchel.constraints.find(status="all"),
                satchel.messages.inbox(),
                satchel.files.changes(),
                satchel.files.claims(),
            )
        ]


def test_every_option_has_a_test() -> None:
    tested = {(command[0], option) for command, option, _, _ in FILTERS}
    tested |= {(command[0], option) for command, option, _, _ in WRITES}
    tested |= {("file claim", option) for option, _, _ in CLAIMS}
    tested |= ALONE
    assert {(name, option) for name, option in options_of(GROUPS) if option not in COMMON} == tested


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [(command, given, expected) for command, _, given, expected in FILTERS],
    ids=[f"{command[0]} {option}" for command, option, _, _ in FILTERS],
)
def test_a_filter_counts(cli: Cli, command: tuple[str, ...], given: tuple[str, ...], expected: list[str]) -> None:
    assert found(asked(cli, command)) != expected
    assert found(asked(cli, command, *given)) == expected


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [(command, given, expected) for command, _, given, expected in WRITES],
    ids=[f"{command[0]} {option}" for command, option, _, _ in WRITES],
)
def test_an_option_of_a_write_counts(
    cli: Cli,
    folder: Path,
    command: tuple[str, ...],
    given: tuple[str, ...],
    expected: Mapping[str, object],
) -> None:
    shutil.copytree(folder / ".satchel", folder / "copy")
    without = asked(cli, command, "--db", "copy/satchel.db")
    assert {name: without.get(name) for name in expected} != expected
    answer = asked(cli, command, *given)
    assert {name: answer.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [(given, expected) for _, given, expected in CLAIMS],
    ids=[option for option, _, _ in CLAIMS],
)
def test_an_option_of_a_claim_counts(cli: Cli, given: tuple[str, ...], expected: Mapping[str, object]) -> None:
    (claim,) = asked(cli, CLAIM, *given)["claims"]
    assert {name: claim.get(name) for name in expected} == expected


def test_what_a_command_names_is_what_it_works_on(cli: Cli) -> None:
    assert asked(cli, ("decide", "one", "1"))["key"] == "one"
    assert asked(cli, ("message send", "two words", "--agent", "planner"))["message"] == "two words"
    record = asked(cli, ("file record", "src/x.py", "deleted"))
    assert (record["file"], record["change"]) == ("src/x.py", "deleted")
    assert asked(cli, ("file check", "src/y.py"))["file"] == "src/y.py"
    assert found(asked(cli, ("file claim", "a.py", "lib/", "--agent", "planner"))) == ["a.py", "lib/**"]
    assert asked(cli, ("constraint add", "first"))["text"] == "first"
    asked(cli, ("constraint add", "second"))
    assert asked(cli, ("constraint deactivate", "c2"))["text"] == "second"


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("command", "field"), AGENTS, ids=[command[0] for command, _ in AGENTS])
def test_the_agent_counts(cli: Cli, command: tuple[str, ...], field: str) -> None:
    assert asked(cli, command, "--agent", "reviewer")[field] == "reviewer"


def test_every_command_that_acts_as_somebody_is_tested() -> None:
    acting = {name for name, option in options_of(GROUPS) if option == "--agent"}
    assert acting == {command[0] for command, _ in AGENTS}


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
@pytest.mark.parametrize("command", READS, ids=[command[0] for command in READS])
def test_a_list_is_of_the_place_that_is_named(cli: Cli, command: tuple[str, ...], place: tuple[str, ...]) -> None:
    cli("decide", "theirs", "1", *place)
    expected = ["d1" if "--db" in place else "d4"] if command[0] == "decisions" else []
    assert found(asked(cli, command, *place)) == expected


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
@pytest.mark.parametrize("command", CHANGES, ids=[command[0] for command in CHANGES])
def test_a_change_is_made_in_the_place_that_is_named(
    cli: Cli, folder: Path, command: tuple[str, ...], place: tuple[str, ...]
) -> None:
    before = everything(folder)
    asked(cli, command, *place)
    assert everything(folder) == before
    asked(cli, command)
    assert everything(folder) != before


def test_every_command_is_tested_in_another_place() -> None:
    placed = {name for name, option in options_of(GROUPS) if option == "--db"}
    assert placed == {name for name, option in options_of(GROUPS) if option == "--project"}
    assert placed - {"file check"} == {command[0] for command in (*READS, *CHANGES)}


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
def test_a_lock_is_of_the_place_that_is_named(cli: Cli, place: tuple[str, ...]) -> None:
    assert asked(cli, ("file check", "src/a.py"))["locked"] is True
    assert asked(cli, ("file check", "src/a.py"), *place)["locked"] is False

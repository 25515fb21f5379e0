"""What only people can say to the commands of the ledger; their other options are tested with the tools.

A test compares both tables of cases with the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any

import pytest

from cli_asking import Cli, asked, options_of
from tables import in_one_test
from tool_asking import options_in_cases

GROUPS = ("decide", "decisions", "rule", "message", "file", "clear")
COMMON = {"--db", "--project", "--json", "--detail"}
"""Tested for all commands at once; what ``--json`` prints is tested with the commands."""

INBOX = ("message list", "--agent", "builder")

FILTERS: list[tuple[tuple[str, ...], str, tuple[str, ...], list[str]]] = [
    # command, option, what is given for it, what is found, in order
    (("decisions",), "WORDS", ("zebra",), ["d2"]),
    (("rule list",), "WORDS", ("zebra",), ["c1"]),
    (INBOX, "WORDS", ("zebra",), ["m1"]),
    (("message list",), "--agent", ("--agent", "builder"), ["m4", "m2", "m1"]),
    (INBOX, "--unread", ("--unread",), ["m4"]),
    (INBOX, "--type", ("--type", "request"), ["m1"]),
    (INBOX, "--priority", ("--priority", "high"), ["m1"]),
    (INBOX, "--from", ("--from", "reviewer"), ["m2"]),
    (INBOX, "--thread", ("--thread", "m4"), ["m4", "m3", "m1"]),
    (INBOX, "--since", ("--since", "2999-01-01"), []),
    (INBOX, "--after-seq", ("--after-seq", "0"), ["m1", "m2", "m4"]),
    (INBOX, "--order", ("--order", "asc"), ["m1", "m2", "m4"]),
    (INBOX, "--limit", ("--limit", "1"), ["m4"]),
    (INBOX, "--offset", ("--offset", "2"), ["m1"]),
    (("file list",), "WORDS", ("zebra",), ["f1"]),
    (("file claims",), "--author", ("--author", "planner"), ["src/a.py"]),
    (("file claims",), "--path", ("--path", "docs/c.md"), ["docs/**"]),
    (("file claims",), "--limit", ("--limit", "1"), ["docs/**"]),
    (("file claims",), "--offset", ("--offset", "1"), ["src/a.py"]),
    (("file claims",), "--since", ("--since", "2999-01-01"), []),
]

ALPHA = ("decide", "alpha")

WRITES: list[tuple[tuple[str, ...], str, tuple[str, ...], Mapping[str, object]]] = [
    # command, option, what is given for it, fields of the answer
    (("message read", "--agent", "builder"), "ID", ("m4",), {"marked": ["m4"], "unread": 0}),
    (("message read", "--agent", "builder"), "--all", ("--all",), {"marked": ["m4"], "unread": 0}),
    (("message read", "m4"), "--agent", ("--agent", "builder"), {"agent": "builder", "marked": ["m4"]}),
    ((*ALPHA, "12"), "--text", ("--text",), {"value": "12"}),
    (ALPHA, "--clear", ("--clear", "tags"), {"tags": None, "scopes": ["s1"], "layer": "business"}),
    (("file release", "--agent", "planner"), "--all", ("--all",), {"released": ["src/a.py"], "not_held": []}),
    (("clear", "--yes"), "--messages-hours", ("--messages-hours", "0"), {"messages": 4, "file_changes": 0}),
    (("clear", "--yes"), "--file-changes-hours", ("--file-changes-hours", "0"), {"messages": 0, "file_changes": 3}),
    (("clear", "--messages-hours", "0"), "--yes", ("--yes",), {"done": True}),
    (("clear", "--messages-hours", "0", "--yes"), "--dry-run", ("--dry-run",), {"done": False}),
]

_OF_INBOX = {"--unread", "--type", "--priority", "--from", "--thread"}
ALONE = {
    ("rule add", "--stated-by"),
    *(("decisions", "--key"), ("message list", "--wait")),
    *(("file check", option) for option in ("FILE", "--agent", "--window")),
    *(("message sent", option) for command, option, *_ in FILTERS if command == INBOX and option not in _OF_INBOX),
    ("message sent", "--agent"),
    *(("clear", option) for option in ("--notes", "--compact", "--keep", "--run")),
}
"""Those with a test of their own, here or in test_commands_ledger.py."""

READS = [
    ("decisions",),
    ("rule list",),
    INBOX,
    ("message sent", "--agent", "planner"),
    ("file list",),
    ("file claims",),
]
CHANGES = [
    ("decide", "alpha", "11"),
    ("rule add", "new rule"),
    ("message send", "hi", "--agent", "planner"),
    ("message read", "m4", "--agent", "builder"),
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
    tested |= ALONE | options_in_cases(GROUPS)
    assert {(name, option) for name, option in options_of(GROUPS) if option not in COMMON} == tested


@pytest.mark.usefixtures("ledger")
@in_one_test(
    ("command", "given", "expected"),
    [(command, given, expected) for command, _, given, expected in FILTERS],
)
def test_a_filter_counts(cli: Cli, command: tuple[str, ...], given: tuple[str, ...], expected: list[str]) -> None:
    assert found(asked(cli, command)) != expected
    assert found(asked(cli, command, *given)) == expected


@pytest.mark.usefixtures("ledger")
@in_one_test(
    ("command", "given", "expected"),
    [(command, given, expected) for command, _, given, expected in WRITES],
)
def test_an_option_of_a_write_counts(
    cli: Cli,
    folder: Path,
    command: tuple[str, ...],
    given: tuple[str, ...],
    expected: Mapping[str, object],
) -> None:
    copies = [copytree(folder / ".satchel", mkdtemp(dir=folder), dirs_exist_ok=True) for _ in range(2)]
    without = asked(cli, command, "--db", f"{copies[0]}/satchel.db")
    assert {name: without.get(name) for name in expected} != expected
    answer = asked(cli, command, *given, "--db", f"{copies[1]}/satchel.db")
    assert {name: answer.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "expected"), [(("new.py",), True), (("--shared", "new.py"), False)], ids=["alone", "shared"]
)
def test_a_claim_can_be_shared(cli: Cli, given: tuple[str, ...], expected: bool) -> None:
    (claim,) = asked(cli, ("file claim", "--agent", "builder"), *given)["claims"]
    assert claim["exclusive"] is expected


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
@in_one_test("command", READS)
def test_a_list_is_of_the_place_that_is_named(cli: Cli, command: tuple[str, ...], place: tuple[str, ...]) -> None:
    cli("decide", "theirs", "1", *place)
    expected = ["d1" if "--db" in place else "d4"] if command[0] == "decisions" else []
    assert found(asked(cli, command, *place)) == expected


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
@in_one_test("command", CHANGES)
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
def test_a_claim_is_of_the_place_that_is_named(cli: Cli, place: tuple[str, ...]) -> None:
    assert asked(cli, ("file check", "src/a.py"))["files"][0]["state"] == "held"
    assert asked(cli, ("file check", "src/a.py"), *place)["files"][0]["state"] == "free"


@pytest.mark.usefixtures("ledger")
def test_files_are_checked_for_an_agent_with_changes_of_a_time(cli: Cli) -> None:
    def checked(*given: str) -> tuple[str, int]:
        (file,) = asked(cli, ("file check", *given))["files"]
        return file["state"], len(file["recent"])

    assert checked("src/a.py", "--agent", "planner") == ("yours", 0)
    assert checked("src/b.py", "--agent", "planner") == ("free", 1)
    assert checked("src/b.py", "--agent", "planner", "--window", "0") == ("free", 0)

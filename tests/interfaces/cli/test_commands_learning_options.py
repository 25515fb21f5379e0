"""Every option of ``learn`` and ``package`` changes what comes back; a test compares the tables with the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any

import pytest

from cli_asking import Cli, asked, options_of
from satchel import open_satchel
from tables import in_one_test

GROUPS = ("error", "strategy", "package")
COMMON = {"--db", "--project", "--agent", "--json", "--detail"}
"""Tested for all commands at once; what ``--json`` prints is tested with the commands."""

ERRORS, STRATEGIES, PACKAGES = ("error list",), ("strategy list",), ("package list",)

FILTERS: list[tuple[tuple[str, ...], str, tuple[str, ...], list[str]]] = [
    # command, option, what is given for it, what is found, in order
    (ERRORS, "WORDS", ("zebra",), ["x1"]),
    (ERRORS, "--lang", ("--lang", "typescript"), ["x3", "x2"]),
    (ERRORS, "--type", ("--type", "TS2307"), ["x2"]),
    (ERRORS, "--state", ("--state", "unsolved"), ["x3", "x2"]),
    ((*ERRORS, "--state", "unsolved"), "--status", ("--status", "all"), ["x2"]),
    (ERRORS, "--since", ("--since", "2999-01-01"), []),
    (ERRORS, "--after-seq", ("--after-seq", "0"), ["x1", "x2", "x3"]),
    (ERRORS, "--order", ("--order", "asc"), ["x1", "x2", "x3"]),
    (ERRORS, "--limit", ("--limit", "1"), ["x3"]),
    (ERRORS, "--offset", ("--offset", "2"), ["x1"]),
    (STRATEGIES, "WORDS", ("zebra",), ["s1"]),
    (STRATEGIES, "--topic", ("--topic", "imports"), ["s3", "s1"]),
    (STRATEGIES, "--lang", ("--lang", "go"), ["s2", "s3"]),
    (STRATEGIES, "--framework", ("--framework", "django"), ["s2", "s1"]),
    (STRATEGIES, "--author", ("--author", "planner"), ["s1"]),
    (STRATEGIES, "--since", ("--since", "2999-01-01"), []),
    (STRATEGIES, "--after-seq", ("--after-seq", "0"), ["s1", "s2", "s3"]),
    (STRATEGIES, "--order", ("--order", "asc"), ["s1", "s2", "s3"]),
    (STRATEGIES, "--limit", ("--limit", "1"), ["s2"]),
    (STRATEGIES, "--offset", ("--offset", "2"), ["s1"]),
    (PACKAGES, "WORDS", ("zebra",), ["p1"]),
    (PACKAGES, "--type", ("--type", "failures", "--type", "handoff"), ["p2", "p4"]),
    (PACKAGES, "--priority", ("--priority", "high"), ["p2"]),
    (PACKAGES, "--task", ("--task", "T1"), ["p5", "p1", "p4"]),
    (PACKAGES, "--role", ("--role", "qa_expert"), ["p2", "p5", "p4"]),
    (PACKAGES, "--author", ("--author", "planner"), ["p1"]),
    (PACKAGES, "--status", ("--status", "superseded"), ["p3"]),
    (PACKAGES, "--since", ("--since", "2999-01-01"), []),
    (PACKAGES, "--after-seq", ("--after-seq", "0"), ["p1", "p2", "p4", "p5"]),
    (PACKAGES, "--order", ("--order", "asc"), ["p1", "p2", "p4", "p5"]),
    (PACKAGES, "--limit", ("--limit", "1"), ["p2"]),
    (PACKAGES, "--offset", ("--offset", "2"), ["p1", "p4"]),
    (PACKAGES, "--run", ("--run", "r2"), ["p5"]),
]

ERROR = ("error report", "NewError", "boom")
STRATEGY = ("strategy save", "new topic", "new insight")
SAVE = ("package save", "new", "--content", "x")
TOO_LARGE = "p1 has 10 bytes, more than the 2 that are read"

WRITES: list[tuple[tuple[str, ...], str, tuple[str, ...], tuple[str | int, ...], object]] = [
    # command, option, what is given for it, where in the answer it is seen, what is seen
    (ERROR, "--lang", ("--lang", "Python"), ("pattern", "lang"), "python"),
    (ERROR, "--solution", ("--solution", "mend it"), ("recorded", "text"), "mend it"),
    (ERROR, "--ttl-days", ("--ttl-days", "7"), ("pattern", "ttl_days"), 7),
    (("error outcome", "y1"), "--helped", ("--failed",), ("confidence",), 3),
    (("error outcome", "x2"), "--solution", ("--solution", "mend it"), ("text",), "mend it"),
    (STRATEGY, "--lang", ("--lang", "go"), ("lang",), "go"),
    (STRATEGY, "--framework", ("--framework", "gin"), ("framework",), "gin"),
    (("package save", "new"), "--path", ("--path", "docs/a.md"), ("path",), "docs/a.md"),
    (("package save", "new"), "--content", ("--content", "xyz"), ("content_bytes",), 3),
    (SAVE, "--type", ("--type", "failures"), ("type",), "failures"),
    (SAVE, "--priority", ("--priority", "critical"), ("priority",), "critical"),
    (SAVE, "--task", ("--task", "T9"), ("task_id",), "T9"),
    (SAVE, "--for", ("--for", "QA", "--for", "developer"), ("consumers",), ["developer", "qa"]),
    (("package show", "p1"), "--max-bytes", ("--max-bytes", "2"), ("packages", 0, "reason"), TOO_LARGE),
    (("package priority", "p1"), "PRIORITY", ("low",), ("priority",), "low"),
    (("package priority", "p1"), "--event", ("--event", "error"), ("priority",), "critical"),
]

ALONE = {
    ("error report", "TYPE"),
    ("error report", "MESSAGE"),
    ("error report", "--stack-file"),
    ("error report", "--hint"),
    ("error report", "--loop"),
    ("error report", "--task"),
    ("error report", "--run"),
    ("error outcome", "ID"),
    ("strategy save", "TOPIC"),
    ("strategy save", "INSIGHT"),
    ("strategy list", "--from-run"),
    ("strategy list", "--status"),
    ("strategy save", "--supersedes"),
    ("package save", "SUMMARY"),
    ("package save", "--supersedes"),
    ("package save", "--run"),
    ("package show", "ID"),
    ("package priority", "ID"),
}
"""Those with a test of their own, here or in test_commands_packing.py."""

AGENTS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    # command, where its answer says who acted
    ((*ERROR, "--solution", "mend it"), ("recorded", "agent")),
    (("error outcome", "x2", "--solution", "mend it"), ("agent",)),
    (STRATEGY, ("agent",)),
    (SAVE, ("agent",)),
]

READS = [ERRORS, STRATEGIES, PACKAGES]
CHANGES = [
    ERROR,
    ("error outcome", "y1"),
    STRATEGY,
    SAVE,
    ("package priority", "p1", "critical"),
]


@pytest.fixture
def filled(folder: Path) -> None:
    """Three of each thing that is filled; in each way that they can be filtered by they differ.

    Of the run main p2 is the most urgent package, and p4 replaced p3; p5 is of r2, and saved in r1 is nothing. The
    solution of x3 is only observed.
    """
    with open_satchel(cwd=folder, environ={}) as satchel:
        report, remember, save = satchel.patterns.report, satchel.strategies.save, satchel.packages.save
        report("KeyError", "a zebra crosses", lang="python", solution="look left", agent="planner")
        report("TS2307", "no such module", lang="typescript")
        report("Timeout", "too late", solution="wait", agent="builder")
        for judge in ("lea", "tom"):
            satchel.patterns.outcome("y2", False, agent=judge)
        remember("imports", "zebras first", lang="python", framework="django", agent="planner")
        remember("tokens", "refresh early", agent="builder")
        satchel.strategies.outcome("s2", True)
        remember("imports", "one group for each floor", lang="go", framework="gin", agent="builder")
        satchel.runs.start("r1")
        save("a zebra", content="it crosses", consumers=["developer"], task_id="T1", agent="planner")
        save("tests", content="x", type="failures", priority="high", consumers=["qa_expert"], task_id="T2")
        save("old", content="x", type="handoff", priority="low", agent="builder")
        save("new", content="x", type="handoff", priority="low", supersedes="p3", agent="builder")
        satchel.runs.start("r2")
        save("elsewhere", content="x", run_id="r2")
        satchel.runs.end("r2")


def found(answer: Mapping[str, Any]) -> list[str]:
    kind = next(kind for kind in ("patterns", "strategies", "packages") if kind in answer)
    return [item["id"] for item in answer[kind]]


def seen(answer: Any, path: tuple[str | int, ...]) -> object:
    """Return what stands at a place of an answer; None where there is nothing."""
    for step in path:
        if not answer:
            return None
        answer = answer[step] if isinstance(step, int) else answer.get(step)
    return answer


def everything(folder: Path) -> list[str]:
    """Return what the project's store holds of what is filled, as text."""
    with open_satchel(cwd=folder, environ={}) as satchel:
        return [
            repr(page.items)
            for page in (
                satchel.patterns.find(status="all"),
                satchel.strategies.find(),
                satchel.packages.find(status="all", run_id="main"),
            )
        ]


@pytest.mark.usefixtures("filled")
def test_a_strategy_replaces_another_which_is_listed_when_asked_for(cli: Cli) -> None:
    asked(cli, STRATEGY, "--supersedes", "s2", "--agent", "builder")
    assert found(asked(cli, STRATEGIES, "--status", "superseded")) == ["s2"]
    assert "s2" not in found(asked(cli, STRATEGIES))


def test_every_option_has_a_test() -> None:
    tested = {(command[0], option) for command, option, _, _ in FILTERS}
    tested |= {(command[0], option) for command, option, _, _, _ in WRITES}
    tested |= ALONE
    assert {(name, option) for name, option in options_of(GROUPS) if option not in COMMON} == tested


@pytest.mark.usefixtures("filled")
@in_one_test(
    ("command", "given", "expected"),
    [(command, given, expected) for command, _, given, expected in FILTERS],
)
def test_a_filter_counts(cli: Cli, command: tuple[str, ...], given: tuple[str, ...], expected: list[str]) -> None:
    assert found(asked(cli, command)) != expected
    assert found(asked(cli, command, *given)) == expected


@pytest.mark.usefixtures("filled")
@in_one_test(
    ("command", "given", "path", "expected"),
    [(command, given, path, expected) for command, _, given, path, expected in WRITES],
)
def test_an_option_of_a_write_counts(
    cli: Cli,
    folder: Path,
    command: tuple[str, ...],
    given: tuple[str, ...],
    path: tuple[str | int, ...],
    expected: object,
) -> None:
    copies = [copytree(folder / ".satchel", mkdtemp(dir=folder), dirs_exist_ok=True) for _ in range(2)]
    assert seen(asked(cli, command, "--db", f"{copies[0]}/satchel.db"), path) != expected
    assert seen(asked(cli, command, *given, "--db", f"{copies[1]}/satchel.db"), path) == expected


def test_what_a_command_names_is_what_it_works_on(cli: Cli) -> None:
    pattern = asked(cli, ("error report", "KeyError", "two words"))["pattern"]
    assert (pattern["error_type"], pattern["message"]) == ("KeyError", "two words")
    strategy = asked(cli, ("strategy save", "Token Refresh", "do it early"))
    assert (strategy["topic"], strategy["insight"]) == ("token-refresh", "do it early")
    assert asked(cli, ("error outcome", "s1"))["id"] == "s1"
    assert asked(cli, ("package save", "first", "--content", "x"))["summary"] == "first"
    asked(cli, ("package save", "second", "--content", "y"))
    assert found(asked(cli, ("package show", "p2", "p1"))) == ["p2", "p1"]
    assert asked(cli, ("package priority", "p2", "high"))["summary"] == "second"


@pytest.mark.usefixtures("filled")
def test_a_package_takes_the_place_of_another(cli: Cli) -> None:
    asked(cli, SAVE, "--supersedes", "p1")
    assert found(asked(cli, PACKAGES, "--status", "superseded")) == ["p1", "p3"]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("command", [SAVE, (*ERROR, "--loop", "L1")], ids=["package save", "error report"])
def test_the_run_counts(cli: Cli, command: tuple[str, ...]) -> None:
    cli("run", "start", "r3")
    assert asked(cli, command, "--run", "r4") == {}
    assert asked(cli, command, "--run", "r3")


def test_the_place_of_an_error_is_kept(cli: Cli, folder: Path) -> None:
    cli("run", "start", "r1")
    asked(cli, ERROR, "--loop", "L1", "--task", "T1")
    with open_satchel(cwd=folder, environ={}) as satchel, satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT task_id, loop_id FROM error_reports") == [("T1", "L1")]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("command", "path"), AGENTS, ids=[command[0] for command, _ in AGENTS])
def test_the_agent_counts(cli: Cli, command: tuple[str, ...], path: tuple[str, ...]) -> None:
    assert seen(asked(cli, command, "--agent", "reviewer"), path) == "reviewer"


@pytest.mark.usefixtures("filled")
def test_who_changes_a_priority_learns_of_critical_messages(cli: Cli) -> None:
    cli("message", "send", "stop", "--to", "reviewer", "--priority", "critical", "--agent", "planner")
    command = ("package", "priority", "p1", "low")
    assert "notice" not in cli(*command)[2]
    assert (
        cli(*command, "--agent", "reviewer")[2]
        == "p1 is low already\nnotice: 1 unread message for reviewer from planner, 1 critical: satchel message list\n"
    )


def test_every_command_that_acts_as_somebody_is_tested() -> None:
    acting = {name for name, option in options_of(GROUPS) if option == "--agent"}
    assert acting == {command[0] for command, _ in AGENTS} | {"package priority"}


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
@in_one_test("command", READS)
def test_a_list_is_of_the_place_that_is_named(cli: Cli, command: tuple[str, ...], place: tuple[str, ...]) -> None:
    if not found(asked(cli, STRATEGIES, "--topic", "theirs", *place)):
        cli("strategy", "save", "theirs", "x", *place)
    expected = ["s1" if "--db" in place else "s4"] if command == STRATEGIES else []
    assert found(asked(cli, command, *place)) == expected


@pytest.mark.usefixtures("filled")
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


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("place", [("--project", "other"), ("--db", "other.db")], ids=["project", "db"])
def test_what_is_shown_is_of_the_place_that_is_named(cli: Cli, place: tuple[str, ...]) -> None:
    cli("package", "save", "theirs", "--content", "x", *place)
    (shown,) = asked(cli, ("package show", "p1"), *place)["packages"]
    assert shown.get("summary") == ("theirs" if "--db" in place else None)


def test_every_command_is_tested_in_another_place() -> None:
    placed = {name for name, option in options_of(GROUPS) if option == "--db"}
    assert placed == {name for name, option in options_of(GROUPS) if option == "--project"}
    assert placed - {"package show"} == {command[0] for command in (*READS, *CHANGES)}

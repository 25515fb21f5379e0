"""``learn`` and ``package``: what they read, show, propose and refuse."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cli_asking import Cli, asked
from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.common import given_or_read
from satchel.keep.patterns.kind import SOLUTION_FILTERS, STATE_FILTERS
from tables import in_one_test

KNOWN = ("error report", "ModuleNotFoundError", "No module named 'requests'")
SECRET = "password=hunter2hunter2"


def headings(table: str) -> list[str]:
    return re.split(r" {2,}", table.splitlines()[0].strip())


def solutions(answer: dict[str, Any]) -> list[str]:
    return [one["id"] for one in answer["pattern"]["solutions"]]


@pytest.fixture
def known(cli: Cli) -> None:
    """An error with two solutions of which the newer, y2, stands first."""
    asked(cli, KNOWN, "--solution", "run pip install requests", "--agent", "planner")
    asked(cli, ("error outcome", "x1", "--solution", "activate the environment"), "--agent", "planner")


@pytest.fixture
def failed_then_passed(cli: Cli) -> None:
    """Run r1, in which task T1 passed review after its tests and a review had failed."""
    place = ("--task", "T1", "--loop", "L1", "--run", "r1")
    assert cli("run", "start", "r1")[0] == 0
    for kind, content in (
        ("codebase_analysis", {"summary": "a service", "tech_stack": ["Python"]}),
        ("scratchpad", {"iteration": 1, "done": False, "test_status": "failing", "attempted": ["retry on 401"]}),
        ("review_verdict", {"passed": False, "summary": "tokens still expire"}),
        (
            "scratchpad",
            {"iteration": 2, "done": True, "test_status": "passing", "attempted": ["-- refresh it's token early"]},
        ),
        ("review_verdict", {"passed": True, "summary": "refreshing early works"}),
    ):
        where = place[-2:] if kind == "codebase_analysis" else place
        status, _, err = cli("write", kind, json.dumps(content), *where, "--agent", "builder")
        assert status == 0, err
    assert cli("run", "end", "r1")[0] == 0


@pytest.mark.usefixtures("known")
def test_a_known_error_shows_what_fixed_it(cli: Cli) -> None:
    status, out, err = cli(*KNOWN[0].split(), *KNOWN[1:])
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("x1 ModuleNotFoundError, met 2 times since ")
    assert lines[2].startswith("y2 tentative, confidence 5 of 10 ")
    assert lines[3] == " activate the environment"


@pytest.mark.usefixtures("known")
def test_a_stack_ranks_solutions_that_share_its_words(cli: Cli, folder: Path) -> None:
    (folder / "build.log").write_bytes(b"pip install failed\xff")
    assert solutions(asked(cli, KNOWN)) == ["y2", "y1"]
    assert solutions(asked(cli, KNOWN, "--stack-file", "build.log")) == ["y1", "y2"]


@pytest.mark.usefixtures("known")
def test_hints_rank_solutions_that_share_their_words(cli: Cli) -> None:
    assert solutions(asked(cli, KNOWN, "--hint", "pip", "--hint", "install")) == ["y1", "y2"]


@pytest.mark.parametrize("message", [(), ("-",)])
def test_a_message_may_come_from_standard_input(cli: Cli, message: tuple[str, ...]) -> None:
    status, out, _ = cli("error", "report", "KeyError", *message, "--json", stdin=b"from a pipe\n")
    assert (status, json.loads(out)["pattern"]["message"]) == (0, "from a pipe")


def test_a_text_that_nobody_gives_or_pipes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    with pytest.raises(InvalidInput, match="there is no message"):
        given_or_read(None, "message")


def test_secrets_are_redacted_and_that_is_said(cli: Cli, folder: Path) -> None:
    (folder / "log").write_text(SECRET)
    told = (
        "".join(cli("error", "report", "E", SECRET, "--stack-file", "log", "--solution", SECRET)[1:])
        + "".join(cli("strategy", "save", "t", SECRET)[1:])
        + "".join(cli("package", "save", SECRET, "--content", SECRET)[1:])
    )
    assert told.count("a secret was redacted") == 3
    shown = "".join(cli(*command.split())[1] for command in ("error list", "strategy list", "package list"))
    assert "hunter2" not in told + shown + cli("package", "show", "p1")[1]


@pytest.mark.usefixtures("known")
def test_outcomes_move_the_confidence(cli: Cli) -> None:
    told = (
        "recorded y1 for x1: tentative, confidence 6 of 10 (7 counts as known; "
        "each agent it helps adds 1), helped 1 time\n"
    )
    assert cli("error", "outcome", "y1")[1] == told
    said = cli("error", "outcome", "y1", "--failed")[1]
    assert (
        said == "recorded y1 for x1: weak, confidence 4 of 10 (7 counts as known; "
        "each agent it helps adds 1), helped 1 time, "
        "failed 1 time\n"
    )
    told = cli("error", "outcome", "y1", "--helped", "--agent", "ben")[1]
    stands = (
        "tentative, confidence 5 of 10 (7 counts as known; each agent it helps adds 1), helped 2 times, failed 1 time"
    )
    assert told == f"recorded y1 for x1: {stands}\n"


def test_an_error_is_named_by_its_hash_too(cli: Cli) -> None:
    pattern = asked(cli, KNOWN)["pattern"]
    assert asked(cli, ("error outcome", pattern["hash"], "--solution", "pin it"))["pattern"] == "x1"


@pytest.mark.usefixtures("known")
def test_errors_are_listed_with_their_solutions(cli: Cli) -> None:
    cli("error", "report", "TS2307", "no such module", "--lang", "typescript")
    _, out, err = cli("error", "list")
    assert [line.split()[0] for line in out.splitlines() if re.match(r"[xy]\d", line)] == ["x2", "x1", "y2", "y1"]
    assert err == "2 of 2 errors\n"


@pytest.mark.parametrize("state", STATE_FILTERS)
def test_every_state_can_be_asked_for(cli: Cli, state: str) -> None:
    assert cli("error", "list", "--state", state)[0] == 0


@pytest.mark.parametrize("status", SOLUTION_FILTERS)
def test_every_status_can_be_asked_for(cli: Cli, status: str) -> None:
    assert cli("error", "list", "--status", status)[0] == 0


def test_people_see_every_field_of_a_strategy(cli: Cli) -> None:
    cli("strategy", "save", "t", "i", "--lang", "go", "--framework", "gin", "--agent", "planner")
    cli("error", "outcome", "s1")
    cli("error", "outcome", "s1", "--failed")
    assert headings(cli("strategy", "list")[1]) == [
        *("id", "topic", "insight", "lang", "framework", "helped", "did not", "by", "last", "saved"),
    ]


def test_people_see_every_field_of_a_package(cli: Cli) -> None:
    full = ("--task", "T1", "--for", "qa", "--agent", "ann")
    cli("package", "save", "s", "--path", "a.md", *full)
    cli("package", "save", "s", "--content", "x", "--supersedes", "p1")
    assert headings(cli("package", "list", "--status", "all")[1]) == [
        *("id", "priority", "type", "summary", "file", "bytes", "task", "for", "by"),
        *("saved", "changed", "superseded by"),
    ]


def test_a_near_duplicate_of_a_strategy_is_pointed_out(cli: Cli) -> None:
    told = "refresh the token well before it expires"
    cli("strategy", "save", "tokens", told)
    assert "s1 says nearly the same" in cli("strategy", "save", "refreshing", told)[2]


@pytest.mark.usefixtures("failed_then_passed")
def test_what_a_run_taught_is_proposed_with_its_evidence_and_not_saved(cli: Cli) -> None:
    status, out, err = cli("strategy", "list", "--from-run", "r1")
    assert (status, err) == (0, "1 proposed, none saved\n")
    assert "task T1, from e" in out.splitlines()[0]
    assert "refresh it's token early" in out
    assert cli("strategy", "list")[2].startswith("0 of 0 strategies")


@pytest.mark.usefixtures("failed_then_passed")
@pytest.mark.parametrize("options", [(), ("--db", ".satchel/satchel.db", "--project", "project")])
def test_the_command_beside_a_proposal_saves_it(cli: Cli, options: tuple[str, ...]) -> None:
    answer = asked(cli, ("strategy list", "--from-run", "r1"), *options)
    (proposal,) = answer["proposals"]
    assert (answer["run_id"], proposal["task_id"], bool(proposal["evidence"])) == ("r1", "T1", True)
    program, *arguments = shlex.split(proposal["command"])
    assert program == "satchel"
    assert cli(*arguments)[0] == 0
    (saved,) = asked(cli, ("strategy list",))["strategies"]
    names = ("topic", "insight", "lang", "framework")
    assert {name: saved.get(name) for name in names} == {name: proposal.get(name) for name in names}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("zebra",), "WORDS"),
        (("--lang", "go"), "--lang"),
        (("--topic", "t"), "--topic"),
        (("--limit", "3"), "--limit"),
        (("--since", "2d"), "--since"),
    ],
)
def test_what_filters_a_list_is_refused_beside_a_run(cli: Cli, given: tuple[str, ...], told: str) -> None:
    status, out, err = cli("strategy", "list", "--from-run", "r1", *given)
    assert (status, out) == (2, "")
    assert f"{told} cannot be combined with --from-run" in err


def test_a_text_may_come_from_standard_input(cli: Cli) -> None:
    cli("package", "save", "piped", "--content", "-", stdin=b"one\n two\n")
    status, out, err = cli("package", "show", "p1")
    assert (status, out, err) == (0, "one\n two\n", "p1 research by human: piped\n")


def test_a_file_is_shown_as_it_is_now(cli: Cli, folder: Path) -> None:
    (folder / "a.md").write_text("first")
    cli("package", "save", "notes", "--path", "a.md", "--agent", "planner")
    (folder / "a.md").write_text("second")
    assert cli("package", "show", "p1") == (0, "second\n", "p1 research by planner: notes\n")


def test_what_cannot_be_shown_is_said_and_the_rest_is_shown(cli: Cli) -> None:
    cli("package", "save", "gone", "--path", "gone.md")
    cli("package", "save", "here", "--content", "text")
    status, out, err = cli("package", "show", "p1", "p2", "p9")
    assert (status, out) == (3, "text\n")
    assert err.splitlines() == [
        "p2 research by human: here",
        "p1: gone.md is not there",
        "p9: there is no package p9 in this project",
    ]


def test_a_link_that_leads_out_of_the_project_is_neither_saved_nor_shown(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("not yours")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    status, _, err = cli("package", "save", "s", "--path", "link.md")
    assert (status, "leads out of the project" in err) == (5, True)
    (folder / "later.md").write_text("mine")
    cli("package", "save", "s", "--path", "later.md")
    (folder / "later.md").unlink()
    (folder / "later.md").symlink_to(tmp_path / "outside.md")
    status, out, err = cli("package", "show", "p1")
    assert (status, out) == (3, "")
    assert "leads out of the project" in err


def test_packages_are_counted_by_priority(cli: Cli) -> None:
    for priority in ("low", "critical", "low"):
        cli("package", "save", "s", "--content", "x", "--priority", priority)
    _, out, err = cli("package", "list", "--limit", "1")
    assert headings(out) == ["id", "priority", "type", "summary", "bytes", "by", "saved"]
    assert err == "1 of 3 packages (1 critical, 2 low); --offset 1 shows more\n"


def test_a_rule_that_changes_nothing_says_so(cli: Cli) -> None:
    cli("package", "save", "s", "--content", "x", "--priority", "critical")
    _, out, err = cli("package", "priority", "p1", "--event", "finding")
    assert (out, err) == ("p1 is critical\n", "p1 is critical already; finding does not change that\n")


@pytest.mark.parametrize("command", ["error list", "strategy list"])
def test_an_empty_list_says_so_and_draws_nothing(cli: Cli, command: str) -> None:
    status, out, err = cli(*command.split())
    assert (status, out) == (0, "")
    assert err.startswith("0 of 0 ")
    assert "nothing was written for this project yet" in err


def test_without_a_run_there_are_no_packages(cli: Cli) -> None:
    status, out, err = cli("package", "list")
    assert (status, out) == (0, "")
    assert err.startswith("0 of 0 packages\nnothing was written for this project yet")


@in_one_test(
    ("arguments", "problem"),
    [
        (("error", "report"), "Missing argument 'TYPE'"),
        (("error", "report", " ", "x"), "TYPE is empty"),
        (("error", "report", "E", " "), "message is empty"),
        (("error", "report", "E", "x", "--stack-file", "none.log"), "none.log"),
        (("error", "report", "E", "x", "--ttl-days", "0"), "--ttl-days 0 is out of range"),
        (("error", "report", "E", "x", "--loop", "{{loop}}"), "unresolved placeholder"),
        (("error", "list", "--state", "dead"), "'dead' is not one of 'active', 'confirmed'"),
        (("error", "list", "--limit", "501"), "limit 501 is out of range"),
        (("error", "outcome", "z1"), "'z1' is no id of a solution, an error or a strategy. Give one such as y7, x4"),
        (("error", "outcome", "x1", "--solution", "s", "--failed"), "what did not help is no solution of an error"),
        (("error", "outcome", "y1", "--solution", "s"), "y1 is no error that a solution fixes"),
        (("strategy", "save", "t", " "), "insight is empty"),
        (("strategy", "list", "--order", "up"), "'up' is not one of 'desc', 'asc'"),
        (("package", "save", "s"), "path"),
        (("package", "save", "s", "--path", "a", "--content", "x"), "path"),
        (("package", "save", "s", "--path", "../a"), "names no file of the project"),
        (("package", "save", "s", "--path", "."), "names no file of the project"),
        (("package", "save", " ", "--content", "x"), "summary is empty"),
        (("package", "save", "s", "--content", "x", "--type", "notes"), "'notes' is not one of 'research'"),
        (("package", "save", "s", "--content", "x", "--for", ""), "consumers"),
        (("package", "show"), "Missing argument"),
        (("package", "show", "d1"), "no id of a package"),
        (("package", "show", "p1", "--max-bytes", "0"), "--max-bytes 0 is out of range"),
        (("package", "priority", "p1"), "give either a priority or an event"),
        (("package", "priority", "p1", "low", "--event", "error"), "give either a priority or an event"),
        (("package", "priority", "p1", "urgent"), "'urgent' is not one of 'low', 'medium'"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line_and_nothing_is_written(
    cli: Cli, arguments: tuple[str, ...], problem: str
) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error [invalid_input]: ")
    assert problem in err
    assert err.count("\n") == 1
    assert asked(cli, ("stats",))["seq"] == 0


@in_one_test(
    "arguments",
    [
        ("error", "outcome", "y9"),
        ("error", "outcome", "s9", "--failed"),
        ("error", "outcome", "x9", "--solution", "s"),
        ("strategy", "list", "--from-run", "r9"),
        ("package", "priority", "p9", "low"),
        ("package", "save", "s", "--content", "x", "--supersedes", "p9"),
        ("package", "list", "--run", "r9"),
    ],
)
def test_what_is_not_there_is_not_found(cli: Cli, arguments: tuple[str, ...]) -> None:
    cli("error", "report", "E", "x")
    status, out, err = cli(*arguments)
    assert (status, out) == (3, "")
    assert err.startswith("error [not_found]: ")
    assert err.count("\n") == 1

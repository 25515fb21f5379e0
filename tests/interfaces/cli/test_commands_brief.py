"""``brief``: what goes to standard output, and what a person sees beside it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_asking import Cli, asked, options_of
from satchel import open_satchel
from satchel.interfaces.cli import run
from tables import in_one_test
from tool_asking import options_in_cases

BRIEF = ("brief",)
AGAIN = ("--agent", "builder", "--again")


def shown(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["items"]]


PLACES = [("--project", "other"), ("--db", "other.db")]


@pytest.fixture
def briefed(folder: Path) -> None:
    """Two runs, in the first, which alone is active, two notes, a scratchpad and a package, delivered to builder."""
    with open_satchel(cwd=folder, environ={}, clock=lambda: 1_800_000_000_000) as satchel:
        satchel.runs.start("r2")
        satchel.runs.end("r2")
        satchel.runs.start("r1")
        write = satchel.entries.write
        write("discovery", "lions sleep", task_id="T2", file="src/a.py", agent="planner")
        write("discovery", "zebras cross here", task_id="T1", agent="planner")
        write("scratchpad", {"iteration": 0, "done": False}, loop_id="L1", agent="planner")
        satchel.packages.save("a map", content="x", consumers=["developer"], agent="planner")
        assert satchel.brief(agent="builder").is_recorded


def test_every_option_has_a_test() -> None:
    tested = options_in_cases(["brief"]) | {("brief", option) for option, _ in PLACES}
    assert options_of(["brief"]) == {*tested, ("brief", "--json")}


@pytest.mark.usefixtures("briefed")
def test_the_query_may_be_several_words(cli: Cli) -> None:
    for words, expected in (((), ["e1", "e2"]), (("zebras", "cross"), ["e2", "e1"])):
        items = shown(asked(cli, BRIEF, *AGAIN, "--dry-run", *words))
        assert [one for one in items if one != "p1"] == expected


@pytest.mark.usefixtures("briefed")
@pytest.mark.parametrize("place", PLACES, ids=["project", "db"])
def test_a_briefing_is_of_the_place_that_is_named(cli: Cli, place: tuple[str, ...]) -> None:
    assert shown(asked(cli, BRIEF, *AGAIN, "--dry-run")) != []
    assert shown(asked(cli, BRIEF, *AGAIN, "--dry-run", *place)) == []


@pytest.mark.usefixtures("briefed")
def test_standard_output_is_the_briefing_alone(cli: Cli) -> None:
    told = asked(cli, BRIEF, "--dry-run")
    assert cli("brief") == (0, f"{told['text']}\n", "")


@pytest.mark.usefixtures("briefed")
def test_what_was_packed_counts_as_delivered(cli: Cli) -> None:
    assert asked(cli, BRIEF, "--agent", "tester")["is_recorded"]
    assert "nothing new since your last briefing; --again repeats " in cli("brief", "--agent", "tester")[1]


@pytest.mark.usefixtures("briefed")
def test_a_person_gets_everything_again(cli: Cli) -> None:
    first, second = asked(cli, BRIEF), asked(cli, BRIEF)
    assert (first, first["is_recorded"]) == (second, False)


@pytest.mark.usefixtures("briefed")
def test_a_preview_records_nothing(cli: Cli) -> None:
    assert cli("brief", "--dry-run") == cli("brief", "--dry-run")
    assert shown(asked(cli, BRIEF)) == ["p1", "e1", "e2"]


def test_a_preview_in_a_project_without_a_store_makes_none(cli: Cli, folder: Path) -> None:
    status, out, _ = cli("brief", "--dry-run")
    assert (status, "no rules, decisions or notes are stored here yet" in out) == (0, True)
    assert not (folder / ".satchel").exists()


@pytest.mark.usefixtures("briefed")
def test_a_budget_without_room_says_what_waits(cli: Cli) -> None:
    status, out, err = cli("brief", "--budget", "0")
    assert (status, err) == (0, "")
    assert out == (
        "a budget of 0 tokens has no room for a briefing; left out: 1 package (get_packages), 2 entries (search)\n"
    )


@pytest.mark.usefixtures("briefed")
def test_who_is_briefed_learns_of_claims_on_its_files(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    assert cli("brief", "--agent", "reviewer")[2].startswith("notice: src/a.py is claimed by planner until ")


@pytest.mark.usefixtures("briefed")
def test_a_note_that_the_text_lacks_goes_to_standard_error(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_STORE_LOCK_WAIT_MS", "50")
    with open_satchel(cwd=folder, environ={}) as other, other.workplace.engine.write():
        status, out, err = cli("brief")
    assert (status, "e2 task T1: zebras cross here" in out) == (0, True)
    assert err.startswith("note: the delivery was not recorded: ")


class Screen(io.StringIO):
    """A stdout that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("briefed")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--agent", "tester"), "of 4,000 tokens, left out: nothing\n"),
        (("--dry-run",), "of 4,000 tokens, left out: nothing, not recorded as delivered\n"),
        (("--budget", "50", "--window-used", "0.95"), "left out: 1 package, 2 entries, not recorded as delivered\n"),
    ],
)
def test_on_a_terminal_a_person_sees_what_it_costs(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    told: str,
) -> None:
    tokens = asked(cli, BRIEF, "--dry-run", *options)["tokens"]
    monkeypatch.setattr(sys, "stdout", Screen())
    assert run(["brief", *options]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"{tokens} of ")
    assert err.endswith(told)


@pytest.mark.usefixtures("briefed")
@in_one_test(
    ("arguments", "told"),
    [
        (("--budget", "-1"), "budget -1 is out of range"),
        (("--window-used", "1.2"), "--window-used 1.2 is out of range"),
        (("--window-used", "nan"), "'nan' is not a number"),
        (("--iteration", "-1"), "iteration -1 is out of range"),
        ((" ",), "query is empty"),
        (("--role", "{{role}}"), "unresolved placeholder"),
        (("--run", "r9"), "there is no run 'r9'"),
    ],
)
def test_a_faulty_request_is_refused(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    status, out, err = cli("brief", *arguments, "--json")
    assert (status, out) != (0, "")
    assert told in json.loads(err)["error"]["problem"]

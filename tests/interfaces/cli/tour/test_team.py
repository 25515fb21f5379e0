"""The team's part of the tour, played by two real servers over one store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.base.errors import SatchelError
from satchel.interfaces.cli.tour.client import ToolClient, ToolResult
from satchel.interfaces.cli.tour.history import Commit, History, load_sample
from satchel.interfaces.cli.tour.team import KEY, Member, TeamResult, busiest_file, work_as_team

FILE = "src/auth.py"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("team") / "tour.db"


@pytest.fixture(scope="module")
def played(store: Path) -> Iterator[tuple[TeamResult, list[tuple[str, str, str]]]]:
    """What came out, and what was said."""
    said: list[tuple[str, str, str]] = []

    def start(name: str) -> ToolClient:
        arguments = ["mcp", "--db", str(store), "--project", "tour", "--agent", name, "--toolsets", "all"]
        return ToolClient([sys.executable, "-m", "satchel", *arguments], name=name, timeout_seconds=60)

    with ExitStack() as stack:
        builder, reviewer = (Member(name, stack.enter_context(start(name))) for name in ("builder", "reviewer"))
        yield work_as_team(builder, reviewer, FILE, lambda *step: said.append(step)), said


Played = tuple[TeamResult, list[tuple[str, str, str]]]


def test_the_decision_was_changed_twice(played: Played) -> None:
    result, _ = played
    assert (result.decision, result.values) == (KEY, (60, 30, 45))


def test_the_decisions_history_is_in_the_store(played: Played, store: Path) -> None:
    with open_satchel(store, "tour", environ={}) as satchel:
        history = satchel.decisions.get(KEY)
    assert (history.decision.value, history.decision.agent) == (45, "builder")
    assert [(state.value, state.agent) for state in history.history] == [(30, "reviewer"), (60, "builder")]


def test_the_history_is_shown(played: Played) -> None:
    _, said = played
    (shown,) = [answer for _, what, answer in said if what == "asks how it came to that"]
    assert all(f": {value} by " in shown for value in (45, 60))
    assert "slow tests hide hangs" in shown


def test_the_refused_claim_names_the_holder(played: Played) -> None:
    result, said = played
    assert result.file == FILE
    assert f"error [conflict]: nothing was claimed: {FILE} is held by builder" in result.refused
    assert ("reviewer", "wants the same file, and is kept off it", result.refused) in said


def test_the_other_reads_the_rule(played: Played) -> None:
    assert "Every fix comes with a test that failed before it" in played[0].constraint


def test_a_notice_tells_the_reviewer_of_the_message(played: Played) -> None:
    assert played[0].notice == "notice: 1 unread critical message waits for reviewer"


def test_the_critical_message_reaches_the_reviewer(played: Played) -> None:
    message = played[0].message
    assert "request critical" in message
    assert "from builder to me" in message
    assert f"I am rewriting {FILE}: please review it once I have released it" in message


def test_the_reviewer_learns_that_its_decision_was_changed(played: Played) -> None:
    assert f"Decision {KEY}, which you had set, was changed (value, rationale)" in played[0].message


def test_nothing_stays_unread(played: Played) -> None:
    assert played[1][-1][2].endswith("0 unread left for reviewer")


def test_servers_that_give_one_file_to_both_are_found_out() -> None:
    class Careless(ToolClient):
        def call(self, tool: str, arguments: object) -> ToolResult:  # noqa: ARG002 -- it says yes to everything
            return ToolResult('{"history": [], "decision": {"value": 1}}', is_error=False)

    builder, reviewer = (Member(name, Careless(["nothing"])) for name in ("builder", "reviewer"))
    with pytest.raises(SatchelError, match=rf"two agents were both given {FILE}"):
        work_as_team(builder, reviewer, FILE, lambda *_: None)


def history_of(*files: tuple[str, ...], tracked: tuple[str, ...]) -> History:
    from dataclasses import replace

    sample = load_sample()
    commits: list[Commit] = [replace(sample.commits[0], files=changed) for changed in files]
    return replace(sample, commits=tuple(commits), tracked_files=tracked)


def test_the_file_is_the_one_that_most_commits_changed() -> None:
    assert busiest_file(history_of(("a", "b"), ("b",), tracked=("a", "b"))) == "b"


def test_a_file_that_is_gone_is_not_claimed() -> None:
    assert busiest_file(history_of(("gone", "a"), ("gone",), tracked=("a",))) == "a"


@pytest.mark.parametrize("name", ["{{cookiecutter.slug}}/a.py", "glob*.py", " spaced.py", "a" * 300])
def test_a_file_whose_name_cannot_be_claimed_is_passed_over(name: str) -> None:
    assert busiest_file(history_of((name, "a"), (name,), tracked=(name, "a"))) == "a"


def test_without_any_change_there_is_a_file_to_claim() -> None:
    assert busiest_file(history_of(tracked=("a",))) == "README.md"

"""The part of the tour where one fails and the other is warned, played by two real servers over one store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.base.errors import SatchelError
from satchel.base.tokens import token_counter
from satchel.interfaces.cli.tour.client import ToolClient, ToolResult
from satchel.interfaces.cli.tour.lesson import BUDGET, LessonResult, learn
from satchel.interfaces.cli.tour.team import Member

Played = tuple[LessonResult, list[tuple[str, str, str]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lesson")


@pytest.fixture(scope="module")
def played(folder: Path) -> Iterator[Played]:
    """What came out, and what was said."""
    said: list[tuple[str, str, str]] = []

    def start(name: str) -> ToolClient:
        arguments = ["mcp", "--db", str(folder / "tour.db"), "--project", "tour", "--agent", name]
        return ToolClient([sys.executable, "-m", "satchel", *arguments], name=name, timeout_seconds=60)

    with ExitStack() as stack:
        builder, reviewer = (Member(name, stack.enter_context(start(name))) for name in ("builder", "reviewer"))
        assert "started" in builder.server.call("write_context", {"type": "discovery", "content": "rain"}).text
        yield learn(builder, reviewer, folder, lambda *step: said.append(step)), said


def test_the_first_one_really_fails(played: Played) -> None:
    assert played[0].error.startswith("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position")


def test_the_second_one_would_have_failed_in_the_same_way(played: Played, folder: Path) -> None:
    script = "open('returned.csv', encoding='utf-8').read()"
    done = subprocess.run([sys.executable, "-c", script], check=False, cwd=folder, capture_output=True, text=True)
    assert "UnicodeDecodeError: 'utf-8' codec can't decode byte" in done.stderr
    assert played[0].tries == (2, 1)


def test_the_briefing_warns_before_the_second_one_begins(played: Played) -> None:
    result, said = played
    assert f"y1 tentative 5/10: {result.solution}" in result.briefing
    steps = [(name, answer) for name, _, answer in said]
    assert steps.index(("reviewer", result.briefing)) < steps.index(("reviewer", "5"))
    assert [name for name, _ in steps].index("reviewer") == steps.index(("reviewer", result.briefing))


def test_the_briefing_stays_inside_its_budget(played: Played) -> None:
    assert played[0].budget == BUDGET
    assert token_counter("o200k_base").count(played[0].briefing) <= BUDGET


def test_that_it_helped_raises_the_confidence(played: Played, folder: Path) -> None:
    assert played[0].outcome == "y1 tentative: 6 of 10, known from 7 on; confirmed helped:1 for x1"
    with open_satchel(folder / "tour.db", "tour", environ={}) as satchel:
        (pattern,) = satchel.patterns.find()
    (solution,) = pattern.solutions
    assert (pattern.error_type, solution.text, solution.agent) == (
        "UnicodeDecodeError",
        played[0].solution,
        "builder",
    )


def test_a_briefing_without_a_warning_is_found_out(tmp_path: Path) -> None:
    class Silent(ToolClient):
        def call(self, tool: str, arguments: Mapping[str, object]) -> ToolResult:  # noqa: ARG002 -- it knows nothing
            return ToolResult("x1 new", is_error=False)

    first, second = (Member(name, Silent(["nothing"])) for name in ("builder", "reviewer"))
    with pytest.raises(SatchelError, match="the briefing did not warn"):
        learn(first, second, tmp_path, lambda *_: None)

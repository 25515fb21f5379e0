"""The tour from end to end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.commands.tour import guide

pytestmark = pytest.mark.slow

Run = subprocess.CompletedProcess[str]


def tour(folder: Path, *arguments: str, home: Path | None = None) -> Run:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SATCHEL_", "GIT_"))}
    return subprocess.run(
        [sys.executable, "-m", "satchel", "tour", *arguments],
        check=True,
        cwd=folder,
        env=own | {"HOME": str(home or folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a person sees."""
    return tour(tmp_path_factory.mktemp("shown")).stdout


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The store that a tour left, and what it reported as JSON."""
    folder = tmp_path_factory.mktemp("kept")
    done = tour(folder, "--json", "--keep", "tour.db")
    assert done.stderr == ""
    return folder / "tour.db", json.loads(done.stdout)


def test_shared_texts_of_the_users_project_are_no_part_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    with open_satchel(cwd=project, environ={"HOME": str(tmp_path)}) as satchel:
        satchel.shared.share([satchel.decisions.set("port", 80).ref])
    assert "shared text" not in tour(project, home=tmp_path).stdout


def test_the_steps_are_numbered_without_a_gap(shown: str) -> None:
    assert re.findall(r"^(\d)\. ", shown, re.MULTILINE) == list("1234")


def test_a_person_sees_the_team_at_work(shown: str) -> None:
    team = shown[shown.index("\n2. ") : shown.index("\n3. ")]
    assert re.findall(r"test_timeout_seconds is (\d+)", team) == ["60", "30", "45"]
    assert "notice: m3 from builder (critical): " in team


def test_a_person_sees_hooks_keep_two_sessions_apart(shown: str) -> None:
    apart = shown[shown.index("\n3. ") : shown.index("\n4. ")]
    parts = ("codex: edits ", "claude: edits it too", "codex: claims it", "claude: goes on to edit it")
    assert sorted(map(apart.index, parts)) == [apart.index(part) for part in parts]
    assert " is claimed by codex-" in apart


def test_a_person_sees_one_fail_and_the_other_warned(shown: str) -> None:
    lesson = shown[shown.index("\n4. ") : shown.index("It took")]
    failed, fixed, warned, helped = (
        lesson.index(part)
        for part in (
            "UnicodeDecodeError",
            "recorded y1",
            "y1 (tentative): ",
            "y1 for x1: tentative, confidence 6 of 10",
        )
    )
    assert failed < fixed < warned < helped


def test_no_line_is_wider_than_a_screen_apart_from_commands(shown: str) -> None:
    lines = [line for line in shown.splitlines() if not re.match(r"\d\. ", line)]
    assert max(map(len, lines)) <= 120


def answers_to(acts: list[dict[str, str]], what: str) -> list[str]:
    return [act["answer"] for act in acts if act["action"].startswith(what)]


def test_the_json_tells_of_the_team(kept: tuple[Path, dict[str, Any]]) -> None:
    team = kept[1]["team"]
    assert len(answers_to(team, "decides that test_timeout_seconds is ")) == 3
    assert "request critical" in answers_to(team, "lists its messages")[0]


def test_the_json_tells_of_the_sessions(kept: tuple[Path, dict[str, Any]]) -> None:
    (reason,) = answers_to(kept[1]["apart"], "goes on to edit it")
    assert 'for "rewriting it", until ' in reason


def test_the_json_tells_of_the_lesson(kept: tuple[Path, dict[str, Any]]) -> None:
    lesson = kept[1]["lesson"]
    assert lesson[0]["answer"].startswith("UnicodeDecodeError: ")
    assert "encoding='cp1252'" in answers_to(lesson, "is to add up")[0]


def test_the_store_that_is_kept_holds_it_all(kept: tuple[Path, dict[str, Any]]) -> None:
    file, told = kept
    with open_satchel(file, "tour", environ={}) as satchel:
        statistics = satchel.housekeeping.statistics()
        held = [(claim.path, claim.agent) for claim in satchel.files.claims()]
    assert dict(statistics.entries) == {"discovery": 3}
    edited = told["apart"][0]["action"].split()[1].rstrip(":")
    assert [(path, agent.partition("-")[0]) for path, agent in held] == [(edited, "codex")]
    assert (sum(count for _, count in statistics.decisions), statistics.messages) == (1, 3)
    assert (statistics.error_patterns, statistics.solutions) == (1, 1)


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        guide(tmp_path / "notes.txt", print)
    assert (tmp_path / "notes.txt").read_text() == "mine"

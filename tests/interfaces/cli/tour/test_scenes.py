"""The scenes of the tour, played by two real servers and two real sessions of hooks over one store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.base.errors import SatchelError
from satchel.base.tokens import token_counter
from satchel.interfaces.cli.commands.tour import (
    BUDGET,
    KEY,
    Act,
    HookSession,
    ToolClient,
    keep_apart,
    learn,
    share,
    work_as_team,
)

FILE = "src/auth.py"
FIX = "The shop's exports need encoding='cp1252', not utf-8"


@dataclass
class Played:
    """The acts of all scenes, and the folder they were played in."""

    shared: list[Act]
    team: list[Act]
    apart: list[Act]
    lesson: list[Act]
    folder: Path

    def answer(self, what: str) -> str:
        """Return what came back of the one act that begins like this."""
        (found,) = [act.answer for act in (*self.team, *self.apart, *self.lesson) if act.action.startswith(what)]
        return found


def sessions(folder: Path, store: Path) -> tuple[HookSession, HookSession]:
    where = {"SATCHEL_DB": str(store), "SATCHEL_PROJECT": "tour"}
    codex, claude = (HookSession(one, folder, where, folder / "home") for one in ("codex", "claude"))
    return codex, claude


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("scenes")

    def start(name: str) -> ToolClient:
        arguments = ["mcp", "--db", str(folder / "tour.db"), "--project", "tour", "--agent", name, "--toolsets", "all"]
        return ToolClient(arguments, os.environ, name)

    with ExitStack() as stack:
        builder, reviewer = (stack.enter_context(start(name)) for name in ("builder", "reviewer"))
        builder.call("write_context", {"type": "discovery", "content": "rain"})
        team = list(work_as_team(builder, reviewer, FILE))
        apart = list(keep_apart(*sessions(folder, folder / "tour.db"), FILE))
        shared = list(share(builder, reviewer))
        yield Played(shared, team, apart, list(learn(builder, reviewer, folder)), folder)


def test_the_note_is_found_by_other_words(played: Played) -> None:
    assert "floats lost a cent in March" in played.shared[-1].answer


def test_the_decisions_history_is_in_the_store(played: Played) -> None:
    with open_satchel(played.folder / "tour.db", "tour", environ={}) as satchel:
        history = satchel.decisions.get(KEY)
    assert (history.decision.value, history.decision.agent) == (45, "builder")
    assert [(state.value, state.agent) for state in history.history] == [(30, "reviewer"), (60, "builder")]


def test_the_history_is_shown(played: Played) -> None:
    shown = played.answer("asks how it came to that")
    assert all(f": {value} by " in shown for value in (45, 60))
    assert "slow tests hide hangs" in shown


def test_the_second_session_is_told_that_the_first_one_edits(played: Played) -> None:
    hint = played.answer("edits it too")
    assert hint.startswith("Satchel: codex-")
    assert f" is editing {FILE} too" in hint


def test_the_edit_of_a_claimed_file_is_stopped_with_who_why_and_until_when(played: Played) -> None:
    reason = played.answer("goes on to edit it")
    assert reason.startswith(f"Satchel: not edited: {FILE} is claimed by codex-")
    assert 'for "rewriting it", until ' in reason
    assert "(29 min left)" in reason or "(30 min left)" in reason


def test_only_edits_that_were_let_through_were_made(played: Played) -> None:
    assert (played.folder / FILE).read_text() == "edited by codex\nedited by claude\n"


def test_the_claim_is_that_of_the_first_session(played: Played) -> None:
    with open_satchel(played.folder / "tour.db", "tour", environ={}) as satchel:
        ((path, agent, automatic),) = [(one.path, one.agent, one.automatic) for one in satchel.files.claims()]
    assert (path, agent.partition("-")[0], automatic) == (FILE, "codex", False)


def test_the_other_reads_the_rule_and_is_told_of_the_message(played: Played) -> None:
    rules = played.answer("asks for the rules")
    assert "Every fix comes with a test that failed before it" in rules
    notices = [line for line in rules.splitlines() if line.startswith("notice: ")]
    assert [line.split(": ")[1] for line in notices] == ["m3 from builder (critical)"], rules


def test_the_critical_message_reaches_the_reviewer(played: Played) -> None:
    message = played.answer("lists its messages")
    assert "request critical" in message
    assert "from builder to me" in message
    assert f"I am about to rewrite {FILE}: please review it then" in message


def test_the_reviewer_learns_that_its_decision_was_changed(played: Played) -> None:
    changed = f"Decision d1 {KEY}, which reviewer had set, was changed (value, rationale)"
    assert changed in played.answer("lists its messages")


def test_nothing_stays_unread(played: Played) -> None:
    assert "unread left" not in played.team[-1].answer


def test_the_first_one_really_fails(played: Played) -> None:
    error = played.lesson[0].answer
    assert error.startswith("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position")


def test_the_second_one_would_have_failed_in_the_same_way(played: Played) -> None:
    script = "open('returned.csv', encoding='utf-8').read()"
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=played.folder, capture_output=True, text=True
    )
    assert "UnicodeDecodeError: 'utf-8' codec can't decode byte" in done.stderr


def test_the_briefing_warns_before_the_second_one_begins(played: Played) -> None:
    briefing, opened, _ = [act for act in played.lesson if act.agent == "reviewer"]
    assert f"y1 (tentative): {FIX}" in briefing.answer
    assert (opened.action, opened.answer) == ("opens its file with cp1252 at once, and has its answer", "5")


def test_the_briefing_stays_inside_its_budget(played: Played) -> None:
    assert token_counter("o200k_base").count(played.answer("is to add up")) <= BUDGET


def test_that_it_helped_raises_the_confidence(played: Played) -> None:
    told = (
        "recorded y1 for x1: tentative, confidence 6 of 10 (7 counts as known; "
        "each agent it helps adds 1), helped 1 time"
    )
    assert played.lesson[-1].answer == told
    with open_satchel(played.folder / "tour.db", "tour", environ={}) as satchel:
        (pattern,) = satchel.patterns.find()
    (solution,) = pattern.solutions
    assert (pattern.error_type, solution.text, solution.agent) == ("UnicodeDecodeError", FIX, "builder")


class Careless(ToolClient):
    """Says yes to everything."""

    def _request(self, *_request: object) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x1 new"}]}


def test_hooks_that_keep_nobody_apart_are_found_out(tmp_path: Path) -> None:
    first, _ = sessions(tmp_path, tmp_path / "one.db")
    _, second = sessions(tmp_path, tmp_path / "other.db")
    for store in ("one.db", "other.db"):
        with open_satchel(tmp_path / store, "tour", environ={}) as satchel:
            satchel.entries.write("discovery", "rain")
    with pytest.raises(SatchelError, match="claude was not told that codex edits"):
        list(keep_apart(first, second, FILE))


def test_a_briefing_without_a_warning_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(SatchelError, match="the briefing did not warn"):
        list(learn(Careless([], {}, "careless"), Careless([], {}, "careless"), tmp_path))

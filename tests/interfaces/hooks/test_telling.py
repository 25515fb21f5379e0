"""Hooks that fail need a person: the store learns of it, at once or later, seldom, and that they work again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interfaces.hooks.conftest import Hook, context
from over_server import remote_of
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.brief.room.records import Need
from satchel.interfaces.hooks import state
from satchel.interfaces.hooks.explaining import explain
from satchel.keep import following
from satchel.keep.sessions.caller import SERVER

NONSENSE = b"[1]"
BACK = "Satchel is on again here: its store is back."


@pytest.fixture
def looking(
    filled: Satchel, open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> Satchel:
    monkeypatch.chdir(project)
    return open_in(project, clock=system_clock)


def failing(satchel: Satchel) -> list[Need]:
    return [one for one in satchel.room.needs().items if one.kind == "hook"]


def told(satchel: Satchel) -> list[object]:
    """What was recorded of hooks that fail: how often each did."""
    with satchel.workplace.engine.read() as transaction:
        events = following.events_after(transaction, 1, 0, 1_000, {"hook_failed"})
    return [one.details.get("times") for one in events if one.details is not None]


def test_a_hook_that_fails_needs_a_person_until_it_works(hook: Hook, looking: Satchel) -> None:
    hook("claude", "SessionStart", NONSENSE)
    (need,) = failing(looking)
    assert need.text == "claude SessionStart fails: NotAnEventError: the event is no JSON object, but list"
    assert need.remedy == "this clears once the hook works again; if it does not, `satchel doctor` shows why"
    hook("claude", "SessionEnd", reason="other")
    assert failing(looking) == [need]
    hook("claude", "SessionStart", source="startup")
    assert failing(looking) == []
    assert told(looking) == [1, None]


def test_a_missing_store_is_past_for_every_hook_once_one_finds_it(hook: Hook, looking: Satchel, project: Path) -> None:
    for name in ("SessionStart", "PreToolUse"):
        state.record_fault(f"claude {name}", "StoreMissing: the store is gone", str(project))
    state.record_fault("codex Stop", "ValueError: no", str(project))
    assert state.check_hooks().status == "warning"
    hook("claude", "SessionEnd", reason="other")
    assert [one.text.partition(" fails")[0] for one in failing(looking)] == ["codex Stop"]
    hook("codex", "Stop")
    assert failing(looking) == []
    check = state.check_hooks()
    assert (check.status, check.detail) == (
        "ok",
        "3 faults in the last 7 days, the last less than 1 min ago; each has worked since",
    )


def test_a_hook_that_fails_again_and_again_is_seldom_told(
    hook: Hook, looking: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = time.time() // 3_600 * 3_600
    monkeypatch.setattr(time, "time", lambda: hour)
    for _ in range(120):
        hook("claude", "SessionStart", NONSENSE)
    assert told(looking) == [1, 10, 100]
    assert failing(looking)[0].text.startswith("claude SessionStart fails, 100 times or more within the hour: ")
    monkeypatch.setattr(time, "time", lambda: hour + 3_600)
    hook("claude", "SessionStart", NONSENSE)
    assert told(looking) == [1, 10, 100, 1]


def test_a_store_that_could_not_be_written_is_told_by_the_next_hook_that_works(hook: Hook, looking: Satchel) -> None:
    with looking.workplace.engine.write() as transaction:
        transaction.run("UPDATE store SET min_reader = min_reader")
        hook("claude", "SessionStart", NONSENSE)
    assert failing(looking) == []
    hook("claude", "SessionEnd", reason="other")
    assert [one.text.partition(" ")[0] for one in failing(looking)] == ["claude"]


def test_a_server_tells_what_a_hook_could_not(looking: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    folder = str(project / "src")
    state.record_fault("codex Stop", "it took longer than 400 ms and was ended", folder)
    state.record_fault("codex Stop", "it took longer than 400 ms and was ended", f"{project}-other")
    state.tell_of_project(open_in(project, clock=system_clock, caller=SERVER))
    state.tell_of_project(looking)
    assert told(looking) == [1]
    assert len(state.failing(str(project.parent))) == 2


def test_of_a_fault_no_secret_is_told(hook: Hook, looking: Satchel, project: Path) -> None:
    state.record_fault("codex Stop", "ValueError: password=hunter2hunter2", str(project))
    state.tell_of_project(looking)
    assert "hunter2" not in failing(looking)[0].text


def test_where_nothing_fails_nothing_is_read(hook: Hook, looking: Satchel, project: Path) -> None:
    hook("claude", "SessionStart", source="startup")
    assert (state.failing(str(project)), told(looking)) == ([], [])


def test_what_is_counted_is_limited(looking: Satchel, project: Path) -> None:
    for number in range(60):
        state.record_fault(f"codex E{number}", "ValueError: no", str(project))
    assert [one.hook for one in state.failing(str(project))] == [f"codex E{number}" for number in range(10, 60)]


def test_a_store_that_a_server_has_is_told_as_well(looking: Satchel, project: Path) -> None:
    state.record_fault("codex Stop", "ValueError: no", str(project))
    with remote_of(looking) as remote:
        state.tell(remote, str(project))
        assert told(looking) == [1]
        state.tell(remote, str(project), "codex Stop")
    assert (failing(looking), state.failing(str(project))) == ([], [])


def test_a_session_that_starts_says_that_the_store_is_gone(
    hook: Hook, filled: Satchel, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    hook("claude", "SessionStart", source="startup")
    filled.close()
    for file in filled.place.file.parent.glob("satchel.db*"):
        file.unlink()
    answer = hook("claude", "SessionStart", session_id="s2", source="startup")
    assert answer is not None
    for text in (answer["systemMessage"], answer["hookSpecificOutput"]["additionalContext"]):
        assert "is gone, though there was one" in text
        assert "there is no backup. " in text
    assert hook("claude", "UserPromptSubmit", session_id="s2", prompt="hello") is None
    assert explain("claude", "SessionStart") == 0
    assert b"is gone, though there was one" in capfdbinary.readouterr().out


def test_a_session_that_runs_hears_with_its_prompt_that_the_store_was_moved(hook: Hook, store: Satchel) -> None:
    folder = store.place.file.parent
    hook("claude", "SessionStart", source="startup")
    hook("claude", "UserPromptSubmit", prompt="thanks")
    folder.rename(folder.with_name("moved"))
    answer = hook("claude", "UserPromptSubmit", prompt="thanks again")
    assert answer is not None
    assert "If it was moved, move it back" in answer["systemMessage"]
    assert hook("claude", "UserPromptSubmit", prompt="and once more") is None
    folder.with_name("moved").rename(folder)
    assert context(hook("claude", "UserPromptSubmit", prompt="it is back")) == BACK
    assert hook("claude", "UserPromptSubmit", prompt="it still is") is None
    folder.rename(folder.with_name("moved"))
    assert hook("claude", "UserPromptSubmit", prompt="gone again") is not None


def test_a_session_that_began_while_the_store_was_away_is_briefed_once_it_is_back(hook: Hook, filled: Satchel) -> None:
    filled.close()
    folder = filled.place.file.parent
    folder.rename(folder.with_name("moved"))
    hook("claude", "SessionStart", source="startup")
    hook("claude", "Stop")
    folder.with_name("moved").rename(folder)
    assert context(hook("claude", "UserPromptSubmit", prompt="thanks")).startswith(f"{BACK}\nSatchel, project memory.")


@pytest.mark.parametrize("mail", [0, 1])
def test_an_agent_keeps_its_name_and_mail_after_a_restore_and_is_there_with_its_next_prompt(
    hook: Hook, store: Satchel, open_in: Callable[..., Satchel], project: Path, mail: int
) -> None:
    def names() -> list[str]:
        with open_in(project) as opened:
            return [name for one in opened.sessions.team().sessions for name in one.agents]

    backup = store.housekeeping.backup().file
    hook("claude", "SessionStart", source="startup")
    hook("claude", "PostToolUse", tool_name="Write", tool_use_id="t", tool_input={"file_path": str(project / "a.py")})
    (name,) = names()
    with open_in(project, caller=None, agent="human:ann") as person:
        person.housekeeping._engine.upkeep.restore(backup)
    assert names() == []
    with open_in(project) as other:
        for _ in range(mail):
            other.messages.send("for you", to=name, agent="bob")
    hook("claude", "UserPromptSubmit", prompt="thanks")
    hook("claude", "PostToolUse", tool_name="Write", tool_use_id="u", tool_input={"file_path": str(project / "a.py")})
    assert names() == [name]
    with open_in(project) as other:
        assert other.messages.inbox(agent=name).total == mail

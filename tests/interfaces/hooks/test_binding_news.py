"""Rules and decisions made while a session is at work: its next hook that can add text tells them, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from interfaces.hooks.at_work import NUMBERS, AtWork, bash, denial, edit
from interfaces.hooks.conftest import Hook, context
from satchel import Satchel
from satchel.base.clock import system_clock

OK = bash("true", tool_response={"stdout": ""})


@pytest.fixture
def prompt(hook: Hook, at_work: AtWork) -> Callable[..., str]:
    """Type a prompt in a session; return the answer of its hook."""

    def type_in(client: str = "claude", session: str = "s1") -> str:
        # without a word of any item, and each text once
        answer = hook(client, "UserPromptSubmit", session_id=session, prompt=f"thanks {next(NUMBERS)}")
        return "" if answer is None else json.dumps(answer, ensure_ascii=False)

    return type_in


@pytest.mark.parametrize(("client", "session"), [("claude", "s1"), ("codex", "c1")])
def test_a_new_rule_comes_with_the_next_prompt_whatever_its_words_once(
    prompt: Callable[..., str], store: Satchel, client: str, session: str
) -> None:
    assert prompt(client=client, session=session) == ""
    store.constraints.add("no new dependencies, ever", agent="human:ann")
    text = prompt(client=client, session=session)
    assert 'Satchel: new rule c2 by human:ann: \\"no new dependencies, ever\\"' in text
    assert prompt(client=client, session=session) == ""


def test_a_new_decision_comes_with_the_next_prompt_and_so_does_its_change(
    prompt: Callable[..., str], store: Satchel
) -> None:
    store.decisions.set("vat", 19, rationale="law", agent="human:ann")
    assert "new decision d1 vat: 19, set by human:ann because" in prompt()
    assert prompt() == ""
    store.decisions.set("vat", 20, agent="human:ann")
    assert "d1 vat is now 20, set by human:ann" in prompt()
    assert prompt() == ""


@pytest.mark.usefixtures("all_have_begun")
def test_a_critical_rule_comes_with_the_next_edit_or_command_and_others_wait_for_a_prompt(
    at_work: AtWork, prompt: Callable[..., str], store: Satchel, project: Path
) -> None:
    store.constraints.add("ask before you publish", agent="human:ann")
    assert at_work("s1", "PostToolUse", "Bash", **OK) is None
    store.constraints.add("no new dependencies, ever", priority="critical", agent="human:ann")
    text = context(at_work("s1", "PostToolUse", "Bash", **OK))
    assert "new critical rule c3" in text
    assert "publish" not in text
    assert "new critical rule c3" in json.dumps(at_work("c1", "PostToolUse", "apply_patch", **edit(project / "a.py")))
    assert at_work("s1", "PostToolUse", "Bash", **OK) is None
    text = prompt()
    assert "ask before you publish" in text
    assert "dependencies" not in text


def test_a_rule_with_paths_comes_once_the_session_touched_such_a_file(
    at_work: AtWork, prompt: Callable[..., str], store: Satchel, project: Path
) -> None:
    (project / "a.py").write_text("x")
    store.constraints.add("amounts are cents", paths=["*.py"], agent="human:ann")
    assert prompt() == ""
    at_work("s1", "PostToolUse", "Edit", **edit(project / "a.py"))
    store.constraints.add("no floats", paths=["*.py"], agent="human:ann")
    text = prompt()
    assert "new rule c3 by human:ann, binding" in text
    assert "c2" not in text


@pytest.mark.usefixtures("all_have_begun")
def test_what_the_session_itself_stored_is_no_news(
    prompt: Callable[..., str], store: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    (session,) = (one for one in store.sessions.team().sessions if one.client == "claude")
    own = open_in(project, environ={"SATCHEL_SESSION": session.uid}, clock=system_clock)
    own.constraints.add("no new dependencies, ever")
    assert prompt() == ""
    assert "dependencies" in prompt(client="codex", session="c1")


def test_the_tokens_of_a_session_limit_news_but_for_critical_rules(
    prompt: Callable[..., str], store: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.keep.deliveries.SESSION_TOKENS", 0)
    store.constraints.add("ask before you publish", agent="human:ann")
    store.constraints.add("no new dependencies, ever", priority="critical", agent="human:ann")
    text = prompt()
    assert "dependencies" in text
    assert "publish" not in text


@pytest.mark.usefixtures("all_have_begun")
@pytest.mark.parametrize(
    ("session", "event", "tool"), [("s1", "PreToolUse", "Edit"), ("s1", "PostToolUse", "Bash"), ("c1", "", "")]
)
def test_a_session_that_a_hook_refused_a_file_hears_from_its_next_hook_that_it_is_free_once(
    at_work: AtWork, prompt: Callable[..., str], store: Satchel, project: Path, session: str, event: str, tool: str
) -> None:
    store.files.claim(["a.py"], agent="human:mia")
    change = edit(project / "a.py")
    if session == "c1":
        change = {"tool_input": {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"}}
    denial(at_work(session, "PreToolUse", "apply_patch" if session == "c1" else "Edit", **change))

    def next_hook() -> str:
        if not event:
            return prompt(client="codex", session=session)
        return json.dumps(at_work(session, event, tool, **(OK if tool == "Bash" else edit(project / "b.py"))))

    assert "a.py" not in next_hook()
    store.files.release(agent="human:mia")
    assert "free" not in prompt(client="gemini", session="g1")
    assert "Satchel: a.py is free now (you were refused it less than 1 min ago)" in next_hook()
    assert "free" not in next_hook()
    assert "free" not in prompt(client="codex" if session == "c1" else "claude", session=session)


def test_a_hook_whose_answer_was_lost_leaves_the_free_file_to_the_next(
    at_work: AtWork, prompt: Callable[..., str], store: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.files.claim(["a.py"], agent="human:mia")
    denial(at_work("s1", "PreToolUse", "Edit", **edit(project / "a.py")))
    store.files.release(agent="human:mia")
    with monkeypatch.context() as patched:
        patched.setattr("satchel.brief.working.service.Working.record", lambda *_: None)
        assert "a.py is free now" in prompt()
    assert "a.py is free now" in prompt()
    assert "free" not in prompt()

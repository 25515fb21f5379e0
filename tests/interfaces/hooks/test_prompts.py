"""The prompt moment: what is kept of what a prompt is about, once in a window, and nothing for what nobody wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.conftest import Hook, context
from satchel import NewDecision, NewEntry, Satchel
from satchel.base.clock import system_clock
from satchel.interfaces.hooks import events
from satchel.interfaces.hooks.explaining import explain
from tables import in_one_test

NOTE = "DHL's tracking gives Berlin's local times without an offset"
PROMPT = "tracking events from DHL appear two hours early in the app"

Ask = Callable[..., dict[str, Any] | None]


@pytest.fixture
def store(filled: Satchel, open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A store by the clock that hooks have, with notes of which one is about the prompt."""
    satchel = open_in(project, clock=system_clock)
    things = ("gateway", "scanner", "ledger", "planner", "printer", "portal", "archive")
    notes = [NewEntry("discovery", f"The {thing} restarts at night, before the nightly jobs run") for thing in things]
    satchel.entries.write_many(notes, agent="ben")
    return satchel


@pytest.fixture
def ask(hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Give Claude Code a prompt that is not the first one of its window to state a task."""
    monkeypatch.setenv("SATCHEL_HOOKS_FIRST_PROMPT", "0")

    def prompt(text: object, session: str = "s1", /, **fields: Any) -> dict[str, Any] | None:
        return hook("claude", "UserPromptSubmit", session_id=session, prompt=text, **fields)

    return prompt


class TestWhatIsPutIn:
    def test_a_note_with_its_ref_and_as_a_report(self, ask: Ask, store: Satchel) -> None:
        ref = store.entries.write("discovery", NOTE, agent="ann").ref
        said = context(ask(PROMPT)).splitlines()
        assert said[0] == "Satchel (reports, not orders):"
        assert said[1] == f"{ref}: {NOTE}"

    def test_a_rule_as_one_that_binds(self, ask: Ask, store: Satchel) -> None:
        ref = store.constraints.add("Tracking of DHL is asked at most once in an hour", agent="ann").ref
        said = context(ask(PROMPT)).splitlines()
        assert said == ["Satchel (these bind):", f"{ref}: Tracking of DHL is asked at most once in an hour"]

    def test_a_rule_with_one_rare_word_of_a_task(self, ask: Ask, store: Satchel) -> None:
        store.constraints.add("Parcels of UPS are scanned twice", agent="human:ann")
        store.decisions.set("labels.size", "small", agent="ann")
        assert context(ask("please let the app show the parcels of our new partner")).splitlines() == [
            "Satchel (these bind, * a person's):",
            "c2*: Parcels of UPS are scanned twice",
        ]
        assert ask("small?") is None

    def test_a_rule_with_a_rare_word_of_a_short_prompt_if_it_is_strong(self, ask: Ask, store: Satchel) -> None:
        rule = store.constraints.add("Only Ann tags, nobody else pushes a tag", agent="human:ann").ref
        assert context(ask("push the tag then")).splitlines()[1].startswith(f"{rule}*: ")

    def test_a_note_that_says_more_than_a_decision_with_its_words(self, ask: Ask, store: Satchel) -> None:
        store.decisions.set("dhl.tracking", "Berlin's local times", agent="ann")
        note = store.entries.write("discovery", f"{NOTE} in the app", agent="ann").ref
        assert [line for line in context(ask(PROMPT)).splitlines() if line.startswith(note)]

    def test_what_binds_before_fixes_and_these_before_notes(self, ask: Ask, store: Satchel) -> None:
        store.entries.write("discovery", "Early tracking events of DHL are two hours off in the app", agent="ann")
        store.patterns.report("OffsetError", "DHL tracking events appear early", solution="set it", agent="ann")
        store.decisions.set("tracking.dhl", "polling", agent="ann")
        opening, *lines = context(ask(PROMPT)).splitlines()
        assert opening == "Satchel (rules and decisions bind, the rest are reports):"
        assert [line[0] for line in lines] == ["d", "x", "e"]

    def test_a_note_made_from_a_commit_counts_less(self, ask: Ask, store: Satchel) -> None:
        store.entries.write("discovery", f"commit 1a2b3c4d: {NOTE}", agent="ann")
        assert ask("DHL tracking?") is None
        store.entries.write("discovery", NOTE, agent="ann")
        assert context(ask("DHL tracking, is it late?")).splitlines()[1:] == [f"e9: {NOTE}"]

    def test_an_item_that_is_too_long_as_its_title(self, ask: Ask, store: Satchel) -> None:
        store.entries.write("discovery", f"{NOTE}. " + "It is a long story of no use. " * 90, agent="ann")
        assert context(ask(PROMPT)).splitlines()[1] == f"e8: {NOTE}. …"

    def test_a_decision_as_key_and_value(self, ask: Ask, store: Satchel) -> None:
        store.decisions.set("tracking.dhl", "polling", rationale="their events come late", agent="ann")
        assert "d1 tracking.dhl: polling" in context(ask(PROMPT)).splitlines()

    def test_an_error_with_what_fixed_it(self, ask: Ask, store: Satchel) -> None:
        store.patterns.report(
            "OffsetError", "DHL tracking events carry no offset", solution="set Europe/Berlin", agent="ann"
        )
        assert context(ask(PROMPT)).endswith("-> set Europe/Berlin")

    def test_a_strategy(self, ask: Ask, store: Satchel) -> None:
        store.strategies.save("tracking", "Compare events of DHL with those of UPS first", agent="ann")
        assert "strategy, tracking: Compare events" in context(ask(PROMPT))

    def test_a_note_whose_lines_have_changed_is_marked(self, ask: Ask, store: Satchel, project: Path) -> None:
        (project / "dhl.py").write_text("a = 1\n")
        text = "events of DHL's tracking appear hours early in the app"
        store.entries.write("discovery", text, file="dhl.py", line=1, agent="ann")
        (project / "dhl.py").write_text("b = 2\n")
        assert "dhl.py:1 (file changed since): " in context(ask(PROMPT))

    def test_of_the_same_text_only_one(self, ask: Ask, store: Satchel) -> None:
        store.entries.write("discovery", NOTE, agent="ann")
        store.entries.write("discovery", f"{NOTE} (again)", agent="ben")
        assert len(context(ask(PROMPT)).splitlines()) == 2


class TestTheFirstTask:
    @pytest.fixture
    def small(self, hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch) -> Hook:
        """A start that had room for the critical rule and hardly anything else."""
        monkeypatch.setenv("SATCHEL_HOOKS_START", "120")
        retries = [NewDecision(f"module_{number}.retries", f"{number} times, then give up") for number in range(60)]
        store.decisions.set_many(retries, agent="ann")
        store.decisions.set("dhl.offset", "Europe/Berlin", agent="human:ann")
        hook("claude", "SessionStart", source="startup", session_id="s1")
        return hook

    def told(self, hook: Hook, text: str) -> list[str]:
        answer = hook("claude", "UserPromptSubmit", session_id="s1", prompt=text)
        return [] if answer is None else context(answer).splitlines()

    def test_brings_the_rules_and_decisions_that_the_start_left_out_once(self, small: Hook) -> None:
        lines = self.told(small, PROMPT)
        assert lines[0] == "Satchel (these bind):"
        shown = [line for line in lines if ".retries: " in line]
        assert len(shown) > 15
        assert lines[-1].startswith("left out: ")
        assert self.told(small, "another task, now about gateways of planets and their moons") == []

    def test_ends_with_notes_that_share_a_rare_word_whole_as_far_as_there_is_room(
        self, small: Hook, store: Satchel
    ) -> None:
        short = store.entries.write("discovery", "Events have an archive. " + "Nobody reads it. " * 5, agent="ann")
        lines = self.told(small, PROMPT)
        assert [line for line in lines if line.endswith(short.content.strip())], lines

    def test_ranks_them_by_the_task(self, small: Hook, store: Satchel) -> None:
        store.decisions.set("tracking.cache", "one hour", agent="ann")
        assert self.told(small, PROMPT)[1] == "d62 tracking.cache: one hour"

    def test_may_be_short_if_the_store_knows_a_word_of_it(self, small: Hook) -> None:
        assert self.told(small, "please document the moons of planets for users") == []
        assert self.told(small, "please document the offsets of planets for users")

    def test_comes_after_small_talk(self, small: Hook) -> None:
        assert [self.told(small, text) for text in ("hi", "fix it", "go on", "thanks, good morning")] == [[]] * 4
        assert self.told(small, PROMPT)

    def test_is_none_for_a_pasted_log(self, small: Hook) -> None:
        log = "\n".join(f"2026-11-27 10:00:0{number} ERROR module_{number} retries exceeded" for number in range(9))
        assert self.told(small, log) == []


class TestWhenNothingIsPutIn:
    def test_what_the_window_has_got_comes_again_only_in_another(
        self, ask: Ask, hook: Hook, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_START", "0")
        monkeypatch.setenv("SATCHEL_HOOKS_COMPACTION", "0")
        store.entries.write("discovery", NOTE, agent="ann")
        hook("claude", "SessionStart", source="startup")
        assert ask(PROMPT) is not None
        assert ask(f"{PROMPT}, why?") is None
        hook("claude", "SessionStart", source="compact")
        assert ask(f"{PROMPT}, tell me") is not None

    def test_nor_what_a_briefing_held(self, ask: Ask, hook: Hook, store: Satchel) -> None:
        store.entries.write("discovery", NOTE, agent="ann")
        assert NOTE in context(hook("claude", "SessionStart", source="startup"))
        assert ask(PROMPT) is None

    def test_what_did_not_reach_the_client_comes_again(
        self, ask: Ask, store: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.entries.write("discovery", NOTE, agent="ann")

        def broken(text: str) -> None:
            raise BrokenPipeError

        with monkeypatch.context() as patch:
            patch.setattr("satchel.interfaces.hooks.command._print", broken)
            ask(PROMPT)
        assert ask(f"{PROMPT}!") is not None

    def test_scratchpads_and_what_was_retracted(self, ask: Ask, store: Satchel) -> None:
        pad = {"iteration": 1, "done": False, "next_step": NOTE}
        store.entries.write("scratchpad", pad, task_id="t1", agent="ann")
        store.corrections.retract(store.entries.write("discovery", NOTE, agent="ann").ref, "wrong", agent="ann")
        assert ask(PROMPT) is None

    def test_a_budget_of_nothing(self, ask: Ask, store: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATCHEL_HOOKS_PROMPT", "0")
        store.entries.write("discovery", NOTE, agent="ann")
        assert ask(PROMPT) is None

    def test_a_prompt_that_says_nothing_records_its_session_alone(self, ask: Ask, store: Satchel) -> None:
        assert ask("good morning, please go on with that") is None
        reached = store.room.reached()
        assert ask("good morning, please go on with that one") is None
        assert store.room.reached() == reached
        assert len(store.sessions.team().sessions) == 1

    def test_the_prompt_is_not_in_the_store(self, ask: Ask, store: Satchel, project: Path) -> None:
        store.entries.write("discovery", NOTE, agent="ann")
        assert ask(f"{PROMPT}, says zebulon") is not None
        assert not any(b"zebulon" in file.read_bytes() for file in (project / ".satchel").iterdir() if file.is_file())


class TestWhatNobodyWrote:
    @in_one_test(
        "text",
        [
            f"<task-notification>\n<summary>{PROMPT}</summary>\n</task-notification>",
            f"<system-reminder>{PROMPT}</system-reminder>",
            f"<local-command-stdout>{PROMPT}</local-command-stdout>",
            f"/compact {PROMPT}",
            f"/plugin:fix {PROMPT}",
            "",
            "  \n",
            None,
            7,
            {"type": "tool_result", "content": PROMPT},
            [{"functionResponse": {"response": {"output": PROMPT}}}],
        ],
    )
    def test_is_passed_over(self, text: object) -> None:
        assert events.prompt_of({"prompt": text}) == ""

    @in_one_test(
        "text",
        [
            PROMPT,
            f"<system-reminder>be brief</system-reminder>\n{PROMPT}",
            [{"type": "text", "text": PROMPT}],
            [{"text": PROMPT}, {"functionResponse": {}}],
        ],
    )
    def test_and_what_somebody_wrote_is_read(self, text: object) -> None:
        assert events.prompt_of({"prompt": text}) == PROMPT

    def test_a_path_is_no_command(self) -> None:
        assert events.prompt_of({"prompt": "/srv/app/dhl.py fails"}) == "/srv/app/dhl.py fails"

    def test_a_huge_one_is_cut_in_its_middle(self) -> None:
        text = events.prompt_of({"prompt": f"what is this? {'x' * 10_000_000} and why now?"})
        assert len(text) < 10_000
        assert text.startswith("what is this?")
        assert text.endswith("and why now?")


class TestClients:
    @pytest.mark.parametrize(
        ("client", "name"),
        [
            ("claude", "UserPromptSubmit"),
            ("codex", "UserPromptSubmit"),
            ("qwen", "UserPromptSubmit"),
            ("gemini", "BeforeAgent"),
            ("copilot", "userPromptSubmitted"),
            ("opencode", "chat.message"),
        ],
    )
    def test_that_carry_a_text(self, hook: Hook, store: Satchel, client: str, name: str) -> None:
        store.entries.write("discovery", NOTE, agent="ann")
        assert NOTE in json.dumps(hook(client, name, prompt=PROMPT))

    @pytest.mark.parametrize(("client", "name"), [("cursor", "beforeSubmitPrompt"), ("vscode", "UserPromptSubmit")])
    def test_that_carry_none(self, client: str, name: str) -> None:
        assert events.parse(json.dumps({"prompt": PROMPT}).encode(), client, name).happening == ""

    def test_two_prompts_within_a_moment_are_two(self) -> None:
        keys = {events.parse(json.dumps({"prompt": one}).encode(), "claude", "UserPromptSubmit").key for one in "ab"}
        assert len(keys) == 2


class TestExplaining:
    def test_shows_what_the_last_prompt_would_put_in_and_why(
        self,
        ask: Ask,
        store: Satchel,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        ref = store.entries.write("discovery", NOTE, agent="ann").ref
        ask(PROMPT)
        monkeypatch.chdir(project)
        assert explain("claude", "UserPromptSubmit") == 0
        said = capfdbinary.readouterr().out.decode()
        assert f"meets {ref}: " in said
        assert said.rstrip().endswith(NOTE)
        assert ask(f"{PROMPT}?") is None  # nor has it forgotten what was delivered

    def test_explaining_it_shows_messages_too(
        self,
        ask: Ask,
        hook: Hook,
        store: Satchel,
        capfdbinary: pytest.CaptureFixture[bytes],
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hook("claude", "SessionStart", source="startup")
        ask("is there news for you?")
        store.messages.send("Semicolons, and no quotes", agent="human:mia")
        monkeypatch.chdir(project)
        explain("claude", "UserPromptSubmit")
        assert "Message m1 from human:mia: Semicolons" in capfdbinary.readouterr().out.decode()
        assert "Semicolons" in context(ask("and is there any now?"))

    def test_secrets_of_a_prompt_are_not_kept(self, ask: Ask, tmp_path: Path) -> None:
        ask(f"{PROMPT} password=hunter2hunter2x")
        (kept,) = (tmp_path / "state").rglob("claude-UserPromptSubmit.json")
        assert "hunter2" not in kept.read_text()
        assert "[redacted:password]" in kept.read_text()


def test_the_mark_of_a_person_is_explained_and_a_critical_rule_says_so(hook: Hook, store: Satchel) -> None:
    hook("codex", "SessionStart", session_id="c1", source="startup")
    prompt = "please write the exporter of the quarterly ledger to the archive"
    store.constraints.add("The exporter of the quarterly ledger never prints customer ids", agent="ben")
    assert "* a person's" not in context(hook("codex", "UserPromptSubmit", session_id="c1", prompt=prompt))
    rule = store.constraints.add(
        "The archive of the quarterly ledger is written by the exporter", priority="critical", agent="human:ann"
    ).ref
    text = context(hook("codex", "UserPromptSubmit", session_id="c1", prompt=f"now {prompt}"))
    assert "bind, * a person's" in text
    assert f"\n{rule}* critical: " in text

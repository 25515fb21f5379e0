"""Limits of news, by which no agent silences a person, and news of what was made before it began to bind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
LONG = "keys rotate " * 100


@pytest.fixture
def other(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The store as others at work open it."""
    return open_in(project)


@pytest.fixture
def begin(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> Callable[[str], Satchel]:
    """Begin a session of a person's."""

    def enter(person: str) -> Satchel:
        clock.advance(MINUTE)
        caller = Caller.of_hook({}, "claude", f"session of {person}", begins=True)
        made = open_in(project, environ={"SATCHEL_PERSON": person}, caller=caller)
        made.sessions.enter()
        clock.advance(MINUTE)
        return made

    return enter


@pytest.fixture
def reader(other: Satchel, begin: Callable[[str], Satchel]) -> Satchel:
    """A session of ann's."""
    return begin("ann")


def told(reader: Satchel) -> str:
    return reader.notices.line(shown_by=None) or ""


def prompted(reader: Satchel) -> str:
    answer = reader.working.prompt("thanks", lambda: False)
    reader.working.record(answer)
    return answer.text


@pytest.mark.parametrize("tell", [told, prompted])
def test_a_persons_rule_comes_before_any_number_of_rules_of_agents(
    reader: Satchel, other: Satchel, tell: Callable[[Satchel], str]
) -> None:
    for number in range(12):
        other.constraints.add(f"{number} {LONG}", agent="bot")
    other.constraints.add("no new dependencies", agent="human:cat")
    other.constraints.add("never log a key", priority="critical", agent="human:cat")
    lines = tell(reader).splitlines()
    assert ["never log a key" in lines[0], "no new dependencies" in lines[1]] == [True, True]
    assert sum(map(len, lines)) < 4_500
    assert re.search(r"and \d+ more new rules: search kinds=\[constraint\]$", lines[-1])
    assert tell(reader) == ""


def test_rules_of_files_that_nobody_comes_to_hold_up_no_other_rule(
    reader: Satchel, other: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.brief.news._MOST_READ", 5)
    for number in range(6):
        other.constraints.add(f"rule {number}", priority="high", paths=["none/**"], agent="bot")
    other.constraints.add("types come first", priority="low", agent="bot")
    other.constraints.add("no new dependencies", priority="low", agent="human:cat")
    lines = told(reader).splitlines()
    assert ["no new dependencies" in lines[0], "types come first" in lines[1], len(lines)] == [True, True, 2]


def test_what_does_not_fit_is_skipped_for_what_does(reader: Satchel, other: Satchel) -> None:
    for number in range(5):
        other.constraints.add(f"{number} {LONG}", priority="high", agent="bot")
    other.decisions.set("vat", 19, agent="bot")
    lines = told(reader).splitlines()
    assert "new decision d1 vat: 19" in lines[-2]
    assert lines[-1] == "notice: and 2 more new rules: search kinds=[constraint]"


def test_what_a_person_did_waits_for_the_next_answer_rather_than_be_counted(reader: Satchel, other: Satchel) -> None:
    for number in range(12):
        other.constraints.add(f"rule {number} of cat", priority="critical", agent="human:cat")
    assert told(reader).count("new critical rule") == 10
    assert told(reader).count("new critical rule") == 2
    assert told(reader) == ""


def test_critical_rules_leave_a_hook_answer_short_enough_to_be_shown_whole(reader: Satchel, other: Satchel) -> None:
    refs = [
        other.constraints.add(f"{number} {LONG}", priority="critical", agent="human:cat").ref for number in range(12)
    ]
    answers = [prompted(reader) for _ in range(5)]
    assert max(map(len, answers)) < 9_000
    assert [ref for ref in refs if f"rule {ref} by" not in "".join(answers)] == []


def test_agents_do_not_use_up_the_tokens_that_a_session_has_for_persons(
    reader: Satchel, other: Satchel, clock: ManualClock
) -> None:
    for number in range(18):
        other.constraints.add(f"{number} {LONG}", agent="bot")
        clock.advance(MINUTE)
        text = prompted(reader)
    assert text == "Satchel: and 1 more new rule: search kinds=[constraint]"
    other.constraints.add("no new dependencies", agent="human:cat")
    assert "no new dependencies" in prompted(reader)


def test_changes_that_are_only_counted_are_not_called_new(reader: Satchel, other: Satchel) -> None:
    refs = [other.constraints.add(f"rule {number} of bot", agent="bot").ref for number in range(10)]
    told(reader)
    for ref in refs:
        other.corrections.retract(ref, agent="bot")
    other.constraints.add("types", priority="high", agent="bot")
    assert told(reader).endswith("notice: and 1 more new or changed rule: search kinds=[constraint]")


def test_a_rule_with_many_paths_lists_few(reader: Satchel, other: Satchel) -> None:
    reader.files.claim(shared=["src/a.py"])
    other.constraints.add("types", paths=[f"src/{letter}.py" for letter in "abcdefgh"], agent="bot")
    assert 'binding src/a.py, src/b.py, src/c.py and 5 more: "types"' in told(reader)


def test_after_many_rules_of_agents_a_session_gets_their_number_and_still_the_rules_of_persons(
    reader: Satchel, other: Satchel, clock: ManualClock
) -> None:
    for number in range(20):
        other.constraints.add(f"rule {number} of bot", agent="bot")
        clock.advance(MINUTE)
        assert f"rule {number} of bot" in told(reader)
    other.constraints.add("one more of bot", agent="bot")
    other.constraints.add("no new dependencies", agent="human:cat")
    lines = told(reader).splitlines()
    assert lines[0].endswith(': "no new dependencies"')
    assert lines[1:] == ["notice: and 1 more new rule: search kinds=[constraint]"]


def test_a_rule_that_was_only_counted_comes_with_the_file_that_it_binds(reader: Satchel, other: Satchel) -> None:
    reader.files.claim(shared=["src/a.py"])
    for number in range(11):
        other.constraints.add(f"rule {number} of bot", paths=["src/a.py"], agent="bot")
    assert "c11" not in told(reader)
    line = reader.notices.line(taken=["src/a.py"], shown_by=None) or ""
    assert 'c11 "rule 10 of bot"' in line


def test_a_stated_rule_that_a_person_confirms_is_news(
    other: Satchel, clock: ManualClock, begin: Callable[[str], Satchel]
) -> None:
    ref = other.constraints.add("keys rotate", agent="bot").ref
    number = ref.removeprefix("c")
    with other.workplace.engine.write() as transaction:
        person = transaction.add(
            "agents",
            {
                "uid": b"p" * 16,
                "seq": 0,
                "project_id": 1,
                "name": "human:cat",
                "folded": "human:cat",
                "created_at": clock(),
            },
        )
        transaction.run(f"UPDATE constraints SET stated_by = {person}, unconfirmed = 1 WHERE id = {number}")
    reader = begin("ann")
    assert told(reader) == ""
    other.corrections.confirm(ref, agent="human:cat")
    assert told(reader) == f'notice: new rule {ref} by human:cat: "keys rotate"'
    assert told(reader) == ""


def test_a_rule_that_holds_again_by_undo_is_news_and_the_confirmation_of_any_rule_is_not(
    other: Satchel, begin: Callable[[str], Satchel]
) -> None:
    rotate, typed = (other.constraints.add(text, agent="human:cat").ref for text in ("keys rotate", "types"))
    other.corrections.retract(rotate, agent="human:cat")
    reader = begin("ann")
    other.corrections.confirm(typed, agent="human:dan")
    assert told(reader) == ""
    other.corrections.undo(agent="human:dan")
    assert told(reader) == ""
    other.corrections.undo(agent="human:cat")
    assert told(reader) == f'notice: new rule {rotate} by human:cat: "keys rotate"'


def test_a_draft_that_becomes_active_is_news(other: Satchel, begin: Callable[[str], Satchel]) -> None:
    other.decisions.set("vat", 19, status="draft", agent="bot")
    reader = begin("ann")
    assert told(reader) == ""
    other.decisions.set("vat", status="active", agent="human:cat")
    assert told(reader) == "notice: d1 vat is now 19, set by human:cat"


def test_what_becomes_of_another_persons_preference_is_not_told_even_if_it_was_opened(
    reader: Satchel, other: Satchel, clock: ManualClock, begin: Callable[[str], Satchel]
) -> None:
    ref = begin("cat").constraints.add("call me by my name", only_for="me").ref
    other.constraints.add("no new dependencies", agent="human:cat")
    assert "dependencies" in told(reader)
    reader.items.read([ref])
    clock.advance(MINUTE)
    other.corrections.retract(ref, agent="human:cat")
    assert told(reader) == ""

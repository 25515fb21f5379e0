"""What is put into a client's session at its moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Satchel
from satchel.base.tokens import token_counter
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import CLEAR, COMPACTION, MOMENTS, RESUME, START, SUBAGENT, Moment, PutIn
from satchel.keep import deliveries
from satchel.keep.entries.records import NewEntry
from satchel.keep.sessions.caller import Caller
from satchel.keep.sessions.records import Actor

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
RULE, NOTE = "never log a password", "the gateway's clock is 30 s ahead"
PAD = {"iteration": 1, "attempted": ["retry without the cache"], "done": False, "next_step": "ask ann"}


class Session:
    """One session of Claude Code, of which every hook is a process of its own."""

    def __init__(self, open_in: Callable[..., Satchel], folder: Path, **settings: object) -> None:
        self._open, self._folder, self._settings = open_in, folder, settings

    def hook(self, *, begins: bool = False) -> Satchel:
        caller = Caller.of_hook({}, "claude", "s1", begins=begins)
        return self._open(self._folder, caller=caller, settings=self._settings)

    def make(self, moment: Moment, **options: Any) -> PutIn:
        return self.hook(begins=moment is START).moments.make(moment, Deadline(60_000), **options)

    def put_in(self, moment: Moment, **options: Any) -> str:
        """Let the client take what is put in; return it."""
        satchel = self.hook(begins=moment is START)
        made = satchel.moments.make(moment, Deadline(60_000), **options)
        satchel.moments.record(moment, made)
        return made.text


@pytest.fixture
def other(satchel: Satchel) -> Satchel:
    """Somebody else in the project, who has left a rule, a decision and a note."""
    satchel.constraints.add(RULE, priority="critical", agent="ann")
    satchel.decisions.set("session_ttl", 300, agent="ann")
    satchel.entries.write("discovery", NOTE, agent="ann")
    return satchel


@pytest.fixture
def session(other: Satchel, open_in: Callable[..., Satchel], project: Path) -> Session:
    return Session(open_in, project)


def test_a_session_begins_with_what_the_project_keeps(session: Session) -> None:
    text = session.put_in(START)
    first, *lines = text.splitlines()
    assert first.startswith("Satchel, project memory. You are claude-")
    assert lines == [
        "Rules and decisions bind, notes do not",
        "critical",
        f"c1: {RULE}",
        "decisions",
        "d1 session_ttl: 300",
        "notes",
        f"e1: {NOTE}",
    ]


def test_where_something_found_no_room_the_end_says_what_and_how_to_get_it(
    open_in: Callable[..., Satchel], project: Path, other: Satchel
) -> None:
    for number in range(200):
        other.decisions.set(f"module_{number}.retries", f"{number} times, then give up", agent="human:ann")
    made = Session(open_in, project).make(START)
    *lines, left_out, last = made.text.splitlines()
    assert f"c1: {RULE}" in lines
    shown = sum(line.startswith("d") and line[1].isdigit() for line in lines)
    assert left_out == f"left out: {201 - shown} decisions (search)"
    assert last.startswith("More: get_briefing(query=your task)")
    assert len(made.text) <= 9_000


def test_a_project_without_anything_kept_begins_in_silence(open_in: Callable[..., Satchel], project: Path) -> None:
    made = Session(open_in, project).make(START)
    assert (made.text, made.why) == ("", "no rules, decisions or notes are stored here yet; nobody else is at work")
    assert made.entered is not None


def test_nothing_comes_twice_in_a_window_not_even_what_is_critical(session: Session) -> None:
    session.put_in(START)
    assert session.put_in(RESUME) == ""


def test_a_text_that_did_not_reach_the_client_comes_again(session: Session) -> None:
    assert RULE in session.make(START).text
    made = session.make(COMPACTION)
    assert RULE in made.text


class TestResuming:
    def test_shows_what_changed_since(self, session: Session, other: Satchel, clock: ManualClock) -> None:
        session.put_in(START)
        clock.advance(10 * MINUTE)
        other.entries.write("discovery", "the cache is cold", agent="ann")
        other.decisions.set("session_ttl", 600, agent="ann")
        text = session.put_in(RESUME)
        assert "the cache is cold" in text
        assert "session_ttl: 600" in text
        assert RULE not in text
        assert NOTE not in text

    def test_leaves_what_found_no_room_at_the_start_where_it_is(
        self, open_in: Callable[..., Satchel], project: Path, other: Satchel, clock: ManualClock
    ) -> None:
        kept = [f"note {number} of what else is known about {number * 7919}" for number in range(100)]
        other.entries.write_many([NewEntry("discovery", text) for text in kept], agent="ann")
        session = Session(open_in, project)
        clock.advance(MINUTE)
        assert session.put_in(START).count("of what else is known") < 100
        clock.advance(10 * MINUTE)
        assert session.put_in(RESUME) == ""


class TestACompaction:
    def test_brings_everything_again(self, session: Session) -> None:
        session.put_in(START)
        assert RULE in session.put_in(COMPACTION)
        assert "after compaction" in session.put_in(COMPACTION)

    def test_with_the_agents_own_attempts_and_claims(self, session: Session) -> None:
        session.put_in(START)
        mine = session.hook()
        mine.entries.write("scratchpad", PAD)
        mine.files.claim(["src/auth.py"])
        text = session.put_in(COMPACTION)
        assert "retry without the cache" in text
        assert "you claim src/auth.py" in text


class TestASubagent:
    def test_has_a_name_and_a_window_of_its_own(self, session: Session) -> None:
        session.put_in(START)
        text = session.put_in(SUBAGENT, agent_id="agent-7c1b2d", agent_type="general-purpose")
        assert 'agent="claude-' in text.splitlines()[0]
        assert text.splitlines()[0].endswith('-7c1b2d".')
        assert RULE in text

    def test_is_told_apart_from_another(self, session: Session) -> None:
        texts = [session.put_in(SUBAGENT, agent_id=one) for one in ("a596510a", "b596510b")]
        assert all(RULE in text for text in texts)

    def test_gets_nothing_again(self, session: Session) -> None:
        assert session.put_in(SUBAGENT, agent_id="a1")
        assert session.put_in(SUBAGENT, agent_id="a1") == ""

    @pytest.mark.parametrize("kind", ["Explore", "explorer", "statusline-setup"])
    def test_that_only_looks_around_gets_nothing(self, session: Session, kind: str) -> None:
        made = session.make(SUBAGENT, agent_id="a1", agent_type=kind)
        assert (made.text, made.why) == ("", f"subagents of the kind {kind!r} only look around")

    def test_of_a_role_gets_that_roles_shares(self, session: Session) -> None:
        made = session.make(SUBAGENT, agent_id="a1", agent_type="QA_Expert")
        assert made.briefing is not None
        assert made.briefing.role == "QA_Expert"


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name)
def test_a_budget_of_nothing_puts_in_nothing_but_the_session_is_known(
    other: Satchel, open_in: Callable[..., Satchel], project: Path, moment: Moment
) -> None:
    session = Session(open_in, project, **{moment.setting: 0})
    made = session.make(moment, agent_id="a1" if moment is SUBAGENT else None)
    assert (made.text, made.why) == ("", f"{moment.setting} is 0")
    assert made.entered is not None


@pytest.mark.parametrize("moment", [START, COMPACTION, SUBAGENT], ids=lambda moment: moment.name)
def test_a_full_store_fills_the_budget_and_never_exceeds_it(
    open_in: Callable[..., Satchel], project: Path, satchel: Satchel, moment: Moment
) -> None:
    for number in range(150):
        satchel.decisions.set(f"module_{number}.retries", f"{number % 7} times, {number * 13} ms after `pool.get()`")
    for budget, least in [(150, 0.4), (300, 0.75), (400, 0.8), (600, 0.8), (900, 0.8), (1_600, 0.8)]:
        made = Session(open_in, project, **{moment.setting: budget}).make(moment, agent_id="a1")
        assert least * budget <= token_counter().count(made.text) <= budget, budget


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name)
@pytest.mark.parametrize("budget", [1, 10, 40])
def test_a_budget_for_less_than_the_opening_puts_in_nothing(
    other: Satchel, open_in: Callable[..., Satchel], project: Path, moment: Moment, budget: int
) -> None:
    made = Session(open_in, project, **{moment.setting: budget}).make(moment)
    assert token_counter().count(made.text) <= budget


def test_words_of_many_letters_fill_no_more_than_9000_characters(
    open_in: Callable[..., Satchel], project: Path, satchel: Satchel
) -> None:
    for number in range(200):
        satchel.constraints.add(f"internationalization characteristics representations {number} {number * 7919}")
    made = Session(open_in, project).make(START)
    assert 7_500 < len(made.text) <= 9_000


class TestWhatHooksMaySpend:
    @pytest.fixture
    def full(self, open_in: Callable[..., Satchel], project: Path, satchel: Satchel) -> Session:
        for number in range(300):
            satchel.decisions.set(f"module_{number}.retries", f"{number} times, then give up")
        satchel.constraints.add(RULE, priority="critical", agent="ann")
        return Session(open_in, project)

    def test_is_limited_over_the_windows_of_a_session(self, full: Session) -> None:
        count = token_counter().count
        texts = [full.put_in(START), full.put_in(COMPACTION)]
        assert sum(map(count, texts)) <= 4_000
        assert 1_000 < count(texts[1]) < count(texts[0])
        prompt = full.hook().working.prompt("mend the gateway, whose parser drops every second session", lambda: False)
        assert 0 < count(prompt.text) < 250

    def test_begins_anew_in_a_cleared_window(self, full: Session) -> None:
        texts = [full.put_in(moment) for moment in (START, COMPACTION, CLEAR)]
        assert len(texts[2]) == len(texts[0])

    def test_is_never_too_little_for_what_is_critical(
        self, full: Session, satchel: Satchel, clock: ManualClock
    ) -> None:
        full.put_in(START)
        hook = full.hook()
        window = deliveries.window_of(1, Actor(2, None, 1, window=1), 1, None, None, 0)
        with hook.workplace.engine.write() as transaction:
            deliveries.deliver(transaction, window, [], clock(), moment="prompt", tokens=2_000)
        clock.advance(MINUTE)
        satchel.constraints.add("never log a token", priority="critical", agent="ann")
        satchel.constraints.add("tests run in parallel", agent="ann")
        text = full.put_in(RESUME)
        assert "never log a token" in text
        assert "tests run in parallel" not in text


def test_a_trial_records_nothing(session: Session) -> None:
    made = session.make(START, dry_run=True)
    assert RULE in made.text
    assert made.entered is None
    assert session.hook().sessions.team().sessions == ()


def test_a_locked_store_is_briefed_from_all_the_same(session: Session) -> None:
    satchel = session.hook(begins=True)
    with satchel.workplace.engine.read():
        pass
    blocker = session.hook()
    with blocker.workplace.engine.write():
        locked = session._open(
            session._folder,
            caller=Caller.of_hook({}, "claude", "s1", begins=True),
            settings={"hooks.deadline_ms": 50},
        )
        made = locked.moments.make(START, Deadline(60_000))
        locked.moments.record(START, made)
    assert RULE in made.text
    assert made.entered is None

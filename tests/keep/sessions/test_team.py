"""Who is at work: the sessions of a project, as the team and as the others that a briefing names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Satchel, Team, TeamSession
from satchel.brief.room import states
from satchel.keep.presence import LISTED_DAYS
from satchel.keep.sessions.actors import agents_of_client
from satchel.keep.sessions.caller import SERVER
from satchel.keep.sessions.team import (
    MAIN_WORKTREE,
    MOST,
    RECENT_MS,
    AgentState,
    LastChange,
    TeamClaim,
    others_at_work,
)
from satchel.store.transaction import answer

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE, DAY = 60_000, 86_400_000
COMMIT = "1a2b3c4d" * 5
PAD = {"iteration": 1, "done": False, "next_step": "allow leeway", "blockers": ["no test clock", "no docs"]}

Start = Callable[..., Satchel]


@pytest.fixture
def start(open_in: Callable[..., Satchel], project: Path) -> Start:
    """Start a session: the server of a client in the project, in which a note is written."""

    def make(agent: str | None = None, client: str = "claude-code", **options: object) -> Satchel:
        satchel = open_in(project, caller=SERVER, agent=agent, **options)
        assert satchel.workplace.caller is not None
        satchel.workplace.caller.set_client(client, "2.1.0")
        satchel.entries.write("discovery", f"a note of {agent}")
        return satchel

    return make


def number_of(satchel: Satchel) -> int:
    assert satchel.workplace.caller is not None
    with satchel.workplace.engine.read() as transaction:
        found = satchel.workplace.caller.find(transaction, 1)
    assert found is not None
    return found.id


def change(satchel: Satchel, **columns: object) -> None:
    """Change columns of a Satchel's session."""
    assigned = ", ".join(f"{name} = :{name}" for name in columns)
    with satchel.workplace.engine.write() as transaction:
        transaction.forget()
        transaction.run(f"UPDATE sessions SET {assigned} WHERE id = :id", {**columns, "id": number_of(satchel)})


def let_die(satchel: Satchel) -> None:
    """Let the process of a session be gone, and its number be another process's."""
    change(satchel, process=os.getpid(), process_started=1)


def own(satchel: Satchel) -> TeamSession:
    """Return a Satchel's session as it sees itself."""
    (found,) = (one for one in satchel.sessions.team().sessions if one.own)
    return found


def agents(team: Team) -> list[str]:
    return [one.agents[0] for one in team.sessions]


def test_a_session_says_whose_it_is_and_where_it_works(start: Start, project: Path, clock: ManualClock) -> None:
    (project / ".git" / "HEAD").write_text("ref: refs/heads/login")
    branch = project / ".git" / "refs" / "heads" / "login"
    branch.parent.mkdir(parents=True)
    branch.write_text(COMMIT)
    ann = start("ann")
    ann.entries.write("discovery", "x", task_id="T1")
    assert own(ann) == TeamSession(
        uid=own(ann).uid,
        agents=("ann",),
        client="claude",
        version="2.1.0",
        worktree=None,
        branch="login",
        commit=COMMIT[:8],
        run_id=None,
        task_id="T1",
        doing=None,
        claims=(),
        claims_total=0,
        scratchpad=None,
        seen_at=clock.now,
        ended_at=None,
        gone=False,
        own=True,
        state=AgentState("working", clock.now),
        predecessor=None,
        predecessor_agent=None,
    )
    assert len(bytes.fromhex(own(ann).uid)) == 16


def test_a_session_is_bound_to_a_run_while_that_is_active(start: Start) -> None:
    ann = start("ann")
    change(ann, run_id=ann.runs.start("night").id)
    assert own(ann).run_id == "night"
    ann.runs.end("night")
    assert own(ann).run_id is None


def test_a_linked_worktree_is_named(start: Start) -> None:
    ann = start("ann")
    change(ann, worktree="/srv/linked")
    assert own(ann).worktree == "/srv/linked"


def test_who_spoke_in_a_session_stands_behind_whose_it_is(start: Start) -> None:
    ann, _ = start("ann"), start("ben")
    for name in ("scout", "tester", "ann", "scout"):
        ann.brief(agent=name)
    assert own(ann).agents == ("ann", "scout", "tester")


def test_a_session_in_which_nobody_spoke_is_listed(start: Start) -> None:
    ann = start("ann")
    change(ann, agent_id=None)
    assert own(ann).agents == ()


def test_the_newest_twenty_live_claims_are_shown_and_all_are_counted(start: Start, clock: ManualClock) -> None:
    ann, ben = start("ann"), start("ben")
    ann.files.claim(["short.py"], minutes=1)
    ann.files.claim(["old.py"], minutes=60)
    ben.files.claim(shared=["bens.py"])
    clock.advance(2 * MINUTE)
    names = [f"{letter}.py" for letter in "abcdefghijklmnopqrst"]
    ann.files.claim(names, minutes=30)
    assert [claim.path for claim in own(ann).claims] == names
    assert own(ann).claims_total == 21
    assert {claim.expires_at for claim in own(ann).claims} == {clock.now + 30 * MINUTE}
    assert [(claim.path, claim.exclusive) for claim in own(ben).claims] == [("bens.py", False)]
    clock.advance(30 * MINUTE)
    assert ([claim.path for claim in own(ann).claims], own(ann).claims_total) == (["old.py"], 1)


def test_a_session_left_off_where_its_newest_scratchpad_says(start: Start, clock: ManualClock) -> None:
    ann, ben = start("ann"), start("ben")
    ann.entries.write("scratchpad", {"iteration": 1, "done": False, "next_step": "look"})
    entry = ann.entries.write("scratchpad", PAD, agent="scout")
    ben.entries.write("error", "a later entry, and no scratchpad")
    ann.entries.write("error", "another")
    left = own(ann).scratchpad
    assert left is not None
    assert (left.ref, left.agent, left.created_at) == (entry.ref, "scout", clock.now)
    assert (left.done, left.next_step, left.blockers) == (False, "allow leeway", ("no test clock", "no docs"))
    assert own(ben).scratchpad is None


def test_a_session_shows_the_newest_change_and_how_many_were_recorded_with_it(start: Start, clock: ManualClock) -> None:
    ann, ben = start("ann"), start("ben")
    ann.files.record("a.py", "modified", description="first")
    clock.advance(MINUTE)
    ann.files.record("a.py", "modified", description="typed")
    last = ann.files.record("b.py", "created")
    change = own(ann).last_change
    assert change == LastChange(last.ref, "b.py", 1, None, clock.now)
    assert own(ben).last_change is None


def test_a_scratchpad_that_cannot_be_read_or_was_superseded_hides_no_session(start: Start) -> None:
    ann = start("ann")
    first, second = ann.entries.write("scratchpad", PAD), ann.entries.write("scratchpad", PAD)
    with ann.workplace.engine.write() as transaction:
        transaction.run(f"UPDATE context SET superseded_by = {first.id} WHERE id = {second.id}")
    left = own(ann).scratchpad
    assert left is not None
    assert left.ref == first.ref
    with ann.workplace.engine.write() as transaction:
        transaction.run(f"UPDATE context SET content = '[]' WHERE id = {first.id}")
    assert own(ann).scratchpad is None


def end_it(satchel: Satchel) -> None:
    assert satchel.sessions.end()


def lose_sight_of_it(satchel: Satchel) -> None:
    change(satchel, machine="another", seen_at=satchel.workplace.clock() - 31 * MINUTE)


@pytest.mark.parametrize("leave", [end_it, let_die, lose_sight_of_it])
def test_a_session_is_gone_when_it_ended_or_its_process_did(start: Start, leave: Callable[[Satchel], None]) -> None:
    ann, ben = start("ann"), start("ben")
    assert not any(one.gone for one in ann.sessions.team().sessions)
    leave(ben)
    assert [(one.agents, one.gone) for one in ann.sessions.team().sessions] == [(("ann",), False), (("ben",), True)]
    assert not own(ben).gone


def test_what_is_gone_for_long_is_listed_only_when_asked_for(start: Start, clock: ManualClock) -> None:
    ann, ben, cat, dan = start("ann"), start("ben"), start("cat"), start("dan")
    let_die(ben)
    change(cat, ended_at=clock.now + MINUTE)
    let_die(dan)
    change(dan, seen_at=clock.now - (LISTED_DAYS * DAY - RECENT_MS))
    clock.advance(RECENT_MS)
    ann.entries.write("discovery", "still here")
    team = ann.sessions.team()
    assert (agents(team), team.total, team.earlier, team.asked_at) == (["ann", "cat"], 2, 1, clock.now)
    team = ann.sessions.team(all=True)
    assert (agents(team), team.total, team.earlier) == (["ann", "cat", "ben"], 3, 0)


def test_one_who_is_silent_for_a_day_is_still_there(start: Start, clock: ManualClock) -> None:
    ann, _ = start("ann"), start("ben")
    clock.advance(DAY)
    assert [(one.agents, one.seen_at, one.gone) for one in ann.sessions.team().sessions] == [
        (("ann",), clock.now - DAY, False),
        (("ben",), clock.now - DAY, False),
    ]


def test_ones_own_comes_first_then_who_was_seen_last_then_who_is_gone(start: Start, clock: ManualClock) -> None:
    ann, ben, cat, dan = (start(name) for name in ("ann", "ben", "cat", "dan"))
    for place, one in enumerate((ann, ben, cat, dan)):
        change(one, seen_at=clock.now + place)
    let_die(dan)
    assert agents(ann.sessions.team()) == ["ann", "cat", "ben", "dan"]
    assert agents(ben.sessions.team()) == ["ben", "cat", "ann", "dan"]


def test_more_sessions_than_fit_are_cut_and_counted(start: Start, clock: ManualClock) -> None:
    ann = start("ann")
    change(ann, seen_at=clock.now - MINUTE)
    with ann.workplace.engine.write() as transaction:
        for place in range(MOST + 2):
            row = {"uid": bytes([place] * 16), "project_id": 1, "seen_at": clock.now - place, "created_at": 0}
            transaction.add("sessions", row)
    team = ann.sessions.team()
    assert (len(team.sessions), team.total) == (MOST, MOST + 3)
    assert [one.uid for one in team.sessions] == [
        own(ann).uid,
        *(bytes([place] * 16).hex() for place in range(MOST - 1)),
    ]


def test_a_successor_names_who_was_there_before(start: Start) -> None:
    ann = start("ann")
    let_die(ann)
    uid = own(ann).uid
    heir = own(start("ann"))
    assert (heir.predecessor, heir.predecessor_agent) == (uid, "ann")


def test_a_session_that_another_one_continued_is_listed_only_on_request(start: Start) -> None:
    first = start("ann")
    let_die(first)
    second = start("ann")
    team = second.sessions.team()
    assert ([one.gone for one in team.sessions], team.earlier) == ([False], 0)
    assert [one.gone for one in second.sessions.team(all=True).sessions] == [False, True]


def test_a_client_stands_for_its_one_agent_whose_process_is_there(start: Start, clock: ManualClock) -> None:
    gone, there = start(), start()
    let_die(gone)
    with there.workplace.engine.read() as transaction:
        at_work = agents_of_client(transaction, 1, "claude", clock.now)
    assert [name for _, name in at_work] == [own(there).agents[0]]


@pytest.mark.parametrize("options", [{}, {"caller": "command"}])
def test_who_has_no_session_sees_all_and_none_as_its_own(
    start: Start, open_in: Callable[..., Satchel], project: Path, options: dict[str, Any]
) -> None:
    # another process's: the commands of a test descend from what started it
    change(start("ann"), process=None, seen_at=1_795_000_000_000)
    team = open_in(project, **options).sessions.team()
    assert [(one.agents, one.own) for one in team.sessions] == [(("ann",), False)]
    assert team.notes == ()


def test_a_server_that_has_written_nothing_is_told_why_it_is_not_listed(
    start: Start, open_in: Callable[..., Satchel], project: Path
) -> None:
    start("ann")
    new = open_in(project, caller=SERVER)
    assert (agents(new.sessions.team()), new.sessions.team().notes) == (
        ["ann"],
        ("your own session is listed after your first write",),
    )


def test_a_project_without_sessions(satchel: Satchel, clock: ManualClock) -> None:
    assert satchel.sessions.team() == Team((), 0, 0, clock.now)
    satchel.entries.write("discovery", "by a program")
    assert satchel.sessions.team(all=True) == Team((), 0, 0, clock.now)
    assert others(satchel, None) == []


def test_sessions_of_another_project_are_not_seen(start: Start) -> None:
    ann, _ = start("ann"), start("ben", project="other")
    assert agents(ann.sessions.team()) == ["ann"]
    assert others(ann, number_of(ann)) == []


def test_the_team_takes_as_many_statements_however_many_there_are(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[str] = []
    ann = start("ann")
    with ann.workplace.engine.read() as opened:
        kind = type(opened)

    def count(name: str) -> None:
        original = getattr(kind, name)

        def counted(transaction: Any, sql: str, parameters: Any = None) -> Any:
            run.append(sql)
            return original(transaction, sql, parameters)

        monkeypatch.setattr(kind, name, counted)

    for name in ("ben", "cat", "dan"):
        one = start(name)
        one.files.claim([f"{name}.py"])
    # where it is sent, one() and all() are ask(); where it is run at once, ask() is all()
    for name in ("ask",) if opened.database == "postgresql" else ("one", "all"):
        count(name)
    assert len(ann.sessions.team().sessions) == 4
    assert len(run) == 13
    run.clear()
    assert len(others(ann, number_of(ann))) == 3
    assert len(run) == 10


def others(satchel: Satchel, own_session: int | None, most: int = 5) -> list[TeamSession]:
    with satchel.workplace.engine.read() as transaction:
        return answer(others_at_work(transaction, 1, own_session, satchel.workplace.clock(), most, states.find))


def test_others_at_work_are_the_live_ones_those_seen_last_first(start: Start, clock: ManualClock) -> None:
    ann, ben, cat, dan = start("ann"), start("ben", "codex"), start("cat"), start("dan")
    let_die(dan)
    clock.advance(5 * MINUTE)
    ben.entries.write("discovery", "x", task_id="T2")
    working = AgentState("working", clock.now - 5 * MINUTE)
    claims = ben.files.claim(["a.py", "b.py", "c.py"], reason="a parser").claims
    shown = tuple(TeamClaim(one.path, True, one.expires_at, reason="a parser") for one in claims[:2])
    first, second = others(ann, number_of(ann))
    assert (first.name, first.client, first.task_id, first.claims, first.claims_total) == (
        "ben",
        "codex",
        "T2",
        shown,
        3,
    )
    assert (second.name, second.client, second.task_id, second.claims, second.state) == (
        "cat",
        "claude",
        None,
        (),
        working,
    )
    assert [one.seen_at for one in (first, second)] == [clock.now, clock.now - 5 * MINUTE]
    assert {first.worktree, first.branch, second.worktree, second.branch} == {None}
    assert [one.name for one in others(ann, number_of(ann), most=1)] == ["ben"]
    assert [one.name for one in others(cat, number_of(cat))] == ["ben", "ann"]
    assert [one.name for one in others(ann, None)] == ["ben", "cat", "ann"]
    clock.advance(LISTED_DAYS * DAY)
    assert others(ann, number_of(ann)) == []


@pytest.mark.parametrize(
    ("own_place", "their_place", "told"),
    [
        (("", "main"), ("", "main"), (None, None)),
        (("", "main"), ("", "fix"), (None, "fix")),
        (("", "main"), ("/srv/fix", "fix"), ("/srv/fix", "fix")),
        (("/srv/fix", "fix"), ("/srv/fix", "fix"), (None, None)),
        (("/srv/fix", "fix"), ("", "main"), (MAIN_WORKTREE, "main")),
        (None, ("", "main"), (None, "main")),
        (None, ("/srv/fix", None), ("/srv/fix", None)),
    ],
)
def test_of_others_the_place_is_told_where_it_is_another(
    start: Start,
    own_place: tuple[str, str] | None,
    their_place: tuple[str, str | None],
    told: tuple[str | None, str | None],
) -> None:
    ann, ben = start("ann"), start("ben")
    if own_place is not None:
        change(ann, worktree=own_place[0], branch=own_place[1])
    else:
        let_die(ann)
    change(ben, worktree=their_place[0], branch=their_place[1])
    (other,) = others(ann, None if own_place is None else number_of(ann))
    assert (other.worktree, other.branch) == told

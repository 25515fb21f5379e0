"""What a session takes over from one that is over."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock
from days_of_use import vouch_in
from keep.sessions.kept import Row, kept
from keep.sessions.table import Table
from satchel import Satchel
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.sessions.actors import reading

Open = Callable[..., Satchel]

MINUTE = 60_000
DAY = 24 * 60 * MINUTE


@pytest.fixture
def before(serve: Open) -> Satchel:
    """A session of claude that holds a path, and to whose unnamed agent a message waits."""
    satchel = serve("claude-code")
    satchel.files.claim(["src/a.py"], minutes=60 * 24)
    satchel.messages.send("Look at src/a.py", to=sessions(satchel)[0].unnamed, agent="reviewer")
    satchel.messages.send("For one who was named", to="builder", agent="reviewer")
    return satchel


def sessions(satchel: Satchel) -> list[Row]:
    return kept(satchel).sessions


def follow(serve: Open, name: str = "claude-code", **options: Any) -> Satchel:
    """Start a server of another process, and let it write."""
    satchel = serve(name, **{"below": 1, **options})
    satchel.entries.write("discovery", f"session {len(sessions(satchel)) + 1}")
    return satchel


def inherited(satchel: Satchel, agent: str | None = None) -> tuple[bool, bool, bool]:
    """Return whether the last session has a predecessor, its claims and its messages."""
    last = sessions(satchel)[-1]
    with satchel.workplace.engine.read() as transaction:
        claimed = transaction.one("SELECT 1 FROM file_claims WHERE session_id = :id", {"id": last.id})
    said = [message.message for message in satchel.messages.inbox(agent=agent).items]
    return last.predecessor is not None, claimed is not None, "Look at src/a.py" in said


def test_claims_and_messages_of_one_that_is_over_go_to_the_first_of_two_new_ones(
    before: Satchel, serve: Open, table: Table
) -> None:
    table.end(100)
    first = follow(serve, below=table.add(200))
    assert inherited(first) == (True, True, True)
    assert inherited(follow(serve, below=table.add(300))) == (False, False, False)
    assert first.files.claim(["src/a.py"]).renewed == ("src/a.py",)
    (message,) = first.messages.inbox(unread=True).items
    # it is shown as the predecessor's
    assert (message.message, message.to) == ("Look at src/a.py", sessions(first)[0].unnamed)
    assert [one.predecessor for one in sessions(first)] == [None, sessions(first)[0].id, None]


def test_they_go_on_from_one_to_the_next(before: Satchel, serve: Open, table: Table) -> None:
    table.end(100)
    follow(serve, below=table.add(200))
    table.end(200)
    third = follow(serve, below=table.add(300))
    assert inherited(third) == (True, True, True)
    assert sessions(third)[2].predecessor == sessions(third)[1].id


@pytest.fixture
def continued(hook: Open, clock: ManualClock) -> Satchel:
    """A conversation that claimed files, and ended or was left; another one that begins inherits its claims."""
    satchel = hook("a", client="codex", begins=True)
    satchel.files.claim(["src/a.py", "docs/b.md"], minutes=60 * 24)
    return satchel


@pytest.mark.parametrize("successors", [1, 2])
@pytest.mark.parametrize("says_so", [True, False])
def test_a_session_that_goes_on_has_its_claims_back_from_those_that_inherited_them(
    continued: Satchel, hook: Open, table: Table, clock: ManualClock, says_so: bool, successors: int
) -> None:
    for place in range(successors):
        if says_so:
            hook("a" if place == 0 else f"b{place - 1}", client="codex").sessions.end()
        table.end(100)
        table.add(100)
        clock.advance(MINUTE)
        hook(f"b{place}", client="codex", begins=True).sessions.enter()
        clock.advance(MINUTE)
    heir = hook(f"b{successors - 1}", client="codex")
    assert heir.files.claim(["src/c.py"]).claims
    assert [one.claims_total for one in heir.sessions.team().sessions if one.own] == [3]
    own = hook("a", client="codex")
    assert own.files.claim(["src/a.py"]).renewed == ("src/a.py",)
    assert {one.agents: one.claims_total for one in own.sessions.team(all=True).sessions if one.claims} == {
        (own.files.claim(["docs/b.md"]).agent,): 2,
        (heir.files.claim(["src/c.py"]).agent,): 1,
    }


def test_a_session_that_goes_on_is_told_what_its_successor_claims_instead(
    continued: Satchel, hook: Open, clock: ManualClock
) -> None:
    continued.sessions.end()
    clock.advance(MINUTE)
    heir = hook("b", client="codex", begins=True)
    heir.sessions.enter()
    clock.advance(MINUTE)
    name = heir.files.claim(["docs/"]).agent
    own = hook("a", client="codex")
    own.sessions.enter()
    assert own.workplace.caller is not None
    assert [note.rpartition(": ")[2] for note in own.workplace.caller.notes] == [f"docs/b.md by {name}."]
    assert [one.path for one in own.files.claims()] == ["docs/**", "src/a.py"]


def test_what_a_successor_of_the_same_name_claims_as_it_begins_stays_its_own(hook: Open, clock: ManualClock) -> None:
    first = hook("a", client="codex", begins=True, agent="builder")
    first.files.claim(["src/a.py"])
    first.sessions.end()
    clock.advance(MINUTE)
    heir = hook("b", client="codex", begins=True, agent="builder")
    heir.sessions.enter()
    heir.files.claim(["src/c.py"])
    clock.advance(MINUTE)
    hook("a", client="codex", agent="builder").sessions.enter()
    assert [one.claims_total for one in heir.sessions.team(all=True).sessions] == [1, 1]


def test_what_was_read_is_not_inherited(before: Satchel, serve: Open, table: Table) -> None:
    before.messages.mark_read(everything=True)
    table.end(100)
    assert inherited(follow(serve)) == (True, True, False)


@pytest.mark.parametrize("question", [False, True])
def test_what_was_shown_is_not_inherited_unless_it_is_a_question_without_an_answer(
    before: Satchel, serve: Open, table: Table, question: bool
) -> None:
    (message,) = before.messages.inbox(unread=True).items
    with before.workplace.engine.write() as transaction:
        if question:
            transaction.run("UPDATE agent_messages SET message = 'Look at src/a.py?'")
        of = reading(transaction, before.workplace, 1, None)
        window = deliveries.window_of(1, of, 1, None, None, 0)
        deliveries.record(transaction, window, [(Kind.MESSAGE.number, message.id, message.seq)], 1)
    table.end(100)
    after = follow(serve)
    assert [one.message for one in after.messages.inbox(unread=True).items] == ["Look at src/a.py?"] * question


def test_nothing_is_inherited_from_a_session_whose_client_runs(
    before: Satchel, serve: Open, clock: ManualClock
) -> None:
    clock.advance(2 * 60 * MINUTE)
    assert inherited(follow(serve)) == (False, False, False)


def test_what_the_client_ended_is_over_although_its_process_runs(before: Satchel, serve: Open) -> None:
    with before.workplace.engine.write() as transaction:
        transaction.run("UPDATE sessions SET ended_at = 1")
    assert inherited(follow(serve)) == (True, True, True)


@pytest.mark.parametrize(("minutes", "expected"), [(30, False), (31, True)])
def test_a_session_whose_process_is_not_known_is_over_after_half_an_hour(
    before: Satchel, serve: Open, clock: ManualClock, minutes: int, expected: bool
) -> None:
    with before.workplace.engine.write() as transaction:
        transaction.run("UPDATE sessions SET machine = 'another'")
    clock.advance(minutes * MINUTE)
    assert inherited(follow(serve))[:2] == (expected, expected)


def test_after_two_weeks_nothing_is_inherited(before: Satchel, serve: Open, table: Table, clock: ManualClock) -> None:
    table.end(100)
    clock.advance(14 * DAY)
    assert inherited(follow(serve)) == (False, False, False)


@pytest.mark.parametrize("name", ["gemini-cli", "somebody", None])
def test_another_client_inherits_nothing(before: Satchel, serve: Open, table: Table, name: str | None) -> None:
    table.end(100)
    satchel = serve(name, below=1)
    satchel.entries.write("discovery", "x")
    assert inherited(satchel) == (False, False, False)


def test_an_agent_that_was_chosen_inherits_nothing_of_another(before: Satchel, serve: Open, table: Table) -> None:
    table.end(100)
    assert inherited(follow(serve, agent="builder")) == (False, False, False)
    table.add(200)
    follow(serve, agent="planner", below=200).files.claim(["src/b.py"])
    table.end(200)
    unnamed = follow(serve, below=table.add(300))
    assert sessions(unnamed)[-1].predecessor == sessions(unnamed)[0].id, "not from planner's"
    heir = follow(serve, agent="PLANNER")
    assert inherited(heir)[:2] == (True, True)
    assert heir.files.claim(["src/b.py"]).renewed == ("src/b.py",)


@pytest.mark.slow
def test_another_worktree_inherits_nothing(serve: Open, table: Table, tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for command in (
        [*git, "init", "--quiet", "--initial-branch=main", str(main)],
        [*git, "-C", str(main), "commit", "--quiet", "--allow-empty", "--message=first"],
        [*git, "-C", str(main), "worktree", "add", "--quiet", "-b", "topic", str(linked)],
    ):
        subprocess.run(command, check=True)
    serve("claude-code", cwd=main).files.claim(["src/a.py"])
    table.end(100)
    there = follow(serve, cwd=linked)
    assert sessions(there)[-1].predecessor is None
    here = follow(serve, cwd=main, below=table.add(200))
    assert sessions(here)[-1].predecessor == sessions(here)[0].id
    with here.workplace.engine.read() as transaction:
        rows = transaction.all("SELECT worktree, branch, length(commit_id) FROM sessions ORDER BY id")
    assert rows == [("", "main", 40), (str(linked.resolve()), "topic", 40), ("", "main", 40)]


def test_sessions_that_nobody_has_seen_for_long_are_forgotten(
    before: Satchel, serve: Open, table: Table, clock: ManualClock
) -> None:
    before.constraints.add("Passwords are never logged", category="security")
    assert before.brief().is_recorded
    first = sessions(before)[0].id
    vouch_in(before, clock.advance(90 * DAY))
    follow(serve, "gemini-cli")
    assert sessions(before)[0].id == first
    vouch_in(before, clock.advance(1))
    satchel = follow(serve, "gemini-cli", below=table.add(200))
    assert first not in {one.id for one in sessions(satchel)}
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT 1 FROM windows WHERE session_id = :id", {"id": first}) == []
    before.entries.write("discovery", "it is still there")
    assert sessions(before)[-1].client == "claude"

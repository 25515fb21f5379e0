"""Clients at work in two worktrees and a program without a session: what starts, ends and goes on, beside a model."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agents_here import register
from clients_at_work import Clients
from satchel import Conflict, Satchel, open_satchel
from session_model import DAY, HOUR, MAIN, MINUTE, RECENT, Hold, Session

CLIENTS = {"claude": "claude-code", "codex": "codex-mcp-client"}
MAIN_TREE, LINKED = "project", "linked"
PROGRAM = "program"
MOST_AT_WORK = 4

WHO = st.integers(0, 100)


@dataclass(eq=False)
class Desk:
    """A client at work: its server, and its session; a program has none."""

    satchel: Satchel
    client: str
    worktree: str
    session: Session | None


class Desks(RuleBasedStateMachine):
    """Clients of two kinds in two worktrees, and a program without a session, each in runs or in none."""

    def set_up(self) -> None:
        """Open the program and two clients in an empty store."""
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        self.top = Path(self.folder.name).resolve()
        own = self.top / MAIN_TREE / ".git" / "worktrees" / LINKED
        own.mkdir(parents=True)
        (self.top / LINKED).mkdir()
        (self.top / LINKED / ".git").write_text(f"gitdir: {own}\n")
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{self.top / LINKED / '.git'}\n")
        self.now = 1_795_000_000_000
        self.clients = Clients(partial(open_satchel, environ={}, clock=lambda: self.now), self.patch)
        self.opened: list[Satchel] = []
        self.program = Desk(self.open_in(MAIN_TREE), PROGRAM, MAIN_TREE, None)
        register(self.program.satchel, "somebody")
        self.sessions: dict[int, Session] = {}
        self.desks: list[Desk] = []
        self.runs: dict[str, bool] = {MAIN: True}
        self.holds: list[Hold] = []
        self.long_waits = 0
        self.start("claude", MAIN_TREE)
        self.start("claude", MAIN_TREE)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for satchel in self.opened:
                satchel.close()
            self.patch.undo()
            self.folder.cleanup()

    def open_in(self, worktree: str) -> Satchel:
        satchel = open_satchel(
            cwd=self.top / worktree, environ={}, clock=lambda: self.now, settings={"store.durability": "relaxed"}
        )
        self.opened.append(satchel)
        return satchel

    def served(self, serve: Any, client: str, worktree: str) -> Satchel:
        satchel: Satchel = serve(CLIENTS[client], cwd=self.top / worktree, settings={"store.durability": "relaxed"})
        self.opened.append(satchel)
        return satchel

    # -- who is at work

    def at(self, who: int) -> Desk:
        """Return who calls, and let the call come from there; time passes."""
        self.now += 1_000
        desk = [self.program, *self.desks][who % (1 + len(self.desks))]
        self.clients.turn_to(desk.satchel)
        return desk

    def saw(self, desk: Desk) -> None:
        if desk.session is not None:
            desk.session.least_seen, desk.session.last_seen = self.now - MINUTE, self.now

    def session_of(self, satchel: Satchel) -> tuple[int, int | None]:
        """Return the numbers of a Satchel's session, and of the one that it goes on from."""
        caller = satchel.workplace.caller
        assert caller is not None
        with satchel.workplace.engine.read() as transaction:
            state = caller.find(transaction, 1)
            assert state is not None
            row = transaction.one("SELECT predecessor_id FROM sessions WHERE id = :id", {"id": state.id})
        assert row is not None
        return state.id, row[0]

    @precondition(lambda self: len(self.desks) < MOST_AT_WORK)
    @rule(client=st.sampled_from(list(CLIENTS)), worktree=st.sampled_from([MAIN_TREE, LINKED]))
    def start(self, client: str, worktree: str) -> None:
        self.now += 1_000
        satchel = self.served(self.clients.start, client, worktree)
        number, predecessor = self.session_of(satchel)
        assert number not in self.sessions
        over = [
            one
            for one in self.sessions.values()
            if (one.client, one.worktree) == (client, worktree) and not one.is_living and not one.has_successor
        ]
        over = [one for one in over if one.last_seen > self.now - RECENT]
        latest = max((one.least_seen for one in over), default=0)
        fitting: set[int | None] = {one.number for one in over if one.last_seen >= latest}
        assert predecessor in (fitting or {None})
        before: tuple[int, ...] = ()
        if predecessor is not None:
            self.sessions[predecessor].has_successor = True
            before = (predecessor, *self.sessions[predecessor].before)
            for hold in self.holds:
                hold.session = number if hold.session == predecessor else hold.session
        session = Session(number, client, worktree, before, self.now - MINUTE, self.now)
        self.sessions[number] = session
        self.desks.append(Desk(satchel, client, worktree, session))

    @precondition(lambda self: self.desks)
    @rule(who=WHO, says_so=st.booleans())
    def end(self, who: int, says_so: bool) -> None:
        desk = self.desks[who % len(self.desks)]
        self.now += 1_000
        self.clients.turn_to(desk.satchel)
        if says_so:
            desk.satchel.sessions.end()
            self.saw(desk)
        self.clients.end(desk.satchel)
        self.desks.remove(desk)
        assert desk.session is not None
        desk.session.is_living = False

    @precondition(lambda self: self.desks)
    @rule(who=WHO)
    def restart_server(self, who: int) -> None:
        desk = self.desks[who % len(self.desks)]
        self.now += 1_000
        serve = partial(self.clients.restart_server, desk.satchel)
        desk.satchel = self.served(serve, desk.client, desk.worktree)
        assert desk.session is not None
        assert self.session_of(desk.satchel)[0] == desk.session.number
        desk.session.last_seen = self.now

    @rule(who=WHO)
    def open_window(self, who: int) -> None:
        desk = self.at(who)
        entered = desk.satchel.sessions.enter(opens_window=True)
        self.saw(desk)
        if desk.session is None:
            assert entered is None
        else:
            desk.session.window += 1
            assert entered is not None
            assert entered.window == desk.session.window

    @rule(long=st.sampled_from([MINUTE + 1, 20 * MINUTE, 3 * HOUR]))
    def time_passes(self, long: int) -> None:
        self.now += long

    @precondition(lambda self: self.long_waits < 3)
    @rule()
    def weeks_pass(self) -> None:
        self.long_waits += 1
        self.now += 15 * DAY

    # -- runs

    @rule(who=WHO)
    def start_run(self, who: int) -> None:
        desk = self.at(who)
        name = f"r{len(self.runs)}"
        desk.satchel.runs.start(name)
        self.runs[name] = True
        if desk.session is not None:
            self.saw(desk)
            desk.session.run = name

    @rule(who=WHO, which=WHO)
    def end_run(self, who: int, which: int) -> None:
        desk = self.at(who)
        name = list(self.runs)[which % len(self.runs)]
        if name == MAIN or not self.runs[name]:
            with pytest.raises(Conflict):
                desk.satchel.runs.end(name)
            return
        desk.satchel.runs.end(name)
        self.runs[name] = False

    def run_of(self, desk: Desk) -> str:
        """Return the run that a desk works in, for reading."""
        bound = None if desk.session is None else desk.session.run
        return bound if bound is not None and self.runs[bound] else MAIN

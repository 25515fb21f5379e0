"""Sessions, windows, deliveries, runs, loops and claims in any order, beside a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from keep.sessions.desks import LINKED, MAIN_TREE, WHO, Desk, Desks
from satchel import Briefing, Conflict
from session_model import MAIN, MINUTE, RECENT, History, Hold, Place, Said, overlaps
from state_machines import short_and_long

LARGE = 200_000

NAMES = st.sampled_from([None, "ann", "ben", "sub"])
TASKS = st.sampled_from([None, None, "T1", "T2"])
LOOPS = st.sampled_from([None, None, "L1"])
ERRORS = st.sampled_from(["KeyError", "TypeError", "OSError"])
PATHS = st.lists(st.sampled_from(["a/b", "a/**", "c"]), min_size=1, max_size=2, unique=True)


def refs_of(briefing: Briefing, *sections: str) -> set[str]:
    """Return the short ids of what a briefing says, in some sections or all."""
    items = (item for item in briefing.items if not sections or item.section in sections)
    return {ref for item in items for ref in (item.ref, *item.stands_for)}


class Sessions(Desks):
    """What agents at desks write, are briefed about and claim; agents of several clients share their names."""

    @initialize()
    def open(self) -> None:
        self.history = History()
        self.notes: set[str] = set()
        self.own: dict[tuple[object, ...], list[tuple[str, int]]] = {}
        self.first: dict[tuple[object, ...], int] = {}
        self.critical: set[str] = set()
        self.errors: dict[str, str] = {}
        self.solved: set[str] = set()
        self.delivered: dict[tuple[object, ...], set[str]] = {}
        self.count = 0
        self.set_up()

    @precondition(lambda self: self.desks)
    @rule(who=WHO, says_so=st.booleans())
    def restart_client(self, who: int, says_so: bool) -> None:
        desk = self.desks[who % len(self.desks)]
        self.end(who, says_so)
        self.start(desk.client, desk.worktree)
        self.check_everybody(None, None)

    # -- writing

    def name_of(self, desk: Desk, name: str | None) -> str | None:
        return name if name is not None or desk.session is None else desk.session.unnamed

    def write(
        self, desk: Desk, kind: str, content: Any, name: str | None, task: str | None, loop: str | None, run: str | None
    ) -> tuple[str, Place, Sequence[str]]:
        """Write an entry; check whose it is, and in which run."""
        expected = run or self.run_of(desk)
        left = None if run is not None or desk.session is None else desk.session.run
        entry = desk.satchel.entries.write(kind, content, task_id=task, loop_id=loop, run_id=run, agent=name)
        self.saw(desk)
        assert entry.run_id == expected
        falls_back = left is not None and not self.runs[left]
        assert [note for note in entry.notes if "works in main" in note] == (
            [f"run {left} is completed: from here on this session works in main"] if falls_back else []
        )
        if falls_back and desk.session is not None:
            desk.session.run = None
        self.check_author(desk, name, entry.agent)
        session = None if desk.session is None else desk.session.number
        if session is not None:
            self.own.setdefault((session, name), []).append((entry.ref, self.now))
        return entry.ref, Place(entry.agent, session, expected, task, loop), entry.notes

    def check_author(self, desk: Desk, name: str | None, author: str | None) -> None:
        """Check that who gives no name is one agent of the session, of no other, and nobody without one."""
        if name is not None or desk.session is None:
            assert author == name
            return
        assert author is not None
        assert desk.session.unnamed in {None, author}
        assert author.startswith(f"{desk.client}-")
        desk.session.unnamed = author
        assert author not in {one.unnamed for one in self.sessions.values() if one is not desk.session}

    def word(self) -> str:
        self.count += 1
        return f"thing{self.count}"

    @rule(who=WHO, name=NAMES, task=TASKS, loop=LOOPS, which=st.none() | WHO)
    def write_note(self, who: int, name: str | None, task: str | None, loop: str | None, which: int | None) -> None:
        desk = self.at(who)
        run = None if which is None else list(self.runs)[which % len(self.runs)]
        ref, _, _ = self.write(desk, "discovery", self.word(), name, task, loop, run)
        self.notes.add(ref)

    @rule(who=WHO, critical=st.booleans(), name=NAMES)
    def add_rule(self, who: int, critical: bool, name: str | None) -> None:
        desk = self.at(who)
        kept = desk.satchel.constraints.add(self.word(), priority="critical" if critical else "high", agent=name)
        self.saw(desk)
        self.check_author(desk, name, kept.agent)
        self.notes.add(kept.ref)
        self.critical |= {kept.ref} if kept.priority == "critical" else set()  # of an agent it is high

    @rule(who=WHO, name=NAMES, task=TASKS, loop=LOOPS, failures=st.integers(0, 3), succeeds=st.booleans())
    def try_for_a_while(
        self, who: int, name: str | None, task: str | None, loop: str | None, failures: int, succeeds: bool
    ) -> None:
        for is_success in [False] * failures + [True] * succeeds:
            desk = self.at(who)
            word = self.word()
            content = {"iteration": 1, "attempted": [f"{word} first{word} then{word}"]}
            content |= {"test_status": "passing"} if is_success else {"test_status": "failing", "blockers": ["no key"]}
            ref, place, notes = self.write(desk, "scratchpad", content, name, task, loop, None)
            self.say(Said(int(ref[1:]), place, is_success, word, self.now), notes)
        self.check_everybody(task, loop)

    @rule(who=WHO, name=NAMES, task=st.sampled_from(["T1", "T2"]), loop=LOOPS, passed=st.booleans())
    def write_verdict(self, who: int, name: str | None, task: str, loop: str | None, passed: bool) -> None:
        desk = self.at(who)
        content = {"passed": passed, "summary": self.word()}
        ref, place, notes = self.write(desk, "review_verdict", content, name, task, loop, None)
        self.say(Said(int(ref[1:]), place, passed, "", self.now), notes)
        self.check_everybody(task, loop)

    def say(self, new: Said, notes: Sequence[str]) -> None:
        """Take in a scratchpad or verdict; check what was learned from it."""
        learned = self.history.learn(new, self.now) if new.is_success else set()
        told = {found[1] for note in notes if (found := re.match(r"(x\d+) .*: y\d+ is stored as its fix", note))}
        assert told == learned
        self.history.said.append(new)
        self.solved |= learned
        self.change(learned)

    @rule(who=WHO, name=NAMES, task=TASKS, loop=LOOPS, error=ERRORS)
    def report_error(self, who: int, name: str | None, task: str | None, loop: str | None, error: str) -> None:
        desk = self.at(who)
        reported = desk.satchel.patterns.report(error, "it is gone", task_id=task, loop_id=loop, agent=name)
        run = self.run_of(desk)
        if desk.session is not None and desk.session.run != run:
            desk.session.run = None
        self.saw(desk)
        ref = reported.pattern.ref
        assert self.errors.setdefault(error, ref) == ref
        assert bool(reported.pattern.solutions) == (ref in self.solved)
        session = None if desk.session is None else desk.session.number
        if desk.session is not None and name is None and desk.session.unnamed is None:
            desk.session.unnamed = self.unnamed_of(desk)
        self.history.meet(ref, Place(self.name_of(desk, name), session, run, task, loop), self.now)
        self.change({ref})

    def unnamed_of(self, desk: Desk) -> str:
        """Return the name that was given to those who give none in a session."""
        caller = desk.satchel.workplace.caller
        assert caller is not None
        with desk.satchel.workplace.engine.read() as transaction:
            state = caller.find(transaction, 1)
            assert state is not None
            row = transaction.one("SELECT name FROM agents WHERE id = :id", {"id": state.unnamed})
        assert row is not None
        return str(row[0])

    def change(self, refs: set[str]) -> None:
        """What has changed is new to everybody."""
        for got in self.delivered.values():
            got.difference_update(refs)

    # -- briefings

    @rule(
        who=WHO,
        name=NAMES,
        task=TASKS,
        loop=LOOPS,
        iteration=st.integers(0, 1),
        again=st.sampled_from([False] * 3 + [True]),
    )
    def brief(
        self, who: int, name: str | None, task: str | None, loop: str | None, iteration: int, again: bool
    ) -> None:
        desk = self.at(who)
        session = desk.session
        briefing = desk.satchel.brief(
            task_id=task, loop_id=loop, iteration=iteration, again=again, budget=LARGE, agent=name
        )
        if session is None:
            key: tuple[object, ...] = (MAIN, task, name, iteration)
        else:
            key = (session.number, session.window, name, iteration)
        got = self.delivered.get(key, set()) if name is not None and not again else set()
        if session is not None and not again:
            # what it wrote in its window it knows: all of its session in the first, later since it was first told
            since = 0 if session.window == 1 and not iteration else self.first.get(key)
            own = self.own.get((session.number, name), [])
            got = got | {ref for ref, moment in own if since is not None and moment >= since}
        shown = refs_of(briefing)
        assert shown & got == self.critical & got, "nothing twice, but for critical rules"
        assert refs_of(briefing, "rules", "entries") == self.notes - (got - self.critical)
        assert {ref for ref in shown if ref.startswith("x")} == self.solved - got
        self.check_attempts(desk, name, task, loop, briefing, got)
        if shown and (session is not None or name is not None):
            assert briefing.is_recorded
            self.delivered.setdefault(key, set()).update(shown)
            self.first.setdefault(key, self.now)
        self.saw(desk)

    def check_everybody(self, task: str | None, loop: str | None) -> None:
        """Check what all who are at work would be told of a task and loop."""
        for who in range(1 + len(self.desks)):
            desk = self.at(who)
            for name in (None, "ann", "ben", "sub"):
                briefing = desk.satchel.brief(
                    task_id=task, loop_id=loop, budget=LARGE, agent=name, dry_run=True, again=True
                )
                self.check_attempts(desk, name, task, loop, briefing, set())

    def check_attempts(
        self, desk: Desk, name: str | None, task: str | None, loop: str | None, briefing: Briefing, got: set[str]
    ) -> None:
        """Check whose attempts an agent is shown, and what it is told of them.

        Args:
            got: what it was shown before.
        """
        session = desk.session
        place = Place(
            self.name_of(desk, name), None if session is None else session.number, self.run_of(desk), task, loop
        )
        before = () if session is None else session.before
        attempts = refs_of(briefing, "attempts")
        told = re.search(r"^STUCK: \d+ iterations(?: \(with (.*?)\))? without", briefing.text, re.MULTILINE)
        assert (told is not None) == briefing.is_stuck
        possible = []
        for continued in self.continued(desk, task):
            tried, _ = self.history.of_loop(place, self.now, before)
            more = set() if tried else self.history.last_of_loop(place, self.now, before)
            needed = {one.ref for one in tried}
            if continued is not None and task is None and loop is None:
                # who names no task goes on with the loop that was left off
                assert continued.place.session is not None
                earlier = self.sessions[continued.place.session].before
                tried, _ = self.history.of_loop(continued.place, self.now, earlier)
                needed = {one.ref for one in tried} or needed
            needed |= set() if continued is None else {continued.ref}
            authors = {one.place.author for one in tried if not place.is_of_author(one.place)}
            others = [*sorted(filter(None, authors)), *(["an unnamed agent"] if None in authors else [])]
            with_others = ", ".join(others) if len(tried) >= 3 else None
            possible.append((needed - got, needed | more, with_others))
        with_others = None if told is None else told[1] or ""
        assert any(needed <= attempts <= allowed and with_others == theirs for needed, allowed, theirs in possible), (
            f"{attempts}, {with_others}: {possible}"
        )

    def continued(self, desk: Desk, task: str | None) -> Sequence[Said | None]:
        """Return the scratchpads that a session may go on from, of which the times tell one: none if it has its own."""
        own = desk.session
        pads = [one for one in self.history.said if one.tried and one.place.session is not None]
        if own is None or any(one.place.session == own.number for one in pads):
            return [None]
        over = {number for number, session in self.sessions.items() if not session.is_living}
        recent = [one for one in pads if one.at > self.now - RECENT and one.place.session in over]
        of_task = [one for one in recent if task is not None and one.place.task == task]
        if of_task:
            return of_task[-1:]
        here = [self.sessions[number] for number in over if self.sessions[number].worktree == own.worktree]
        here = [one for one in here if any(pad.place.session == one.number for pad in pads)]
        here = [one for one in here if one.last_seen > self.now - RECENT]
        latest = max((one.least_seen for one in here), default=0)
        last = [one.number for one in here if one.last_seen >= latest]
        return [next((pad for pad in reversed(recent) if pad.place.session == one), None) for one in last] or [None]

    # -- claims

    def live(self) -> list[Hold]:
        return [one for one in self.holds if one.expires > self.now]

    @rule(who=WHO, name=NAMES, wanted=PATHS, exclusive=st.booleans(), minutes=st.sampled_from([10, 300]))
    def claim(self, who: int, name: str | None, wanted: list[str], exclusive: bool, minutes: int) -> None:
        desk = self.at(who)
        if desk.session is None:
            name = name or "ann"
        self.holds = self.live()
        session = None if desk.session is None else desk.session.number
        label = self.name_of(desk, name) or ""
        against = [
            one
            for one in self.holds
            if one.worktree == desk.worktree
            and not one.is_of(session, label)
            and (exclusive or one.exclusive)
            and any(overlaps(one.path, path) for path in wanted)
        ]
        over = [one for one in against if one.session is not None and not self.sessions[one.session].is_living]
        options: dict[str, Any] = {"paths" if exclusive else "shared": wanted, "minutes": minutes, "agent": name}
        if len(over) < len(against):
            with pytest.raises(Conflict):
                desk.satchel.files.claim(**options)
            if desk.session is not None:
                desk.session.last_seen = self.now
            return
        claimed = desk.satchel.files.claim(**options)
        self.saw(desk)
        self.check_author(desk, name, claimed.agent)
        assert sorted(note for note in claimed.notes if "taken over" in note) == sorted(
            f"{one.path} was taken over from {one.agent}, whose session has ended" for one in over
        )
        self.holds = [one for one in self.holds if one not in over]
        if session is not None:
            self.take_into_session(desk.worktree, session, claimed.agent, wanted)
        for path in wanted:
            own = [
                one
                for one in self.holds
                if (one.worktree, one.path) == (desk.worktree, path) and one.is_of(session, claimed.agent)
            ]
            new = next((one for one in own if one.session == session), own[-1] if own else None)
            if new is None:
                new = Hold(desk.worktree, path, session, claimed.agent, exclusive, 0)
                self.holds.append(new)
            new.session = new.session if session is None else session
            new.exclusive, new.expires = exclusive, self.now + minutes * MINUTE

    def take_into_session(self, worktree: str, session: int, agent: str, wanted: list[str]) -> None:
        """What an agent holds by its name of places that it claims in a session is the session's from then on."""
        of_tree = [one for one in self.holds if one.worktree == worktree]
        for one in of_tree:
            if one.session is None and one.agent == agent and any(overlaps(one.path, path) for path in wanted):
                twin = next((other for other in of_tree if (other.path, other.session) == (one.path, session)), None)
                if twin is None:
                    one.session = session
                else:
                    twin.exclusive, twin.expires = twin.exclusive or one.exclusive, max(twin.expires, one.expires)
                    self.holds.remove(one)

    @rule(who=WHO, name=NAMES, wanted=st.none() | PATHS)
    def release(self, who: int, name: str | None, wanted: list[str] | None) -> None:
        desk = self.at(who)
        if desk.session is None:
            name = name or "ann"
        self.holds = self.live()
        session = None if desk.session is None else desk.session.number
        label = self.name_of(desk, name) or ""
        own = [one for one in self.holds if one.worktree == desk.worktree and one.is_of(session, label)]
        own = [one for one in own if wanted is None or one.path in wanted]
        released = desk.satchel.files.release(wanted, agent=name)
        assert set(released.released) == {one.path for one in own}
        self.holds = [one for one in self.holds if one not in own]
        if desk.session is not None:
            desk.session.last_seen = self.now
            if name is None and desk.session.unnamed is None:
                desk.session.unnamed = self.unnamed_of(desk)

    @rule(who=WHO, name=NAMES, path=st.sampled_from(["a/b", "a/**", "c"]))
    def check_file(self, who: int, name: str | None, path: str) -> None:
        desk = self.at(who)
        session = None if desk.session is None else desk.session.number
        label = self.name_of(desk, name) or ""
        here = [one for one in self.live() if one.worktree == desk.worktree and overlaps(one.path, path)]
        checked = desk.satchel.files.check([path], window_seconds=0, agent=name)
        assert checked.is_held == any(one.exclusive and not one.is_of(session, label) for one in here)

    @invariant()
    def the_claims_are_those_of_the_model(self) -> None:
        if not hasattr(self, "holds"):
            return
        trees = {None: MAIN_TREE, str(self.top / LINKED): LINKED}
        kept = sorted(
            (trees[one.worktree], one.path, one.agent, one.exclusive, one.expires_at)
            for one in self.program.satchel.files.claims(limit=500)
        )
        live = self.live()
        assert kept == sorted((one.worktree, one.path, one.agent, one.exclusive, one.expires) for one in live)
        for one, other in combinations(live, 2):
            if one.worktree == other.worktree and overlaps(one.path, other.path) and one.session != other.session:
                assert one.agent == other.agent or not (one.exclusive or other.exclusive)


TestSessions, TestLongSessions = short_and_long(Sessions, examples=14, steps=60)


def test_who_goes_on_from_a_loop_that_succeeded_is_shown_its_own_since_its_own_success() -> None:
    state = Sessions()

    def open_windows(count: int, who: int = 0) -> None:
        for _ in range(count):
            state.open_window(who=who)

    try:
        state.open()
        open_windows(2)
        state.start(client="claude", worktree="project")
        open_windows(1)
        state.start(client="claude", worktree="project")
        open_windows(1)
        state.try_for_a_while(failures=0, succeeds=True, who=49, loop=None, name=None, task=None)
        state.start_run(who=0)
        state.try_for_a_while(failures=2, succeeds=True, who=71, loop=None, name=None, task=None)
        open_windows(1, who=41)
        open_windows(1)
        state.end(says_so=False, who=0)
        state.restart_client(says_so=True, who=44)
        state.start_run(who=0)
        open_windows(6)
        state.restart_client(says_so=False, who=0)  # which checks what everybody is shown
    finally:
        state.teardown()

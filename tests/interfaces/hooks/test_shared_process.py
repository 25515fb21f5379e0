"""Two conversations in one process of a client: what ends, revives and claims what, in any order, beside a model."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.base.processes import Process
from satchel.brief.briefing.collecting import Deadline
from satchel.interfaces.hooks import events, working
from satchel.interfaces.hooks.command import moment_of
from satchel.keep.sessions.caller import SERVER, Caller
from state_machines import short_and_long

MINUTE = 60_000
FILES = ("a.py", "b.py")
SETTINGS = {"store.durability": "relaxed", "hooks.start": 0, "hooks.resume": 0}
CLIENT = Process(1_000_000, 1)

WHICH = st.sampled_from(("t1", "t2"))
FILE = st.sampled_from(FILES)


@dataclass(eq=False)
class Conversation:
    """A thread of the client: without a session until its first event or call.

    Attributes:
        claims: what it claims automatically, each file with when the claim expires.
        ended_with: the claims that ended with it.
    """

    identity: str
    server: Satchel
    agent: str = ""
    is_over: bool = False
    claims: dict[str, int] = field(default_factory=dict)
    ended_with: dict[str, int] = field(default_factory=dict)


class SharedProcess(RuleBasedStateMachine):
    """Threads of one app server of Codex; each hook opens the store anew, and each thread has its own server."""

    @initialize()
    def open(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        self.top = Path(self.folder.name).resolve()
        (self.top / ".git").mkdir()
        for file in FILES:
            (self.top / file).write_text("x")
        self.now = 1_795_000_000_000
        self.numbers = count(1)
        self.own = Process(2_000_000, 1)
        self.patch.setattr(processes, "find_client", lambda *_: CLIENT)
        self.patch.setattr(processes, "own", lambda: self.own)
        self.patch.setattr(processes, "is_alive", lambda _: True)
        self.program = self.opened()
        self.threads = {}
        for number, identity in enumerate(("t1", "t2"), 1):
            server = self.opened(caller=SERVER)
            assert server.workplace.caller is not None
            server.workplace.caller.set_client("codex-mcp-client", "1")
            self.threads[identity] = (Conversation(identity, server), Process(2_000_000 + number, 1))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for thread, _ in self.threads.values():
                thread.server.close()
            self.program.close()
            self.patch.undo()
            self.folder.cleanup()

    def opened(self, **options: object) -> Satchel:
        given = {"environ": {}, "clock": lambda: self.now, "settings": SETTINGS, **options}
        return open_satchel(cwd=self.top, **given)  # type: ignore[arg-type]

    def hear(self, identity: str, name: str, **fields: object) -> str:
        """Tell a hook of an event; return the text that its client gets."""
        self.now += 1_000
        usual = {"session_id": identity, "cwd": str(self.top), "hook_event_name": name}
        data = json.dumps({**usual, **fields, "tool_use_id": f"t{next(self.numbers)}"}).encode()
        event = events.parse(data, "codex", name)
        caller = Caller.of_hook({}, "codex", event.session_id, begins=event.happening == events.START)
        printed: list[str] = []
        with self.opened(caller=caller) as satchel:
            if event.happening in events.AT_WORK:
                working.answer(event, str(self.top), satchel, printed.append, lambda: False)
            elif event.happening == events.END:
                satchel.sessions.end(event.reason)
            else:
                moment = moment_of(event)
                assert moment is not None
                return satchel.moments.make(moment, Deadline(60_000)).text
        return "".join(json.loads(one)["hookSpecificOutput"]["additionalContext"] for one in printed)

    def claimed_by(self, file: str) -> Conversation | None:
        return next((one for one, _ in self.threads.values() if one.claims.get(file, 0) > self.now), None)

    def go_on(self, thread: Conversation, text: str) -> None:
        """Let a thread that was over take back, in the model, what is still free; a text names what is not."""
        if thread.is_over:
            lost = []
            for file, expires in thread.ended_with.items():
                if expires > self.now:
                    holder = self.claimed_by(file)
                    if holder is None:
                        thread.claims[file] = expires
                    else:
                        lost.append(f"{file} by {holder.agent}")
            assert ("had ended and was resumed" in text) == bool(lost)
            assert all(one in text for one in lost)
        thread.is_over, thread.ended_with = False, {}

    @rule(which=WHICH, source=st.sampled_from(["startup", "resume"]))
    def start(self, which: str, source: str) -> None:
        """A start may come late or never: its hook waits for a dialog of trust."""
        thread, _ = self.threads[which]
        text = self.hear(which, "SessionStart", source=source)
        self.go_on(thread, text)

    @rule(which=WHICH)
    def call(self, which: str) -> None:
        """The server of a thread is called: it writes a note."""
        thread, self.own = self.threads[which]
        self.now += 1_000
        caller = thread.server.workplace.caller
        assert caller is not None
        caller.read_meta({"threadId": which})
        agent = thread.server.entries.write("discovery", f"note {next(self.numbers)}").agent
        assert agent is not None
        assert thread.agent in {"", agent}
        thread.agent = agent
        self.go_on(thread, caller.pop_warning() or "")

    @rule(which=WHICH, file=FILE)
    def edit(self, which: str, file: str) -> None:
        thread, _ = self.threads[which]
        patch = {"command": f"*** Begin Patch\n*** Update File: {file}\n*** End Patch"}
        text = self.hear(which, "PreToolUse", tool_name="apply_patch", tool_input=patch)
        self.go_on(thread, text)
        holder = self.claimed_by(file)
        if holder in {None, thread}:
            renewed = self.now + 5 * MINUTE
            if thread.claims.get(file, 0) <= self.now + 4 * MINUTE:
                thread.claims[file] = renewed

    @rule(which=st.sampled_from(("t1", "t2", "unknown")))
    def end(self, which: str) -> None:
        self.hear(which, "SessionEnd", reason="other")
        if which in self.threads and self.threads[which][0] in self.known():
            thread, _ = self.threads[which]
            if not thread.is_over:
                thread.ended_with, thread.claims, thread.is_over = thread.claims, {}, True

    @rule(minutes=st.sampled_from([1, 6]))
    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    def known(self) -> list[Conversation]:
        """Return the threads that have a session, by the ids that the store knows."""
        with self.program.workplace.engine.read() as transaction:
            rows = transaction.all("SELECT host_id, session_id FROM session_hosts")
        assert len({host for host, _ in rows}) == len({session for _, session in rows}) == len(rows)
        return [self.threads[host][0] for host, _ in rows]

    @invariant()
    def each_thread_has_a_session_that_is_over_if_it_was_ended(self) -> None:
        if not hasattr(self, "threads"):
            return
        known = self.known()
        team = self.program.sessions.team(all=True)
        assert len(team.sessions) == len(known)
        assert sum(one.ended_at is not None for one in team.sessions) == sum(one.is_over for one in known)
        with self.program.workplace.engine.read() as transaction:
            rows = transaction.all(
                "SELECT h.host_id, c.path, c.expires_at FROM file_claims c "
                "JOIN session_hosts h ON h.session_id = c.session_id WHERE c.expires_at > :now",
                {"now": self.now},
            )
        model = {
            (one.identity, file, expires)
            for one, _ in self.threads.values()
            for file, expires in one.claims.items()
            if expires > self.now
        }
        assert set(rows) == model


TestShort, TestLong = short_and_long(SharedProcess, examples=30, steps=30)

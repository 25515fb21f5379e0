"""Hooks of three clients, their sessions and subagents in any order under a moving clock, beside a model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from satchel import Conflict, Satchel, open_satchel
from satchel.base import processes
from satchel.base.processes import Process
from satchel.brief.briefing.collecting import Deadline
from satchel.interfaces.hooks import events, working
from satchel.interfaces.hooks.command import moment_of
from satchel.keep.sessions.caller import Caller
from session_model import overlaps
from state_machines import short_and_long

MINUTE = 60_000
CLIENTS = ("claude", "codex", "gemini")
FILES = ("a.py", "b.py", "src/c.py")
FIXES = {"KeyError": "name the key in the settings", "TypeError": "pass the number as text"}
HUMAN = "human"

# budgets at which nothing is left out, and nothing that is not the matter here
SETTINGS = {"store.durability": "relaxed", "hooks.edit": 1_600, "hooks.error": 1_600, "hooks.messages": 1_600}
SETTINGS |= {"hooks.start": 0, "hooks.resume": 0, "hooks.compaction": 0}

WHO = st.integers(0, 100)
SUBAGENT = st.sampled_from([None, None, "sub001"])
EDITED = st.lists(st.sampled_from(FILES), min_size=1, max_size=3, unique=True)


@dataclass(eq=False)
class Session:
    """One conversation of a client.

    Attributes:
        told_at: when messages were put in last.
        shown: by window and agent what was put in, each text of notes, fixes and messages.
        opened: by window and agent the files whose notes were shown.
        warned: by window and agent the claims of others that were named, each with how often it was renewed by then.
    """

    client: str
    identity: str
    process: Process
    uid: str = ""
    name: str = ""
    window: int = 1
    is_over: bool = False
    has_successor: bool = False
    has_changed: bool = False
    has_kept: bool = False
    is_reminded: bool = False
    told_at: int | None = None
    shown: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    opened: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    warned: dict[tuple[int, str], dict[Hold, int]] = field(default_factory=dict)

    def agent(self, subagent: str | None) -> str:
        return self.name if subagent is None else f"{self.name}-{subagent}"


@dataclass(eq=False)
class Hold:
    """A claim; without a session it is a person's."""

    path: str
    session: Session | None
    agent: str
    automatic: bool
    since: int
    expires: int
    renewed: int = 0

    @property
    def is_over(self) -> bool:
        return self.session is not None and self.session.is_over


@dataclass
class Message:
    """What was sent, to one agent or all."""

    text: str
    to: str | None


NOTES = 2
"""So many notes are shown of a file."""


class Hooks(RuleBasedStateMachine):
    """Every call of a hook opens the store anew, as a process of its own does."""

    @initialize()
    def open(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        self.top = Path(self.folder.name).resolve()
        (self.top / ".git").mkdir()
        (self.top / "src").mkdir()
        for file in FILES:
            (self.top / file).write_text("x")
        self.now = 1_795_000_000_000
        self.here = Process(1_000_000, 1)
        self.patch.setattr(processes, "find_client", lambda *_: self.here)
        self.patch.setattr(processes, "is_alive", lambda process: process in self.living)
        self.living: set[Process] = set()
        self.sessions: list[Session] = []
        self.holds: list[Hold] = []
        self.notes: dict[str, list[tuple[str, str]]] = {file: [] for file in FILES}
        self.messages: list[Message] = []
        self.numbers = count(1)
        self.program = self.opened()
        for name, fix in FIXES.items():
            self.program.patterns.report(name, "'limit'", agent="ann", solution=fix)
        self.start("claude")
        self.start("gemini")

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.program.close()
            self.patch.undo()
            self.folder.cleanup()

    def opened(self, **options: Any) -> Satchel:
        given = {"environ": {}, "clock": lambda: self.now, "settings": SETTINGS, **options}
        return open_satchel(cwd=self.top, **given)

    # -- events

    def hear(self, session: Session, name: str, subagent: str | None = None, /, **fields: Any) -> dict[str, str]:
        """Tell a hook of an event, and return what its client takes from the answer: a text, a denial or a reason."""
        self.here = session.process
        usual = {"session_id": session.identity, "cwd": str(self.top), "hook_event_name": name}
        more = {} if subagent is None else {"agent_id": subagent}
        data = json.dumps({**usual, **more, **fields, "tool_use_id": f"t{next(self.numbers)}"}).encode()
        event = events.parse(data, session.client, name)
        caller = Caller.of_hook({}, event.client, event.session_id, begins=event.happening == events.START)
        printed: list[str] = []
        with self.opened(caller=caller) as satchel:
            if event.happening in events.AT_WORK:
                working.answer(event, str(self.top), satchel, printed.append, lambda: False)
            elif event.happening == events.END:
                satchel.sessions.end(event.reason)
            else:
                moment = moment_of(event)
                assert moment is not None
                satchel.moments.make(moment, Deadline(60_000))
        if not printed:
            return {}
        answer = json.loads(printed[0])
        said = answer.get("hookSpecificOutput", answer)
        if "permissionDecision" in said or (session.client == "gemini" and "decision" in said and name == "BeforeTool"):
            return {"denial": said.get("permissionDecisionReason") or said["reason"]}
        return {"text": said["additionalContext"]} if "additionalContext" in said else {"reason": said["reason"]}

    def at_work(self) -> list[Session]:
        return [one for one in self.sessions if not one.is_over]

    def pick(self, who: int) -> Session:
        self.now += 1_000
        at_work = self.at_work()
        return at_work[who % len(at_work)]

    @precondition(lambda self: len(self.at_work()) < 4)
    @rule(client=st.sampled_from(CLIENTS))
    def start(self, client: str) -> None:
        self.now += 1_000
        number = next(self.numbers)
        session = Session(client, f"id{number}", Process(1_000_000 + number, 1))
        self.living.add(session.process)
        self.hear(session, "SessionStart", source="startup")
        self.sessions.append(session)
        (own,) = (one for one in self.program.sessions.team(all=True).sessions if one.seen_at == self.now)
        session.uid, session.name = own.uid, own.agents[0]
        over = [one for one in self.sessions if one.is_over and one.client == client and not one.has_successor]
        before = next((one for one in over if one.uid == own.predecessor), None)
        assert (own.predecessor is None) == (not over)
        assert (before is None) == (not over)
        if before is not None:
            before.has_successor = True
            for hold in self.holds:
                hold.session = session if hold.session is before else hold.session
            shown = {text for (_, agent), texts in before.shown.items() if agent == before.name for text in texts}
            for message in self.messages:
                if message.to == before.name and message.text not in shown:
                    message.to = session.name

    @precondition(lambda self: self.at_work())
    @rule(who=WHO, says_so=st.booleans())
    def end(self, who: int, says_so: bool) -> None:
        session = self.pick(who)
        if says_so:
            assert self.hear(session, "SessionEnd", reason="other") == {}
            self.holds = [one for one in self.holds if not (one.automatic and one.session is session)]
        else:
            self.living.discard(session.process)
        session.is_over = True
        self.living.discard(session.process)

    @precondition(lambda self: self.at_work())
    @rule(who=WHO, source=st.sampled_from(["clear", "compact"]))
    def open_window(self, who: int, source: str) -> None:
        session = self.pick(who)
        self.hear(session, "SessionStart", source=source)
        session.window += 1

    @rule(minutes=st.sampled_from([0.5, 1, 3, 6]))
    def wait(self, minutes: float) -> None:
        self.now += int(minutes * MINUTE)

    # -- edits

    def live(self) -> list[Hold]:
        return [one for one in self.holds if one.expires > self.now]

    def against(self, session: Session | None, paths: Sequence[str]) -> list[Hold]:
        """Return the claims of others that stand against one, the oldest first."""
        others = [one for one in self.live() if one.session is not session]
        return [one for one in others if not one.is_over and any(overlaps(one.path, path) for path in paths)]

    def claim_automatically(self, session: Session, agent: str, paths: Sequence[str], *, takes_over: bool) -> bool:
        """Claim, in the model, what nobody else holds, and return whether anything was taken over."""
        self.holds = self.live()
        over = [one for one in self.holds if one.is_over]
        taken: list[Hold] = []
        for path in paths:
            own = next((one for one in self.holds if one.session is session and one.path == path), None)
            if own is not None and own.expires > self.now + 4 * MINUTE:
                continue
            if self.against(session, [path]):
                continue
            met = [one for one in over if overlaps(one.path, path)]
            if met and not takes_over:
                continue
            taken += met
            if own is None:
                own = Hold(path, session, agent, True, self.now, 0, -1)
                self.holds.append(own)
            own.expires, own.renewed = max(own.expires, self.now + 5 * MINUTE), own.renewed + 1
        self.holds = [one for one in self.holds if one not in taken]
        return bool(taken)

    def check_told(self, session: Session, subagent: str | None, against: Sequence[Hold], text: str) -> None:
        """Check that who else works on a file is said, once until the claim is renewed."""
        warned = session.warned.setdefault((session.window, session.agent(subagent)), {})
        new = [one for one in against if warned.get(one, -1) < one.renewed]
        assert ("is editing" in text) == any(one.automatic for one in new)
        warned.update({one: one.renewed for one in new})

    def check_put_in(self, session: Session, subagent: str | None, text: str, expected: set[str]) -> None:
        """Check that a text holds what it should, and nothing that was put into this window before."""
        shown = session.shown.setdefault((session.window, session.agent(subagent)), set())
        every = {note for notes in self.notes.values() for note, _ in notes} | set(FIXES.values())
        every |= {one.text for one in self.messages}
        found = {one for one in every if f"{one}" in text}
        assert found & shown == set(), "nothing twice in a window"
        assert found == expected
        shown |= found

    def expected_notes(self, session: Session, subagent: str | None, paths: Sequence[str]) -> set[str]:
        key = (session.window, session.agent(subagent))
        shown, opened = session.shown.get(key, set()), session.opened.setdefault(key, set())
        expected: set[str] = set()
        for path in paths:
            own = session.agent(subagent) if session.window == 1 else None
            fresh = [note for note, author in reversed(self.notes[path]) if author != own and note not in shown]
            if path not in opened and fresh:
                opened.add(path)
                # of more, the newest alone: none of them shares a word with an edit
                expected |= set(fresh if len(fresh) <= NOTES else fresh[:1])
        return expected

    def expected_messages(self, session: Session, subagent: str | None) -> set[str]:
        if session.told_at is not None and self.now - session.told_at < MINUTE:
            return set()
        agent = session.agent(subagent)
        shown = session.shown.get((session.window, agent), set())
        new = [one.text for one in self.messages if one.to in {None, agent} and one.text not in shown]
        if new:
            session.told_at = self.now
        return set(new[-5:])

    @precondition(lambda self: self.at_work())
    @rule(who=WHO, subagent=SUBAGENT, paths=EDITED)
    def edit(self, who: int, subagent: str | None, paths: list[str]) -> None:
        """An agent edits files, unless it is stopped before."""
        session = self.pick(who)
        tool, before, after = ("replace", "BeforeTool", "AfterTool")
        if session.client != "gemini":
            tool, before, after = ("Edit", "PreToolUse", "PostToolUse")
        given: dict[str, Any] = {"edits": [{"file_path": path} for path in paths]}
        if session.client == "codex":
            lines = "\n".join(f"*** Update File: {path}" for path in paths)
            tool, given = "apply_patch", {"command": f"*** Begin Patch\n{lines}\n*** End Patch"}
        is_heard_before, agent = session.client != "gemini", session.agent(subagent)
        said = self.hear(session, before, subagent, tool_name=tool, tool_input=given)
        against = self.against(session, paths)
        explicit = [one for one in against if not one.automatic]
        if explicit:
            assert list(said) == ["denial"]
            assert all(f"{one.path} is claimed by {one.agent}" in said["denial"] for one in explicit[:3])
            return
        assert "denial" not in said
        is_taken = self.claim_automatically(session, agent, paths, takes_over=is_heard_before)
        text = said.get("text", "")
        assert ("taken over" in text) == is_taken
        assert is_heard_before or not text
        if is_heard_before:
            self.check_told(session, subagent, against, text)
            self.check_put_in(session, subagent, text, self.expected_notes(session, subagent, paths))
        self.now += 1_000
        text = self.hear(session, after, subagent, tool_name=tool, tool_input=given, tool_response={}).get("text", "")
        session.has_changed = True
        is_taken = self.claim_automatically(session, agent, paths, takes_over=True)
        assert ("taken over" in text) == is_taken
        expected = self.expected_messages(session, subagent)
        if not is_heard_before:
            self.check_told(session, subagent, self.against(session, paths), text)
            expected |= self.expected_notes(session, subagent, paths)
        self.check_put_in(session, subagent, text, expected)

    # -- claims that were asked for

    @rule(who=st.none() | WHO, path=st.sampled_from(["a.py", "src/**"]))
    def claim(self, who: int | None, path: str) -> None:
        """A person in a terminal, or an agent with its tool, claims a file or folder."""
        session = None if who is None or not self.at_work() else self.pick(who)
        self.holds = self.live()
        with self.opened(environ={} if session is None else {"SATCHEL_SESSION": session.uid}) as satchel:
            agent = HUMAN if session is None else None
            if self.against(session, [path]):
                with pytest.raises(Conflict):
                    satchel.files.claim([path], agent=agent)
                return
            satchel.files.claim([path], agent=agent)
        self.holds = [one for one in self.holds if not (one.is_over and overlaps(one.path, path))]
        own = next((one for one in self.holds if one.session is session and one.path == path), None)
        if own is None:
            own = Hold(path, session, HUMAN if session is None else session.name, False, self.now, 0, -1)
            self.holds.append(own)
        own.automatic, own.expires, own.renewed = False, self.now + 30 * MINUTE, own.renewed + 1

    @rule(who=st.none() | WHO)
    def release(self, who: int | None) -> None:
        session = None if who is None or not self.at_work() else self.pick(who)
        with self.opened(environ={} if session is None else {"SATCHEL_SESSION": session.uid}) as satchel:
            satchel.files.release(agent=HUMAN if session is None else None)
        self.holds = [one for one in self.live() if one.session is not session]

    # -- what is put in

    @rule(file=st.sampled_from(FILES), who=st.none() | WHO)
    def note(self, file: str, who: int | None) -> None:
        session = None if who is None or not self.at_work() else self.pick(who)
        text = f"note {next(self.numbers)}."
        with self.opened(environ={} if session is None else {"SATCHEL_SESSION": session.uid}) as satchel:
            satchel.entries.write("discovery", text, file=file, agent="ann" if session is None else None)
        self.notes[file].append((text, "ann" if session is None else session.name))
        if session is not None:
            session.has_kept = True

    @rule(who=st.none() | WHO)
    def send(self, who: int | None) -> None:
        to = None if who is None or not self.at_work() else self.pick(who).name
        text = f"message {next(self.numbers)}."
        self.now += 1_000
        self.program.messages.send(text, to=to, agent="ann")
        self.messages.append(Message(text, to))

    @precondition(lambda self: any(one.client != "codex" for one in self.at_work()))
    @rule(who=WHO, subagent=SUBAGENT, error=st.sampled_from(list(FIXES)))
    def fail(self, who: int, subagent: str | None, error: str) -> None:
        """A command fails with an error that has a known fix; Codex does not say that one has failed."""
        session = self.pick(who)
        if session.client == "codex":
            return
        output, command = f"{error}: 'limit'", {"command": f"run {error}"}
        if session.client == "claude":
            given: dict[str, Any] = {"tool_name": "Bash", "error": f"Exit code 1\n{output}"}
            said = self.hear(session, "PostToolUseFailure", subagent, tool_input=command, **given)
        else:
            answer = {"llmContent": f"Output: {output}\nExit Code: 1\nProcess Group PGID: 7"}
            given = {"tool_name": "run_shell_command", "tool_response": answer}
            said = self.hear(session, "AfterTool", subagent, tool_input=command, **given)
        shown = session.shown.get((session.window, session.agent(subagent)), set())
        expected = {FIXES[error]} - shown | self.expected_messages(session, subagent)
        self.check_put_in(session, subagent, said.get("text", ""), expected)

    @precondition(lambda self: any(one.client == "claude" for one in self.at_work()))
    @rule(who=WHO)
    def commit(self, who: int) -> None:
        """A command commits: an agent that has changed files and stored nothing is reminded once."""
        session = self.pick(who)
        if session.client != "claude":
            return
        given = {"tool_name": "Bash", "tool_input": {"command": "git commit"}, "tool_response": {"stdout": ""}}
        said = self.hear(session, "PostToolUse", **given)
        is_due = session.has_changed and not session.has_kept and not session.is_reminded
        assert ("stored nothing yet" in said.get("text", "")) == is_due
        session.is_reminded = session.is_reminded or is_due
        self.check_put_in(session, None, said.get("text", ""), self.expected_messages(session, None))

    @invariant()
    def the_claims_are_those_of_the_model(self) -> None:
        if hasattr(self, "holds"):
            kept = sorted(
                (one.path, one.agent, one.automatic, one.expires_at) for one in self.program.files.claims(limit=500)
            )
            assert kept == sorted((one.path, one.agent, one.automatic, one.expires) for one in self.live())


TestHooks, TestLongHooks = short_and_long(Hooks, examples=14, steps=60)

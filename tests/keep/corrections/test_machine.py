"""Any sequence of writes, corrections, undos and forgets, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from satchel import Conflict, NotFound, Satchel, open_satchel
from satchel.keep.corrections.log import examine
from state_machines import short_and_long

KINDS = ("entry", "constraint", "strategy")
AGENTS = st.sampled_from(["ann", "ben"])
WORD = "gateway"


@dataclass
class Kept:
    """What the model knows of one item; ``heir`` is its own id where it was retracted."""

    kind: str
    author: str
    text: str
    seen: int = 1
    heir: str | None = None
    confirmed: list[str] = field(default_factory=list)


@dataclass
class Done:
    """A correction that stands; ``agent`` is None for one that nobody can take back."""

    action: str
    ref: str
    agent: str | None
    heir: str | None = None


class Corrected(RuleBasedStateMachine):
    """Notes, rules and strategies that two agents without sessions correct."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.satchel: Satchel = open_satchel(cwd=self.folder.name, environ={}, settings={"store.durability": "relaxed"})
        self.model: dict[str, Kept] = {}
        self.done: list[Done] = []
        self.written = 0

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def _write(self, kind: str, agent: str, supersedes: str | None = None) -> str:
        self.written += 1
        # the words differ, so that no text is like another
        text = f"{WORD} " + " ".join(f"w{self.written}x{place}" for place in range(5))
        match kind:
            case "entry":
                ref = self.satchel.entries.write("discovery", text, agent=agent, supersedes=supersedes).ref
            case "constraint":
                ref = self.satchel.constraints.add(text, agent=agent, supersedes=supersedes).ref
            case _:
                ref = self.satchel.strategies.save(f"topic{self.written}", text, agent=agent, supersedes=supersedes).ref
        self.model[ref] = Kept(kind, agent, text)
        return ref

    @rule(kind=st.sampled_from(KINDS), agent=AGENTS)
    def write(self, kind: str, agent: str) -> None:
        self._write(kind, agent)

    @precondition(lambda self: any(one.kind == "entry" for one in self.model.values()))
    @rule(data=st.data(), agent=AGENTS)
    def write_again(self, data: st.DataObject, agent: str) -> None:
        text = self.model[data.draw(st.sampled_from(sorted(ref for ref in self.model if ref[0] == "e")))].text
        same = [ref for ref, one in self.model.items() if one.text == text and one.heir is None]
        kept = self.satchel.entries.write("discovery", text.upper(), agent=agent)
        if same:
            first = min(same, key=lambda ref: int(ref[1:]))
            self.model[first].seen += 1
            assert (kept.ref, kept.seen) == (first, self.model[first].seen)
        else:
            self.model[kept.ref] = Kept("entry", agent, text)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), agent=AGENTS)
    def supersede(self, data: st.DataObject, agent: str) -> None:
        ref = data.draw(st.sampled_from(sorted(self.model)))
        old = self.model[ref]
        if old.heir is None:
            old.heir = self._write(old.kind, agent, ref)
            self.done.append(Done("replaced", ref, agent, old.heir))
        else:
            with pytest.raises(Conflict):
                self._write(old.kind, agent, ref)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), agent=AGENTS)
    def retract(self, data: st.DataObject, agent: str) -> None:
        ref = data.draw(st.sampled_from(sorted(self.model)))
        answer = self.satchel.corrections.retract(ref, agent=agent)
        assert (answer.already is not None) is (self.model[ref].heir is not None)
        if self.model[ref].heir is None:
            self.model[ref].heir = ref
            self.done.append(Done("retracted", ref, agent))

    @precondition(lambda self: any(one.kind != "strategy" for one in self.model.values()))
    @rule(data=st.data(), agent=AGENTS)
    def confirm(self, data: st.DataObject, agent: str) -> None:
        ref = data.draw(st.sampled_from(sorted(ref for ref, one in self.model.items() if one.kind != "strategy")))
        kept = self.model[ref]
        if kept.heir is not None:
            with pytest.raises(Conflict):
                self.satchel.corrections.confirm(ref, agent=agent)
            return
        answer = self.satchel.corrections.confirm(ref, agent=agent)
        if agent != kept.author and agent not in kept.confirmed:
            kept.confirmed.append(agent)
            self.done.append(Done("confirmed", ref, agent))
        assert list(answer.by) == kept.confirmed

    @rule(agent=AGENTS)
    def undo(self, agent: str) -> None:
        last = next((one for one in reversed(self.done) if one.agent == agent), None)
        if last is None:
            with pytest.raises(NotFound):
                self._undo(agent)
            return
        kept = self.model[last.ref]
        heir = None if last.heir is None else self.model[last.heir]
        if last.action == "confirmed":
            kept.confirmed.remove(agent)
        elif (heir is not None and heir.heir is not None) or self._ended_by(last.ref) is not last:
            with pytest.raises(Conflict):
                self._undo(agent)
            return
        else:
            kept.heir = None
            if heir is not None:
                heir.heir = last.heir
                self.done.append(Done("retracted", str(last.heir), None))
        self._undo(agent)
        self.done.remove(last)

    def _undo(self, agent: str) -> None:
        # by its number: other changes of the agent would be undone first
        with self.satchel.workplace.engine.read() as transaction:
            last = transaction.one(
                "SELECT max(c.id) FROM corrections c JOIN agents a ON a.id = c.agent_id "
                "WHERE a.name = :agent AND c.undone_at IS NULL",
                {"agent": agent},
            )
        self.satchel.corrections.undo(correction=last[0] or 0 if last else 0, agent=agent)

    def _ended_by(self, ref: str) -> Done | None:
        return next((one for one in reversed(self.done) if one.ref == ref and one.action != "confirmed"), None)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        ref = data.draw(st.sampled_from(sorted(self.model)))
        self.satchel.housekeeping.forget(ref)
        gone = self.model.pop(ref)
        for other, kept in self.model.items():
            if kept.heir == ref:
                # what nobody replaces lives again, except a rule, which stays as it was ended
                kept.heir = other if gone.heir == ref or gone.kind == "constraint" else gone.heir
        self.done = [one for one in self.done if ref not in {one.ref, one.heir}]

    @invariant()
    def what_holds_is_found_and_the_rest_when_asked_for(self) -> None:
        if not hasattr(self, "satchel"):
            return
        for status, holds in (("live", True), ("superseded", False)):
            page = self.satchel.finding.search(WORD, kinds=KINDS, status=status, limit=500)
            assert {one.ref for one in page.results} == {
                ref for ref, kept in self.model.items() if (kept.heir is None) is holds
            }

    @invariant()
    def each_item_says_what_became_of_it(self) -> None:
        for ref, kept in self.model.items() if hasattr(self, "satchel") else ():
            told = " / ".join(self.satchel.items.read([ref]).items[0].notes)
            assert ("confirmed by" in told) is bool(kept.confirmed)
            ended = self._ended_by(ref)
            if ended is not None and ended.heir is not None:
                assert f"see {ended.heir}" in told
            assert kept.heir is not None or "retracted" not in told

    @invariant()
    def what_is_recorded_agrees_with_what_holds(self) -> None:
        if hasattr(self, "satchel"):
            with self.satchel.workplace.engine.read() as transaction:
                assert examine(transaction)[1:] == (0, [])


TestCorrected, TestLongCorrected = short_and_long(Corrected, examples=30, steps=40)

"""Whatever two agents do, a person is shown each change until it was seen, and never what was seen."""

from __future__ import annotations

import tempfile
from pathlib import Path
from shutil import rmtree

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from satchel import Satchel, open_satchel
from state_machines import short_and_long

AGENTS = st.sampled_from(["ann", "ben"])
PERSONS = ("human:eve", "human:joe", "human")
PEOPLE = st.sampled_from(PERSONS)
KEYS = st.sampled_from(["port", "host"])


class Looking(RuleBasedStateMachine):
    """Two agents write in one project and a stranger in another; three persons look."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.count = 0
        self.unseen: dict[str, dict[str, int]] = {person: {} for person in PERSONS}
        self.held: list[str] = []
        self.notes: list[str] = []
        self.read: dict[str, tuple[int, dict[str, int]]] = {}

    @initialize()
    def begin(self) -> None:
        def opened(name: str) -> Satchel:
            return open_satchel(self.folder / "satchel.db", project=name, environ={}, clock=self.tick)

        self.satchel, self.other = opened("one"), opened("other")

    def tick(self) -> int:
        self.count += 1
        return 1_795_000_000_000 + self.count

    def happened(self, ref: str) -> None:
        self.count += 1
        for unseen in self.unseen.values():
            unseen[ref] = self.count

    @rule(key=KEYS, agent=AGENTS)
    def decide(self, key: str, agent: str) -> None:
        self.happened(self.satchel.decisions.set(key, f"value {self.count}", agent=agent).ref)

    @rule(agent=AGENTS)
    def add_rule(self, agent: str) -> None:
        self.held.append(self.satchel.constraints.add(f"rule {self.count}", agent=agent).ref)
        self.happened(self.held[-1])

    @rule(agent=AGENTS)
    def retract_rule(self, agent: str) -> None:
        if self.held:
            self.satchel.corrections.retract(self.held[-1], agent=agent)
            self.happened(self.held.pop())

    @rule(agent=AGENTS)
    def retract_note(self, agent: str) -> None:
        note = self.satchel.entries.write("discovery", f"note {self.count}", agent=agent)
        self.satchel.corrections.retract(note.ref, agent=agent)
        self.notes.append(f"correction:{self._last_correction()}")
        self.happened(self.notes[-1])

    @rule(agent=AGENTS)
    def solve(self, agent: str) -> None:
        reported = self.satchel.patterns.report(
            f"Error{'abcdefghij'[self.count % 10]}", "it broke", solution=f"fix {self.count}", agent=agent
        )
        changed = {one.ref: one.seq for one in reported.pattern.solutions}
        newest = max(changed, key=lambda ref: changed[ref])
        self.happened(newest)

    @rule(agent=AGENTS, name=st.sampled_from(["a.py", "b.py"]))
    def edit(self, agent: str, name: str) -> None:
        self.satchel.files.record(name, "modified", agent=agent)
        self.happened(f"files:{agent}")

    @rule(agent=AGENTS)
    def write_what_changes_nothing(self, agent: str) -> None:
        self.satchel.entries.write("discovery", f"plain note {self.count}", agent=agent)
        self.satchel.messages.send(f"message {self.count}", to="human", agent=agent)

    @rule(agent=AGENTS)
    def write_elsewhere(self, agent: str) -> None:
        self.other.decisions.set("port", f"value {self.count}", agent=agent)
        self.other.files.record("a.py", "modified", agent=agent)
        self.other.room.see(person="human:eve")

    @rule(person=PEOPLE)
    def look(self, person: str) -> None:
        self.read[person] = self.satchel.room.since(person).seq, dict(self.unseen[person])

    @rule(person=PEOPLE)
    def see_everything_that_was_read(self, person: str) -> None:
        if person in self.read:
            seq, shown = self.read[person]
            self.satchel.room.see(up_to=seq, person=person)
            self.forget(person, shown, set(shown))

    @rule(person=PEOPLE, data=st.data())
    def see_some(self, person: str, data: st.DataObject) -> None:
        if self.read.get(person, (0, {}))[1]:
            seq, shown = self.read[person]
            refs = data.draw(st.lists(st.sampled_from(sorted(shown)), min_size=1, unique=True))
            self.satchel.room.see(refs, up_to=seq, person=person)
            self.forget(person, shown, set(refs))

    def forget(self, person: str, shown: dict[str, int], refs: set[str]) -> None:
        """What was shown is seen, but for what has changed since."""
        unseen = self.unseen[person]
        for ref in refs:
            if unseen.get(ref) == shown[ref]:
                del unseen[ref]

    @invariant()
    def each_person_is_shown_what_they_have_not_seen(self) -> None:
        if self.count:
            for person in PERSONS:
                found = self.satchel.room.since(person)
                assert sorted(one.ref for one in found.items) == sorted(self.unseen[person])
                assert sum(dict(found.totals).values()) == len(found.items)

    def _last_correction(self) -> int:
        with self.satchel.workplace.engine.read() as transaction:
            row = transaction.one("SELECT max(id) FROM corrections")
        assert row is not None
        return int(row[0])

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.other.close()
        rmtree(self.folder)


TestShort, TestLong = short_and_long(Looking, examples=30, steps=40)

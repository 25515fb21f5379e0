"""A project that holds something of every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from satchel import Satchel
from satchel.keep import deliveries, projects, runs
from satchel.keep.deliveries import Window
from satchel.keep.kinds import read_ref

Fill = Callable[[Satchel, str], Mapping[str, str]]
Deliver = Callable[[Satchel, str], None]


@pytest.fixture
def fill() -> Fill:
    """Write one item of each kind that holds a word, and return their short ids by the name of the kind."""

    def one_of_each(satchel: Satchel, word: str) -> Mapping[str, str]:
        decision = satchel.decisions.set(f"first_{word}", f"the {word} before", tags=["api"], scopes=["gateway"])
        satchel.decisions.set(decision.key, "another value", rationale=f"since {word}")
        return {
            "entry": satchel.entries.write("discovery", f"the word is {word}").ref,
            "decision": decision.ref,
            "constraint": satchel.constraints.add(f"never say {word}", tags=["api"]).ref,
            "message": satchel.messages.send(f"{word}, please", to="bob", agent="ann").ref,
            "file change": satchel.files.record("src/a.py", "modified", description=f"{word} again").ref,
            "error pattern": satchel.patterns.report("KeyError", f"no {word}", solution=f"add {word}").pattern.ref,
            "package": satchel.packages.save(f"about {word}", content=f"{word} as text", consumers=["qa_expert"]).ref,
            "strategy": satchel.strategies.save(f"topic {word}", f"say {word} twice and wait").ref,
        }

    return one_of_each


@pytest.fixture
def deliver() -> Deliver:
    """Record that an item was handed to a developer in the only active run."""

    def hand(satchel: Satchel, ref: str) -> None:
        work = satchel.workplace
        kind, number = read_ref(ref)
        with work.engine.write() as transaction:
            project = projects.ensure(transaction, work, work.clock())
            run = runs.choose_for_writing(transaction, work, project.id, None, work.clock())
            window = Window(project.id, None, 0, None, 0, run.id, None, "developer")
            deliveries.record(transaction, window, [(kind.number, number, 1)], work.clock())

    return hand

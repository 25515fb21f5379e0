"""A project that holds something of every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from satchel import Satchel

Fill = Callable[[Satchel, str], Mapping[str, str]]


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

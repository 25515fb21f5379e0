"""Records of every kind but entries, made up from a seed: what a project holds beside its notes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.content import sentence
from satchel.client import Satchel
from satchel.keep.decisions.records import NewDecision

KINDS = ("decisions", "constraints", "messages", "file changes", "packages", "error patterns", "strategies")
"""What is written, as many of each."""

_BATCH = 50
_CONFIRMED_EVERY = 5
_FOR_A_ROLE_EVERY = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where records belong.

    Attributes:
        runs: what packages belong to, in turn; a run named twice gets twice as many.
        readers: whom every second message goes to, in turn; the others go to all.
        tasks: what packages belong to, in turn; empty for none.
        roles: whom every third package is meant for, in turn; empty for none.
        high, critical: the parts that are of high priority, and critical.
    """

    runs: Sequence[str]
    readers: Sequence[str]
    tasks: Sequence[str] = ()
    roles: Sequence[str] = ()
    high: float = 0.1
    critical: float = 0.0

    def priority(self, chance: random.Random) -> str:
        """Draw the priority of a record."""
        drawn = chance.random()
        return "critical" if drawn < self.critical else "high" if drawn < self.critical + self.high else "medium"


def write_others(
    satchel: Satchel, each: int, place: Place, *, seed: str = "others", say: Callable[[int], None] | None = None
) -> None:
    """Write so many records of each kind.

    Args:
        say: told how many of each are written.
    """
    chance = random.Random(seed)
    for start in range(0, each, _BATCH):
        numbers = range(start, min(each, start + _BATCH))
        satchel.decisions.set_many(
            [
                NewDecision(f"decision_{number}", sentence(chance, 1), rationale=sentence(chance, 2))
                for number in numbers
            ],
            agent="architect",
        )
        for number in numbers:
            _write(satchel, number, place, chance)
        if say is not None:
            say(numbers.stop)


def _write(satchel: Satchel, number: int, place: Place, chance: random.Random) -> None:
    satchel.constraints.add(sentence(chance, 3), priority=place.priority(chance), agent="architect")
    reader = place.readers[number % len(place.readers)] if number % 2 else None
    satchel.messages.send(sentence(chance, 3), to=reader, priority=place.priority(chance), agent="colleague")
    satchel.files.record(f"src/file_{number}.py", "modified", description=sentence(chance, 2), agent="colleague")
    is_for_a_role = place.roles and number % _FOR_A_ROLE_EVERY == 0
    satchel.packages.save(
        sentence(chance, 3),
        content=sentence(chance, 8),
        priority=place.priority(chance),
        task_id=place.tasks[number % len(place.tasks)] if place.tasks else None,
        consumers=(place.roles[number // _FOR_A_ROLE_EVERY % len(place.roles)],) if is_for_a_role else (),
        run_id=place.runs[number % len(place.runs)],
        agent="colleague",
    )
    pattern = satchel.patterns.report(
        f"Error{number}", sentence(chance, 2), solution=sentence(chance, 3), lang="python", agent="colleague"
    ).pattern
    if number % _CONFIRMED_EVERY == 0:
        for confirming in ("tester", "reviewer"):
            satchel.patterns.outcome(pattern.solutions[0].ref, True, agent=confirming)
    satchel.strategies.save(f"topic-{number}", sentence(chance, 4), agent="colleague")

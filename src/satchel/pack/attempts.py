"""What a loop has tried: whether an iteration succeeded, and whether the loop is stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.base.text import fold
from satchel.find.likeness import text_likeness, words_of
from satchel.keep.entries.structured import Scratchpad

PASSING = frozenset({"pass", "passed", "passes", "passing", "green", "ok", "success", "successful", "succeeded"})
"""The test statuses that say success."""

FAILING = frozenset({"fail", "failed", "fails", "failing", "red", "error", "errors", "broken"})
"""The test statuses that say failure."""

ATTEMPTS = 3
"""So many iterations in a row without progress, each with another approach, are a loop that is stuck."""

SAME_APPROACH = 80
"""From this likeness on, in percent of their words (Dice), two attempts are one approach."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a loop stands after its last iterations.

    Attributes:
        is_stuck: the last :data:`ATTEMPTS` iterations made no progress, and no two tried the same.
        is_repeating: they made none, and the last tried what one before it had tried.
        iterations: how many iterations in a row made no progress.
    """

    is_stuck: bool
    is_repeating: bool
    iterations: int


def succeeded(pad: Scratchpad) -> bool:
    """Whether an iteration reached its goal: its tests pass, or it is done and no test failed."""
    status = fold(pad.test_status or "")
    return status in PASSING or (pad.done is True and status not in FAILING)


def standing(pads: Sequence[Scratchpad]) -> Standing:
    """Judge a loop by its scratchpads.

    An iteration made no progress if it did not succeed and its blockers, where both name some, are still those of the
    iteration before. Only what an iteration adds to the attempts listed before counts as its approach; two approaches
    are the same from a likeness of :data:`SAME_APPROACH` on, and short ones where they are equal but for case.

    Args:
        pads: in the order in which they were written.
    """
    unsuccessful: list[Scratchpad] = []
    for pad in reversed(pads):
        if succeeded(pad) or (unsuccessful and _solved_something(pad, unsuccessful[-1])):
            break
        unsuccessful.append(pad)
    unsuccessful.reverse()
    first = len(pads) - len(unsuccessful)
    listed = {fold(attempt) for pad in pads[:first] for attempt in pad.attempted}
    approaches: list[str] = []
    for pad in unsuccessful:
        new = [attempt for attempt in pad.attempted if fold(attempt) not in listed]
        listed.update(map(fold, pad.attempted))
        # an iteration that lists nothing new, but lists something, tried again what it lists last
        approaches.append("; ".join(new) or (pad.attempted[-1] if pad.attempted else ""))
    last = [approach for approach in approaches if approach][-ATTEMPTS:]
    if len(last) < 2:
        return Standing(is_stuck=False, is_repeating=False, iterations=len(unsuccessful))
    is_repeating = any(_is_same(last[-1], other) for other in last[:-1])
    differ = not any(_is_same(one, other) for place, one in enumerate(last) for other in last[:place])
    return Standing(is_stuck=len(last) == ATTEMPTS and differ, is_repeating=is_repeating, iterations=len(unsuccessful))


def _solved_something(before: Scratchpad, after: Scratchpad) -> bool:
    """Whether a blocker of one iteration is gone in the next, though neither succeeded."""
    if not before.blockers or not after.blockers:
        return False
    return not any(_is_same(one, other) for one in before.blockers for other in after.blockers)


def _is_same(one: str, other: str) -> bool:
    if fold(one) == fold(other):
        return True
    return text_likeness(words_of(one), words_of(other)) >= SAME_APPROACH

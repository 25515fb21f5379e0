"""What a loop has tried: whether an iteration succeeded, and whether the loop is stuck."""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.loop_scope import ATTEMPTS

PASSING = frozenset({"pass", "passed", "passes", "passing", "green", "ok", "success", "successful", "succeeded"})
"""The test statuses that say success."""

_FAILING = ("fail", "failed", "fails", "failing", "failure", "failures", "red", "error", "errors", "broken")
_WORDS = "|".join(sorted(_FAILING, key=len, reverse=True))
_FAILURES = rf"\bnot (?:pass|green|ok)|\b(\d+|no|zero) (?:{_WORDS})\b|\b(?:{_WORDS})\b(?:[:=]? ?(\d+))?"
_NONE = {"0", "no", "zero"}

SAME_APPROACH = 80
"""From this likeness on, in percent of their words (Dice), two attempts are one approach."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a loop stands after its last iterations.

    Attributes:
        is_stuck: the last :data:`ATTEMPTS` iterations made no progress, and no two tried the same.
        is_repeating: they made none, and the last tried what one before it had tried.
        iterations: how many iterations in a row made no progress.
        others: by whom they were, but for the one who is told.
    """

    is_stuck: bool
    is_repeating: bool
    iterations: int
    others: tuple[str, ...] = ()


def fails(status: str | None) -> bool:
    """Whether a test status names a failure: ``failing`` or ``2 failed, 3 passed``, but not ``5 passed, 0 failed``."""
    text = _same(status or "")
    counts = ({count for count in found.groups() if count} for found in re.finditer(_FAILURES, text))
    return any(not count or count - _NONE for count in counts)


def succeeded(pad: Scratchpad) -> bool:
    """Whether an iteration reached its goal: its tests pass, or it is done and its test status names no failure."""
    return (pad.done is True or _same(pad.test_status or "") in PASSING) and not fails(pad.test_status)


def new_attempts(pad: Scratchpad, earlier: Sequence[Scratchpad]) -> list[str]:
    """Return what a scratchpad lists as attempted and none of the earlier ones does, but for case and space."""
    listed = {_same(text) for other in earlier for text in other.attempted}
    return [text.strip() for text in pad.attempted if text.strip() and _same(text) not in listed]


def standing(pads: Sequence[Scratchpad], earlier: Sequence[Scratchpad] = ()) -> Standing:
    """Judge a loop by its scratchpads.

    An iteration made no progress if it did not succeed and its blockers, where both name some, are still those of the
    iteration before. Only what an iteration adds to the attempts listed before counts as its approach; two approaches
    are the same from a likeness of :data:`SAME_APPROACH` on, and short ones where they are equal but for case.

    Args:
        pads: in the order in which they were written.
        earlier: those from before the loop succeeded last, which only tell what is new.
    """
    unsuccessful: list[Scratchpad] = []
    for pad in reversed(pads):
        if succeeded(pad) or (unsuccessful and _solved_something(pad, unsuccessful[-1])):
            break
        unsuccessful.append(pad)
    unsuccessful.reverse()
    last: list[str] = []
    # only the last ones count: each is compared with all that was listed before it
    for place in range(len(pads) - 1, len(pads) - len(unsuccessful) - 1, -1):
        pad = pads[place]
        # an iteration that lists nothing new, but lists something, tried again what it lists last
        approach = "; ".join(new_attempts(pad, [*earlier, *pads[:place]]) or new_attempts(pad, ())[-1:])
        last = [approach, *last] if approach else last
        if len(last) == ATTEMPTS:
            break
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
    from satchel.find.likeness import text_likeness, words_of

    return _same(one) == _same(other) or text_likeness(words_of(one), words_of(other)) >= SAME_APPROACH


def _same(text: str) -> str:
    """Return a text without what it may differ in and still say the same: case and space."""
    return fold(" ".join(text.split()))

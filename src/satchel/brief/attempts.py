"""Whether an iteration of a loop succeeded, and whether the loop is stuck."""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.loop_scope import ATTEMPTS

PASSING = frozenset({"pass", "passed", "passes", "passing", "green", "ok", "success", "successful", "succeeded"})
"""Test statuses that mean success."""

_FAILING = ("fail", "failed", "fails", "failing", "failure", "failures", "red", "error", "errors", "broken")
_WORDS = "|".join(sorted(_FAILING, key=len, reverse=True))
_FAILURES = rf"\bnot (?:pass|green|ok)|\b(\d+|no|zero) (?:{_WORDS})\b|\b(?:{_WORDS})\b(?:[:=]? ?(\d+))?"
_NONE = {"0", "no", "zero"}

SAME_APPROACH = 80
"""The likeness, in percent of their words (Dice), from which two attempts are one approach."""


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """The state of a loop after its last iterations.

    Attributes:
        is_stuck: the last :data:`ATTEMPTS` approaches made no progress, and no two are the same.
        is_repeating: they made none, and the last repeated an earlier approach.
        iterations: how many iterations in a row made no progress.
        others: the authors of these iterations except the reader.
    """

    is_stuck: bool
    is_repeating: bool
    iterations: int
    others: tuple[str, ...] = ()


def fails(status: str | None) -> bool:
    """Return whether a test status names a failure, as in ``2 failed, 3 passed`` but not ``5 passed, 0 failed``."""
    text = _normalized(status or "")
    counts = ({count for count in match.groups() if count} for match in re.finditer(_FAILURES, text))
    return any(not count or count - _NONE for count in counts)


def succeeded(pad: Scratchpad) -> bool:
    """Return whether the tests of an iteration pass, or it is done and its test status names no failure."""
    return (pad.done is True or _normalized(pad.test_status or "") in PASSING) and not fails(pad.test_status)


def new_attempts(pad: Scratchpad, earlier: Sequence[Scratchpad]) -> list[str]:
    """Return the attempts that no earlier scratchpad lists, ignoring case and space."""
    listed = {_normalized(text) for other in earlier for text in other.attempted}
    return [text.strip() for text in pad.attempted if text.strip() and _normalized(text) not in listed]


def judge(pads: Sequence[Scratchpad], earlier: Sequence[Scratchpad] = ()) -> LoopStatus:
    """Judge a loop by its scratchpads, oldest first.

    An iteration made no progress if it did not succeed and its blockers, where both name some, are still those of the
    iteration before. Only attempts that were not listed before count as its approach: together, or each if there are
    :data:`ATTEMPTS` or more and it says that it is not done, failed or is blocked. Two approaches are the same from a
    likeness of :data:`SAME_APPROACH` on. ``earlier`` scratchpads, from before the last success, only tell what is
    new.
    """
    unsuccessful: list[Scratchpad] = []
    for pad in reversed(pads):
        if succeeded(pad) or (unsuccessful and _solved_a_blocker(pad, unsuccessful[-1])):
            break
        unsuccessful.append(pad)
    unsuccessful.reverse()
    last: list[str] = []
    # each is compared with everything listed before it, so only as many as count are read
    for place in range(len(pads) - 1, len(pads) - len(unsuccessful) - 1, -1):
        pad = pads[place]
        # an iteration that lists nothing new repeated the last attempt that it lists
        approaches = new_attempts(pad, [*earlier, *pads[:place]]) or new_attempts(pad, ())[-1:]
        if len(approaches) < ATTEMPTS or not _has_failed(pad):
            # the steps of one approach
            approaches = ["; ".join(approaches)] if approaches else []
        last = [*approaches, *last][-ATTEMPTS:]
        if len(last) == ATTEMPTS:
            break
    if len(last) < 2:
        return LoopStatus(is_stuck=False, is_repeating=False, iterations=len(unsuccessful))
    is_repeating = len(unsuccessful) > 1 and any(_is_same(last[-1], other) for other in last[:-1])
    differ = not any(_is_same(one, other) for place, one in enumerate(last) for other in last[:place])
    return LoopStatus(
        is_stuck=len(last) == ATTEMPTS and differ, is_repeating=is_repeating, iterations=len(unsuccessful)
    )


def stuck_text(status: LoopStatus) -> str:
    """Return what tells an agent that its loop is stuck."""
    others = f" (with {', '.join(status.others)})" if status.others else ""
    count = f"{status.iterations} iterations" if status.iterations >= ATTEMPTS else f"{ATTEMPTS} attempts"
    return (
        f"STUCK: {count}{others} without progress, each another approach. Write the blocker into a scratchpad with "
        "done=false and stop"
    )


def _has_failed(pad: Scratchpad) -> bool:
    return pad.done is False or bool(pad.blockers) or fails(pad.test_status)


def _solved_a_blocker(before: Scratchpad, after: Scratchpad) -> bool:
    if not before.blockers or not after.blockers:
        return False
    return not any(_is_same(one, other) for one in before.blockers for other in after.blockers)


def _is_same(one: str, other: str) -> bool:
    from satchel.find.likeness import text_likeness, words_of

    return _normalized(one) == _normalized(other) or text_likeness(words_of(one), words_of(other)) >= SAME_APPROACH


def _normalized(text: str) -> str:
    return fold(" ".join(text.split()))

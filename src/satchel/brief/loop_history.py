"""Recent scratchpads, successes and noted errors of a loop; whether an iteration succeeded, and whether it is stuck."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field
from satchel.base.text import fold
from satchel.keep import events
from satchel.keep.entries import structured
from satchel.keep.entries.records import ERROR, REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.loop_scope import ATTEMPTS, OF_LOOPS, LoopScope
from satchel.store.transaction import Asking, Transaction, answering, set_of

# Test statuses that mean success.
PASSING = frozenset({"pass", "passed", "passes", "passing", "green", "ok", "success", "successful", "succeeded"})

_FAILING = ("fail", "failed", "fails", "failing", "failure", "failures", "red", "error", "errors", "broken")
_WORDS = "|".join(sorted(_FAILING, key=len, reverse=True))
_FAILURES = rf"\bnot (?:pass|green|ok)|\b(\d+|no|zero) (?:{_WORDS})\b|\b(?:{_WORDS})\b(?:[:=]? ?(\d+))?"
_NONE = {"0", "no", "zero"}

# The likeness, in percent of their words (Dice), from which two attempts are one approach.
SAME_APPROACH = 80


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


def judge_pads(pads: Sequence[Scratchpad], earlier: Sequence[Scratchpad] = ()) -> LoopStatus:
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
    others = f" (with {', '.join(status.others)})" if status.others else ""
    count = f"{status.iterations} iterations" if status.iterations >= ATTEMPTS else f"{ATTEMPTS} attempts"
    return (
        f"STUCK: {count}{others} without progress, each another approach. Write a scratchpad whose content has "
        "done=false and the blockers, and stop"
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


# How many days of a loop count.
RECENT_DAYS = 14

# How many entries of a loop are read, newest first.
_MOST = 200


@dataclass(frozen=True, slots=True)
class NotedError:
    """An entry of type error.

    Attributes:
        place: where it was met, and by whom.
        met_at: milliseconds UTC.
    """

    place: LoopScope
    content: str
    met_at: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One iteration as its author describes it.

    Attributes:
        number: the id of its entry.
        place: where it was made, and by whom.
        summary: the text of its fix, solution, resolution or summary field, or None.
        created_at: milliseconds UTC.
    """

    number: int
    place: LoopScope
    pad: Scratchpad
    summary: str | None
    created_at: int


@dataclass(slots=True)
class History:
    """Activity of a loop in the last :data:`RECENT_DAYS` days, newest first.

    Attributes:
        attempts: its scratchpads; the first ``recent`` were written since its last success.
        errors: errors noted since then.
        since: the time of that success, or the start of those days, in milliseconds UTC.
        success: the id of the entry that reports that success, or 0.
        progress_at: when its sessions last committed or passed their tests, in milliseconds UTC; 0 for never.
    """

    since: int
    attempts: list[Attempt] = field(default_factory=list)
    errors: list[NotedError] = field(default_factory=list)
    recent: int = 0
    success: int = 0
    progress_at: int = 0


def loading(
    transaction: Transaction, loop: LoopScope, now: int, types: Collection[int], before: int | None = None
) -> Asking[History]:
    """Load the history of a loop, skipping malformed entries.

    Without verdicts in ``types`` only scratchpads report a success. Only entries older than the id ``before`` count.
    """
    history = History(now - RECENT_DAYS * DAY_MS)
    earlier = "" if before is None else " AND c.id < :before"
    rows = transaction.ask(
        f"""
        SELECT c.id, c.type, c.content, c.task_id, c.loop_id, c.agent_id, c.session_id, c.created_at FROM context c
        WHERE {loop.holds("context", "c")} AND c.{OF_LOOPS} AND c.type IN ({", ".join(map(str, types))})
            AND c.created_at >= :since AND (c.superseded_by IS NULL OR c.type = {REVIEW_VERDICT}){earlier}
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST}
        """,
        {**loop.values, "since": history.since, "before": before},
    )
    yield rows
    for number, kind, content, task_id, loop_id, agent, session, created in rows.all():
        place = LoopScope(loop.project_id, loop.run, task_id, loop_id, agent, session)
        if kind == ERROR:
            history.errors += [] if history.success else [NotedError(place, content, created)]
            continue
        try:
            pad = structured.scratchpad(content) if kind == SCRATCHPAD else None
            is_success = says_success(kind, content) if pad is None else succeeded(pad)
        except InvalidInput:
            continue
        if pad is not None and not structured.is_plan(content):
            if pad == Scratchpad() and (task_id is not None or loop_id is not None):
                listed = structured.plain_attempts(content)
                pad = Scratchpad(done=False if len(listed) > 1 else None, attempted=listed)
            history.attempts.append(Attempt(number, place, pad, structured.telling_text(content), created))
            history.recent += not (is_success or history.success)
        if is_success and not history.success:
            history.success, history.since = number, created
    places = [one.place for one in history.attempts[: history.recent]]
    sessions = {place.session for place in places if place.session is not None}
    if before is None and history.recent > 1 and sessions:
        progress = transaction.ask(
            f"""
            SELECT max(created_at) FROM events
            WHERE session_id IN {set_of(sessions)} AND created_at >= :first AND kind = {events.PROGRESS}
            """,
            {"first": history.attempts[history.recent - 1].created_at},
        )
        yield progress
        row = progress.one()
        history.progress_at = 0 if row is None or row[0] is None else row[0]
    return history


load = answering(loading)


def judge(history: History) -> LoopStatus:
    """Judge a loop by its activity since its last progress."""
    recent = [one for one in history.attempts[: history.recent] if one.created_at > history.progress_at]
    earlier = history.attempts[len(recent) :]
    return judge_pads([one.pad for one in reversed(recent)], [one.pad for one in reversed(earlier)])


def says_success(kind: int, content: str) -> bool:
    """Return whether an entry reports that its loop succeeded."""
    if kind == SCRATCHPAD:
        return succeeded(structured.scratchpad(content))
    return kind == REVIEW_VERDICT and structured.review_verdict(content).passed

"""What a loop has done lately: its scratchpads, its successes and the errors that were noted in it."""

from __future__ import annotations

from collections.abc import Collection

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field
from satchel.brief import attempts
from satchel.brief.attempts import Standing, succeeded
from satchel.keep import events
from satchel.keep.entries import structured
from satchel.keep.entries.records import ERROR, REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.store.asking import Asking, answering
from satchel.store.transaction import Transaction, set_of

RECENT_DAYS = 14
"""What is older counts no more."""

_MOST = 200
"""So many entries of a loop are looked at, the newest."""


@dataclass(frozen=True, slots=True)
class Noted:
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
    """What one iteration did, and who says so.

    Attributes:
        number: that of its entry.
        place: where it was made, and by whom.
        told: what it says in a field of its own, or None.
        created_at: milliseconds UTC.
    """

    number: int
    place: LoopScope
    pad: Scratchpad
    told: str | None
    created_at: int


@dataclass(slots=True)
class History:
    """What a loop did in the last :data:`RECENT_DAYS` days, the newest first.

    Attributes:
        attempts: its scratchpads; so many as ``recent`` says were written since it succeeded last.
        errors: what was noted since then.
        since: when that was, or where those days begin, in milliseconds UTC.
        success: the number of the entry that says that it succeeded last; 0 for none.
        progress_at: when its sessions last committed or passed their tests, in milliseconds UTC; 0 for never.
    """

    since: int
    attempts: list[Attempt] = field(default_factory=list)
    errors: list[Noted] = field(default_factory=list)
    recent: int = 0
    success: int = 0
    progress_at: int = 0


def loading(
    transaction: Transaction, loop: LoopScope, now: int, types: Collection[int], before: int | None = None
) -> Asking[History]:
    """Load what a loop has done; what is malformed, as a row written by other means may be, is passed over.

    Args:
        now: milliseconds UTC.
        types: of which entries; without verdicts only scratchpads tell of a success.
        before: only entries written before that number.
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
            history.errors += [] if history.success else [Noted(place, content, created)]
            continue
        try:
            # read once: of ten loops with 84 attempts each that halves the time
            pad = structured.scratchpad(content) if kind == SCRATCHPAD else None
            is_success = says_success(kind, content) if pad is None else succeeded(pad)
        except InvalidInput:
            continue
        if pad is not None and not structured.is_plan(content):
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


def standing(history: History) -> Standing:
    """Judge a loop by what it has done since it last made progress."""
    recent = [one for one in history.attempts[: history.recent] if one.created_at > history.progress_at]
    earlier = history.attempts[len(recent) :]
    return attempts.standing([one.pad for one in reversed(recent)], [one.pad for one in reversed(earlier)])


def says_success(kind: int, content: str) -> bool:
    """Whether an entry says that its loop succeeded.

    Args:
        kind: the number of its type.

    Raises:
        InvalidInput: it is malformed.
    """
    if kind == SCRATCHPAD:
        return succeeded(structured.scratchpad(content))
    return kind == REVIEW_VERDICT and structured.review_verdict(content).passed

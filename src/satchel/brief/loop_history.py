"""Recent scratchpads, successes and noted errors of a loop."""

from __future__ import annotations

from collections.abc import Collection

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field
from satchel.brief import attempts
from satchel.brief.attempts import LoopStatus, succeeded
from satchel.keep import events
from satchel.keep.entries import structured
from satchel.keep.entries.records import ERROR, REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.entries.structured import Scratchpad
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.store.transaction import Asking, Transaction, answering, set_of

RECENT_DAYS = 14
"""How many days of a loop count."""

_MOST = 200
"""How many entries of a loop are read, newest first."""


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
    return attempts.judge([one.pad for one in reversed(recent)], [one.pad for one in reversed(earlier)])


def says_success(kind: int, content: str) -> bool:
    """Return whether an entry reports that its loop succeeded.

    Raises:
        InvalidInput: it is malformed.
    """
    if kind == SCRATCHPAD:
        return succeeded(structured.scratchpad(content))
    return kind == REVIEW_VERDICT and structured.review_verdict(content).passed

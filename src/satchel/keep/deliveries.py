"""Deliveries of items per context window, so that briefings repeat nothing, and their tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from satchel.base.clock import DAY_MS
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import fold
from satchel.base.tokens import PROSE_MARGIN
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Rows, Transaction

# The moments of deliveries: a requested briefing, a new window or subagent, or an action of the session. Stored by
# position, from 1.
MOMENTS = ("briefing", "start", "clear", "resume", "compaction", "subagent", "prompt", "edit", "command", "plan")

# The moments at which a conversation begins: what a cleared one had counts no more.
BEGINS = ("start", "clear")

# The most tokens that all texts of hooks take in a session; critical items come in any case.
SESSION_TOKENS = 4_000

# What a window has after a compaction, however much those before have taken, since that has removed the rules; and what
# of this the briefing leaves for prompts and edits.
_LEAST_AGAIN, _FOR_PROMPTS = 2_050, 850

# Pseudo-kinds, which share a column with the numbers of :class:`Kind`, so no two may be the same.
#
# A file whose notes were shown; a fix; another agent's claim; the tokens that hooks have spent, as the seq of item 0;
# a rule and a decision that were shown because they bind a file; the first prompt that stated a task; the tokens spent
# on a file, as the seq; a note, rule and decision related to the task, with the strength in thousandths as the seq;
# the role that first asked in the window, by its checksum; news of a rule and a decision that was only counted; a new
# rule of an agent that was told; a refused place that is free again, by its refusal, which ends as it is delivered.
(
    FILE,
    SOLUTION,
    CLAIM,
    _SPENT,
    BINDING_RULE,
    BINDING_DECISION,
    TASK,
    SPENT_ON_FILE,
    RELATED_NOTE,
    RELATED_RULE,
    RELATED_DECISION,
    _ROLE,
    COUNTED_RULE,
    COUNTED_DECISION,
    NEWS_OF_AGENT,
    FREED,
) = range(0, -16, -1)

_BY_HOOKS = 0
# How many items of a delivery its event lists.
_MOST_LISTED = 60

# Stored for a missing task, role, run, session or agent: nulls would be distinct in the key.
_NONE, _NOBODY = "", 0


@dataclass(frozen=True, slots=True)
class Window:
    """A context window of an agent.

    In a session it is one of the session's, per iteration of the agent; a role that asks after another has one of its
    own. Without a session it is one iteration of an agent in its role at a task of a run.

    Attributes:
        number: the session's window number; 0 without a session.
        run: the run's number, without a session.
        role: folded, or None; in a session only if another role asked first.
    """

    project_id: int
    session: int | None
    number: int
    agent: int | None
    iteration: int
    run: int | None = None
    task_id: str | None = None
    role: str | None = None

    @property
    def key(self) -> dict[str, object]:
        """Return the columns that identify it; the run may be null."""
        return {
            "project_id": self.project_id,
            "session_id": self.session or _NOBODY,
            "number": self.number,
            "agent_id": self.agent or _NOBODY,
            "iteration": self.iteration,
            "run_id": self.run,
            "task_id": self.task_id or _NONE,
            "role": _NONE if self.role is None else fold(self.role),
        }


def window_of(project_id: int, actor: Actor, run: int, task_id: str | None, role: str | None, iteration: int) -> Window:
    """Return an agent's window.

    ``run``, ``task_id`` and ``role`` identify it without a session; ``iteration`` counts attempts from 0.
    """
    if actor.session is not None:
        return Window(project_id, actor.session, actor.window, actor.number, iteration)
    return Window(project_id, None, 0, actor.number, iteration, run, task_id, role)


def of_role(
    window: Window, role: str | None, items: Mapping[int, Mapping[int, int]]
) -> tuple[Window, tuple[tuple[int, int, int], ...]]:
    """Return the window of a role, and what to record with its delivery.

    The first role that asks in a session has the session's own window, as hooks deliver to it; every other role is
    another reader. ``items`` are those of the session's window, as :func:`delivered` returns them.
    """
    if window.session is None or role is None:
        return window, ()
    from zlib import crc32  # imported here: few windows are of a subagent

    number = crc32(fold(role).encode())
    if number not in items.get(_ROLE, {number: 0}):
        return replace(window, role=role), ()
    return window, ((_ROLE, number, 0),)


_IS_WINDOW = """
    w.project_id = :project_id AND w.agent_id = :agent_id AND w.session_id = :session_id
    AND COALESCE(w.run_id, 0) = COALESCE(:run_id, 0) AND w.number = :number AND w.iteration = :iteration
    AND w.task_id = :task_id AND w.role = :role
"""


def delivered(transaction: Transaction, window: Window) -> dict[int, dict[int, int]]:
    """Return the items delivered in a window: seq at delivery, by kind and item number."""
    return by_kind(ask_delivered(transaction, window))


def ask_delivered(transaction: Transaction, window: Window) -> Rows:
    """Query the items delivered in a window, for :func:`by_kind`."""
    return transaction.ask(
        f"SELECT d.kind, d.item_id, d.seq FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {_IS_WINDOW}",
        window.key,
    )


def by_kind(items: Rows) -> dict[int, dict[int, int]]:
    """Group deliveries by kind and item number, as :func:`delivered` does."""
    groups: dict[int, dict[int, int]] = {}
    for kind, item, seq in items.all():
        groups.setdefault(kind, {})[item] = seq
    return groups


def has_hook_texts(items: Mapping[int, Mapping[int, int]]) -> bool:
    """Return whether hooks have shown anything in a window, from its items as :func:`delivered` returns them."""
    return bool(items.get(_SPENT))


def tokens_left(items: Mapping[int, Mapping[int, int]]) -> int:
    """Return the tokens left for texts of hooks in a window, from its items as :func:`delivered` returns them."""
    return _remaining_tokens(items.get(_SPENT, {}).get(_BY_HOOKS, 0))


def tokens_left_again(transaction: Transaction, window: Window) -> int:
    """Return the tokens left for the first text of hooks in a window that follows others of its conversation."""
    return _remaining_tokens(_spent_before(transaction, window)) - _FOR_PROMPTS


def _spent_before(transaction: Transaction, window: Window) -> int:
    if window.session is None or window.number <= 1:
        return 0
    # each window continues the account of the one before
    row = transaction.one(
        f"""
        SELECT d.seq FROM windows w JOIN deliveries d ON d.window_id = w.id AND d.kind = {_SPENT}
        WHERE w.project_id = :project_id AND w.agent_id = :agent_id AND w.session_id = :session_id
            AND w.number < :number AND w.iteration = :iteration AND w.role = :role
        ORDER BY w.number DESC LIMIT 1
        """,
        window.key,
    )
    return 0 if row is None else min(row[0], int((SESSION_TOKENS - _LEAST_AGAIN) / PROSE_MARGIN))


def _remaining_tokens(spent: int) -> int:
    return max(0, SESSION_TOKENS - math.ceil(spent * PROSE_MARGIN))


def first_delivery(transaction: Transaction, window: Window) -> int | None:
    row = transaction.one(
        f"SELECT min(d.created_at) FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {_IS_WINDOW}",
        window.key,
    )
    return None if row is None else row[0]


def deliver(
    transaction: Transaction,
    window: Window,
    items: Sequence[tuple[int, int, int]],
    now: int,
    *,
    moment: str,
    tokens: int,
) -> None:
    """Record, count and log the delivery of a text with items.

    ``moment`` is one of :data:`MOMENTS`; ``tokens`` is the text's size.
    """
    number = record(transaction, window, items, now, tokens)
    if moment != MOMENTS[0]:
        transaction.run(
            """
            INSERT INTO deliveries (window_id, kind, item_id, seq, created_at)
            VALUES (:window, :kind, :item, :all, :now)
            ON CONFLICT (window_id, kind, item_id) DO UPDATE SET seq = deliveries.seq + :tokens
            """,
            {
                "window": number,
                "kind": _SPENT,
                "item": _BY_HOOKS,
                "all": tokens + (0 if moment in BEGINS else _spent_before(transaction, window)),
                "tokens": tokens,
                "now": now,
            },
        )
    transaction.run(
        """
        INSERT INTO delivery_days (day, project_id, moment, agent_id, deliveries, items, tokens)
        VALUES (:day, :project, :moment, :agent, 1, :items, :tokens)
        ON CONFLICT (day, project_id, moment, agent_id) DO UPDATE SET
            deliveries = delivery_days.deliveries + 1, items = delivery_days.items + excluded.items,
            tokens = delivery_days.tokens + excluded.tokens
        """,
        {
            "day": now // DAY_MS,
            "project": window.project_id,
            "moment": MOMENTS.index(moment) + 1,
            "agent": window.agent or _NOBODY,
            "items": len(items),
            "tokens": tokens,
        },
    )
    events.record(
        transaction,
        window.project_id,
        events.DELIVERY,
        now,
        session=window.session,
        agent=window.agent,
        details={"moment": moment, "items": len(items), "tokens": tokens, "held": _listed_items(items)},
    )


def _listed_items(items: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [item for item in items if item[0] > 0][:_MOST_LISTED]


class RecordedDelivery(NamedTuple):
    """A past delivery, as its event recorded it; ``contents`` are kind, number and seq of its first items."""

    number: int
    agent: str | None
    session: bytes | None
    moment: str
    tokens: int
    items: int
    contents: tuple[tuple[int, int, int], ...]
    delivered_at: int


def past(transaction: Transaction, project_id: int, session: str | None, most: int) -> list[RecordedDelivery]:
    """Return past deliveries, the latest first: of a session, by its uid in hexadecimal, or of all."""
    import json  # imported here: only this listing needs it

    of_session = "" if session is None else "AND e.session_id = (SELECT id FROM sessions WHERE uid = :session)"
    rows = transaction.all(
        f"""
        SELECT e.seq, a.name, s.uid, e.details, e.created_at FROM events e
        LEFT JOIN agents a ON a.id = e.agent_id LEFT JOIN sessions s ON s.id = e.session_id
        WHERE e.project_id = :project AND e.kind = {events.DELIVERY} {of_session} ORDER BY e.seq DESC LIMIT :most
        """,
        {"project": project_id, "session": None if session is None else bytes.fromhex(session), "most": most},
    )
    deliveries = []
    for number, agent, uid, text, at in rows:
        details = json.loads(text or "{}")
        contents = tuple(map(tuple, details.get("held", ())))
        moment, tokens, items = details.get("moment", ""), details.get("tokens", 0), details.get("items", 0)
        deliveries.append(RecordedDelivery(number, agent, uid, moment, tokens, items, contents, at))
    return deliveries


def sweep(transaction: Transaction, project_id: int, now: int) -> None:
    """Delete a project's delivery counts older than its events."""
    before = now // DAY_MS - events.KEPT_DAYS
    transaction.run(
        "DELETE FROM delivery_days WHERE day < :before AND project_id = :project",
        {"before": before, "project": project_id},
    )


def record(
    transaction: Transaction,
    window: Window,
    items: Iterable[tuple[int, int, int]],
    now: int,
    tokens: int = 0,
) -> int:
    """Record delivered items (kind, number and seq), and return the window's id.

    An unchanged repeated item keeps its first time.
    """
    row = transaction.one(f"SELECT w.id FROM windows w WHERE {_IS_WINDOW}", window.key)
    if row is None:
        number = int(transaction.add("windows", {**window.key, "seen_at": now, "tokens": tokens}))
        transaction.forget()  # that there was none
    else:
        number = int(row[0])
        transaction.run(
            "UPDATE windows SET seen_at = :now, tokens = tokens + :tokens WHERE id = :id",
            {"now": now, "id": number, "tokens": tokens},
        )
    transaction.many(
        """
        INSERT INTO deliveries (window_id, kind, item_id, seq, created_at) VALUES (:window, :kind, :item, :seq, :now)
        ON CONFLICT (window_id, kind, item_id) DO UPDATE SET seq = excluded.seq, created_at = excluded.created_at
            WHERE deliveries.seq <> excluded.seq
        """,
        [{"window": number, "kind": kind, "item": item, "seq": seq, "now": now} for kind, item, seq in items],
    )
    return number


# Maximum number of windows, newest first, searched for an item's deliveries.
_MOST_WINDOWS = 2_000


def of_item(transaction: Transaction, project_id: int, kind: Kind, number: int, most: int) -> list[Row]:
    """Return an item's deliveries, latest first: agent, the session's uid, client and branch, and time."""
    return transaction.all(
        f"""
        SELECT a.name, s.uid, s.client, s.branch, d.created_at
        FROM (SELECT id, agent_id, session_id FROM windows WHERE project_id = :project
            ORDER BY id DESC LIMIT {_MOST_WINDOWS}) w
        JOIN deliveries d ON d.window_id = w.id AND d.kind = {kind.number} AND d.item_id = :item
        LEFT JOIN agents a ON a.id = w.agent_id LEFT JOIN sessions s ON s.id = w.session_id
        ORDER BY d.created_at DESC, w.id DESC LIMIT {most}
        """,
        {"project": project_id, "item": number},
    )


_OF_AGENT = "w.project_id = :project AND w.agent_id = :agent AND w.session_id = :session"


def was_delivered(project_id: int, actor: Actor, kind: Kind | int, item: str) -> tuple[str, dict[str, object]]:
    """Return the SQL condition, with parameters, that an item was delivered in the window of the agent's session;
    without a session, in any of its windows.
    """
    values = _of_agent(project_id, actor.session, actor.number)
    in_window = "" if actor.session is None else "AND w.number = :window "
    number = kind if isinstance(kind, int) else kind.number
    return (
        f"""
        EXISTS (SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE {_OF_AGENT} {in_window} AND d.kind = {number} AND d.item_id = {item})
        """,
        {**values, "window": actor.window},
    )


def windows_of(project_id: int, session: int | None, run: int, agent: int | None) -> tuple[str, dict[str, object]]:
    """Return the condition on windows ``w`` of an agent in its session, or in a run without one, with parameters."""
    values = _of_agent(project_id, session, agent)
    return (_OF_AGENT, values) if session is not None else (f"{_OF_AGENT} AND w.run_id = :run", {**values, "run": run})


def _of_agent(project_id: int, session: int | None, agent: int | None) -> dict[str, object]:
    return {"project": project_id, "agent": agent or _NOBODY, "session": session or _NOBODY}

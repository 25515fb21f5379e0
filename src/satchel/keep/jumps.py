"""Clocks that jump: nothing is deleted because of one, and what was written ahead of time is dated back.

A project records its days of use: a day is vouched for once the store is used at least a day later, and at most
:data:`LEAP_MS` after it was last used. Only what had expired by a vouched day is deleted.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from satchel.base.clock import DAY_MS
from satchel.base.records import NamedTuple
from satchel.find.kind import Kind
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction

# minimum time between looks of a process at the clock, and how long a clock that was set back must stay so
PAUSE_MS = 60_000

SLACK_MS = 5 * 60_000  # how far the clocks of those who share a store may differ

LEAP_MS = 30 * DAY_MS  # a clock that moves further at once vouches for nothing

_looks: WeakKeyDictionary[Engine, dict[int, int]] = WeakKeyDictionary()


class Vouched(NamedTuple):
    """The last vouched day of use: its time, and the project's change counter then."""

    at: int
    seq: int


class _Days(NamedTuple):
    """The recorded days of use.

    Attributes:
        latest_at: the latest time of a write, to the minute.
        vouched_at, vouched_seq: that of the last vouched day.
        back_at: since when the clock is behind ``latest_at``; 0 if it is not.
    """

    latest_at: int
    day_at: int
    day_seq: int
    vouched_at: int
    vouched_seq: int
    back_at: int


_COLUMNS = ", ".join(_Days._fields)

# times of a project's rows: the table, the time of an action, and the times that were counted from it
_TIMES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("agent_messages", "created_at", ("expires_at", "read_expires_at")),
    ("file_changes", "created_at", ("expires_at",)),
    ("file_claims", "renewed_at", ("expires_at",)),
    ("claim_waiters", "created_at", ("expires_at",)),
    ("error_patterns", "last_seen", ("expires_at",)),
    ("conversations", "updated_at", ("expires_at",)),
    ("conversations", "lease_since", ("lease_until",)),
    ("vector_stores", "created_at", ("expires_at",)),
    ("documents", "created_at", ("expires_at",)),
    *(
        (table, column, ())
        for table, columns in (
            ("runs", ("created_at", "ended_at")),
            ("agents", ("created_at",)),
            ("context", ("created_at",)),
            ("decisions", ("created_at", "updated_at")),
            ("decision_history", ("created_at", "set_at")),
            ("constraints", ("created_at", "deactivated_at")),
            ("file_claims", ("created_at",)),
            ("context_packages", ("created_at", "updated_at")),
            ("error_patterns", ("created_at",)),
            ("error_solutions", ("created_at", "updated_at")),
            ("error_reports", ("created_at",)),
            ("strategies", ("created_at", "last_seen")),
            ("conversations", ("created_at",)),
            ("sessions", ("created_at", "seen_at", "ended_at", "told_at", "nudged_at", "doing_at", "turn_ended_at")),
            ("windows", ("seen_at",)),
            ("events", ("created_at",)),
            ("claim_refusals", ("created_at", "told_at")),
            ("corrections", ("created_at", "undone_at")),
            ("sightings", ("created_at",)),
            ("seen", ("created_at",)),
            ("pins", ("created_at",)),
            ("kept_calls", ("kept_at",)),
        )
        for column in columns
    ),
)

# times of rows that belong to a project's rows: table, column and whose they are
_DEPENDENT = (
    ("decision_tags", "created_at", "decision_id IN (SELECT id FROM decisions WHERE project_id = :project)"),
    ("decision_scopes", "created_at", "decision_id IN (SELECT id FROM decisions WHERE project_id = :project)"),
    (
        "conversation_turns",
        "created_at",
        "conversation_id IN (SELECT id FROM conversations WHERE project_id = :project)",
    ),
    ("deliveries", "created_at", "window_id IN (SELECT id FROM windows WHERE project_id = :project)"),
    ("failed_commands", "created_at", "session_id IN (SELECT id FROM sessions WHERE project_id = :project)"),
    ("failed_commands", "acted_at", "session_id IN (SELECT id FROM sessions WHERE project_id = :project)"),
)

# statements that renew copies of times in other tables
_COPIES = (
    """
    UPDATE message_reads SET expires_at = (SELECT m.expires_at FROM agent_messages m WHERE m.id = message_id)
    WHERE message_id IN (SELECT id FROM agent_messages WHERE project_id = :project AND created_at = :at)
    """,
    f"""
    UPDATE documents SET expires_at = (SELECT p.expires_at FROM error_patterns p WHERE p.id = item_id)
    WHERE kind = {Kind.ERROR_PATTERN.number} AND item_id IN (
        SELECT id FROM error_patterns WHERE project_id = :project AND last_seen = :at
    )
    """,
)


def look(engine: Engine, transaction: Transaction, project_id: int, now: int) -> None:
    """Record the day of use once a minute, and date back what a clock that was ahead has written."""
    looks = _looks.setdefault(engine, {})
    last = looks.get(project_id, 0)
    if last <= now < last + PAUSE_MS:
        return
    looks[project_id] = now
    days, seq = _read(transaction, project_id)
    after = days
    if now >= days.latest_at - SLACK_MS:
        if now - days.latest_at >= PAUSE_MS or days.back_at:
            after = days._replace(latest_at=max(now, days.latest_at), back_at=0)
        if now - days.day_at >= DAY_MS:
            after = after._replace(day_at=now, day_seq=seq)
            if now - days.latest_at <= LEAP_MS:
                after = after._replace(vouched_at=days.day_at, vouched_seq=days.day_seq)
    elif now < days.vouched_at:
        return
    elif not days.back_at or now < days.back_at:
        _revive_claims(transaction, project_id, now)
        after = days._replace(back_at=now)
    elif now - days.back_at >= PAUSE_MS:
        _date_back(transaction, project_id, days.back_at)
        after = days._replace(latest_at=now, day_at=min(now, days.day_at), back_at=0)
    if after != days:
        changes = ", ".join(f"{name} = :{name}" for name in _Days._fields)
        transaction.run(
            f"UPDATE projects SET {changes} WHERE id = :project", {**after._asdict(), "project": project_id}
        )


def vouched(transaction: Transaction, project_id: int) -> Vouched:
    """Return the last vouched day of use; 0 before there is one."""
    days, _ = _read(transaction, project_id)
    return Vouched(days.vouched_at, days.vouched_seq)


def believed(transaction: Transaction, project_id: int, now: int) -> int:
    """Return the time, or as far as it is believed: so long after the last vouched day of use, or the first one."""
    days, _ = _read(transaction, project_id)
    return min(now, (days.vouched_at or days.day_at) + LEAP_MS)


def _read(transaction: Transaction, project_id: int) -> tuple[_Days, int]:
    row = transaction.one(f"SELECT {_COLUMNS}, seq FROM projects WHERE id = :project", {"project": project_id})
    return (_Days(0, 0, 0, 0, 0, 0), 0) if row is None else (_Days(*row[:-1]), row[-1])


def _revive_claims(transaction: Transaction, project_id: int, now: int) -> None:
    values = {"project": project_id, "now": now}
    # unless the place was claimed again since, or later by the same holder or exclusively
    transaction.run(
        """
        UPDATE file_claims SET is_over = 0
        WHERE project_id = :project AND is_over = 1 AND expires_at > :now AND NOT EXISTS (
            SELECT 1 FROM file_claims o WHERE o.project_id = file_claims.project_id
                AND o.path = file_claims.path AND o.worktree = file_claims.worktree AND o.is_key = file_claims.is_key
                AND (o.is_over = 0 OR o.expires_at > :now AND o.id > file_claims.id AND (
                    o.exclusive + file_claims.exclusive > 0 OR o.agent_id = file_claims.agent_id
                        OR o.session_id = file_claims.session_id
                ))
        )
        """,
        values,
    )
    # whatever a reader looks at, the others do not hold again
    transaction.run(
        "UPDATE file_claims SET expires_at = :now WHERE project_id = :project AND is_over = 1 AND expires_at > :now",
        values,
    )


def _date_back(transaction: Transaction, project_id: int, at: int) -> None:
    values = {"project": project_id, "at": at, "limit": at + SLACK_MS}
    for table, column, counted in _TIMES:
        moved = "".join(f", {other} = {other} - ({column} - :at)" for other in counted)
        condition = f"project_id = :project AND {column} > :limit"
        transaction.run(f"UPDATE {table} SET {column} = :at{moved} WHERE {condition}", values)
    for table, column, owned in _DEPENDENT:
        transaction.run(f"UPDATE {table} SET {column} = :at WHERE {column} > :limit AND {owned}", values)
    transaction.run(
        """
        UPDATE message_reads SET read_at = :at, gone_at = gone_at - (read_at - :at)
        WHERE read_at > :limit AND message_id IN (SELECT id FROM agent_messages WHERE project_id = :project)
        """,
        values,
    )
    for statement in _COPIES:
        transaction.run(statement, values)
    transaction.forget()

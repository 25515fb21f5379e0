"""Leases: one call at a time continues a conversation, and one that crashed keeps others out for a while only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from satchel.base.clock import moment_text, year_of
from satchel.base.errors import Conflict
from satchel.consult.conversation_records import Conversation, ConversationKey, Lease
from satchel.store.transaction import Transaction

LEASE_MS = 120_000
"""How long a lease lasts that asks for no other time and is not renewed."""

LONGEST_LEASE_MS = 3_600_000

COLUMNS = "lease_token, lease_holder, lease_since, lease_until, lease_process"
"""What :func:`live` reads."""

END = "lease_token = NULL, lease_holder = NULL, lease_since = NULL, lease_until = NULL, lease_process = NULL"
"""Ends a lease, in an UPDATE of a conversation."""


def live(columns: Sequence[Any], now: int) -> Lease | None:
    """Return the lease of a row if it still counts.

    One that would last longer than any can was made by a clock that was put back since; one whose process is gone was
    left by a crash.

    Args:
        columns: those of :data:`COLUMNS`.
    """
    token, holder, since, until, process = columns
    if token is None or not now < until < now + 2 * LONGEST_LEASE_MS or _is_gone(process):
        return None
    return Lease(token, holder, since, until)


def _machine() -> str | None:
    """Return the name of this machine, whose processes we can look at; None where we cannot."""
    return os.uname().nodename if hasattr(os, "uname") else None


def _is_gone(process: str | None) -> bool:
    """Whether the process that was given a lease is one of this machine, and has ended."""
    machine, _, number = (process or "").rpartition(" ")
    if not number.isdigit() or machine != _machine():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def grant(transaction: Transaction, conversation_id: int, holder: str, now: int, lease_ms: int) -> Lease:
    """Give a conversation to a call, even if another had it."""
    lease = Lease(os.urandom(16), holder, now, now + lease_ms)
    transaction.run(
        """
        UPDATE conversations
        SET lease_token = :token, lease_holder = :holder, lease_since = :since, lease_until = :until,
            lease_process = :process
        WHERE id = :id
        """,
        {
            "token": lease.token,
            "holder": lease.holder,
            "since": lease.since,
            "until": lease.until,
            "process": f"{_machine()} {os.getpid()}",
            "id": conversation_id,
        },
    )
    return lease


def extend(transaction: Transaction, conversation: Conversation, now: int, lease_ms: int) -> Lease:
    """Let a lease end later than it would have, even if it has ended and nobody has come since.

    Raises:
        Conflict: another call has taken the conversation over, or it was reset.
    """
    held = conversation.lease
    lease = Lease(held.token, held.holder, held.since, now + lease_ms)
    if not transaction.execute(
        "UPDATE conversations SET lease_until = :until WHERE id = :id AND lease_token = :token",
        {"until": lease.until, "id": conversation.id, "token": lease.token},
    ):
        raise lost(conversation.key)
    return lease


def release(transaction: Transaction, conversation: Conversation) -> bool:
    """End a lease, and forget a conversation that has not begun; False where another call has it."""
    held = {"id": conversation.id, "token": conversation.lease.token}
    return bool(
        transaction.execute("DELETE FROM conversations WHERE id = :id AND lease_token = :token AND turns = 0", held)
        or transaction.execute(f"UPDATE conversations SET {END} WHERE id = :id AND lease_token = :token", held)
    )


def is_held(transaction: Transaction, conversation_id: int, lease: Lease) -> bool:
    """Whether a conversation is still that of the call that was given the lease."""
    row = transaction.one(
        "SELECT 1 FROM conversations WHERE id = :id AND lease_token = :token",
        {"id": conversation_id, "token": lease.token},
    )
    return row is not None


def remove_unbegun(transaction: Transaction, project_id: int, now: int) -> None:
    """Remove what crashed first calls left, once no call can be so slow."""
    transaction.run(
        "DELETE FROM conversations WHERE project_id = :project AND turns = 0 AND lease_until < :before",
        {"project": project_id, "before": now - LONGEST_LEASE_MS},
    )


def refusal(key: ConversationKey, lease: Lease) -> Conflict:
    """Tell a call that is kept out who holds the conversation, since when and until when."""
    year = year_of(lease.until)
    return Conflict(
        f"the conversation {key.conversation!r} with {key.assistant} is held by {lease.holder} "
        f"since {moment_text(lease.since, year)}, until {moment_text(lease.until, year)} UTC at the latest",
        "Wait until its call has ended, or use another conversation",
    )


def lost(key: ConversationKey) -> Conflict:
    """Tell a call that its conversation has become another's."""
    return Conflict(
        f"the conversation {key.conversation!r} with {key.assistant} is held by this call no longer: "
        "it was taken over once the lease had ended, or was reset",
        "Nothing of this turn was recorded; ask again, which continues from what is there now",
    )

"""What the reader wrote itself: in this window it knows that; later it is marked as its own. And what it asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.records import dataclass, field, replace
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.deliveries import Window
from satchel.keep.messages.visibility import UNANSWERED
from satchel.keep.sessions.records import Actor
from satchel.store.asking import Asking
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.brief.briefing.records import Candidate

_MOST_UNANSWERED = 3
_YOURS = "yours"


@dataclass(frozen=True, slots=True)
class Own:
    """What an agent wrote in its session.

    Attributes:
        name: the agent's.
        known: what of it was written in the window it asks in: by the numbers of kind and item the item's seq.
        written: all of it, by the number of the kind.
    """

    name: str = ""
    known: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    written: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def marked(self, candidate: Candidate) -> Candidate:
        """Return a candidate, marked where the reader wrote it."""
        if candidate.number not in self.written.get(candidate.kind.number, ()):
            return candidate
        by = f"by {self.name}"
        if by in candidate.group:
            return replace(candidate, is_yours=True, group=candidate.group.replace(by, _YOURS, 1))
        head = candidate.head.replace(by, _YOURS, 1) if by in candidate.head else f"{_YOURS} {candidate.head}".rstrip()
        return replace(candidate, is_yours=True, head=head)


def find(transaction: Transaction, project_id: int, actor: Actor, window: Window) -> Own:
    """Return what an agent wrote in its session; nothing without a session.

    Args:
        window: the one in which it asks.
    """
    if actor.session is None or actor.number is None or actor.name is None:
        return Own()
    row = transaction.one("SELECT created_at FROM sessions WHERE id = :session", {"session": actor.session})
    if row is None:
        return Own()
    # the first window begins with the session; another, as far as can be told, with what was delivered first in it
    is_first = window.number == 1 and not window.iteration
    since = row[0] if is_first else deliveries.first_delivery(transaction, window)
    # of other kinds it is not kept in which session they were written, and another may go by the same name
    rows = transaction.all(
        """
        SELECT id, seq, created_at FROM context
        WHERE project_id = :project AND created_at >= :began AND +agent_id = :me AND +session_id = :session
        """,
        {"project": project_id, "me": actor.number, "session": actor.session, "began": row[0]},
    )
    known = {number: seq for number, seq, moment in rows if since is not None and moment >= since}
    kind = Kind.ENTRY.number
    return Own(actor.name, {kind: known}, {kind: frozenset(number for number, _, _ in rows)})


def unanswered(transaction: Transaction, project_id: int, actor: Actor, now: int) -> Asking[list[str]]:
    """Return the newest questions of an agent that nobody has answered: each with whom it went to.

    Args:
        now: milliseconds UTC.
    """
    rows = transaction.ask(
        f"""
        SELECT m.id, a.name FROM agent_messages m LEFT JOIN agents a ON a.id = m.to_agent_id
        WHERE m.project_id = :project AND m.from_agent_id = :me AND m.expires_at > :now AND {UNANSWERED}
        ORDER BY m.created_at DESC, m.id DESC LIMIT {_MOST_UNANSWERED}
        """,
        {"project": project_id, "me": actor.number, "now": now},
    )
    yield rows
    return [f"{Kind.MESSAGE.ref(number)} to {name or 'all'}" for number, name in rows.all()]


def is_anything_kept(transaction: Transaction, project_id: int) -> Asking[bool]:
    """Whether a project has any rule, decision or note."""
    tables = ("context", "decisions", "constraints")
    some = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE project_id = :project)" for table in tables)
    rows = transaction.ask(f"SELECT {some}", {"project": project_id})
    yield rows
    row = rows.one()
    return row is not None and bool(row[0])

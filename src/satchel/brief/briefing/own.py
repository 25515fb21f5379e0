"""Items that the reader's window already has: its own notes and what its client loads; and its open questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.records import dataclass, field, replace
from satchel.brief.fields import by
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.deliveries import Window
from satchel.keep.documents.states import loaded_items
from satchel.keep.presence import UNANSWERED
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Asking, Transaction

if TYPE_CHECKING:
    from satchel.brief.briefing.records import Candidate
    from satchel.keep.projects import Workplace

_MOST_UNANSWERED = 3
_YOURS = "yours"


@dataclass(frozen=True, slots=True)
class Own:
    """Notes of an agent in its session.

    Attributes:
        name: the agent's.
        in_window: those written in its present window, and items that its client loads: the seq by kind number and item
            id.
        written: all of them, by kind number.
    """

    name: str = ""
    in_window: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    written: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def add_to(self, contents: dict[int, dict[int, int]]) -> None:
        """Add them to the items of the window."""
        for kind, items in self.in_window.items():
            contents[kind] = {**contents.get(kind, {}), **items}

    def mark(self, candidate: Candidate) -> Candidate:
        """Return a candidate, marked as yours if the reader wrote it."""
        if candidate.number not in self.written.get(candidate.kind.number, ()):
            return candidate
        author = by(self.name) or ""
        if author in candidate.group:
            return replace(candidate, is_yours=True, group=candidate.group.replace(author, _YOURS, 1))
        head = candidate.head
        head = head.replace(author, _YOURS, 1) if author in head else f"{_YOURS} {head}".rstrip()
        return replace(candidate, is_yours=True, head=head)


def find(transaction: Transaction, work: Workplace, project_id: int, actor: Actor, window: Window) -> Own:
    """Return the notes that an agent wrote in its session, and what its client loads; nothing without a session."""
    loaded = loaded_items(transaction, work, project_id, actor)
    if actor.session is None or actor.number is None or actor.name is None:
        return Own("", loaded)
    row = transaction.one("SELECT created_at FROM sessions WHERE id = :session", {"session": actor.session})
    if row is None:
        return Own()
    # the first window begins with the session, a later one with its first delivery
    is_first = window.number == 1 and not window.iteration
    since = row[0] if is_first else deliveries.first_delivery(transaction, window)
    # other kinds do not record their session, and another agent may have the same name
    rows = transaction.all(
        """
        SELECT id, seq, created_at FROM context
        WHERE project_id = :project AND created_at >= :began AND +agent_id = :me AND +session_id = :session
        """,
        {"project": project_id, "me": actor.number, "session": actor.session, "began": row[0]},
    )
    in_window = {number: seq for number, seq, moment in rows if since is not None and moment >= since}
    kind = Kind.ENTRY.number
    return Own(
        actor.name,
        loaded | {kind: loaded.get(kind, {}) | in_window},
        {kind: frozenset(number for number, _, _ in rows)},
    )


def unanswered(transaction: Transaction, project_id: int, actor: Actor, now: int) -> Asking[list[str]]:
    """Return an agent's newest unanswered questions, each with its receiver."""
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


def has_items(transaction: Transaction, project_id: int) -> Asking[bool]:
    tables = ("context", "decisions", "constraints")
    some = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE project_id = :project)" for table in tables)
    rows = transaction.ask(f"SELECT {some}", {"project": project_id})
    yield rows
    row = rows.one()
    return row is not None and bool(row[0])

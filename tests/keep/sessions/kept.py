"""What a store keeps of sessions, as the tests compare it."""

from __future__ import annotations

from typing import NamedTuple

from satchel import Satchel


class Row(NamedTuple):
    """A session."""

    id: int
    uid: str
    client: str | None
    agent: str | None
    unnamed: str | None
    predecessor: int | None
    window: int
    process: int | None
    seen_at: int


class Note(NamedTuple):
    """A note: who wrote it in which session."""

    agent: str | None
    session: int | None


class Kept(NamedTuple):
    """The sessions, the oldest first, the ids their clients gave them, and the notes by their text."""

    sessions: list[Row]
    host_ids: list[tuple[int, str]]
    notes: dict[str, Note]


def kept(satchel: Satchel) -> Kept:
    """Return what is kept."""
    with satchel.workplace.engine.read() as transaction:
        sessions = transaction.all(
            """
            SELECT s.id, s.uid, s.client, a.name, u.name, s.predecessor_id, s.window, s.process, s.seen_at
            FROM sessions s LEFT JOIN agents a ON a.id = s.agent_id LEFT JOIN agents u ON u.id = s.unnamed_id
            ORDER BY s.id
            """
        )
        hosts = transaction.all("SELECT session_id, host_id FROM session_hosts ORDER BY session_id, host_id")
        notes = transaction.all(
            "SELECT c.content, a.name, c.session_id FROM context c LEFT JOIN agents a ON a.id = c.agent_id"
        )
    rows = [Row(number, uid.hex(), *rest) for number, uid, *rest in sessions]
    return Kept(rows, hosts, {content: Note(*rest) for content, *rest in notes})

"""Release of a session's claim by a person."""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.base.errors import Conflict
from satchel.base.records import NamedTuple
from satchel.keep import events
from satchel.keep.expiry import end_claims
from satchel.store.transaction import Transaction


class ReleasedByPerson(NamedTuple):
    """A claim that a person released, with the name and number of its former holder."""

    path: str
    agent: str
    number: int


def release(
    transaction: Transaction, project_id: int, session: str, path: str, expires_at: int, now: int, by: str
) -> ReleasedByPerson:
    """Release a session's claim on a path, or raise Conflict if it has ended or been renewed.

    ``session`` is the session's uid in hexadecimal, ``expires_at`` the expiry that the person saw.
    """
    try:
        uid = bytes.fromhex(session)
    except ValueError:
        uid = b""
    rows = transaction.all(
        """
        SELECT c.id, a.name, a.id, c.expires_at, c.automatic FROM file_claims c
        JOIN agents a ON a.id = c.agent_id JOIN sessions s ON s.id = c.session_id
        WHERE c.project_id = :project AND s.uid = :session AND c.path = :path AND c.expires_at > :now
        """,
        {"project": project_id, "session": uid, "path": path, "now": now},
    )
    if not rows:
        raise Conflict(f"the claim on {path} has already ended", "Nothing was changed; there is nothing left to do")
    for _, agent, _, until, is_automatic in rows:
        # hooks renew automatic claims every minute, so a new expiry means nothing
        if until != expires_at and not is_automatic:
            raise Conflict(
                f"{agent} has renewed the claim on {path} for {span_in_words(until - now)}",
                "Nothing was changed; release it again to end it anyway",
            )
    end_claims(transaction, [row[0] for row in rows], events.RELEASE, now, by=by)
    return ReleasedByPerson(path, rows[0][1], rows[0][2])

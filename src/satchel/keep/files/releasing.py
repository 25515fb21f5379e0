"""A person ends a claim that a session holds."""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.base.errors import Conflict
from satchel.base.records import NamedTuple
from satchel.keep import events
from satchel.keep.expiry import end_claims
from satchel.store.transaction import Transaction


class ReleasedByPerson(NamedTuple):
    """A claim that a person ended, and the agent that held it, with its number."""

    path: str
    agent: str
    number: int


def release(
    transaction: Transaction, project_id: int, session: str, path: str, expires_at: int, now: int, by: str
) -> ReleasedByPerson:
    """End the claim of a session on a path, unless somebody has changed it since it was looked at.

    Args:
        session: the uid of the session, in hexadecimal.
        path: what is claimed, as the session's claims are listed.
        expires_at: until when the claim held when it was looked at, in milliseconds UTC.
        now: milliseconds UTC.
        by: the person who ends it.

    Raises:
        Conflict: the claim has ended since, or was renewed.
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
        raise Conflict(f"the claim on {path} has ended meanwhile", "Nothing was changed, and nothing is to be done")
    for _, agent, _, until, is_automatic in rows:
        # a hook renews an automatic claim every minute, which says nothing new
        if until != expires_at and not is_automatic:
            raise Conflict(
                f"{agent} has renewed the claim on {path} meanwhile, for {span_in_words(until - now)}",
                "Nothing was changed; release it again to end it all the same",
            )
    end_claims(transaction, [row[0] for row in rows], events.RELEASE, now, by=by)
    return ReleasedByPerson(path, rows[0][1], rows[0][2])

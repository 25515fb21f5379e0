"""What an agent should know whatever it asked: files that others have claimed, critical messages that wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, year_of
from satchel.keep import projects
from satchel.keep.files.presence import is_anything_claimed
from satchel.keep.messages.presence import is_anything_critical
from satchel.keep.names import check_agent
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import UNKNOWN, reading
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.files.records import Claim

_MAX_CLAIMS = 3


class Notices(Service):
    """The line that an answer ends with when there is something to say."""

    def line(self, *, agent: str | None = None, files: Sequence[str] = ()) -> str | None:
        """Return what the receiver of an answer should know beside it, or None.

        Args:
            agent: who gets the answer; None takes the default, which may be nobody.
            files: canonical paths that the answer names.

        Returns:
            One line: who else has claimed which of the files and until when, and how many critical messages wait.

        Raises:
            InvalidInput: the agent is no name.
        """
        work = self._workplace
        agent = check_agent(work, agent)
        named = tuple(dict.fromkeys(files))
        if agent is None and work.caller is None and not named:
            return None
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            if project is None:
                return None
            now = work.clock()
            actor = reading(transaction, work, project.id, agent)
            parts = _claimed(transaction, project.id, actor, named, now, work.worktree)
            number = None if actor.number == UNKNOWN else actor.number
            if number is not None and is_anything_critical(transaction, project.id, now):
                from satchel.keep.messages.visibility import unread_critical

                waiting = unread_critical(transaction, project.id, number, now)
                if waiting:
                    several = "messages wait" if waiting > 1 else "message waits"
                    parts.append(f"{waiting} unread critical {several} for {actor.name}")
        return f"notice: {'; '.join(parts)}" if parts else None


def _claimed(
    transaction: Transaction, project_id: int, actor: Actor, files: Sequence[str], now: int, worktree: str | None
) -> list[str]:
    if not files or not is_anything_claimed(transaction, project_id, now):
        return []
    from satchel.keep.files.claims import claims_of_others

    claims = claims_of_others(transaction, project_id, actor, files, now)
    claims.sort(key=lambda claim: claim.worktree != worktree)
    parts = [_claim_text(claim, worktree) for claim in claims[:_MAX_CLAIMS]]
    more = len(claims) - _MAX_CLAIMS
    return [*parts, f"{more} more claims on these files"] if more > 0 else parts


def _claim_text(claim: Claim, worktree: str | None) -> str:
    how = "claimed" if claim.exclusive else "shared"
    where = ""
    if claim.worktree != worktree:
        where = f" in worktree {PurePath(claim.worktree).name}" if claim.worktree else " in the main worktree"
    until = moment_text(claim.expires_at, year_of(claim.created_at))
    return f"{claim.path} is {how} by {claim.agent}{where} until {until} UTC"

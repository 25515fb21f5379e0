"""Lines on files that an agent was refused and that are free now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import span_in_words
from satchel.base.text import fold
from satchel.brief.fields import name_text, quoted
from satchel.keep import deliveries
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.files.refusals import Refusal

# How many refusals one answer lists; the next one has the others.
MOST = 5

_MAX_LISTED = 20


def find(
    transaction: Transaction, project_id: int, actor: Actor, now: int
) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """Return lines for an agent, with the items that mark them as delivered."""
    from satchel.keep.files import refusals
    from satchel.keep.files.claims import Claimant

    free = refusals.available(Claimant(transaction, project_id, actor, now))[:MOST]
    return [(text, [(deliveries.FREED, one.id, 0) for one in some]) for text, some in texts(free, actor, now)]


def texts(free: Sequence[Refusal], actor: Actor, now: int) -> list[tuple[str, list[Refusal]]]:
    """Return a line for each agent of the session and time of refusal, with its refusals."""
    together: dict[tuple[str, str], list[Refusal]] = {}
    for refusal in free:
        who = "you were" if fold(refusal.agent) == fold(actor.name or "") else f"{name_text(refusal.agent)} was"
        together.setdefault((who, span_in_words(now - refusal.refused_at)), []).append(refusal)
    return [
        (
            f"{listed([one.place.path for one in some])} {'are' if len(some) > 1 else 'is'} free now "
            f"({who} refused {'them' if len(some) > 1 else 'it'} {ago} ago)",
            some,
        )
        for (who, ago), some in together.items()
    ]


def listed(paths: Sequence[str]) -> str:
    """Return paths in a sentence."""
    more = len(paths) - _MAX_LISTED
    return ", ".join(map(_path_text, paths[:_MAX_LISTED])) + (f" and {more} more" if more > 0 else "")


def _path_text(path: str) -> str:
    # a path with a space or comma could pass for more of the sentence
    return quoted(path) if any(sign.isspace() or sign in '",;' for sign in path) else path

"""Full indexing of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.find import rebuild as rebuilding
from satchel.keep.kinds import KINDS

if TYPE_CHECKING:
    from satchel.store.engine import Writable


def index_all(store: Writable, progress: rebuilding.Progress) -> int:
    """Index every item again, in small steps; ``progress`` gets the number done and about how many there are."""
    return rebuilding.rebuild(store, [(kind, thing.load) for kind, thing in KINDS.items()], progress)

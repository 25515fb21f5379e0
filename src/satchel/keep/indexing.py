"""Filling the search index of a store with everything that it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.find import rebuild as rebuilding
from satchel.keep.kinds import KINDS

if TYPE_CHECKING:
    from satchel.store.engine import Writable


def index_all(store: Writable, progress: rebuilding.Progress) -> int:
    """Index every item again, in small steps.

    Args:
        store: an engine, or a store that is being filled.
        progress: told how many items are done, of about how many.

    Returns:
        How many items were indexed.
    """
    return rebuilding.rebuild(store, [(kind, thing.load) for kind, thing in KINDS.items()], progress)

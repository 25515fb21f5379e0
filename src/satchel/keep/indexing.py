"""Full indexing of a store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from satchel.find import rebuild as rebuilding
from satchel.keep import kept
from satchel.keep.kinds import KINDS

if TYPE_CHECKING:
    from satchel.store.engine import Writable


def index_all(store: Writable, progress: rebuilding.Progress) -> int:
    """Index every item again, in small steps; ``progress`` gets the number done and about how many there are."""
    loaders = [(kind, partial(kept.load_documents, thing)) for kind, thing in KINDS.items()]
    return rebuilding.rebuild(store, loaders, progress)

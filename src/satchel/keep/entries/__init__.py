"""Entries: the notes of a run, in eight types."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.entries.records import ENTRY_TYPES, Entry, EntryPage, NewEntry, PruneResult
    from satchel.keep.entries.service import Entries

__all__ = ["ENTRY_TYPES", "Entries", "Entry", "EntryPage", "NewEntry", "PruneResult"]

__getattr__ = exported(__name__, "records", "service")

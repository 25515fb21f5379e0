"""Entries: the notes of a run's context, in seven types."""

from satchel.keep.entries.records import ENTRY_TYPES, Entry, EntryPage, NewEntry, PruneResult
from satchel.keep.entries.service import Entries

__all__ = [
    "ENTRY_TYPES",
    "Entries",
    "Entry",
    "EntryPage",
    "NewEntry",
    "PruneResult",
]

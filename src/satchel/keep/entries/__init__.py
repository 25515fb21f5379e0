"""Entries: the notes of a run's context, in seven types."""

from satchel.keep.entries.records import ENTRY_TYPES, Entry, EntryPage, NewEntry, PruneResult
from satchel.keep.entries.service import Entries
from satchel.keep.entries.state import RunState, StateIssue, StateNote, StateVerdict, Unreadable

__all__ = [
    "ENTRY_TYPES",
    "Entries",
    "Entry",
    "EntryPage",
    "NewEntry",
    "PruneResult",
    "RunState",
    "StateIssue",
    "StateNote",
    "StateVerdict",
    "Unreadable",
]

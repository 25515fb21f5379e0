"""Housekeeping of a store: statistics, checks, backups, and deletion of old or single items."""

from satchel.keep.housekeeping.clearing import Cleared, Forgotten
from satchel.keep.housekeeping.service import Housekeeping
from satchel.keep.housekeeping.statistics import LayerCount, LayerSummary, Statistics
from satchel.keep.housekeeping.usage import Activity, AgentDay, ItemUse, MemoryUse, NamesInUse, NameUse
from satchel.store.upkeep import Check

__all__ = [
    "Activity",
    "AgentDay",
    "Check",
    "Cleared",
    "Forgotten",
    "Housekeeping",
    "ItemUse",
    "LayerCount",
    "LayerSummary",
    "MemoryUse",
    "NameUse",
    "NamesInUse",
    "Statistics",
]

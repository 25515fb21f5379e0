"""Strategies: approaches that worked, with how often they helped and did not."""

from satchel.keep.strategies.records import Strategy, StrategyPage
from satchel.keep.strategies.service import Strategies
from satchel.keep.strategies.updates import delete, load_documents, searchable_texts

__all__ = [
    "Strategies",
    "Strategy",
    "StrategyPage",
    "delete",
    "load_documents",
    "searchable_texts",
]

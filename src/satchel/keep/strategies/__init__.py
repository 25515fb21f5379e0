"""Strategies: approaches that worked, with how often they helped and did not."""

from satchel.keep.strategies.records import Strategy, StrategyPage
from satchel.keep.strategies.service import Strategies
from satchel.keep.strategies.updates import DOCUMENTS, delete

__all__ = [
    "DOCUMENTS",
    "Strategies",
    "Strategy",
    "StrategyPage",
    "delete",
]

"""Strategies: approaches that worked, with how often they helped and did not."""

from satchel.keep.strategies.records import Strategy, StrategyPage
from satchel.keep.strategies.service import Strategies

__all__ = [
    "Strategies",
    "Strategy",
    "StrategyPage",
]

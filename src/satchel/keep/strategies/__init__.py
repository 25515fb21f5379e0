"""Strategies: approaches that worked, with counts of successes and failures."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.strategies.records import Strategy, StrategyPage
    from satchel.keep.strategies.service import Strategies

__all__ = [
    "Strategies",
    "Strategy",
    "StrategyPage",
]

__getattr__ = exported(__name__, "records", "service")

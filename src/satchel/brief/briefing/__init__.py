"""Briefings: the items that one agent needs most, within its budget."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.brief.briefing.records import Briefed, Briefing, LeftOut
    from satchel.brief.briefing.service import Briefings

__all__ = ["Briefed", "Briefing", "Briefings", "LeftOut"]

__getattr__ = exported(__name__, "records", "service")

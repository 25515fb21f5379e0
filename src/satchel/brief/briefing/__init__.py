"""Briefings: what one agent needs most, inside its budget."""

from __future__ import annotations

from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.records import Briefed, Briefing, LeftOut
from satchel.brief.briefing.service import Briefings

__all__ = ["SECTIONS", "Briefed", "Briefing", "Briefings", "LeftOut"]

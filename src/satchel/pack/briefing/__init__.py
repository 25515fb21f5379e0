"""Briefings: what one agent needs most, inside its budget."""

from __future__ import annotations

from satchel.base.vocabulary import SECTIONS
from satchel.pack.briefing.records import Briefed, Briefing, LeftOut
from satchel.pack.briefing.service import Packing

__all__ = ["SECTIONS", "Briefed", "Briefing", "LeftOut", "Packing"]

"""The part of a budget that each section may fill first, by the agent's role."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from satchel.base.vocabulary import SECTIONS

ROLES = ("developer", "senior_engineer", "qa_expert", "tech_lead", "investigator")
"""The roles with their own shares; any other name is a role too."""

_ORDINARY = (8, 8, 14, 14, 12, 8, 36)

_TABLE: Mapping[str, tuple[int, ...]] = {
    "developer": (10, 10, 12, 14, 14, 6, 34),
    "senior_engineer": (10, 10, 12, 16, 14, 6, 32),
    "qa_expert": (6, 16, 14, 12, 14, 6, 32),
    "tech_lead": (6, 14, 14, 22, 8, 10, 26),
    "investigator": (8, 4, 16, 8, 20, 6, 38),
}

_MAX_PACKAGES = {"developer": 3, **dict.fromkeys(ROLES[1:], 5)}
_MAX_PACKAGES_OTHERWISE = 3


def shares_of(role: str | None, configured: Mapping[str, int] | None = None) -> Mapping[str, float]:
    """Return each section's part of the budget; the parts sum to 1.

    ``configured`` weights by section, from the configuration, replace those of the role; an unknown role has the
    ordinary shares.
    """
    weights = dict(zip(SECTIONS, _TABLE.get(role or "", _ORDINARY), strict=True)) | dict(configured or {})
    total = sum(weights.values()) or 1
    return MappingProxyType({section: weight / total for section, weight in weights.items()})


def max_packages(role: str | None) -> int:
    """Return how many packages a briefing for a role shows, not counting critical ones."""
    return _MAX_PACKAGES.get(role or "", _MAX_PACKAGES_OTHERWISE)

"""Names of persons in answers for people."""

from __future__ import annotations

from typing import Any

from satchel.base.records import field_names, replace
from satchel.keep.names import shown_name

_OF_NAMES = frozenset(
    {
        "agent",
        "agents",
        "asked_of",
        "author",
        "by",
        "deactivated_by",
        "predecessor_agent",
        "read_by",
        "reader",
        "seen_by",
        "sender",
        "to",
    }
)
"""Fields of records that hold the names of agents and persons."""


def with_shown_names(answer: Any) -> Any:
    """Return an answer with persons as people see them, ``ann`` for ``human:ann``, in all its records."""
    if type(answer) is tuple:
        return tuple(map(with_shown_names, answer))
    changes = {}
    for name in field_names(answer) or ():
        value = getattr(answer, name)
        shown = _shown(value) if name in _OF_NAMES else with_shown_names(value)
        if shown != value:
            changes[name] = shown
    return replace(answer, **changes) if changes else answer


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown_name(value)
    return tuple(map(_shown, value)) if type(value) is tuple else value

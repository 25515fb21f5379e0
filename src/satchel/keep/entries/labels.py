"""Labels for the fields of structured entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from satchel.base.errors import InvalidInput
from satchel.keep.entries import structured

_LABELS = {"attempted": "tried", "blockers": "blocked", "next_step": "next", "suggestion": "suggested"}
"""Labels that differ from the field's name."""

_IN_STATE = frozenset({"iteration", "done", "test_status", "issue_type", "passed", "intent_satisfied", "severity"})
_FIRST = ("description", "summary", "attempted", "blockers", "next_step")
"""The fields that come first."""

_UNLABELLED = frozenset({"description", "summary"})


def labelled(entry_type: str, content: str, without: Collection[str] = ()) -> str:
    """Return the text of a stored structured entry, state first; of a malformed one all its texts.

    ``without`` names fields to leave out.
    """
    try:
        fields = structured.parse_object(entry_type, content)
    except InvalidInput:
        return structured.searchable_text(content)
    fields = {name: value for name, value in fields.items() if name not in without}
    state = state_of(entry_type, fields)
    text = text_of(fields)
    return f"{state}: {text}" if state and text else state or text


def state_of(entry_type: str, fields: Mapping[str, object]) -> str:
    """Return a review's result or an iteration's progress; empty for other types."""
    if entry_type == "review_verdict":
        state = "PASSED" if fields["passed"] else "FAILED"
        return state + (", intent not satisfied" if fields.get("intent_satisfied") is False else "")
    if entry_type == "scratchpad":
        done = "done" if fields.get("done") else "not done" if fields.get("done") is False else None
        count = f"iteration {fields['iteration']}" if "iteration" in fields else None
        status = str(fields.get("test_status") or "")
        tests = f"tests {status}" if status and not status.lower().startswith("test") else status
        return ", ".join(part for part in (count, done, tests) if part)
    return ", ".join(str(fields[name]) for name in ("issue_type", "severity") if fields.get(name))


def text_of(fields: Mapping[str, object]) -> str:
    """Return the labelled fields that :func:`state_of` does not cover."""
    parts = []
    for name in dict.fromkeys((*_FIRST, *fields)):
        text = "" if name in _IN_STATE or name not in fields else _plain(fields[name])
        if text:
            parts.append(text if name in _UNLABELLED else f"{_LABELS.get(name, name.replace('_', ' '))}: {text}")
    return "; ".join(parts)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_plain(item)}" for name, item in value.items())
    return "; ".join(map(_plain, value)) if isinstance(value, (list, tuple)) else str(value)

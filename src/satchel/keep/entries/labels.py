"""Labels: what the fields of a structured entry say, each named as what it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from satchel.base.errors import InvalidInput
from satchel.keep.entries import structured

_LABELS = {"attempted": "tried", "blockers": "blocked", "next_step": "next", "suggestion": "suggested"}
"""How a field is called where not by its name."""

_IN_STATE = frozenset({"iteration", "done", "test_status", "issue_type", "passed", "intent_satisfied"})
_FIRST = ("description", "summary", "attempted", "blockers", "next_step")
"""The fields that are said before others."""

_UNLABELLED = frozenset({"description", "summary"})


def labelled(entry_type: str, content: str, without: Collection[str] = ()) -> str:
    """Return what a stored structured entry says, with its state first; of a malformed one all its texts.

    Args:
        without: fields that are left out.
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
    """Say how a review ended, or how far an iteration came; nothing of anything else."""
    if entry_type == "review_verdict":
        said = "PASSED" if fields["passed"] else "FAILED"
        return said + (", intent not satisfied" if fields.get("intent_satisfied") is False else "")
    if entry_type == "scratchpad":
        done = "done" if fields.get("done") else "not done" if fields.get("done") is False else None
        count = f"iteration {fields['iteration']}" if "iteration" in fields else None
        status = str(fields.get("test_status") or "")
        tests = f"tests {status}" if status and not status.lower().startswith("test") else status
        return ", ".join(part for part in (count, done, tests) if part)
    return str(fields.get("issue_type") or "")


def text_of(fields: Mapping[str, object]) -> str:
    """Return what fields say, each behind its label, but for those that :func:`state_of` says."""
    parts = []
    for name in dict.fromkeys((*_FIRST, *fields)):
        said = "" if name in _IN_STATE or name not in fields else _plain(fields[name])
        if said:
            parts.append(said if name in _UNLABELLED else f"{_LABELS.get(name, name.replace('_', ' '))}: {said}")
    return "; ".join(parts)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_plain(item)}" for name, item in value.items())
    return "; ".join(map(_plain, value)) if isinstance(value, (list, tuple)) else str(value)

"""Entries with an object as content: their fields, how they are parsed and put into words; the state of a run.

Known fields are typed, others are kept; camelCase spellings are accepted and stored as snake_case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache, wraps

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.records import dataclass, field_names
from satchel.base.text import shortened
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.texts import check_json, json_texts, parse_json

TYPE_CHECKING = False  # importing typing at start is slow
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from satchel.keep.runs import Run

    Record = TypeVar("Record")

_CAMEL = r"(?<=[a-z0-9])([A-Z])"

# Size of the parse cache in entries, and the maximum length of a cached content.
_REMEMBERED, _REMEMBERED_CHARS = 4_000, 2_000


# the fields of each type, and what they hold
_FIELDS = {
    "review_issue": {"issue_type": "text", "description": "text", "suggestion": "text"},
    "review_verdict": {"passed": "flag", "summary": "text", "intent_satisfied": "flag", "change": "text"},
    "bug": {"description": "text", "severity": "text"},
    "scratchpad": {
        "iteration": "whole",
        "done": "flag",
        "test_status": "text",
        "next_step": "text",
        "blockers": "texts",
        "attempted": "texts",
    },
    "codebase_analysis": {
        "project_type": "text",
        "tech_stack": "texts",
        "directory_structure": "text",
        "existing_features": "texts",
        "entry_points": "texts",
        "patterns": "texts",
        "summary": "text",
    },
}

_REQUIRED = {
    "review_issue": "description",
    "review_verdict": "passed",
    "bug": "description",
    "codebase_analysis": "summary",
}

# Fields that describe in words what was done, most telling first.
TELLING_FIELDS = ("fix", "solution", "resolution", "summary")

# The scratchpad field with a plan approved by a person and saved by a hook.
PLAN = "approved_plan"

ISSUE_TYPES = (
    "over-engineering",
    "missing-error-handling",
    "pattern-violation",
    "dead-code",
    "spec-intent-mismatch",
    "architecture-concern",
)

_HIDDEN = "later attempts are shown only done, attempted and next_step: give content as an object with these"

_EXPECTED = {"text": "text", "flag": "true or false", "whole": "a whole number, 0 or more", "texts": "a list of texts"}


@dataclass(frozen=True, slots=True)
class ReviewIssue:
    description: str
    issue_type: str | None = None
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    passed: bool
    summary: str | None = None
    intent_satisfied: bool | None = None


@dataclass(frozen=True, slots=True)
class Scratchpad:
    iteration: int | None = None
    done: bool | None = None
    test_status: str | None = None
    next_step: str | None = None
    blockers: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodebaseAnalysis:
    summary: str
    project_type: str | None = None
    tech_stack: tuple[str, ...] = ()
    directory_structure: str | None = None
    existing_features: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


def is_field(name: str) -> bool:
    """Return whether the content of a structured note has a field of this name."""
    return any(name in fields for fields in _FIELDS.values())


def parse_object(entry_type: str, content: object) -> dict[str, object]:
    value = _parse_json(entry_type, content) if isinstance(content, str) else content
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the content of a {entry_type} must be an object", _example(entry_type))
    fields_used: dict[str, object] = {}
    for key, item in value.items():
        name = re.sub(_CAMEL, r"_\1", str(key)).lower() if _is_camel(str(key)) else str(key)
        if name in fields_used:
            raise InvalidInput(f"{name} is given twice in the {entry_type}", "Give each field once")
        fields_used[name] = item
    checked: dict[str, object] = {}
    for name in _FIELDS[entry_type]:
        item = fields_used.pop(name, None)
        if item is not None:
            checked[name] = _check(entry_type, name, item)
        elif name == _REQUIRED.get(entry_type):
            raise InvalidInput(f"the {entry_type} lacks {name}", _example(entry_type))
    for name, item in fields_used.items():
        if item is not None:
            check_json(item, f"{name} of the {entry_type}")
            checked[name] = item
    if not checked:
        raise InvalidInput(f"the {entry_type} says nothing", _example(entry_type))
    return checked


# The field that a plain text becomes.
_PLAIN_FIELDS = {"scratchpad": "summary", "bug": "description", "review_issue": "description"}


def as_object(entry_type: str, content: str | Mapping[str, object]) -> str | Mapping[str, object]:
    is_plain = isinstance(content, str) and content.strip() and not content.lstrip().startswith("{")
    return {_PLAIN_FIELDS[entry_type]: content} if is_plain and entry_type in _PLAIN_FIELDS else content


def check_new(entry_type: str, content: str) -> tuple[str, ...]:
    """Check values of a new entry that stored ones may have, and return a note for its writer."""
    fields = parse_object(entry_type, content)
    severity, issue_type = fields.get("severity"), fields.get("issue_type")
    if entry_type == "bug" and severity is not None and severity not in PRIORITIES:
        raise unknown_name("severity", severity, PRIORITIES)
    if entry_type == "review_issue" and issue_type is not None and issue_type not in ISSUE_TYPES:
        raise InvalidInput(
            f"issue_type of a review_issue cannot be {shortened(str(issue_type), 40)!r}",
            f"Give one of {', '.join(ISSUE_TYPES)}, or leave it out",
        )
    # without a text in the fields shown to later attempts
    is_hidden = entry_type == "scratchpad" and not is_plan(content) and scratchpad(content) == Scratchpad()
    return (_HIDDEN,) if is_hidden else ()


def plain_attempts(content: str) -> tuple[str, ...]:
    """Return the attempts of a stored scratchpad that was written as plain text or as a list of texts."""
    fields = json.loads(content)
    if set(fields) != {"summary"} or not isinstance(fields["summary"], str):
        return ()
    try:
        listed = json.loads(fields["summary"])
    except (ValueError, RecursionError):
        listed = None
    is_list = isinstance(listed, list) and all(isinstance(text, str) for text in listed)
    return tuple(listed) if is_list else (fields["summary"],)


def searchable_text(content: str) -> str:
    try:
        return "\n".join(json_texts(json.loads(content)))
    except (ValueError, RecursionError):
        return content


def telling_text(content: str) -> str | None:
    """Return the first of :data:`TELLING_FIELDS` in a stored structured entry, or None."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return None
    texts = [fields.get(name) for name in TELLING_FIELDS] if isinstance(fields, dict) else []
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), None)


def is_plan(content: str) -> bool:
    """Return whether a stored scratchpad is an approved plan, not an attempt."""
    return f'"{PLAN}":' in content


def _remembering(read: Callable[[str], Record]) -> Callable[[str], Record]:
    # the same short contents are read again whenever a project is looked at
    remembered = lru_cache(maxsize=_REMEMBERED)(read)

    @wraps(read)
    def reader(content: str) -> Record:
        return remembered(content) if len(content) <= _REMEMBERED_CHARS else read(content)

    return reader


def _record(make: Callable[..., Record], entry_type: str, content: str) -> Record:
    fields = parse_object(entry_type, content)
    values = {name: fields[name] for name in field_names(make) or () if name in fields}
    return make(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def review_issue(content: str) -> ReviewIssue:
    return _record(ReviewIssue, "review_issue", content)


@_remembering
def review_verdict(content: str) -> ReviewVerdict:
    return _record(ReviewVerdict, "review_verdict", content)


@_remembering
def scratchpad(content: str) -> Scratchpad:
    return _record(Scratchpad, "scratchpad", content)


def codebase_analysis(content: str) -> CodebaseAnalysis:
    return _record(CodebaseAnalysis, "codebase_analysis", content)


# How many changes one verdict judges.
MOST_CHANGES = 50


def judged_changes(verdict: str) -> set[int | str]:
    """Return the numbers of the changes that a stored verdict names, else their text."""
    refs = parse_object("review_verdict", verdict).get("change")
    return {*numbers_in(refs)} or {refs} if isinstance(refs, str) else set()


def numbers_in(refs: str) -> list[int]:
    """Return the numbers of changes in a text such as ``f12, f14 to f17``."""
    ranges = re.findall(r"\bf([1-9]\d{0,17})(?:\s*(?:-|–|to|\.\.)\s*f?([1-9]\d{0,17}))?\b", refs)
    return [
        number
        for first, last in ranges
        for number in range(int(first), min(int(last or first), int(first) + MOST_CHANGES) + 1)
    ]


def _parse_json(entry_type: str, text: str) -> object:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        problem = f"the content of a {entry_type} is not JSON: {error.msg} at character {error.pos}"
    except (ValueError, RecursionError) as error:
        problem = f"the content of a {entry_type} cannot be read: {error}"
    raise InvalidInput(problem, _example(entry_type))


def _is_camel(key: str) -> bool:
    return key.isidentifier() and key[:1].islower() and not key.islower() and "_" not in key


def _check(entry_type: str, name: str, item: object) -> object:
    kind = _FIELDS[entry_type][name]
    if kind == "flag" and isinstance(item, bool):
        return item
    if kind == "whole" and isinstance(item, int | float) and _is_whole(item):
        return int(item)
    if kind == "text" and isinstance(item, str):
        return item
    if kind == "texts":
        items = [item] if isinstance(item, str) else item
        if isinstance(items, (list, tuple)) and all(isinstance(text, str) for text in items):
            return list(items)
    raise InvalidInput(f"{name} of a {entry_type} must be {_EXPECTED[kind]}", _example(entry_type))


def _is_whole(number: float) -> bool:
    return not isinstance(number, bool) and 0 <= number < 2**53 and number == int(number)


def _example(entry_type: str) -> str:
    required = _REQUIRED.get(entry_type)
    shape = ", ".join(
        f"{name}{' (required)' if name == required else ''}: {_EXPECTED[kind]}"
        for name, kind in _FIELDS[entry_type].items()
    )
    return f"Give an object or its JSON with {shape}"


# Labels that differ from the field's name.
_LABELS = {"attempted": "tried", "blockers": "blocked", "next_step": "next", "suggestion": "suggested"}

_IN_STATE = frozenset({"iteration", "done", "test_status", "issue_type", "passed", "intent_satisfied", "severity"})
# The fields that come first.
_FIRST = ("description", "summary", "attempted", "blockers", "next_step")

_UNLABELLED = frozenset({"description", "summary"})


def labelled(entry_type: str, content: str, without: Collection[str] = ()) -> str:
    """Return the text of a stored structured entry, state first; of a malformed one all its texts."""
    try:
        fields = parse_object(entry_type, content)
    except InvalidInput:
        return searchable_text(content)
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


@dataclass(frozen=True, slots=True)
class StateNote:
    ref: str
    run_id: str
    content: str
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    agent: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class StateIssue:
    ref: str
    run_id: str
    issue: ReviewIssue
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    agent: str | None


@dataclass(frozen=True, slots=True)
class StateVerdict:
    ref: str
    run_id: str
    verdict: ReviewVerdict
    task_id: str | None
    loop_id: str | None
    agent: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored row with malformed content, skipped but not lost."""

    ref: str
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunState:
    """Data that an orchestrator needs of one run or all, each list oldest first.

    Attributes:
        run: None if all runs are loaded, or ``main`` was not used yet.
        verdicts: the live verdict of each reviewed task and loop; ``verdict`` is the newest.
        left_out: pairs of entry type and number of older entries not loaded.
    """

    run_id: str | None
    run: Run | None
    discoveries: tuple[StateNote, ...]
    errors: tuple[StateNote, ...]
    decisions: tuple[StateNote, ...]
    review_issues: tuple[StateIssue, ...]
    verdicts: tuple[StateVerdict, ...]
    codebase_analysis: CodebaseAnalysis | None
    unreadable: tuple[Unreadable, ...]
    left_out: tuple[tuple[str, int], ...]

    @property
    def verdict(self) -> StateVerdict | None:
        return self.verdicts[-1] if self.verdicts else None

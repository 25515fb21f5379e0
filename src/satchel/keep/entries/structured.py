"""Entries whose content is an object: what their fields are, and how they are read from JSON.

Known fields are typed, others are kept; camelCase spellings are accepted and stored as snake_case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache, wraps

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.keep.texts import check_json, json_texts, parse_json

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Record = TypeVar("Record")

_CAMEL = r"(?<=[a-z0-9])([A-Z])"

_REMEMBERED, _REMEMBERED_CHARS = 4_000, 2_000
"""So many entries of at most so many characters are remembered as they were read: 20 MB where all are as long."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    kind: str  # text, flag, whole, texts
    required: bool = False


_FIELDS: dict[str, tuple[_Field, ...]] = {
    "review_issue": (
        _Field("issue_type", "text"),
        _Field("description", "text", required=True),
        _Field("suggestion", "text"),
    ),
    "review_verdict": (
        _Field("passed", "flag", required=True),
        _Field("summary", "text"),
        _Field("intent_satisfied", "flag"),
    ),
    "scratchpad": (
        _Field("iteration", "whole"),
        _Field("done", "flag"),
        _Field("test_status", "text"),
        _Field("next_step", "text"),
        _Field("blockers", "texts"),
        _Field("attempted", "texts"),
    ),
    "codebase_analysis": (
        _Field("project_type", "text"),
        _Field("tech_stack", "texts"),
        _Field("directory_structure", "text"),
        _Field("existing_features", "texts"),
        _Field("entry_points", "texts"),
        _Field("patterns", "texts"),
        _Field("summary", "text", required=True),
    ),
}

TELLING_FIELDS = ("fix", "solution", "resolution", "summary")
"""The fields in which an entry may say in words what was done, the most telling first."""

PLAN = "approved_plan"
"""The field of a scratchpad with a plan that a person has approved, which a hook has kept."""

_UNTOLD = "later attempts are told from done=, attempted=, next_step="

_EXPECTED = {
    "text": "text",
    "flag": "true or false",
    "whole": "a whole number, 0 or more",
    "texts": "a list of texts",
}


@dataclass(frozen=True, slots=True)
class ReviewIssue:
    """Something a reviewer found, at the place the entry names."""

    description: str
    issue_type: str | None = None
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    """How a review ended."""

    passed: bool
    summary: str | None = None
    intent_satisfied: bool | None = None


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """How far one attempt came; where several are made, the number of its iteration."""

    iteration: int | None = None
    done: bool | None = None
    test_status: str | None = None
    next_step: str | None = None
    blockers: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodebaseAnalysis:
    """What a code base is and how it is laid out."""

    summary: str
    project_type: str | None = None
    tech_stack: tuple[str, ...] = ()
    directory_structure: str | None = None
    existing_features: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


def parse_object(entry_type: str, content: object) -> dict[str, object]:
    """Read and check the content of a structured entry.

    Args:
        entry_type: one of :data:`STRUCTURED_TYPES`.
        content: an object, or its JSON as text.

    Returns:
        The object with snake_case names, known fields of their type, unknown fields as they were, nulls left out.

    Raises:
        InvalidInput: the text is not the JSON of an object, a required field is missing, or a known field has the
            wrong type.
    """
    value = _parse_json(entry_type, content) if isinstance(content, str) else content
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the content of a {entry_type} must be an object", _example(entry_type))
    given: dict[str, object] = {}
    for key, item in value.items():
        name = re.sub(_CAMEL, r"_\1", str(key)).lower() if _is_camel(str(key)) else str(key)
        if name in given:
            raise InvalidInput(f"{name} is given twice in the {entry_type}", "Give each field once")
        given[name] = item
    checked: dict[str, object] = {}
    for field in _FIELDS[entry_type]:
        item = given.pop(field.name, None)
        if item is not None:
            checked[field.name] = _check(entry_type, field, item)
        elif field.required:
            raise InvalidInput(f"the {entry_type} lacks {field.name}", _example(entry_type))
    for name, item in given.items():
        if item is not None:
            check_json(item, f"{name} of the {entry_type}")
            checked[name] = item
    if not checked:
        raise InvalidInput(f"the {entry_type} says nothing", _example(entry_type))
    return checked


def as_scratchpad(content: str | Mapping[str, object]) -> str | Mapping[str, object]:
    """Return what an agent gives as a scratchpad; of plain text an object that says it."""
    is_plain = isinstance(content, str) and content.strip() and not content.lstrip().startswith("{")
    return {"summary": content} if is_plain else content


def untold(content: str) -> tuple[str, ...]:
    """Return a note where a stored scratchpad says nothing in the fields that later attempts are told from."""
    return () if is_plan(content) or scratchpad(content) != Scratchpad() else (_UNTOLD,)


def searchable_text(content: str) -> str:
    """Return what can be searched in the JSON of a structured entry: its texts, without names and punctuation."""
    try:
        return "\n".join(json_texts(json.loads(content)))
    except (ValueError, RecursionError):
        return content


def telling_text(content: str) -> str | None:
    """Return what a stored structured entry says in one of :data:`TELLING_FIELDS`, or None where it has none."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return None
    told = [fields.get(name) for name in TELLING_FIELDS] if isinstance(fields, dict) else []
    return next((text.strip() for text in told if isinstance(text, str) and text.strip()), None)


def is_plan(content: str) -> bool:
    """Whether a stored scratchpad is an approved plan, which is no attempt."""
    return f'"{PLAN}":' in content


def _remembering(read: Callable[[str], Record]) -> Callable[[str], Record]:
    """Let a reader of stored contents remember what it read of short ones.

    Who looks at a project again reads the same entries: of ten loops with ten attempts each that takes half the time.
    """
    remembered = lru_cache(maxsize=_REMEMBERED)(read)

    @wraps(read)
    def reader(content: str) -> Record:
        return remembered(content) if len(content) <= _REMEMBERED_CHARS else read(content)

    return reader


def review_issue(content: str) -> ReviewIssue:
    """Read a stored review_issue.

    Raises:
        InvalidInput: it is malformed, as a row written by other means may be.
    """
    fields = parse_object("review_issue", content)
    return ReviewIssue(
        description=str(fields["description"]),
        issue_type=_text(fields, "issue_type"),
        suggestion=_text(fields, "suggestion"),
    )


@_remembering
def review_verdict(content: str) -> ReviewVerdict:
    """Read a stored review_verdict. Raises as :func:`review_issue` does."""
    fields = parse_object("review_verdict", content)
    intent = fields.get("intent_satisfied")
    return ReviewVerdict(bool(fields["passed"]), _text(fields, "summary"), None if intent is None else bool(intent))


@_remembering
def scratchpad(content: str) -> Scratchpad:
    """Read a stored scratchpad. Raises as :func:`review_issue` does."""
    fields = parse_object("scratchpad", content)
    done, iteration = fields.get("done"), fields.get("iteration")
    return Scratchpad(
        iteration=iteration if isinstance(iteration, int) else None,
        done=None if done is None else bool(done),
        test_status=_text(fields, "test_status"),
        next_step=_text(fields, "next_step"),
        blockers=_list(fields, "blockers"),
        attempted=_list(fields, "attempted"),
    )


def codebase_analysis(content: str) -> CodebaseAnalysis:
    """Read a stored codebase_analysis. Raises as :func:`review_issue` does."""
    fields = parse_object("codebase_analysis", content)
    return CodebaseAnalysis(
        summary=str(fields["summary"]),
        project_type=_text(fields, "project_type"),
        tech_stack=_list(fields, "tech_stack"),
        directory_structure=_text(fields, "directory_structure"),
        existing_features=_list(fields, "existing_features"),
        entry_points=_list(fields, "entry_points"),
        patterns=_list(fields, "patterns"),
    )


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else str(value)


def _list(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else ()


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


def _check(entry_type: str, field: _Field, item: object) -> object:
    if field.kind == "flag" and isinstance(item, bool):
        return item
    if field.kind == "whole" and isinstance(item, int | float) and _is_whole(item):
        return int(item)
    if field.kind == "text" and isinstance(item, str):
        return item
    if field.kind == "texts":
        items = [item] if isinstance(item, str) else item
        if isinstance(items, (list, tuple)) and all(isinstance(text, str) for text in items):
            return list(items)
    raise InvalidInput(f"{field.name} of a {entry_type} must be {_EXPECTED[field.kind]}", _example(entry_type))


def _is_whole(number: float) -> bool:
    return not isinstance(number, bool) and 0 <= number < 2**53 and number == int(number)


def _example(entry_type: str) -> str:
    shape = ", ".join(
        f"{field.name}{' (required)' if field.required else ''}: {_EXPECTED[field.kind]}"
        for field in _FIELDS[entry_type]
    )
    return f"Give an object or its JSON with {shape}"

"""A question, checked before anything is sent, and the JSON Schema that its answer is checked against.

Specification: https://json-schema.org/draft/2020-12/json-schema-validation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from satchel.base.errors import InvalidInput, SatchelError, unknown_name
from satchel.base.records import dataclass
from satchel.base.text import check_name, shortened
from satchel.consult.consultation import Kept
from satchel.consult.records import ConversationKey, Settings
from satchel.keep.names import check_identifier
from satchel.keep.texts import check_content

if TYPE_CHECKING:
    from satchel.keep.decisions.service import Decisions
    from satchel.keep.entries.service import Entries
    from satchel.keep.runs import Runs


import json
from collections.abc import Iterator

KEPT_TYPES = ("discovery", "error", "decision")
"""The types of notes that an answer can be kept as: those whose content is a text."""

_DECISION = "decision:"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Target of an answer: a note of a type, or a decision of a key."""

    entry_type: str | None = None
    decision_key: str | None = None


REMEMBERED = Keeping(entry_type="discovery")
"""What an answer is kept as that nobody asked to keep."""


def check_keeping(keep_as: str | None, *, dry_run: bool) -> Keeping | None:
    """Parse the target of an answer, before the answer is paid for."""
    if keep_as is None:
        return None
    if dry_run:
        raise InvalidInput("a dry run has no answer to keep", "Leave out what keeps it, or the dry run")
    if keep_as.startswith(_DECISION):
        return Keeping(decision_key=check_name(keep_as.removeprefix(_DECISION), "key"))
    if keep_as not in KEPT_TYPES:
        raise unknown_name("keep_as", keep_as, [*KEPT_TYPES, f"{_DECISION}KEY"])
    return Keeping(entry_type=keep_as)


class AnswerKeeper:
    """Keeps answers as notes and decisions."""

    def __init__(self, entries: Entries, decisions: Decisions, runs: Runs) -> None:
        self._entries = entries
        self._decisions = decisions
        self._runs = runs

    def check(self, keeping: Keeping, run_id: str | None) -> None:
        """Make sure, before an answer is paid for, that there is the run which a note of it goes to."""
        if keeping.entry_type is not None:
            self._runs.get(run_id)

    def keep(
        self,
        keeping: Keeping,
        assistant: str,
        question: Question,
        answer: str,
        max_bytes: int,
    ) -> Kept:
        """Store an answer with its question; a failure is returned, not raised, since the answer is paid for."""
        asked = f"{assistant} on: {shortened(' '.join(question.instructions.split()))}"
        try:
            if keeping.decision_key is not None:
                decision = self._decisions.set(keeping.decision_key, answer, rationale=asked, agent=question.agent)
                return Kept(decision.ref, f"kept as decision {decision.ref} {decision.key}", decision.notes)
            text = f"{asked}\n\n{answer}"
            if keeping is REMEMBERED:
                text = text.encode()[:max_bytes].decode(errors="ignore")
            entry = self._entries.write(
                keeping.entry_type or KEPT_TYPES[0], text, run_id=question.run_id, agent=question.agent
            )
        except SatchelError as error:
            if keeping is REMEMBERED:
                return Kept(None, f"the answer was not remembered: {error}")
            return Kept(None, f"the answer was not kept: {error}", failure=error)
        if keeping is REMEMBERED:
            return Kept(entry.ref, f"remembered as {entry.ref}")
        return Kept(entry.ref, f"kept as {entry.ref} {entry.type} in run {entry.run_id}", entry.notes)


_AS_JSON = "Answer with JSON alone, without a code fence, that matches this JSON Schema: "
EFFORTS = ("low", "medium", "high")
_HOTTEST = 2
DEFAULT_CONVERSATION = "default"
"""The conversation of questions that name none."""


class QuestionOptions(TypedDict, total=False):
    """Options of a question.

    Keys:
        conversation: the caller's name for it.
        context: files and folders that the conversation is about; folders as git sees them.
        priority: files among them that go into the prompt first; they need not be in ``context`` too.
        attachments: files to search in this turn only.
        briefing: whether what the store knows is put before the files. Nothing counts as delivered by that.
        role, task_id: whose briefing it is, as for :meth:`satchel.Satchel.brief`.
        run_id: the run of the briefing and of a note that is kept; None takes the default.
        agent: who asks; None takes the default.
        force: send files that hold secrets.
        allow_roots: folders outside the project whose files may be sent too, absolute; named by a person only.
        takes_over: begin with the files and the discussion of the conversation of that name with another assistant.
        effort: how much the model should think: ``low``, ``medium`` or ``high``.
        temperature: of the sampling, 0 to 2; a provider refuses what its model does not take.
        schema: a JSON Schema of an object that the answer has to match.
        web_search: let the provider search the web, which it may bill apart.
        reuse: return an earlier answer of this assistant to nearly the same question about the same files.
    """

    conversation: str
    context: Sequence[str]
    priority: Sequence[str]
    attachments: Sequence[str]
    briefing: bool
    role: str | None
    task_id: str | None
    run_id: str | None
    agent: str | None
    force: bool
    reuse: bool
    allow_roots: Sequence[str]
    takes_over: bool
    effort: str | None
    temperature: float | None
    schema: Mapping[str, Any] | None
    web_search: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One turn's question, with the checked :class:`QuestionOptions`."""

    key: ConversationKey
    instructions: str
    notes: tuple[str, ...]
    keeping: Keeping | None
    settings: Settings
    context: tuple[str, ...]
    priority: tuple[str, ...]
    attachments: tuple[str, ...]
    allow_roots: tuple[str, ...]
    briefing: bool = False
    role: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    agent: str | None = None
    force: bool = False
    reuse: bool = False
    takes_over: bool = False


def check_question(
    instructions: str,
    *,
    max_bytes: int,
    keep_as: str | None = None,
    dry_run: bool = False,
    **options: Unpack[QuestionOptions],
) -> Question:
    """Check what a call asks."""
    rest: dict[str, Any] = dict(options)
    for root in rest.get("allow_roots", ()):
        if not Path(root).is_absolute() or not Path(root).is_dir():
            raise InvalidInput(f"{root[:200]!r} is not an absolute path of a folder", "Name a folder that exists")
    for field in ("context", "priority", "attachments", "allow_roots"):
        paths = rest.get(field, ())
        if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
            raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src", "README.md"]')
        rest[field] = tuple(paths)
    is_briefed = rest.get("briefing", False)
    unused = [name for name in ("role", "task_id") if rest.get(name) is not None]
    if unused and not is_briefed:
        raise InvalidInput(f"{', '.join(unused)} was given without briefing", "Ask for a briefing, or leave it out")
    settings = Settings(**{name: rest.pop(name) for name in Settings.__match_args__ if name in rest})
    if settings.effort is not None and settings.effort not in EFFORTS:
        raise unknown_name("effort", settings.effort, EFFORTS)
    if settings.temperature is not None and not 0 <= settings.temperature <= _HOTTEST:
        raise InvalidInput(f"temperature {settings.temperature!r} is out of range", f"Give 0 to {_HOTTEST}")
    keeping = check_keeping(keep_as, dry_run=dry_run)
    is_of_run = is_briefed or (keeping is not None and keeping.entry_type is not None)
    if rest.get("run_id") is not None and not is_of_run:
        raise InvalidInput("run_id was given without briefing or a note to keep", "Leave it out, or say what it is for")
    for name in ("run_id", "agent"):
        if rest.get(name) is not None:
            rest[name] = check_identifier(rest[name], name)
    asked = check_content(instructions, "instructions", max_bytes)
    if settings.schema is not None:
        asked = check_content(f"{instructions}\n\n{_AS_JSON}{check_schema(settings.schema)}", "instructions", max_bytes)
    return Question(
        ConversationKey("", check_identifier(rest.pop("conversation", DEFAULT_CONVERSATION), "conversation")),
        asked.text,
        tuple(f"question: {note}" for note in asked.notes),
        keeping,
        settings,
        **rest,
    )


MAX_SCHEMA_BYTES = 32_768

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_PART = {"$ref": "#/$defs/part"}
_KEYWORDS: Mapping[str, Mapping[str, Any]] = {
    "type": {"anyOf": [{"enum": [*_TYPES]}, {"type": "array", "items": {"enum": [*_TYPES]}, "minItems": 1}]},
    "enum": {"type": "array", "minItems": 1},
    "const": {},
    "anyOf": {"type": "array", "items": _PART, "minItems": 1},
    "properties": {"type": "object", "additionalProperties": _PART},
    "required": {"type": "array", "items": {"type": "string"}},
    "additionalProperties": {"anyOf": [{"type": "boolean"}, _PART]},
    "items": _PART,
    **{f"{bound}{of}": {"type": "number"} for bound in ("min", "max") for of in ("Items", "imum", "Length")},
}
"""The keywords that an answer is checked by, each with the schema of its value."""

_NOTES: Mapping[str, Any] = {note: {} for note in ("title", "description", "examples", "default", "$schema")}
_DEFINITIONS = "#/$defs/"
_MAX_DEPTH = 192
_MAX_STEPS = 1_000_000
"""Parts that are compared: definitions that name each other twice would double them with each level."""

_SHOWN_CHARS = 80


def check_schema(schema: object) -> str:
    """Return a schema as JSON text."""
    try:
        written = json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"it is not JSON ({error})") from None
    if len(written.encode("utf-8", "replace")) > MAX_SCHEMA_BYTES:
        raise _refused(f"it has more than {MAX_SCHEMA_BYTES:,} bytes")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise _refused('it has to be an object with "type": "object"')
    definitions = schema.get("$defs")
    names = definitions if isinstance(definitions, dict) else ()
    known = {**_KEYWORDS, **_NOTES, "$ref": {"enum": [f"{_DEFINITIONS}{name}" for name in names]}}
    part = {"type": "object", "properties": known, "additionalProperties": False}
    whole = {**part, "properties": {**known, "$defs": {"type": "object", "additionalProperties": _PART}}}
    if (problem := _first_mismatch(schema, {**whole, "$defs": {"part": part}}, "it")) is not None:
        raise _refused(problem)
    return written


def unfenced(answer: str) -> str:
    """Return an answer without a code fence around all of it."""
    lines = answer.strip().split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0][:3] == lines[-1].strip() == "```" else answer.strip()


def find_mismatch(answer: str, schema: Mapping[str, Any] | None) -> str | None:
    """Return where an answer differs from a schema, or None; without a schema any answer matches."""
    if schema is None:
        return None
    try:
        value = json.loads(answer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    return _first_mismatch(value, schema, "the answer")


def _first_mismatch(value: object, schema: Mapping[str, Any], name: str) -> str | None:
    try:
        return next(_Check(schema.get("$defs", {})).mismatches(value, schema, name, 0), None)
    except (_TooLong, RecursionError):
        return "it takes too long to compare with the schema"


class _TooLong(Exception):
    pass


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _refused(problem: str) -> InvalidInput:
    return InvalidInput(
        f"the schema cannot be used: {problem}"[:400],
        f"Give a JSON Schema of an object with {', '.join(sorted(_KEYWORDS))}, $ref and $defs; "
        f"types are {', '.join(_TYPES)}",
    )


class _Check:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._steps = 0

    def mismatches(self, value: Any, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        self._steps += 1 + len(schema.get("enum", ()))
        if self._steps > _MAX_STEPS:
            raise _TooLong
        if depth > _MAX_DEPTH:
            yield f"{at[:_SHOWN_CHARS]} is nested too deeply"
            return
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].removeprefix(_DEFINITIONS)]
            yield from self.mismatches(value, target, at, depth + 1)
        names = schema.get("type", ())
        if names and not any(_is_type(value, name) for name in ([names] if isinstance(names, str) else names)):
            yield f"{at} is not of type {names if isinstance(names, str) else ' or '.join(names)}"
            return
        if "enum" in schema and not any(_equals(value, one) for one in schema["enum"]):
            yield f"{at} is not one of {json.dumps(schema['enum'], ensure_ascii=False)[:_SHOWN_CHARS]}"
        if "const" in schema and not _equals(value, schema["const"]):
            yield f"{at} is not {json.dumps(schema['const'], ensure_ascii=False)[:_SHOWN_CHARS]}"
        if "anyOf" in schema and not any(
            next(self.mismatches(value, one, at, depth + 1), None) is None for one in schema["anyOf"]
        ):
            yield f"{at} matches no part of anyOf"
        if isinstance(value, dict):
            yield from (f"{at} has no {name!r}" for name in schema.get("required", ()) if name not in value)
            known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
            for name, one in value.items():
                part = known.get(name, others)
                if part is False:
                    yield f"{at} has an unknown {name[:_SHOWN_CHARS]!r}"
                elif isinstance(part, dict):
                    yield from self.mismatches(one, part, f"{at}.{name[:_SHOWN_CHARS]}", depth + 1)
        elif isinstance(value, list):
            yield from _beyond(len(value), schema, "Items", f"the length of {at}")
            for number, one in enumerate(value if "items" in schema else ()):
                yield from self.mismatches(one, schema["items"], f"{at}[{number}]", depth + 1)
        elif isinstance(value, str):
            yield from _beyond(len(value), schema, "Length", f"the length of {at}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _beyond(value, schema, "imum", at)


def _beyond(size: float, schema: Mapping[str, Any], ending: str, what: str) -> Iterator[str]:
    if size < schema.get(f"min{ending}", size):
        yield f"{what} is less than {schema[f'min{ending}']}"
    if size > schema.get(f"max{ending}", size):
        yield f"{what} is more than {schema[f'max{ending}']}"


def _is_type(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer())


def _equals(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)

"""Conversion between items, as export lines, and shared texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from satchel.base.clock import iso, parse_time
from satchel.base.folders import home_path
from satchel.base.records import replace
from satchel.base.vocabulary import AGENT_MARK, MAIN_RUN
from satchel.keep.entries.records import STRUCTURED_TYPES
from satchel.keep.fields import metadata_in
from satchel.keep.kind import Line
from satchel.keep.patterns.records import CONFIRMED, DEFAULT_TTL_DAYS, FIRST, STATES
from satchel.keep.shared.markdown import SHAPES, SharedText
from satchel.keep.texts import storable, to_json
from satchel.redaction import redact

_HOME = re.compile(r"(?<![\w.~/-])(?:/(?:home|Users)/[^/\s\"'`:]+|[A-Za-z]:\\Users\\[^\\\s\"'`]+)(?=[/\\\s\"'`:,;)]|$)")
_RULE_ACTIVE, _RULE_ENDED = "active", "inactive"
_LIVE_SOLUTIONS = STATES[:CONFIRMED]
_FIRST_VERSION = "1.0.0"

Mask = Callable[[str], str]  # replaces machine-specific paths in a text


def mask_of(root: str | None) -> Mask:
    """Return a function that makes the project's own paths relative and hides home folders."""
    parts = [] if root in {None, "/"} else [(re.escape(f"{root}/"), ""), (rf"{re.escape(str(root))}(?![\w.-])", ".")]
    home = home_path()
    if home not in {"/", "~", root}:
        parts.append((rf"{re.escape(home)}(?=[/\s\"'`:,;)]|$)", "~"))
    own = re.compile("|".join(rf"(?<![\w.~/-])({pattern})" for pattern, _ in parts)) if parts else None
    instead = [text for _, text in parts]

    def mask(text: str) -> str:
        if own is not None:
            text = own.sub(lambda match: instead[(match.lastindex or 1) - 1], text)
        return _HOME.sub("~", text)

    return mask


def why_not(line: Line) -> str | None:
    kind = line["kind"]
    if kind == "entry" and line["type"] in STRUCTURED_TYPES:
        return f"a {line['type']} belongs to one task; share what others need as a discovery instead"
    if kind == "error_pattern" and not any(one["state"] in _LIVE_SOLUTIONS for one in line.get("solutions", ())):
        return "this error has no solution yet; report one first"
    return None


def text_of(line: Line, mask: Mask) -> SharedText:
    return _TEXTS[line["kind"]](line, mask)


def _fields(line: Line) -> dict[str, Any]:
    fields = {name: line.get(name) for name in SHAPES[line["kind"]].fields}
    return fields | ({"metadata": to_json(fields["metadata"])} if fields.get("metadata") else {})


def _decision_text(line: Line, mask: Mask) -> SharedText:
    value, rationale, version = line["value"], line.get("rationale"), line.get("version")
    is_text = isinstance(value, str)
    fields = _fields(line) | {"value": None if is_text else value}
    fields["version"] = None if version == _FIRST_VERSION else version
    sections = () if rationale is None else (rationale,)
    return _text(line, mask, line["updated_at"], fields, value if is_text else "", sections)


def _constraint_text(line: Line, mask: Mask) -> SharedText:
    has_ended = line["status"] == _RULE_ENDED
    ended, reason = line.get("deactivated_at"), line.get("reason")
    fields = _fields(line)
    if has_ended:
        ended_by = line.get("deactivated_by") or ""
        fields |= {
            "ended_by": ended_by.removesuffix(AGENT_MARK) or None,
            "reason": None if reason is None else mask(reason),
        }
    else:
        fields |= {"status": None, "reason": None}
    return _text(line, mask, ended if has_ended and ended else line["created_at"], fields, line["text"])


def _note_text(line: Line, mask: Mask) -> SharedText:
    fields = _fields(line) | {"superseded": "superseded_by" in line}
    return _text(line, mask, line["created_at"], fields, str(line[SHAPES[line["kind"]].body]))


def _pattern_text(line: Line, mask: Mask) -> SharedText:
    solutions = [one for one in line.get("solutions", ()) if one["state"] in _LIVE_SOLUTIONS]
    solutions.sort(key=lambda solution: (solution["created_at"], solution["uid"]))
    authors = [solution["agent"] for solution in solutions if solution.get("agent")]
    return _text(
        {**line, "agent": authors[0] if authors else None},
        mask,
        max([line["created_at"], *(solution["created_at"] for solution in solutions)]),
        _fields(line) | {"message": mask(line["message"]), "solutions": [solution["uid"] for solution in solutions]},
        line["example"],
        tuple(solution["solution"] for solution in solutions),
    )


_TEXTS: Mapping[str, Callable[[Line, Mask], SharedText]] = {
    "decision": _decision_text,
    "constraint": _constraint_text,
    "entry": _note_text,
    "error_pattern": _pattern_text,
    "strategy": _note_text,
}


def _text(
    line: Line, mask: Mask, at: str, fields: Mapping[str, Any], body: str, sections: tuple[str, ...] = ()
) -> SharedText:
    filled = {name: value for name, value in fields.items() if value is not None and value is not False and value != []}
    return SharedText(
        line["kind"], line["uid"], line.get("agent"), _ms(at), filled, mask(body), tuple(map(mask, sections))
    )


def _ms(moment: str) -> int:
    return parse_time(moment, 0, "time")


def secrets_in(text: SharedText) -> tuple[str, ...]:
    texts = [text.body, *text.sections, *(value for value in text.fields.values() if isinstance(value, str))]
    return tuple(dict.fromkeys(kind for one in texts for kind in redact(one).kinds))


def cleaned(text: SharedText) -> tuple[SharedText, tuple[str, ...]]:
    """Return a text without secrets and invisible characters, and notes on the changes."""
    notes: list[str] = []

    def clean(original: str) -> str:
        made = storable(original)
        notes.extend(made.notes)
        return made.text

    fields = {name: clean(value) if isinstance(value, str) else value for name, value in text.fields.items()}
    result = replace(text, fields=fields, body=clean(text.body), sections=tuple(map(clean, text.sections)))
    return (result if notes else text), tuple(dict.fromkeys(notes))


def line_from(text: SharedText, ours: Line | None) -> Line:
    """Return the import line of a shared text; ``ours`` is the existing item, which keeps its run and counters."""
    line: Line = {"kind": text.kind, "uid": text.uid}
    if ours is not None:
        shape = SHAPES[text.kind]
        omitted = _RENAMED.union(shape.fields) - {*shape.required, "solutions"}
        line |= {name: value for name, value in ours.items() if name not in omitted}
    if text.author is not None:
        line["agent"] = text.author
    line = _LINES[text.kind](text, line)
    return line | ({"metadata": metadata_in(line["metadata"])} if "metadata" in text.fields else {})


# fields that a text names otherwise
_RENAMED = frozenset(("id", "agent", "rationale", "deactivated_by", "deactivated_at"))


def _decision_line(text: SharedText, line: Line) -> Line:
    rationale = {"rationale": text.sections[0]} if text.sections else {}
    value = text.fields.get("value", text.body)
    at = iso(text.time)
    fields = {"created_at": at, **line, **text.fields, "value": value, "updated_at": at, **rationale}
    return {"version": _FIRST_VERSION, **fields}


def _constraint_line(text: SharedText, line: Line) -> Line:
    fields = dict(text.fields)
    ended_by = fields.pop("ended_by", None)
    at = iso(text.time)
    line = {"created_at": at, "status": _RULE_ACTIVE, **line, **fields, "text": text.body}
    if line["status"] == _RULE_ACTIVE:
        return {**line, "created_at": at}
    return {**line, "deactivated_at": at, **({} if ended_by is None else {"deactivated_by": ended_by})}


def _note_line(text: SharedText, line: Line) -> Line:
    at, body = iso(text.time), SHAPES[text.kind].body
    usual = {"run": MAIN_RUN} if text.kind == "entry" else {"last_seen": at}
    line = {**usual, **line, **text.fields, body: text.body, "created_at": at}
    if line.pop("superseded", False):
        line.setdefault("superseded_by", line["uid"])
    else:
        line.pop("superseded_by", None)
    return line


def _pattern_line(text: SharedText, line: Line) -> Line:
    fields = dict(text.fields)
    at = iso(text.time)
    uids = fields.pop("solutions", None) or [_uid_of(text.uid, section) for section in text.sections]
    existing = {one["uid"]: one for one in line.get("solutions", ())}
    fresh = {"confidence": FIRST, "state": _LIVE_SOLUTIONS[0], "created_at": at}
    author = {"agent": line["agent"]} if "agent" in line else {}
    shared = [
        _solution({**fresh, **author, **existing.get(uid, {}), "uid": uid}, solution, text.time)
        for uid, solution in zip(uids, text.sections, strict=True)
    ]
    others = [one for uid, one in existing.items() if uid not in set(uids)]
    begun = {"created_at": at, "last_seen": at, "ttl_days": DEFAULT_TTL_DAYS, **line}
    begun.pop("agent", None)
    return {**begun, **fields, "example": text.body, "solutions": [*others, *shared]}


def _solution(existing: Line, text: str, at: int) -> Line:
    # a changed text is later than the local one
    if existing.get("solution") == text:
        return existing
    before = _ms(existing["updated_at"]) if "updated_at" in existing else 0
    return {**existing, "solution": text, "updated_at": iso(max(at, before + 1))}


def _uid_of(pattern: str, solution: str) -> str:
    # a solution that a person added to a file gets the same uid in every clone
    import hashlib

    return hashlib.blake2b(f"{pattern}\n{solution}".encode(), digest_size=16).hexdigest()


_LINES: Mapping[str, Callable[[SharedText, Line], Line]] = {
    "decision": _decision_line,
    "constraint": _constraint_line,
    "entry": _note_line,
    "error_pattern": _pattern_line,
    "strategy": _note_line,
}

"""Markdown files of shared items: equal items give equal bytes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from satchel.base.clock import iso, parse_time
from satchel.base.errors import SatchelError
from satchel.base.records import dataclass, field
from satchel.base.vocabulary import AGENT_MARK, PRIORITIES
from satchel.keep.constraints import STATUSES as RULE_STATUSES
from satchel.keep.decisions.records import STATUSES as DECISION_STATUSES
from satchel.keep.entries.records import ENTRY_TYPES, STRUCTURED_TYPES
from satchel.keep.shared import front_matter
from satchel.keep.shared.front_matter import BrokenText, Literal, Value
from satchel.keep.texts import check_metadata

# types of front matter values
TEXT, NUMBER, NAMES, TIME, FLAG, UIDS, OBJECT = "text", "number", "names", "time", "flag", "uids", "object"

Sort = str | tuple[str, ...]

_SLUG_CHARS = 40
_LAST_TIME = 253_402_300_799_999  # the end of the year 9999
_UID = re.compile("[0-9a-f]{32}")
_CONFLICT = re.compile(r"^<{7}(?: .*)?$", re.MULTILINE)
_BEGUN = re.compile(rb"^<{7}(?:[ \r].*)?$", re.MULTILINE)
_HUNK = re.compile(
    # the lines of markers end with the name of a branch; |{7} begins what both sides had before
    rb"^<{7}(?:[ \r][^\n]*)?\n(.*?)(?:^\|{7}(?:[ \r][^\n]*)?\n.*?)?^={7}(?:[ \r][^\n]*)?\n"
    rb"(.*?)^>{7}(?:[ \r][^\n]*)?(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MARKER = r"<{7}(?: .*)?|>{7}(?: .*)?|\|{7}(?: .*)?"
_TOMBSTONE = "This item is no longer shared. Items accepted from it before stay in their stores."


class HasConflict(BrokenText):
    """Raised when a file has git's conflict markers."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Layout of the items of a kind.

    Attributes:
        fields: the type of each front matter value, or its choices, in order.
        body: the name of the text below the front matter.
        section: the heading of the sections, and ``sections`` their name; empty without any.
        named_by: the field whose words name the file; empty uses the body.
    """

    fields: Mapping[str, Sort]
    body: str
    required: tuple[str, ...] = ()
    section: str = ""
    sections: str = ""
    repeats: bool = False
    named_by: str = ""


# note types that can be shared; the others belong to one task
NOTE_TYPES = tuple(name for name in ENTRY_TYPES if name not in STRUCTURED_TYPES)

# the shared kinds, by their names in export lines
SHAPES: Mapping[str, Shape] = {
    "decision": Shape(
        {
            "key": TEXT,
            "value": NUMBER,
            "status": DECISION_STATUSES,
            "version": TEXT,
            "layer": TEXT,
            "tags": NAMES,
            "scopes": NAMES,
            "paths": NAMES,
            "metadata": OBJECT,
        },
        "value",
        required=("key", "status"),
        section="Why",
        sections="rationale",
        named_by="key",
    ),
    "constraint": Shape(
        {
            "category": TEXT,
            "priority": PRIORITIES,
            "layer": TEXT,
            "tags": NAMES,
            "paths": NAMES,
            "metadata": OBJECT,
            "status": RULE_STATUSES,
            "ended_by": TEXT,
            "reason": TEXT,
        },
        "text",
        required=("category", "priority"),
    ),
    "entry": Shape(
        {"type": NOTE_TYPES, "file": TEXT, "line": NUMBER, "last_line": NUMBER, "superseded": FLAG},
        "content",
        required=("type",),
    ),
    "error_pattern": Shape(
        {"error_type": TEXT, "message": TEXT, "hash": TEXT, "lang": TEXT, "solutions": UIDS},
        "example",
        required=("error_type", "message", "hash"),
        section="Solution",
        sections="solution",
        repeats=True,
        named_by="error_type",
    ),
    "strategy": Shape(
        {"topic": TEXT, "lang": TEXT, "framework": TEXT, "superseded": FLAG},
        "insight",
        required=("topic",),
        named_by="topic",
    ),
}

_COMMON_FIRST, _COMMON_LAST = {"kind": TEXT, "uid": TEXT}, {"author": TEXT, "time": TIME, "unshared": FLAG}


@dataclass(frozen=True, slots=True)
class SharedText:
    """An item as the repository stores it.

    Attributes:
        fields: other front matter fields that are not empty.
        body: its text; empty for a number.
        sections: the texts under headings.
        is_gone: whether it is a tombstone: the item is no longer shared.
    """

    kind: str
    uid: str
    author: str | None
    time: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    sections: tuple[str, ...] = ()
    is_gone: bool = False

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(render(self), digest_size=16).digest()

    @property
    def title(self) -> str:
        name = self.fields.get(SHAPES[self.kind].named_by)
        return " ".join((str(name) if name else self.body).split())[:80]


def file_name(text: SharedText) -> str:
    """Return the name of an item's file: kind, first words and start of the uid, in lower case."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text.title).encode("ascii", "ignore").decode("ascii").lower()
    words = re.sub("[^a-z0-9]+", "-", plain).strip("-")
    if len(words) > _SLUG_CHARS:
        words = words[: _SLUG_CHARS + 1].rpartition("-")[0] or words[:_SLUG_CHARS]
    return "-".join(part for part in (text.kind.replace("_", "-"), words, text.uid[:8]) if part) + ".md"


def render(text: SharedText) -> bytes:
    shape = SHAPES[text.kind]
    front: dict[str, Any] = {"kind": text.kind, "uid": text.uid}
    if not text.is_gone:
        for name, sort in shape.fields.items():
            value = text.fields.get(name)
            if not _is_empty(value):
                front[name] = _front_value(value, sort)
    if text.author is not None:
        front["author"] = text.author.removesuffix(AGENT_MARK)  # each store marks agents by its own persons
    front["time"] = Literal(iso(text.time))
    if text.is_gone:
        front["unshared"] = Literal("true")
        return f"{front_matter.write(front)}\n{_TOMBSTONE}\n".encode()
    parts = [_escaped(_trimmed(text.body), shape)]
    for section in text.sections:
        parts += [f"## {shape.section}", _escaped(_trimmed(section), shape)]
    body = "\n\n".join(part for part in parts if part)
    return (front_matter.write(front) + (f"\n{body}\n" if body else "")).encode()


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, (str, list, tuple)) and not value)


def _front_value(value: Any, sort: Sort) -> Any:
    if sort in {NAMES, UIDS}:
        return [*value]
    if sort == FLAG:
        return Literal("true")
    return Literal(repr(value)) if sort == NUMBER else value


def parse(data: bytes) -> SharedText:
    text = _decoded(data)
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        line = text.count("\n", 0, conflict.start()) + 1
        raise HasConflict(
            line, "unresolved merge conflict between <<<<<<< and >>>>>>>: satchel sync --resolve ours, theirs or both"
        )
    values, places, lines = front_matter.read(text)
    kind = values.get("kind")
    shape = SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None or not isinstance(kind, str):
        raise BrokenText(places.get("kind", 1), f"kind is none of {', '.join(SHAPES)}")
    read = {}
    sorts = {**_COMMON_FIRST, **shape.fields, **_COMMON_LAST}
    for name, value in values.items():
        if name not in sorts:
            raise BrokenText(places[name], f"a file of this kind has no {name}")
        read[name] = _read_front(value, sorts[name], name, places[name])
    below = text.split("\n")[lines:]
    # merging a tombstone with an edit may leave parts of either
    uid, is_gone = read.get("uid"), read.pop("unshared", False) or _trimmed("\n".join(below)) == _TOMBSTONE
    if uid is None or not _UID.fullmatch(uid):
        raise BrokenText(places.get("uid", 1), "uid is missing or not 32 hexadecimal digits in lower case")
    for name in ("time", *(() if is_gone else shape.required)):
        if name not in read:
            raise BrokenText(lines, f"the front matter has no {name}")
    author, time = read.pop("author", None), read.pop("time")
    fields = {name: value for name, value in read.items() if name not in _COMMON_FIRST and not _is_empty(value)}
    if is_gone:
        return SharedText(kind, uid, author or None, time, is_gone=True)
    body, sections = _read_body(below, shape, lines + 1)
    _check_body(kind, fields, body, sections, lines)
    return SharedText(kind, uid, author or None, time, fields, body, sections)


def _check_body(kind: str, fields: Mapping[str, Any], body: str, sections: tuple[str, ...], lines: int) -> None:
    if not body and "value" not in fields:
        raise BrokenText(lines, "there is no text below the front matter")
    if body and "value" in fields:
        raise BrokenText(lines, "there is a value in the front matter and a text below it; one of them is too much")
    if kind == "error_pattern" and len(fields.get("solutions", ())) not in {0, len(sections)}:
        raise BrokenText(
            lines, f"there are {len(sections)} solutions, not {len(fields['solutions'])} as solutions says"
        )


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BrokenText(data.count(b"\n", 0, error.start) + 1, "this is not UTF-8") from None
    if "\0" in text:
        raise BrokenText(text.count("\n", 0, text.index("\0")) + 1, "there is a NUL in this line")
    return text


def _read_front(value: Value, sort: Sort, name: str, line: int) -> Any:
    if sort in {NAMES, UIDS}:
        names = [value] if isinstance(value, str) else value
        if sort == UIDS and not all(map(_UID.fullmatch, names)):
            raise BrokenText(line, f"{name} holds something else than uids")
        return names
    if not isinstance(value, str):
        raise BrokenText(line, f"{name} is a list, not one value")
    if isinstance(sort, tuple):
        if value not in sort:
            raise BrokenText(line, f"{name} is none of {', '.join(sort)}")
        return value
    if sort == OBJECT:
        try:
            return check_metadata(json.loads(value), name)[0]
        except (ValueError, SatchelError):
            raise BrokenText(line, f"{name} is no JSON object of texts, numbers, true and false") from None
    if sort == FLAG:
        if value not in {"true", "false"}:
            raise BrokenText(line, f"{name} is neither true nor false")
        return value == "true"
    if sort == NUMBER:
        try:
            number = float(value) if re.search("[.e]", value) else int(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise BrokenText(line, f"{name} is not a number")
        return number
    if sort == TIME:
        try:
            moment = parse_time(value, 0, name) if value[:4].isdigit() else -1
            if 0 <= moment <= _LAST_TIME:
                return moment
        except SatchelError:
            pass
        raise BrokenText(line, f"{name} is not a time such as 2026-11-21T09:00:00.000Z")
    return value


def _read_body(lines: list[str], shape: Shape, first: int) -> tuple[str, tuple[str, ...]]:
    heading = f"## {shape.section}" if shape.section else None
    texts: list[list[str]] = [[]]
    for number, line in enumerate(lines, start=first):
        if heading is not None and line.rstrip() == heading:
            if len(texts) == 2 and not shape.repeats:
                raise BrokenText(number, f"there is a second {heading}")
            texts.append([])
        else:
            texts[-1].append(line)
    body, *sections = (_unescaped(_trimmed("\n".join(text)), shape) for text in texts)
    return body, tuple(section for section in sections if section or shape.repeats)


def _trimmed(text: str) -> str:
    return text.strip("\n").rstrip()


def _special(shape: Shape) -> str:
    heading = rf"|## {re.escape(shape.section)}\s*" if shape.section else ""
    return rf"(?:{_MARKER}{heading})$"


def _escaped(text: str, shape: Shape) -> str:
    # lines that would be read as markup get a backslash, which Markdown does not show
    return re.sub(rf"^(?=\\*{_special(shape)})", lambda _: "\\", text, flags=re.MULTILINE)


def _unescaped(text: str, shape: Shape) -> str:
    return re.sub(rf"^\\(?=\\*{_special(shape)})", "", text, flags=re.MULTILINE)


def sides(data: bytes) -> tuple[bytes, bytes] | None:
    """Return both branches' versions of a file with conflict markers; None if they are incomplete."""
    if _BEGUN.search(_HUNK.sub(b"", data)):
        return None
    return _HUNK.sub(rb"\1", data), _HUNK.sub(rb"\2", data)

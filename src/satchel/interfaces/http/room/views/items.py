"""The search over everything that a project keeps, and the page of one item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from satchel.base.records import NamedTuple
from satchel.base.vocabulary import LIVENESS
from satchel.interfaces.http.room.actions import offers
from satchel.interfaces.http.room.asking import Asked, Page, View, as_text
from satchel.interfaces.http.room.formatting import ROOM, WHOLE, fitting
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import Field
from satchel.interfaces.text.json import fields_of
from satchel.keep.entries.records import Entry
from satchel.keep.items import Item
from satchel.keep.packages.records import PackageContent

_RESULTS = 20
_TEXTS = ("content", "message", "text", "value", "insight", "description", "rationale", "reason", "error")
_SOLUTION = "solution"
_KEPT = 5
"""So many states that an item had elsewhere are shown, the latest."""

NAMES = {
    "entry": ("note", "notes"),
    "decision": ("decision", "decisions"),
    "constraint": ("rule", "rules"),
    "message": ("message", "messages"),
    "error_pattern": ("error", "errors"),
    "package": ("package", "packages"),
    "strategy": ("strategy", "strategies"),
    "file_change": ("edit", "edits"),
}
"""What people call one and several of each kind that a search chooses from."""

_FIELDS = (
    Field("kind", "Kind", listing.choices(())),
    Field("author", "Agent"),
    Field("status", "State", (("", "live"), *listing.choices(LIVENESS[1:]))),
)

_LABELS = {
    "superseded_by": "replaced by",
    "reply_to": "answers",
    "sender": "from",
    "pattern": "error",
    "last_seen": "last seen",
    "test_status": "tests",
    "next_step": "next",
    "attempted": "tried",
    "blockers": "blocked by",
    "created_at": "written",
}
"""What a field is called where not by its name."""

_INNER = frozenset({"id", "uid", "seq", "hash", "score", "notes", "ttl_days", "kind"})
"""Fields that tell a person nothing; the twin has them."""

_LISTED = {
    "run_id": ("/notes", "run"),
    "task_id": ("/notes", "task"),
    "loop_id": ("/notes", "loop"),
    "file": ("/notes", "file"),
    "topic": ("/strategies", "topic"),
    "category": ("/rules", "category"),
    "agent": ("/search", "author"),
    "from": ("/messages", "agent"),
    "error_type": ("/errors", "type"),
}
"""The list of what has the same value in a field, and its filter there."""

_YES = {"passed": ("FAILED", "PASSED")}
"""How yes and no are said of a field where not so."""

_REFS = frozenset({"superseded_by", "reply_to", "thread", "pattern", "answered_by"})


class Fact(NamedTuple):
    """What an item says beside its text.

    Attributes:
        at: a time in milliseconds UTC, instead of a text.
        ref: the short id of an item that it names, instead of a text.
        leads: the address of a list of what has the same, or None.
    """

    label: str
    text: str = ""
    at: int | None = None
    ref: str | None = None
    leads: str | None = None


def search(asked: Asked) -> Page:
    """Return the results of a search over everything that a project keeps."""
    query, syntax = asked.given.get("q", "").strip(), asked.given.get("syntax", "natural")
    chosen, offset = listing.given(asked, _FIELDS), asked.number("offset", 0)
    filters = listing.passed(_FIELDS, chosen, kind="kinds")
    found = asked.looking.finding.search(query or None, syntax=syntax, limit=_RESULTS, offset=offset, **filters)
    given = {"q": query, "syntax": syntax, **chosen}

    begun = " OR ".join(f"{word}*" for word in query.split() if word.isalnum())

    def at(**changed: str | int) -> str:
        return f"{asked.here}/search?{urlencode({name: value for name, value in (given | changed).items() if value})}"

    context = {
        "query": query,
        "syntax": syntax,
        "found": found,
        "chosen": chosen,
        "fields": [field for field in _FIELDS if field.name != "kind"],
        "kinds": [("", "everything", at(kind="")), *((kind, name, at(kind=kind)) for kind, (_, name) in NAMES.items())],
        "names": {kind: name for kind, (name, _) in NAMES.items()},
        "rest": None if found.next_offset is None else at(offset=found.next_offset),
        "back": at(offset=max(0, offset - _RESULTS)) if offset else None,
        "anywhere": at(kind="", author="", status="all") if chosen else at(status="all"),
        "prefixes": at(q=begun, syntax="operators") if begun else None,
    }
    title = f"{query} in {asked.place.name}" if query else f"Everything in {asked.place.name}"
    return Page(title, "search.html", context, fields_of(found, "results"), asked.place)


def item(asked: Asked) -> Page:
    """Return one item, whole; a long one in parts."""
    offset = asked.number("offset", 0)
    opened = asked.looking.items.read([asked.path["ref"]])
    one = opened.items[0]
    name, text, facts = _said(asked, one)
    part = fitting(text[offset : offset + WHOLE], ROOM)
    here = f"{asked.here}/items/{one.ref}"
    history = None if one.kind == _SOLUTION else asked.looking.room.history(one.ref)
    context = {
        "item": one,
        "kind": NAMES.get(one.kind, (one.kind,))[0],
        "name": name,
        "text": part,
        "before": f"{here}?offset={max(0, offset - WHOLE)}" if offset else None,
        "after": f"{here}?offset={offset + len(part)}" if len(text) > offset + len(part) else None,
        "characters": len(text),
        "facts": facts,
        "history": history,
        "kept": [(state, as_text(fields_of(state.line))) for state in one.kept_states[:_KEPT]],
        "citation": one.record.citation if isinstance(one.record, Entry) else None,
        "can": offers.of_item(asked, one),
        "message": one.record if one.kind == "message" else None,
        "now": listing.now(asked),
    }
    data = {"items": fields_of(opened.items), "notes": opened.notes, "history": history}
    return Page(f"{one.ref} in {asked.place.name}", "item.html", context, data, asked.place)


def _said(asked: Asked, one: Item) -> tuple[str | None, str, list[Fact]]:
    """Return what the text of an item is called, the text, and the facts about it."""
    record: Any = one.record
    fields: dict[str, Any] = fields_of(record)
    if isinstance(record, PackageContent):
        # what it holds is the text, and the facts are those of the package
        fields = {"text": fields.get("text"), "reason": fields.get("reason"), **fields_of(record.package)}
        record = record.package
    # the first text that an item has is what it says; the others are facts about it
    name = next((name for name in _TEXTS if isinstance(fields.get(name), (str, dict, list)) and fields[name]), None)
    said = None if name is None else fields.pop(name)
    text = "" if said is None else _lines(said) if isinstance(said, dict) else as_text(said)
    facts = [
        _fact(asked, key, value, getattr(record, key, None))
        for key, value in fields.items()
        if key not in _INNER and value not in (None, [], {}, "")
    ]
    return name, text, facts


def _fact(asked: Asked, key: str, value: Any, raw: object) -> Fact:
    label = _LABELS.get(key) or key.removesuffix("_at").removesuffix("_id").replace("_", " ")
    if isinstance(raw, int) and not isinstance(raw, bool) and (key.endswith("_at") or key == "last_seen"):
        return Fact(label, at=raw)
    if key in _REFS:
        return Fact(label, ref=f"m{value}" if isinstance(value, int) else str(value))
    path, field = _LISTED.get(key, ("", ""))
    leads = f"{asked.here}{path}?{urlencode({field: value})}" if path else None
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return Fact(label, ", ".join(value))
    return Fact(label, _lines(value) if isinstance(value, dict) else as_text(value), leads=leads)


def _lines(fields: Mapping[str, Any]) -> str:
    """Return the fields of an object as lines, each behind what it is called."""
    lines = []
    for key, value in fields.items():
        label = _LABELS.get(key, key.replace("_", " "))
        if isinstance(value, bool):
            lines.append(f"{label}: {_YES.get(key, ('no', 'yes'))[value]}")
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            lines += [f"{label}:", *(f"- {part}" for part in value)]
        else:
            lines.append(f"{label}: {as_text(value)}")
    return "\n".join(lines)


PAGES: Mapping[str, View] = {"/search": search, "/items/{ref}": item}

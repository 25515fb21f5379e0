"""The page of one item, and the actions on it: confirm, retract, correct, pin and delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.base.records import NamedTuple
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.web.pages.memory import KEPT, flags_of, row_of, title_of
from satchel.interfaces.web.rendering import NAMES, ROOM, WHOLE, brief, fit
from satchel.interfaces.web.request import (
    WITHDRAWN,
    Done,
    EditConflict,
    Page,
    PageRequest,
    action,
    as_text,
    edit_conflict,
    form_page,
    page,
)
from satchel.interfaces.web.revisions import revisions_of
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import DEFAULT_VERSION, Decision
from satchel.keep.entries.records import STRUCTURED_TYPES, Entry
from satchel.keep.items import Item
from satchel.keep.packages.records import PackageContent
from satchel.keep.pins import PINNED
from satchel.keep.shared.markdown import SHAPES

_TEXTS = ("example", "content", "message", "text", "value", "insight", "description", "rationale", "reason", "error")
_EMPTY: tuple[object, ...] = (None, "", [], {})
_HEADINGS = ("key", "error_type", "topic")
_SOLUTION = "solution"
_MOST_RELATED = 5
# The latest states of an item elsewhere that are shown.
_STATES = 5

_COPIES = (
    "Deleted, but backups, the shared text or the write-ahead log may contain copies; "
    "satchel backup --list prints the backups"
)

# The labels of fields that are not their names.
_LABELS = {
    "superseded_by": "replaced by",
    "reply_to": "answers",
    "sender": "from",
    "pattern": "error",
    "test_status": "tests",
    "next_step": "next",
    "attempted": "tried",
    "blockers": "blocked by",
    "created_at": "written",
    "agent": "by",
    "occurrences": "times met",
    "for_person": "only for",
}

# Fields without meaning to a person, or shown apart, as by a chip; the JSON has them.
_HIDDEN = frozenset(
    "id uid seq hash score notes ttl_days kind solutions rationale active unconfirmed confirmed".split()
)

# The words for false and true, where not no and yes.
_BOOLEANS = {"passed": ("FAILED", "PASSED")}

_REFS = frozenset({"superseded_by", "reply_to", "thread", "pattern", "answered_by"})


class Fact(NamedTuple):
    """A field of an item, apart from its text.

    Attributes:
        at: a time in milliseconds UTC, instead of a text.
        ref: the short id of an item, instead of a text.
    """

    label: str
    text: str = ""
    at: int | None = None
    ref: str | None = None


@page("/items/{ref}")
def item(request: PageRequest) -> Page:
    """Return an item, a long one in parts, with its history, uses and actions."""
    first = request.number("offset", 0)
    result = request.reader.items.read([request.path["ref"]])
    one = result.items[0]
    has_text, text, facts = _content(one)
    part = fit(text[first : first + WHOLE], ROOM // 2 if one.kind == "message" else ROOM)
    here, room = request.item_page(one.ref), request.reader.room
    history = None if one.kind == _SOLUTION else room.history(one.ref)
    revisions = revisions_of(request, one.record) if isinstance(one.record, Decision) else None
    error = room.error(one.ref) if one.kind == "error_pattern" else None
    thread = room.thread(one.ref) if one.kind == "message" else None
    related = [] if one.kind == _SOLUTION else _related(request, one)
    title = title_of(one.record)
    is_draft = isinstance(one.record, Decision) and one.record.status == "draft"
    needs = request.satchel.room.needs().items if is_draft else ()
    data = {"items": result.items, "notes": result.notes, "history": history, "error": error, "thread": thread}
    context = data | {
        "item": one,
        "draft": next((need for need in needs if need.kind == "draft" and need.ref == one.ref), None),
        "title": title,
        "heading": _heading(one, title),
        "row": row_of(request, one, None if one.kind == _SOLUTION else flags_of(request, [one.ref]).get(one.ref)),
        "has_text": has_text,
        "text": part,
        "before": f"{here}?offset={max(0, first - WHOLE)}" if first else None,
        "after": f"{here}?offset={first + len(part)}" if len(text) > first + len(part) else None,
        "characters": len(text),
        "facts": facts,
        "revisions": revisions,
        "related": related,
        "states": [(state, as_text(fields_of(state.line))) for state in one.kept_states[:_STATES]],
        "citation": one.record.citation if isinstance(one.record, Entry) else None,
        "allowed": _allowed(request, one),
    }
    return Page(brief(title, 80), "item.html", context, data, "/memory", thread.messages if thread else ())


@page("/items/{ref}/edit")
def edit(request: PageRequest) -> Page:
    """Return the form that changes an item.

    Raises:
        Conflict: no form changes it.
    """
    record = request.record(request.path["ref"])
    fields = _editable(record)
    if fields is None:
        raise Conflict(f"{request.path['ref']} cannot be changed here", "Decisions, rules and text notes can")
    back = f"/items/{record.ref}"
    path, button = ("/decisions", "Decide") if isinstance(record, Decision) else (f"{back}/correct", "Save")
    title = f"Change {title_of(record)}"
    return form_page(request, title, path, button, fields, back=back, data=fields)


@page("/items/{ref}/forget")
def forget_form(request: PageRequest) -> Page:
    """Return what deleting an item would remove, with the form that does it."""
    _refuse_token(request)
    preview = request.satchel.housekeeping.forget(request.path["ref"], dry_run=True)
    here, title = f"/items/{preview.ref}", f"Delete {preview.ref} permanently"
    files = (("Copies that remain", preview.still_in), ("Backups that cannot be read", preview.unreadable))
    texts = [("Text", as_text(preview.text)), *((what, "\n".join(map(str, some))) for what, some in files if some)]
    explained = ("It goes with its history and the record of its deliveries. This cannot be undone; retracting can.",)
    path, fields = f"{here}/forget", {"confirm": ""}
    return form_page(
        request, f"{title}?", path, title, fields, explained=explained, texts=texts, back=here, data=preview
    )


@action("/items/{ref}/forget", "Deleted permanently", other=_COPIES)
def forget(request: PageRequest) -> Done:
    _refuse_token(request)
    ref = request.path["ref"]
    if request.values.get("confirm", "").strip().lower() != ref:
        raise InvalidInput(f"the text is not {ref}; nothing was deleted", f"Type {ref} to delete it")
    result = request.satchel.housekeeping.forget(ref)
    remains = result.still_in or result.unreadable or not result.wal_emptied or result.out_of_reach
    return Done(to=f"{request.here}/", is_other=bool(remains))


@action("/items/{ref}/retract", "Retracted", "/undo")
def retract(request: PageRequest) -> Done:
    reason = request.text("reason", "the reason is missing", "Enter why this is no longer true")
    result = request.satchel.corrections.retract(request.path["ref"], reason)
    if result.already is not None:
        raise Conflict(f"{result.ref} was already {result.already}", "Nothing was changed")
    return request.done(result.ref, _undo(result.correction))


@action("/items/{ref}/confirm", "Confirmed", "/undo")
def confirm(request: PageRequest) -> Done:
    result = request.satchel.corrections.confirm(request.path["ref"])
    if result.correction is None:
        raise Conflict("; ".join(result.notes), "Nothing was changed")
    return request.done(result.ref, _undo(result.correction))


@action("/items/{ref}/correct", "Changed", "/undo", other="Saved", undo_other="/items/{ref}/retract")
def correct(request: PageRequest) -> Done:
    """Replace a note or rule, unless someone else has replaced or retracted it since the form was made."""
    ref, satchel, text = request.path["ref"], request.satchel, request.values.get("text", "")
    record = request.record(ref)
    old = request.values.get("supersedes", ref) or None
    new: Entry | Constraint
    try:
        if isinstance(record, Entry):
            new = satchel.entries.write(
                record.type, text, task_id=record.task_id, loop_id=record.loop_id, run_id=record.run_id, supersedes=old
            )
        elif isinstance(record, Constraint):
            new = satchel.constraints.add(
                text,
                category=request.values.get("category", record.category),
                priority=request.values.get("priority", record.priority),
                layer=record.layer,
                tags=request.names("tags", record.tags),
                paths=record.paths,
                metadata=record.metadata,
                supersedes=old,
            )
        else:
            raise InvalidInput(f"{ref} cannot be replaced here", "Notes (e) and rules (c) can")
    except Conflict as error:
        if old is None or not isinstance(record, (Entry, Constraint)):
            raise
        raise _replacement_conflict(request, record, error) from None
    if old is None:
        return request.done(new.ref, WITHDRAWN, is_other=True)
    end = satchel.corrections.ended(old)
    return request.done(new.ref, _undo(None if end is None else end.id))


@action("/undo", "Undone")
def undo(request: PageRequest) -> Done:
    """Undo a correction of the person, if it is their last."""
    result = request.satchel.corrections.undo(correction=request.number("correction"))
    return request.done(result.ref)


@action("/items/{ref}/pin", "Pinned: every briefing has it", "/items/{ref}/unpin", other="Already pinned")
def pin(request: PageRequest) -> Done:
    result = request.satchel.pins.pin(request.path["ref"])
    return request.done(result.ref, is_other=result.already)


@action("/items/{ref}/unpin", "Unpinned", "/items/{ref}/pin", other="Not pinned")
def unpin(request: PageRequest) -> Done:
    result = request.satchel.pins.unpin(request.path["ref"])
    return request.done(result.ref, is_other=result.already)


def _allowed(request: PageRequest, one: Item) -> frozenset[str]:
    record = one.record
    allowed = {"forget"} if request.login.token is None else set()
    if getattr(record, "superseded_by", None) is not None or not getattr(record, "active", True):
        return frozenset(allowed)
    if one.kind in PINNED:
        allowed.add("unpin" if any(note.startswith("pinned by ") for note in one.notes) else "pin")
    if one.kind in SHAPES and request.projects.beside_files(request.project, request.login) is not None:
        allowed.add("share")
    if one.kind in {"entry", "constraint", "strategy"}:
        allowed.add("retract")
    if _editable(record) is not None:
        allowed.add("correct")
    return frozenset(allowed)


def _editable(record: object) -> dict[str, object] | None:
    if isinstance(record, Decision):
        fields = {name: getattr(record, name) for name in ("key", "value", "rationale")}
        names = {name: ", ".join(getattr(record, name)) for name in ("tags", "scopes")}
        return {**fields, **names, "status": record.status, "revision": record.revision}
    if isinstance(record, Constraint):
        fields = {"text": record.text, "category": record.category, "tags": ", ".join(record.tags)}
        return {**fields, "priority": record.priority}
    if isinstance(record, Entry) and record.type not in STRUCTURED_TYPES:
        return {"text": record.content}
    return None


def _refuse_token(request: PageRequest) -> None:
    if request.login.token is not None:
        raise Refused(
            "a login by a token cannot delete items, since that rewrites the whole store, with its other projects",
            "Log in with `satchel open` on the machine with the store, or retract the item",
        )


def _replacement_conflict(request: PageRequest, record: Entry | Constraint, error: Conflict) -> EditConflict:
    end = request.reader.corrections.ended(record.ref)
    heir = None if end is None else end.heir_ref
    theirs = {error.problem: ""}
    button = f"Write yours as a new {'note' if isinstance(record, Entry) else 'rule'}"
    if heir is not None:
        other = request.record(heir)
        text = other.content if isinstance(other, Entry) else getattr(other, "text", "")
        theirs, button = {f"Text of {heir}": as_text(text)}, f"Replace {heir} by yours"
    path = f"/items/{heir or record.ref}/correct"
    return edit_conflict(request, f"{record.ref} is no longer valid", theirs, path, button, supersedes=heir or "")


def _related(request: PageRequest, one: Item) -> list[tuple[str, str, str]]:
    results = request.reader.finding.search(like=one.ref, kinds=KEPT, limit=_MOST_RELATED).results
    items = request.reader.items.read([other.ref for other in results]).items if results else ()
    return [(other.ref, NAMES.get(other.kind, (other.kind,))[0].lower(), title_of(other.record)) for other in items]


def _undo(correction: int | None) -> dict[str, str | int]:
    return {} if correction is None else {"correction": correction}


def _heading(one: Item, title: str) -> str:
    """Return the name of an item, or its kind and id: its text is below. A package is known by its summary."""
    if one.kind == "package":
        return title
    names = (getattr(one.record, name, None) for name in _HEADINGS)
    return next(filter(None, names), f"{NAMES.get(one.kind, (one.kind,))[0]} {one.ref}")


def _content(one: Item) -> tuple[bool, str, list[Fact]]:
    record: Any = one.record
    fields: dict[str, Any] = fields_of(record)
    if isinstance(record, PackageContent):
        fields = {"text": fields.get("text"), "reason": fields.get("reason"), **fields_of(record.package)}
        record = record.package
    # the first of the texts is the item's; the others are facts
    name = next((name for name in _TEXTS if fields.get(name) not in _EMPTY), None)
    value = None if name is None else fields.pop(name)
    if name == "example":  # it begins with the message
        fields.pop("message", None)
    if fields.get("version") == DEFAULT_VERSION:
        del fields["version"]
    text = "" if value is None else _lines(value) if isinstance(value, dict) else as_text(value)
    hidden = {*_HIDDEN, *_HEADINGS}
    # an item that was retracted is superseded by itself
    hidden |= {"superseded_by"} if fields.get("superseded_by") == one.ref else set()
    if getattr(record, "is_rejected", False):
        fields = {"rejected by" if key == "agent" else key: value for key, value in fields.items()}
    facts = [
        _fact(key, value, getattr(record, key, None))
        for key, value in fields.items()
        if key not in hidden and value not in _EMPTY
    ]
    return name is not None, text, facts


def _fact(key: str, value: Any, raw: object) -> Fact:
    label = _LABELS.get(key) or key.removesuffix("_at").removesuffix("_id").replace("_", " ")
    if isinstance(raw, int) and not isinstance(raw, bool) and (key.endswith("_at") or key == "last_seen"):
        return Fact(label, at=raw)
    if key in _REFS:
        return Fact(label, ref=f"m{value}" if isinstance(value, int) else str(value))
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return Fact(label, ", ".join(value))
    return Fact(label, _lines(value) if isinstance(value, dict) else as_text(value))


def _lines(fields: Mapping[str, Any]) -> str:
    lines = []
    for key, value in fields.items():
        label = _LABELS.get(key, key.replace("_", " "))
        if isinstance(value, bool):
            lines.append(f"{label}: {_BOOLEANS.get(key, ('no', 'yes'))[value]}")
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            lines += [f"{label}:", *(f"- {part}" for part in value)]
        else:
            lines.append(f"{label}: {as_text(value)}")
    return "\n".join(lines)

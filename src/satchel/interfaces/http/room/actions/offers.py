"""Which actions the page of an item offers, and the form that corrects one."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import Decision
from satchel.keep.entries.records import STRUCTURED_TYPES, Entry
from satchel.keep.items import Item
from satchel.keep.pins import PINNED
from satchel.keep.shared.markdown import SHAPES


def of_item(asked: Asked, item: Item) -> frozenset[str]:
    """Return the names of the actions that an item is offered for."""
    record = item.record
    can = {"forget"} if asked.login.token is None else set()
    if getattr(record, "superseded_by", None) is not None or not getattr(record, "active", True):
        return frozenset(can)
    if item.kind in PINNED:
        can.add("unpin" if any(note.startswith("pinned by ") for note in item.notes) else "pin")
    if item.kind in SHAPES and asked.projects.beside_files(asked.place, asked.login) is not None:
        can.add("share")
    if item.kind in {"entry", "constraint", "strategy"}:
        can |= {"retract"} if item.kind == "strategy" else {"retract", "confirm"}
    if _begin(record) is not None:
        can |= {"correct", "promote"} if item.kind == "entry" else {"correct"}
    return frozenset(can)


def edit(asked: Asked) -> Page:
    """Return the form that replaces what an item says.

    Raises:
        Conflict: it is not replaced by a form.
    """
    item = asked.looking.items.read([asked.path["ref"]]).items[0]
    begin = _begin(item.record)
    if begin is None:
        raise Conflict(f"{item.ref} is not corrected here", "Decisions, rules and notes that are text are")
    path = "/decisions" if isinstance(item.record, Decision) else f"/items/{item.ref}/correct"
    context = {"path": path, "begin": begin, "ref": item.ref}
    return Page(f"Correct {item.ref}", "edit.html", context, begin, asked.place)


PAGES: Mapping[str, View] = {"/items/{ref}/edit": edit}


def _begin(record: object) -> dict[str, object] | None:
    """Return what the form that replaces an item begins with; None where no form does."""
    if isinstance(record, Decision):
        shown = {name: getattr(record, name) for name in ("key", "value", "rationale", "status")}
        return {**shown, "revision": record.revision}
    if isinstance(record, Constraint):
        return {"text": record.text, "category": record.category, "priority": record.priority}
    if isinstance(record, Entry) and record.type not in STRUCTURED_TYPES:
        return {"text": record.content}
    return None

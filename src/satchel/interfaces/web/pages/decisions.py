"""Decisions, and the revisions of one; setting one, promoting a note to one, and undoing both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import TypeVar

from satchel.base.errors import Conflict, NotFound
from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.web.listing import PER_PAGE, QUERY, Field, arguments, choices, list_page, offset
from satchel.interfaces.web.request import Action, ActionResult, Notice, Page, PageRequest, View, edit_conflict
from satchel.keep.decisions.records import STATUSES, Decision, DecisionState, Value

Result = TypeVar("Result")

_FIELDS = (
    QUERY,
    Field("status", "Status", choices(STATUSES, "any")),
    Field("layer", "Layer", choices(LAYERS, "any")),
    Field("tag", "Tag"),
    Field("scope", "Scope"),
    Field("author", "Set by"),
)
_STATES = 10
"""Revisions on a page."""

_KEY = ("the key is missing", "Enter a key, such as auth.method")

State = Decision | DecisionState


class Revision(NamedTuple):
    """One revision of a decision.

    Attributes:
        value: the new value; None where it stayed.
        rationale: the new reason; None where the old one stayed.
        set_at: milliseconds UTC.
        fields: the name, the old and the new text of whatever else changed.
    """

    number: int
    agent: str | None
    value: str | None
    rationale: str | None
    set_at: int
    fields: tuple[tuple[str, str, str], ...]


def decisions(request: PageRequest) -> Page:
    """Return the decisions, the newest first."""
    filters = arguments(request, _FIELDS, tag="tags", scope="scopes")
    part = request.reader.decisions.find(**filters, limit=PER_PAGE, offset=offset(request))
    return list_page(request, "Decisions", "decisions.html", "/decisions", _FIELDS, part)


def decision(request: PageRequest) -> Page:
    """Return a decision with its revisions, the latest first."""
    item = request.reader.items.read([request.path["ref"]]).items[0]
    if not isinstance(item.record, Decision):
        raise NotFound(f"{item.ref} is not a decision", "Open one from the list of decisions")
    first = offset(request)
    # one state more than is shown, to compare the last one with; the current state is not in the history
    limit, skipped = (_STATES + 1, first - 1) if first else (_STATES, 0)
    details = request.reader.decisions.get(item.record.key, limit=limit, offset=skipped)
    current, history = details.decision, details.history
    states: list[State] = [*([] if first else [current]), *history.items]
    revisions = tuple(
        _revision(state, before)
        for state, before in zip_longest(states[:_STATES], states[1 : _STATES + 1])
        if state is not None
    )
    part = Part(revisions, history.total + 1, first, _STATES)
    path, more = f"/decisions/{current.ref}", {"decision": current, "item": item}
    return list_page(request, current.key, "decision.html", path, (), part, details, **more)


def decide(request: PageRequest) -> ActionResult:
    """Set a decision, unless it has changed since the form was made."""
    key = request.text("key", *_KEY)
    before = _load(request, key)
    decision = _set_unchanged(
        request,
        "/decisions",
        lambda revision: request.satchel.decisions.set(
            key,
            _value(request, before),
            status=request.values.get("status") or "active",
            rationale=request.values.get("rationale", ""),
            expected_revision=revision,
        ),
    )
    page = request.item_page(decision.ref)
    if before is not None and decision.revision == before.revision:
        return ActionResult("decided-before", decision.ref, page)
    return ActionResult("decided", decision.ref, page, {"revision": decision.revision})


def promote(request: PageRequest) -> ActionResult:
    """Replace a note by a decision."""
    key, ref = request.text("key", *_KEY), request.path["ref"]
    promotion = _set_unchanged(
        request,
        f"/items/{ref}/promote",
        lambda revision: request.satchel.room.promote(
            ref,
            key,
            request.values.get("value") or None,
            rationale=request.values.get("rationale", ""),
            expected_revision=revision,
        ),
    )
    decision = promotion.decision
    undo = {"revision": decision.revision, "correction": promotion.correction}
    return ActionResult("promoted", decision.ref, request.item_page(decision.ref), undo)


def take_back(request: PageRequest) -> ActionResult:
    """Undo the person's change of a decision, unless someone else has changed it since."""
    decision = request.satchel.decisions.take_back(request.path["ref"], request.number("revision"))
    return ActionResult("restored", decision.ref, request.item_page(decision.ref))


def take_back_promotion(request: PageRequest) -> ActionResult:
    """Restore the note of a promotion, and undo the change of the decision."""
    undone = request.satchel.room.take_back_promotion(
        request.path["ref"], revision=request.number("revision"), correction=request.number("correction")
    )
    return ActionResult("note-restored", undone.note, request.item_page(undone.note))


PAGES: Mapping[str, View] = {"/decisions": decisions, "/decisions/{ref}": decision}
ACTIONS: Mapping[str, Action] = {
    "/decisions": decide,
    "/items/{ref}/promote": promote,
    "/items/{ref}/take-back": take_back,
    "/items/{ref}/take-back-promotion": take_back_promotion,
}
NOTICES: Mapping[str, Notice] = {
    "decided": Notice("Decided", "/items/{ref}/take-back"),
    "decided-before": Notice("Already decided like this; nothing was changed"),
    "promoted": Notice("The note is now a decision", "/items/{ref}/take-back-promotion"),
    "restored": Notice("Undone: the decision is as it was before, or deprecated if it was new"),
    "note-restored": Notice("Undone: the note is valid again"),
}


def _revision(state: State, before: State | None) -> Revision:
    set_at = state.updated_at if isinstance(state, Decision) else state.set_at
    if before is None:
        return Revision(state.revision, state.agent, str(state.value), state.rationale, set_at, ())
    fields = tuple(
        (name, old, new)
        for name in ("status", "version", "layer", "tags", "scopes", "paths")
        if (old := _text(getattr(before, name))) != (new := _text(getattr(state, name)))
    )
    value = None if state.value == before.value else str(state.value)
    rationale = None if state.rationale == before.rationale else state.rationale
    return Revision(state.revision, state.agent, value, rationale, set_at, fields)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else "" if value is None else str(value)


def _set_unchanged(request: PageRequest, path: str, work: Callable[[int | None], Result]) -> Result:
    """Do something with the revision in the form.

    Raises:
        EditConflict: the decision has another revision.
    """
    revision = request.number("revision") if request.values.get("revision") else None
    try:
        return work(revision)
    except Conflict:
        current = _load(request, request.values.get("key", "").strip())
        number = 0 if current is None else current.revision
        if revision is None or revision == number:
            raise
        title, theirs = "The decision was deleted", {}
        if current is not None:
            title = f"{current.key} was changed in the meantime"
            theirs = {f"{current.agent or 'Someone without a name'} has set it to": str(current.value)}
            if current.rationale:
                theirs["Reason"] = current.rationale
        raise edit_conflict(request, title, theirs, path, "Set it anyway", revision=str(number)) from None


def _load(request: PageRequest, key: str) -> Decision | None:
    try:
        decision = request.reader.decisions.get(key, limit=0).decision
    except NotFound:
        return None
    # a short id names a decision too, but a form has keys
    return decision if decision.key == key else None


def _value(request: PageRequest, before: Decision | None) -> Value:
    """Return the value in the form, as a number where the decision has one."""
    text = request.values.get("value", "")
    if before is None or isinstance(before.value, str):
        return text
    try:
        return float(text)
    except ValueError:
        return text

"""Writing of messages, notes, rules and decisions: the forms, and the actions with their undoing."""

from __future__ import annotations

from satchel.base.errors import Conflict, NotFound
from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.interfaces.web.rendering import name_for
from satchel.interfaces.web.request import WITHDRAWN, Done, Page, PageRequest, action, edit_conflict, form_page, page
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY
from satchel.keep.decisions.proposals import ends
from satchel.keep.decisions.records import Decision, Value
from satchel.keep.messages.service import EVERYONE

_WITHDRAW = "/messages/{ref}/withdraw"
_SAME = "Already decided like this; nothing was changed"

_FORMS = {
    "message": (
        ("New message", "/messages", "Send"),
        {"to": EVERYONE, "text": "", "message_type": "info", "priority": DEFAULT_PRIORITY},
    ),
    "note": (("New note", "/notes", "Save note"), {"text": "", "type": "discovery", "task_id": "", "file": ""}),
    "rule": (
        ("New rule", "/rules", "Add rule"),
        {"text": "", "category": DEFAULT_CATEGORY, "tags": "", "priority": DEFAULT_PRIORITY},
    ),
    "decision": (
        ("New decision", "/decisions", "Decide"),
        {"key": "", "value": "", "rationale": "", "tags": "", "scopes": "", "status": "active", "revision": "0"},
    ),
}


@page("/new")
def new(request: PageRequest) -> Page:
    """Return the form for a new message, note, rule or decision."""
    (title, path, button), defaults = _FORMS.get(request.values.get("kind", ""), _FORMS["message"])
    fields = {name: request.values.get(name) or default for name, default in defaults.items()}
    return form_page(request, title, path, button, fields)


@action("/messages", "Your message was sent", _WITHDRAW)
def send(request: PageRequest) -> Done:
    """Send a message to an agent, to the agents of a client, or to all."""
    message = request.satchel.messages.send(
        request.values.get("text", ""),
        to=request.values.get("to", ""),
        type=request.values.get("message_type") or "info",
        priority=request.values.get("priority") or "medium",
    )
    return Done(message.ref)


@action("/messages/{ref}/answer", "Your answer was sent", _WITHDRAW)
def answer(request: PageRequest) -> Done:
    """Answer a message, unless someone else has answered since the form was made."""
    ref, answered_by = request.path["ref"], request.optional("answered_by")
    try:
        message = request.satchel.room.answer(ref, request.values.get("text", ""), answered_by=answered_by)
    except Conflict:
        number = getattr(request.record(ref), "answered_by", None)
        if number is None or Kind.MESSAGE.ref(number) == answered_by:
            raise
        other = request.record(Kind.MESSAGE.ref(number))
        theirs = {f"Answer of {name_for(request.login.author, other.sender or 'someone')}": other.message}
        title, path = f"{ref} was answered in the meantime", f"/messages/{ref}/answer"
        raise edit_conflict(request, title, theirs, path, "Send mine too", answered_by=other.ref) from None
    return Done(message.ref, f"{request.here}/")


@action(_WITHDRAW, "Withdrawn")
def withdraw(request: PageRequest) -> Done:
    request.satchel.corrections.retract(request.path["ref"])
    return Done()


@action("/messages/{ref}/read", "Marked as read", "/messages/{ref}/unread")
def dismiss(request: PageRequest) -> Done:
    """Mark a message as read."""
    ref = request.path["ref"]
    result = request.satchel.messages.mark_read([ref])
    if result.unknown or result.foreign:
        raise Conflict(f"{ref} was deleted or is not a message to you", "Nothing was changed")
    return Done(ref)


@action("/messages/{ref}/unread", "Marked as unread")
def restore(request: PageRequest) -> Done:
    ref = request.path["ref"]
    if not request.satchel.messages.mark_unread([ref]):
        raise Conflict(f"{ref} was not marked as read", "Nothing was changed")
    return Done(ref)


@action("/notes", "Saved", "/items/{ref}/retract", other="This note exists already; nothing was written")
def write(request: PageRequest) -> Done:
    note = request.satchel.entries.write(
        request.values.get("type") or "discovery",
        request.values.get("text", ""),
        task_id=request.optional("task_id"),
        file=request.optional("file"),
    )
    return request.done(note.ref, WITHDRAWN, is_other=note.seen is not None)


@action("/rules", "The rule is in force", "/items/{ref}/retract")
def add_rule(request: PageRequest) -> Done:
    rule = request.satchel.constraints.add(
        request.values.get("text", ""),
        category=request.optional("category") or DEFAULT_CATEGORY,
        priority=request.values.get("priority") or DEFAULT_PRIORITY,
        tags=request.names("tags"),
    )
    return request.done(rule.ref, WITHDRAWN)


@action("/items/{ref}/fix", "The fix was added")
def add_fix(request: PageRequest) -> Done:
    ref = request.path["ref"]
    request.satchel.patterns.solve(ref, request.text("text", "the fix is missing", "Enter what solves the error"))
    return request.done(ref)


@action("/decisions", "Decided", "/items/{ref}/take-back", other=_SAME)
def decide(request: PageRequest) -> Done:
    """Set a decision, unless it has changed since the form was made."""
    key = request.text("key", "the key is missing", "Enter a key, such as auth.method")
    before = _load(request, key)
    revision = request.number("revision") if request.values.get("revision") else None
    try:
        decision = request.satchel.decisions.set(
            key,
            _value(request, before),
            status=request.values.get("status") or "active",
            rationale=request.values.get("rationale", ""),
            tags=request.names("tags", before.tags if before else ()),
            scopes=request.names("scopes", before.scopes if before else ()),
            expected_revision=revision,
        )
    except Conflict:
        current = _load(request, key)
        number = 0 if current is None else current.revision
        if revision is None or revision == number:
            raise
        title, theirs = "The decision was deleted", {}
        if current is not None:
            title = f"{current.key} was changed in the meantime"
            theirs = {f"The value set by {_author(request, current)}": str(current.value)}
            theirs |= {"Reason": current.rationale} if current.rationale else {}
        raise edit_conflict(request, title, theirs, "/decisions", "Set it anyway", revision=str(number)) from None
    return _decided(request, decision, before)


@action("/items/{ref}/approve", "Decided", "/items/{ref}/take-back", other=_SAME)
def approve(request: PageRequest) -> Done:
    """Make a draft of a decision active; one that proposes a change of a person's decision changes that."""
    return _set_status(request, "active", "Accept it")


@action("/items/{ref}/decline", "Rejected", "/items/{ref}/take-back", other=_SAME)
def decline(request: PageRequest) -> Done:
    """Deprecate a draft of a decision."""
    return _set_status(request, "deprecated", "Reject it")


def _set_status(request: PageRequest, status: str, button: str) -> Done:
    before = request.record(request.path["ref"])
    if not isinstance(before, Decision):
        raise NotFound(f"{request.path['ref']} is not a decision", "Give a draft, such as d12")
    revision = request.number("revision")
    if revision != before.revision:
        value = "to end it" if ends(before.metadata) else str(before.value)
        title, number = f"{before.key} has changed since: {value}", str(before.revision)
        needs = request.satchel.room.needs().items
        text = next((need.text for need in needs if need.ref == before.ref), value)
        theirs = {f"Set by {_author(request, before)}": text}
        verb = "approve" if status == "active" else "decline"
        raise edit_conflict(request, title, theirs, f"/items/{before.ref}/{verb}", button, revision=number)
    decision = request.satchel.decisions.set(before.key, status=status, expected_revision=revision)
    # the other needs wait there, as after a reply
    return replace(_decided(request, decision, before), to=f"{request.here}/")


@action("/items/{ref}/take-back", "Undone: the decision is as it was before, or deprecated if it was new")
def take_back(request: PageRequest) -> Done:
    """Undo the person's change of a decision, unless someone else has changed it since."""
    decision = request.satchel.decisions.take_back(request.path["ref"], request.number("revision"))
    return request.done(decision.ref)


def _decided(request: PageRequest, decision: Decision, before: Decision | None) -> Done:
    is_same = before is not None and (decision.id, decision.revision) == (before.id, before.revision)
    return request.done(decision.ref, {"revision": decision.revision}, is_other=is_same)


def _author(request: PageRequest, decision: Decision) -> str:
    return name_for(request.login.author, decision.agent or "someone without a name")


def _load(request: PageRequest, key: str) -> Decision | None:
    try:
        decision = request.reader.decisions.get(key, limit=0).decision
    except NotFound:
        return None
    # a short id names a decision too, but a form has keys
    return decision if decision.key == key else None


def _value(request: PageRequest, before: Decision | None) -> Value:
    text = request.values.get("value", "")
    if before is None or isinstance(before.value, str):
        return text
    try:
        return float(text)
    except ValueError:
        return text

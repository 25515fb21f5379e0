"""Saying what of the memory is right, wrong, replaced by something else, or wanted in every briefing."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict, InvalidInput
from satchel.find.kind import Kind
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said, as_text, changed
from satchel.keep.constraints import Constraint
from satchel.keep.entries.records import Entry


def retract(asked: Asked) -> Done:
    """Retract a note, rule or strategy, with a reason; where another did so meanwhile, say by whom."""
    reason = asked.text("reason", "the reason is missing", "Say why it holds no more, in a few words")
    retracted = asked.satchel.corrections.retract(asked.path["ref"], reason)
    if retracted.already is not None:
        raise Conflict(f"{retracted.ref} was {retracted.already}, before you", "Nothing was changed by you")
    return Done("retracted", retracted.ref, _page(asked, retracted.ref), _undone_by(retracted.correction))


def confirm(asked: Asked) -> Done:
    """Confirm a note or rule of another."""
    confirmed = asked.satchel.corrections.confirm(asked.path["ref"])
    if confirmed.correction is None:
        raise Conflict("; ".join(confirmed.notes), "Nothing was changed")
    return Done("confirmed", confirmed.ref, _page(asked, confirmed.ref), _undone_by(confirmed.correction))


def correct(asked: Asked) -> Done:
    """Replace a note or rule; where another has replaced or retracted it meanwhile, show that."""
    ref, satchel = asked.path["ref"], asked.satchel
    item = asked.looking.items.read([ref]).items[0]
    record, text = item.record, asked.given.get("text", "")
    old = asked.given.get("supersedes", ref) or None
    made: Entry | Constraint
    try:
        if isinstance(record, Entry):
            made = satchel.entries.write(
                record.type, text, task_id=record.task_id, loop_id=record.loop_id, run_id=record.run_id, supersedes=old
            )
        elif isinstance(record, Constraint):
            made = satchel.constraints.add(
                text,
                category=asked.given.get("category", record.category),
                priority=asked.given.get("priority", record.priority),
                layer=record.layer,
                tags=record.tags,
                supersedes=old,
            )
        else:
            raise InvalidInput(f"{item.ref} is not replaced here", "Notes (e) and rules (c) are")
    except Conflict as error:
        if old is None or not isinstance(record, (Entry, Constraint)):
            raise
        raise _replaced(asked, record, error) from None
    if old is None:
        return Done("written", made.ref, _page(asked, made.ref), {"reason": "withdrawn"})
    ended = satchel.corrections.ended(old)
    return Done("corrected", made.ref, _page(asked, made.ref), _undone_by(None if ended is None else ended.number))


def undo(asked: Asked) -> Done:
    """Take back a correction of the person's own, if it is their last."""
    undone = asked.satchel.corrections.undo(correction=asked.number("correction"))
    return Done("taken-back", undone.ref, _page(asked, undone.ref))


def pin(asked: Asked) -> Done:
    """Pin an item."""
    made = asked.satchel.pins.pin(asked.path["ref"])
    return Done("pinned-before" if made.already else "pinned", made.ref, _page(asked, made.ref))


def unpin(asked: Asked) -> Done:
    """Unpin an item."""
    made = asked.satchel.pins.unpin(asked.path["ref"])
    return Done("unpinned-before" if made.already else "unpinned", made.ref, _page(asked, made.ref))


ACTIONS: Mapping[str, Action] = {
    "/items/{ref}/retract": retract,
    "/items/{ref}/confirm": confirm,
    "/items/{ref}/correct": correct,
    "/items/{ref}/pin": pin,
    "/items/{ref}/unpin": unpin,
    "/undo": undo,
}
SAID: Mapping[str, Said] = {
    "retracted": Said("Retracted", "/undo"),
    "confirmed": Said("Confirmed", "/undo"),
    "corrected": Said("Corrected", "/undo"),
    "taken-back": Said("Taken back; it is as it was"),
    "pinned": Said("Pinned: it stands in every briefing", "/items/{ref}/unpin"),
    "pinned-before": Said("It was pinned already"),
    "unpinned": Said("Not pinned any more", "/items/{ref}/pin"),
    "unpinned-before": Said("It was not pinned"),
}


def _replaced(asked: Asked, record: Entry | Constraint, error: Conflict) -> Exception:
    """Return what says how an item has ended meanwhile; the form replaces what replaced it, or stands for itself."""
    kind = Kind.ENTRY if isinstance(record, Entry) else Kind.CONSTRAINT
    ended = asked.looking.corrections.ended(record.ref)
    heir = None if ended is None else ended.heir
    theirs = {error.problem: ""}
    if heir is not None:
        said = asked.looking.items.read([heir]).items[0].record
        theirs = {f"{heir} says": as_text(said.content if isinstance(said, Entry) else getattr(said, "text", ""))}
    sent = {**asked.given, "supersedes": heir or ""}
    button = f"Replace {heir} by yours" if heir else f"Write yours as a new {'note' if kind is Kind.ENTRY else 'rule'}"
    again = Asked(asked.projects, asked.login, asked.project, sent, asked.path)
    return changed(again, f"{record.ref} holds no more", theirs, f"/items/{heir or record.ref}/correct", button)


def _undone_by(correction: int | None) -> dict[str, str | int]:
    return {} if correction is None else {"correction": correction}


def _page(asked: Asked, ref: str) -> str:
    return f"{asked.here}/items/{ref}"

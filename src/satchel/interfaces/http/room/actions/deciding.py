"""Deciding, making a decision of a note, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from satchel.base.errors import Conflict, NotFound
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said, changed
from satchel.keep.decisions.records import Decision, Value

Made = TypeVar("Made")

_KEY = ("the key is missing", "Name the decision, as in auth.method")


def decide(asked: Asked) -> Done:
    """Set a decision; where another has changed it since the form was made, show both."""
    key = asked.text("key", *_KEY)
    before = _decision(asked, key)
    made = _unless_changed(
        asked,
        "/decisions",
        lambda revision: asked.satchel.decisions.set(
            key,
            _value(asked, before),
            status=asked.given.get("status") or "active",
            rationale=asked.given.get("rationale", ""),
            expected_revision=revision,
        ),
    )
    if before is not None and made.revision == before.revision:
        return Done("decided-before", made.ref, _page(asked, made.ref))
    return Done("decided", made.ref, _page(asked, made.ref), {"revision": made.revision})


def promote(asked: Asked) -> Done:
    """Make a decision of a note, which holds no more."""
    key, ref = asked.text("key", *_KEY), asked.path["ref"]
    made = _unless_changed(
        asked,
        f"/items/{ref}/promote",
        lambda revision: asked.satchel.room.promote(
            ref,
            key,
            asked.given.get("value") or None,
            rationale=asked.given.get("rationale", ""),
            expected_revision=revision,
        ),
    )
    undo = {"revision": made.decision.revision, "correction": made.correction}
    return Done("promoted", made.decision.ref, _page(asked, made.decision.ref), undo)


def take_back(asked: Asked) -> Done:
    """Set a decision to what it was before the person's change, unless another has changed it since."""
    made = asked.satchel.decisions.take_back(asked.path["ref"], asked.number("revision"))
    return Done("as-before", made.ref, _page(asked, made.ref))


def take_back_promotion(asked: Asked) -> Done:
    """Let the note hold again, and set the decision to what it was before."""
    undone = asked.satchel.room.take_back_promotion(
        asked.path["ref"], revision=asked.number("revision"), correction=asked.number("correction")
    )
    return Done("note-again", undone.note, _page(asked, undone.note))


ACTIONS: Mapping[str, Action] = {
    "/decisions": decide,
    "/items/{ref}/promote": promote,
    "/items/{ref}/take-back": take_back,
    "/items/{ref}/take-back-promotion": take_back_promotion,
}
SAID: Mapping[str, Said] = {
    "decided": Said("Decided", "/items/{ref}/take-back"),
    "decided-before": Said("Nothing was changed: it says so already"),
    "promoted": Said("The note has become a decision", "/items/{ref}/take-back-promotion"),
    "as-before": Said("Taken back: the decision is as it was before, or deprecated if it was new"),
    "note-again": Said("Taken back: the note holds again"),
}


def _unless_changed(asked: Asked, path: str, work: Callable[[int | None], Made]) -> Made:
    """Do something with the revision that the person saw; where the decision has another, ask first.

    Raises:
        ChangedMeanwhile: it has.
    """
    revision = asked.number("revision") if asked.given.get("revision") else None
    try:
        return work(revision)
    except Conflict:
        now = _decision(asked, asked.given.get("key", "").strip())
        if revision is None or revision == (0 if now is None else now.revision):
            raise
        sent = {**asked.given, "revision": str(0 if now is None else now.revision)}
        again = Asked(asked.projects, asked.login, asked.project, sent, asked.path)
        if now is None:
            raise changed(again, "The decision is gone", {}, path, "Set it all the same") from None
        theirs = {f"{now.agent or 'Somebody unnamed'} has set it to": str(now.value)}
        if now.rationale:
            theirs["Because"] = now.rationale
        raise changed(again, f"{now.key} was changed meanwhile", theirs, path, "Set it all the same") from None


def _decision(asked: Asked, key: str) -> Decision | None:
    try:
        found = asked.looking.decisions.get(key, limit=0).decision
    except NotFound:
        return None
    # a short id names a decision too, but a form has keys
    return found if found.key == key else None


def _value(asked: Asked, before: Decision | None) -> Value:
    """Return the value that was given, as a number where the decision has one."""
    text = asked.given.get("value", "")
    if before is None or isinstance(before.value, str):
        return text
    try:
        return float(text)
    except ValueError:
        return text


def _page(asked: Asked, ref: str) -> str:
    return f"{asked.here}/items/{ref}"

"""The page with the forms for what is new, and what a run that has ended suggests."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import NotFound
from satchel.base.vocabulary import PRIORITIES
from satchel.interfaces.http.room.actions import forgetting, offers
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY
from satchel.keep.messages.service import EVERYONE


def new(asked: Asked) -> Page:
    """Return the forms for a note, a decision, a rule and a message."""
    forms = (
        ("Note", "/notes", "Write it", {"text": "", "type": "discovery", "task_id": "", "file": ""}),
        (
            "Decision",
            "/decisions",
            "Decide",
            {"key": "", "value": "", "rationale": "", "status": "active", "revision": 0},
        ),
        ("Rule", "/rules", "Add it", {"text": "", "category": DEFAULT_CATEGORY, "priority": DEFAULT_PRIORITY}),
        (
            "Message",
            "/messages",
            "Send it; that is not taken back",
            {"to": asked.given.get("to", EVERYONE), "text": "", "message_type": "info", "priority": DEFAULT_PRIORITY},
        ),
    )
    data = {"forms": {name: {"path": path, "fields": [*fields]} for name, path, _, fields in forms}}
    return Page(
        f"Write in {asked.place.name}", "new.html", {"forms": forms, "priorities": PRIORITIES}, data, asked.place
    )


def proposals(asked: Asked) -> Page:
    """Return the strategies that a run suggests."""
    run = asked.given.get("run", "")
    found = asked.looking.learning.strategies(run or None)
    return Page(
        f"What {run or 'the last run'} suggests", "proposals.html", {"run": run, "found": found}, found, asked.place
    )


def end(asked: Asked) -> Page:
    """Return the form that ends a run."""
    run = asked.looking.runs.get(asked.text("run", "the address names no run", "Go to it from the room"))
    if run is None:
        raise NotFound("the run main was not used yet", "It never ends")
    return Page(f"End the run {run.run_id}", "end.html", {"run": run}, run, asked.place)


PAGES: Mapping[str, View] = {"/new": new, "/proposals": proposals, "/runs/end": end, **forgetting.PAGES, **offers.PAGES}

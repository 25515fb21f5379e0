"""Claims of agents, and what the person has seen of their work."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.base.errors import Conflict, InvalidInput
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said


def release(asked: Asked) -> Done:
    """End the claim of a session, and tell the agent that held it."""
    session, expires, path = (*asked.given.get("claim", "").split(" ", 2), "", "", "")[:3]
    if not (session and path and expires.isascii() and expires.isdigit() and len(expires) <= 18):
        raise InvalidInput("the form names no claim", "Reload the page, and send it anew")
    asked.satchel.room.release(session, path, int(expires))
    return Done("released")


def end_run(asked: Asked) -> Done:
    """End a run, and show what it suggests; it does not begin again."""
    run = asked.text("run_id", "the form names no run", "Reload the page, and send it anew")
    asked.satchel.runs.end(run, asked.given.get("status") or "completed")
    return Done("ended", "", f"{asked.here}/proposals?{urlencode({'run': run})}")


def accept_proposal(asked: Asked) -> Done:
    """Save the strategy that a run proposes."""
    return Done(
        "saved", asked.satchel.room.accept_proposal(asked.given.get("ref", "")).ref, None, {"reason": "withdrawn"}
    )


def reject_proposal(asked: Asked) -> Done:
    """Pass over a strategy that a run proposes."""
    asked.satchel.room.reject_proposal(asked.given.get("ref", ""))
    return Done("passed-over")


def see(asked: Asked) -> Done:
    """Mark changes as seen, up to what the page showed: what came since is shown again."""
    ref = asked.given.get("ref")
    # what needs a person is one thing as it stands, and so has no number
    seq = asked.number("seq") if ref is None or "seq" in asked.given else None
    asked.satchel.room.see(None if ref is None else [ref], up_to=seq)
    return Done("seen") if ref is None else Done("seen-one", "", None, {"thing": ref})


def unsee(asked: Asked) -> Done:
    """Show again what was marked as seen."""
    if not asked.satchel.room.unsee(asked.given.get("thing", "")):
        raise Conflict("that was not marked as seen by itself", "Nothing was changed")
    return Done("unseen")


ACTIONS: Mapping[str, Action] = {
    "/claims/release": release,
    "/runs/end": end_run,
    "/proposals/accept": accept_proposal,
    "/proposals/reject": reject_proposal,
    "/seen": see,
    "/seen/undo": unsee,
}
SAID: Mapping[str, Said] = {
    "released": Said("The claim was released, and its holder was told"),
    "passed-over": Said("Passed over, for all persons"),
    "ended": Said("The run has ended"),
    "seen": Said("Marked as seen"),
    "seen-one": Said("Marked as seen", "/seen/undo"),
    "unseen": Said("It is shown again"),
}

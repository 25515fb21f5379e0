"""Claims of agents, and what the person has seen of their work."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import InvalidInput
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said
from satchel.keep.files.releasing import release_of_session


def release(asked: Asked) -> Done:
    """End the claim of a session, and tell the agent that held it."""
    session, expires, path = (*asked.given.get("claim", "").split(" ", 2), "", "", "")[:3]
    if not (session and path and expires.isascii() and expires.isdigit() and len(expires) <= 18):
        raise InvalidInput("the form names no claim", "Reload the page, and send it anew")
    satchel = asked.satchel
    released = release_of_session(satchel.workplace, session, path, int(expires))
    satchel.messages.send(f"I released your claim on {released.path}", to=released.agent, type="warning")
    return Done("released")


def see(asked: Asked) -> Done:
    """Mark changes as seen, up to what the page showed: what came since is shown again."""
    ref = asked.given.get("ref")
    asked.satchel.room.see(None if ref is None else [ref], up_to=asked.number("seq"))
    return Done("seen")


ACTIONS: Mapping[str, Action] = {"/claims/release": release, "/seen": see}
SAID: Mapping[str, Said] = {
    "released": Said("The claim was released, and its holder was told"),
    "seen": Said("Marked as seen"),
}

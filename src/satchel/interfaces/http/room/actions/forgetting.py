"""Forgetting an item for good."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.http.room.asking import Action, Asked, Done, Page, Said, View, as_text


def preview(asked: Asked) -> Page:
    """Return what forgetting an item would remove, and the form that does it."""
    _check(asked)
    forgotten = asked.satchel.housekeeping.forget(asked.path["ref"], dry_run=True)
    context = {"gone": forgotten, "text": as_text(forgotten.text)}
    return Page(f"Forget {forgotten.ref}", "forget.html", context, forgotten, asked.place)


def forget(asked: Asked) -> Done:
    """Remove an item for good, once its short id was typed."""
    _check(asked)
    ref = asked.path["ref"]
    if asked.given.get("confirm", "").strip().lower() != ref:
        raise InvalidInput(f"what was typed is not {ref}", f"Type {ref} to forget it; nothing was changed")
    forgotten = asked.satchel.housekeeping.forget(ref)
    is_left = forgotten.still_in or forgotten.unreadable or not forgotten.wal_emptied or forgotten.out_of_reach
    return Done("forgotten-but" if is_left else "forgotten", "", f"{asked.here}/")


PAGES: Mapping[str, View] = {"/items/{ref}/forget": preview}
ACTIONS: Mapping[str, Action] = {"/items/{ref}/forget": forget}
SAID: Mapping[str, Said] = {
    "forgotten": Said("Forgotten for good"),
    "forgotten-but": Said(
        "Forgotten, but copies may hold it still: backups, the shared text or the write-ahead log; "
        "satchel backup --list names the backups"
    ),
}


def _check(asked: Asked) -> None:
    if asked.login.token is not None:
        raise Refused(
            "a login for a token forgets nothing: the whole file of the store is rewritten, in which other projects "
            "may lie",
            "Log in by `satchel open` on the machine with the store. Retracting it says that it is wrong",
        )

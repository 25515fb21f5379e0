"""Saying what of the memory holds no more."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said


def retract(asked: Asked) -> Done:
    """Retract a note, rule or strategy, with a reason; where another did so meanwhile, say by whom."""
    reason = asked.text("reason", "the reason is missing", "Say why it holds no more, in a few words")
    retracted = asked.satchel.corrections.retract(asked.path["ref"], reason)
    if retracted.already is not None:
        raise Conflict(f"{retracted.ref} was {retracted.already}, before you", "Nothing was changed by you")
    return Done("retracted", retracted.ref, f"{asked.here}/items/{retracted.ref}")


ACTIONS: Mapping[str, Action] = {"/items/{ref}/retract": retract}
SAID: Mapping[str, Said] = {"retracted": Said("Retracted")}

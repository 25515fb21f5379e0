"""Confirmations of corrections and pins, the same for agents and people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.paging import Page
from satchel.base.text import shortened
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import counted, quoted, value_text
from satchel.keep.corrections.records import Confirmed, Retracted, Undone

if TYPE_CHECKING:
    from satchel.keep.pins import Pin

_CONFIRMED_CHARS = 300
"""The most of a confirmed text that is repeated, because its reader has just read it."""


def retracted_text(retracted: Retracted) -> str:
    """Confirm that an item was retracted, or name who was asked to retract or change it."""
    if retracted.asked is not None and retracted.kind == "decision":
        line = f"{retracted.ref} holds: {value_text(retracted.asked_of)} was asked to change it, in {retracted.asked}"
    elif retracted.asked is not None:
        line = f"{retracted.ref} stays: only a person retracts it; human was asked to, in {retracted.asked}"
    elif retracted.already is not None:
        line = f"{retracted.ref} was already invalid: {retracted.already}"
    elif retracted.kind == "message":
        line = f"withdrew {retracted.ref}: nobody had read it"
    else:
        line = f"retracted {retracted.ref}; lists and searches hide it unless status asks for it"
    return "\n".join([line, f" {quoted(retracted.text)}", *note_lines(retracted.notes)])


def confirmed_text(confirmed: Confirmed) -> str:
    """Confirm an item, with all agents that confirmed it."""
    names = ", ".join(map(value_text, confirmed.by))
    by = f"{counted(len(confirmed.by), 'agent')} confirmed it: {names}" if names else "nobody confirmed it"
    return "\n".join(
        [
            f"{confirmed.ref}: {by}",
            f" {quoted(shortened(confirmed.text, _CONFIRMED_CHARS))}",
            *note_lines(confirmed.notes),
        ]
    )


def reviewed_text(result: Confirmed | Retracted) -> str:
    return retracted_text(result) if isinstance(result, Retracted) else confirmed_text(result)


def undone_text(undone: Undone) -> str:
    if undone.action == "confirmed":
        line = f"{undone.ref} is no longer confirmed by you"
    elif undone.action == "written":
        line = f"{undone.ref}, which you wrote, is retracted"
    elif undone.action == "set":
        line = f"{undone.ref} is what it was before you changed it"
    elif undone.action == "pinned":
        line = f"{undone.ref} is no longer pinned"
    else:
        line = f"{undone.ref} holds again"
        line += "" if undone.heir is None else f"; {undone.heir}, which had replaced it, is retracted"
    return "\n".join([line, f" {quoted(undone.text)}"])


def pinned_text(pin: Pin) -> str:
    if pin.pinned_at is None:
        line = f"{pin.ref} {'was not pinned' if pin.already else 'is no longer pinned'}"
    else:
        line = f"{pin.ref} {'was pinned already' if pin.already else 'is pinned'}{_by(pin)}: every briefing has it"
    return f"{line}\n {quoted(pin.text)}"


def pins_text(pins: Page[Pin]) -> str:
    """List the pinned items."""
    lines = [f"{one.ref} {one.kind}{_by(one)}: {quoted(one.text)}" for one in pins.items]
    return "\n".join([f"{pins.total} pinned", *lines])


def _by(pin: Pin) -> str:
    return "" if pin.by is None else f" by {value_text(pin.by)}"

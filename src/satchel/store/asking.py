"""Asking side by side, so that what several want to know goes out in one round trip."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, ParamSpec, TypeVar

from satchel.store.transaction import Rows

Given = ParamSpec("Given")
Made = TypeVar("Made")
Other = TypeVar("Other")

Asking = Generator[Rows, None, Made]
"""What makes something of answers: it yields the last of those that it has asked for before it reads them."""


def together(askings: Iterable[Asking[object]]) -> None:
    """Run what asks side by side: while one waits for its answers the others ask for theirs.

    One whose answers are there goes on to its end before the next one is taken.
    """
    waiting = [asking for asking in askings if _waits(asking)]
    while waiting:
        waiting = [asking for asking in waiting if _waits(asking)]


def _waits(asking: Asking[object]) -> bool:
    """Let something go on; return whether it waits for an answer that is not there."""
    return any(not rows.is_here for rows in asking)


def answer(asking: Asking[Made]) -> Made:
    """Return what is made of answers that nothing else is asked with."""
    while True:
        try:
            next(asking)
        except StopIteration as ended:
            made: Made = ended.value
            return made


def answering(ask: Callable[Given, Asking[Made]]) -> Callable[Given, Made]:
    """Return what asks by itself what can be asked side by side with other things; the arguments are the same."""
    return lambda *args, **named: answer(ask(*args, **named))


def both(one: Asking[Made], other: Asking[Other]) -> tuple[Made, Other]:
    """Return what two make of their answers, asked side by side."""
    first, second = list[Made](), list[Other]()

    def keep(made: list[Any], asking: Asking[Any]) -> Asking[None]:
        made.append((yield from asking))

    together((keep(first, one), keep(second, other)))
    return first[0], second[0]

"""Concurrent queries: several readers share one round trip."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, ParamSpec, TypeVar

from satchel.store.transaction import Rows

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
OtherResult = TypeVar("OtherResult")

Asking = Generator[Rows, None, Result]
"""A generator that issues queries, yields the last one, and then reads the results."""


def together(askings: Iterable[Asking[object]]) -> None:
    """Run several readers side by side: while one waits for its rows, the others send their queries.

    A reader whose rows have arrived runs to its end before the next one starts.
    """
    waiting = [asking for asking in askings if _waits(asking)]
    while waiting:
        waiting = [asking for asking in waiting if _waits(asking)]


def _waits(asking: Asking[object]) -> bool:
    """Advance a reader; return whether it waits for rows that have not arrived."""
    return any(not rows.is_here for rows in asking)


def answer(asking: Asking[Result]) -> Result:
    """Run one reader alone and return its result."""
    while True:
        try:
            next(asking)
        except StopIteration as ended:
            result: Result = ended.value
            return result


def answering(ask: Callable[Arguments, Asking[Result]]) -> Callable[Arguments, Result]:
    """Return a function that runs a reader alone."""
    return lambda *args, **kwargs: answer(ask(*args, **kwargs))


def both(one: Asking[Result], other: Asking[OtherResult]) -> tuple[Result, OtherResult]:
    """Run two readers side by side and return both results."""
    first, second = list[Result](), list[OtherResult]()

    def keep(made: list[Any], asking: Asking[Any]) -> Asking[None]:
        made.append((yield from asking))

    together((keep(first, one), keep(second, other)))
    return first[0], second[0]

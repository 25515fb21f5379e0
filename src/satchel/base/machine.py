"""The machine of a caller: this one, or another, whose program says with each call what it sees there."""

# A server cannot see the files, repositories and processes of callers elsewhere, and must not read its own disk for
# them. A function that reads them is declared with `seen_by_caller`: for a caller elsewhere it does not run, but
# returns the fact that the caller's program sent with the call. docs/decisions/0043.

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps

TYPE_CHECKING = False  # keeps typing out of the start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, Protocol, TypeVar

    Parameters = ParamSpec("Parameters")
    Answer = TypeVar("Answer")

    class Elsewhere(Protocol):
        """A caller on another machine."""

        def fact(self, name: str, arguments: tuple[Any, ...], unknown: Any = None) -> Any:
            """Return what the caller's program sees; ``unknown`` if it did not say, which for :data:`NEEDED` raises."""

        def before_commit(self, transaction: Any) -> None:
            """Prepare for the commit of a transaction, or raise to prevent it."""

        def after_commit(self) -> None:
            """Note that a transaction was committed."""


# The root folder of a caller elsewhere: not a valid path, so that it cannot match anything on this disk.
ROOT = "\0caller"

# The default of a fact without which a call is refused.
NEEDED: Any = object()

_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)

# Sets the caller elsewhere of this context; returns a token for :func:`reset_elsewhere`.
set_elsewhere = _elsewhere.set

reset_elsewhere = _elsewhere.reset

# Returns the caller elsewhere of this context, or None.
caller_elsewhere = _elsewhere.get

_places: dict[str, tuple[int, ...]] = {}


def seen_by_caller(
    *places: int, unknown: Any = NEEDED
) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Return a decorator for a function that reads the caller's machine, called by position.

    ``places`` are the arguments that say where the caller stands, which do not distinguish its facts; ``unknown`` is
    returned for a caller elsewhere whose program did not send the fact.
    """

    def declare(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        name = function.__name__
        _places[name] = places

        @wraps(function)
        def see(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Answer:
            caller = _elsewhere.get()
            if caller is None:
                return function(*arguments, **keywords)
            assert not keywords, f"{name} is called by position"
            answer: Answer = caller.fact(name, telling(name, arguments), unknown)
            return answer

        return see

    return declare


def telling(name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a function that distinguish its facts."""
    return tuple(one for place, one in enumerate(arguments) if place not in _places[name])

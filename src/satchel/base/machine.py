"""The machine of a caller: this one, or another, whose program answers questions about it.

A server cannot see the files, repositories and processes of callers elsewhere, and must not read its own disk for them.
A function that reads them is declared as a question with :func:`asked_of_caller`: for a caller elsewhere it does not
run, but returns the answer that the caller's program sent along. Without such an answer, the question is noted and
answered with its default, and before anything is stored the call raises :class:`NeedsCaller`: the program answers the
noted questions and calls again. docs/decisions/0043.
"""

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

        def ask(self, question: str, arguments: tuple[Any, ...], unknown: Any) -> Any:
            """Return the caller's answer to a question, or the default while it is unknown."""

        def before_commit(self, transaction: Any) -> None:
            """Prepare for the commit of a transaction, or raise to prevent it."""

        def after_commit(self) -> None:
            """Note that a transaction was committed."""


ROOT = "\0caller"
"""The root folder of a caller elsewhere: not a valid path, so that it cannot match anything on this disk."""


class NeedsCaller(BaseException):
    """Raised when a question must be answered by the caller's machine."""


_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)

set_elsewhere = _elsewhere.set
"""Sets the caller elsewhere of this context; returns a token for :func:`reset_elsewhere`."""

reset_elsewhere = _elsewhere.reset

caller_elsewhere = _elsewhere.get
"""Returns the caller elsewhere of this context, or None."""


def asked_of_caller(unknown: Any = None) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Return a decorator that makes a function a question under its name.

    ``unknown`` is the default while there is no answer, or a function that returns it for the arguments.
    """

    def declare(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        name = function.__name__

        @wraps(function)
        def ask(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Answer:
            caller = _elsewhere.get()
            if caller is None:
                return function(*arguments, **keywords)
            assert not keywords, f"{name} is asked by position"
            answer: Answer = caller.ask(name, arguments, unknown(*arguments) if callable(unknown) else unknown)
            return answer

        return ask

    return declare

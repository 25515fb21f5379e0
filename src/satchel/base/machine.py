"""The machine that a call comes from: this one, or another, whose program is asked what only it can see.

A server answers callers elsewhere. What their files, repositories and processes are it cannot see, and must not take
from its own disk. A function that looks at them is declared as a question with :func:`asked_of_caller`: called for a
caller elsewhere it is not run, but answered from what the caller's program sent along. What was not sent is noted, the
call goes on with what the question stands for when it is unknown, and before anything is kept it ends in :class:`Asks`:
the program answers what was noted and calls again. docs/decisions/0043.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, Protocol, TypeVar

    Given = ParamSpec("Given")
    Answer = TypeVar("Answer")

    class Elsewhere(Protocol):
        """A caller on another machine."""

        def ask(self, question: str, arguments: tuple[Any, ...], unknown: Any) -> Any:
            """Return what it answered to a question, or what stands for an answer that is not known yet."""

        def before_commit(self, transaction: Any) -> None:
            """Take in that a transaction is about to be kept, and raise where it must not be."""

        def after_commit(self) -> None:
            """Take in that a transaction was kept."""


ROOT = "\0caller"
"""What stands for the root folder of a caller elsewhere: no path, so that nothing on this disk can be taken for it."""


class Asks(BaseException):
    """A call needs to know what only its caller's machine can say."""


_elsewhere: ContextVar[Elsewhere | None] = ContextVar("elsewhere", default=None)

set_elsewhere = _elsewhere.set
"""Says that what follows in this context is done for a caller elsewhere; returns what :func:`reset_elsewhere` takes."""

reset_elsewhere = _elsewhere.reset

caller_elsewhere = _elsewhere.get
"""Returns the caller elsewhere that this context works for, or None."""


def asked_of_caller(unknown: Any = None) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Return what makes a question of a function, by its name.

    Args:
        unknown: what stands for an answer that is not known; a function makes it of the arguments.
    """

    def declare(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        name = function.__name__

        @wraps(function)
        def ask(*given: Given.args, **named: Given.kwargs) -> Answer:
            caller = _elsewhere.get()
            if caller is None:
                return function(*given, **named)
            assert not named, f"{name} is asked by position"
            answer: Answer = caller.ask(name, given, unknown(*given) if callable(unknown) else unknown)
            return answer

        return ask

    return declare

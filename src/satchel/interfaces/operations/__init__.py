"""Operations: the actions on a store, each declared once and served as a tool and a command.

A declaration names what runs it and what renders its answer without importing either: a method of a service as
``services.constraints.find``, a function of ``interfaces/text`` as ``text.rules.added_text``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # hooks and commands start without typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from satchel.client import Satchel
    from satchel.interfaces import text as text

    services: Satchel
    """What a declaration takes a method of a service from; it runs on the Satchel that is open then."""


class Method:
    """A method of a service, looked up in an open Satchel; it has the module and the name of a function."""

    def __init__(self, service: str, name: str) -> None:
        self.__module__, self.__name__ = service, name

    def of(self, satchel: Satchel) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(getattr(satchel, self.__module__), self.__name__)
        return method


class Function:
    """A function of a module of ``interfaces/text``, imported when it is needed."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__name__ = f"{__name__.rpartition('.')[0]}.text.{module}", name

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        return self.load()(*arguments, **keywords)

    def load(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(__import__(self.__module__, fromlist=[self.__name__]), self.__name__)
        return function


class _Names:
    def __init__(self, make: Callable[[str], object]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> object:
        return self._make(name)


if not TYPE_CHECKING:
    services = _Names(lambda service: _Names(lambda name: Method(service, name)))
    text = _Names(lambda module: _Names(lambda name: Function(module, name)))

"""Check that what runs an operation takes the parameters that it declares; `make check` runs it.

mypy checks the names of services, methods and renderers, but sees no link between a declared name and a signature.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import satchel as package
from satchel.client import Satchel, open_satchel
from satchel.consult.service import Consulting
from satchel.interfaces.operations import Method
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.declaration import Operation
from satchel.keep.decisions.records import NewDecision
from satchel.keep.entries.records import NewEntry
from satchel.keep.finding import Finding
from satchel.keep.messages.queries import MessageFilters

PASSED_ON: dict[str, Any] = {
    "_write": NewEntry,
    "_set": NewDecision,
    "_search": Finding.search,
    "_read": MessageFilters,
    "_list_sent": MessageFilters,
    "ask_models": Consulting.consult,
}
"""What functions that pass arguments on pass them to."""

TAKEN_OUT = ("detail", "tokens")
"""What the command line and the tools take out of the arguments themselves, as ``prepare`` does."""


def main() -> int:
    """Print every parameter that is not taken and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, open_satchel(Path(folder) / "satchel.db", environ={}) as satchel:
        unknown = list(unknown_parameters(OPERATIONS, satchel))
    for operation, name in unknown:
        print(f"{operation} declares {name}, which what runs it does not take")
    print(f"unknown parameters: {len(unknown)}")
    return 1 if unknown else 0


def unknown_parameters(operations: Iterable[Operation], satchel: Satchel) -> Iterator[tuple[str, str]]:
    """Yield the name of an operation and of a parameter that it declares and cannot pass on."""
    for one in operations:
        yield from unknown_parameters(one.instead.values(), satchel)
        function = one.run.of(satchel) if isinstance(one.run, Method) else one.run
        taken = {*names_taken(function), *TAKEN_OUT}
        for parameter in one.parameters:
            name = parameter.passed_as or parameter.name
            is_taken_out = parameter.name in one.instead or (parameter.for_people and one.prepare)
            if name not in taken and not is_taken_out:
                yield one.name, name


def names_taken(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of a function's parameters; of filters as a TypedDict, its keys."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield parameter.name
        elif function.__name__ in PASSED_ON:
            target = PASSED_ON[function.__name__]
            yield from target.__annotations__ if target is MessageFilters else names_taken(target)
        else:
            filters = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
            for module in _modules():
                yield from get_type_hints(getattr(module, filters)) if hasattr(module, filters) else ()


def _modules() -> Iterator[Any]:
    """Yield the modules of the services, in which annotations are looked up."""
    for found in pkgutil.walk_packages(package.__path__, "satchel."):
        if found.name.split(".")[1] in {"keep", "brief", "consult"}:
            yield importlib.import_module(found.name)


if __name__ == "__main__":
    sys.exit(main())

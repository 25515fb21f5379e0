"""What holds for every declared operation: what it names exists, and is taken by what runs it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, get_type_hints, is_typeddict

import pytest

import satchel as package
from satchel import open_satchel
from satchel.client import Satchel
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.declaration import Operation, Table, load
from satchel.interfaces.operations.parameters import DETAIL
from satchel.keep.common_filters import COMMON
from satchel.keep.decisions import NewDecision
from satchel.keep.entries import NewEntry
from satchel.keep.files.records import CHANGES
from satchel.keep.finding import Finding
from satchel.keep.messages.queries import MessageFilters
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.packages import EVENTS, TYPES
from satchel.keep.runs import STATUSES

# the annotations of services are looked up in the modules that are loaded
for found in pkgutil.walk_packages(package.__path__, "satchel."):
    if found.name.split(".")[1] in {"keep", "brief", "consult"}:
        importlib.import_module(found.name)

EVERY = [*OPERATIONS, *(other for one in OPERATIONS for other in one.instead.values())]


def name_of(operation: Operation) -> str:
    # of a function not its address, which differs by process
    return operation.tool or " ".join(operation.command) or str(getattr(operation.run, "__name__", operation.run))


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with open_satchel(tmp_path_factory.mktemp("store") / "satchel.db", environ={}) as opened:
        yield opened


PASSED_ON: dict[str, Any] = {
    "_write": NewEntry,
    "_set": NewDecision,
    "_search": Finding.search,
    "_read": MessageFilters,
    "_sent": MessageFilters,
}
"""What functions that pass arguments on pass them to."""


def names_taken(function: Any) -> Iterator[str]:
    """Yield the parameters of what runs an operation; of filters as a TypedDict, its keys."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield parameter.name
            continue
        if function.__name__ in PASSED_ON:
            target = PASSED_ON[function.__name__]
            yield from target.__annotations__ if is_typeddict(target) else names_taken(target)
            continue
        filters = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
        owners = [module for name, module in sys.modules.items() if name.startswith("satchel.")]
        for typed in {getattr(module, filters) for module in owners if hasattr(module, filters)}:
            yield from get_type_hints(typed)


def test_every_parameter_is_one_of_what_runs_it(satchel: Satchel) -> None:
    unknown = {}
    for operation in EVERY:
        function = operation.run if callable(operation.run) else attrgetter(operation.run)(satchel)
        names = [one for one in operation.parameters if not one.for_people and one is not DETAIL]
        declared = {one.passed_as or one.name for one in names}
        unknown[name_of(operation)] = declared - set(names_taken(function)) - operation.instead.keys()
    assert {name: names for name, names in unknown.items() if names} == {}


def test_every_list_takes_the_filters_of_every_list() -> None:
    for operation in EVERY:
        if operation.items and not operation.writes:
            missing = {one.name for one in COMMON} - {one.name for one in operation.parameters}
            assert missing == set(), name_of(operation)


def test_what_shows_an_answer_exists() -> None:
    for operation in EVERY:
        places = [operation.text, operation.whole, operation.fields, operation.asks, operation.corrects]
        places += [] if isinstance(operation.shown, Table) else [operation.shown]
        assert all(callable(load(place)) for place in places if place), name_of(operation)


def test_an_operation_has_a_text_for_agents_and_help_for_people() -> None:
    for operation in EVERY:
        assert not operation.tool or (operation.text and operation.about and operation.toolset), name_of(operation)
        assert not operation.command or (operation.help and operation.examples), name_of(operation)


def test_a_parameter_is_declared_once_in_an_operation() -> None:
    for operation in EVERY:
        names = [one.name for one in operation.parameters]
        assert len(names) == len(set(names)), name_of(operation)


@pytest.mark.parametrize(
    ("command", "parameter", "choices"),
    [
        ("message send", "type", MESSAGE_TYPES),
        ("message list", "types", MESSAGE_TYPES),
        ("file record", "change", CHANGES),
        ("package save", "type", TYPES),
        ("package priority", "event", EVENTS),
        ("run list", "status", STATUSES),
        ("run end", "status", STATUSES[1:]),
    ],
)
def test_choices_written_down_here_are_those_of_the_service(
    command: str, parameter: str, choices: tuple[str, ...]
) -> None:
    (operation,) = (one for one in OPERATIONS if " ".join(one.command) == command)
    assert [one.choices for one in operation.parameters if one.name == parameter] == [choices]


def test_the_schema_of_a_limit_says_the_default_that_agents_get() -> None:
    limits = {
        operation.tool: parameter.schema()["default"]
        for operation in OPERATIONS
        for parameter in operation.parameters
        if parameter.name == "limit" and operation.tool in {"search", "read_context"}
    }
    assert limits == {"search": 10, "read_context": 20}

"""What holds for every declared operation: what it names exists, and is taken by what runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from check_parameters import unknown_parameters
from satchel import open_satchel
from satchel.client import Satchel
from satchel.interfaces.operations import services
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import PAGE
from satchel.keep.common_filters import COMMON
from satchel.keep.files.records import CHANGES
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.packages.records import EVENTS, TYPES
from satchel.keep.runs import STATUSES
from tables import in_one_test

EVERY = [*OPERATIONS, *(other for one in OPERATIONS for other in one.instead.values())]


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with open_satchel(tmp_path_factory.mktemp("store") / "satchel.db", environ={}) as opened:
        yield opened


def test_a_misspelt_parameter_is_found(satchel: Satchel) -> None:
    declared = Operation(
        run=services.constraints.find,
        parameters=(Parameter("category"), Parameter("categry"), Parameter("id", passed_as="refs"), *PAGE),
        instead={"all": Operation(run=services.pins.list, parameters=(Parameter("colour"),))},
    )

    assert list(unknown_parameters([declared], satchel)) == [
        ("pins_list", "colour"),
        ("constraints_find", "categry"),
        ("constraints_find", "refs"),
    ]


def test_every_parameter_is_one_of_what_runs_it(satchel: Satchel) -> None:
    assert list(unknown_parameters(OPERATIONS, satchel)) == []


def test_every_list_takes_the_filters_of_every_list() -> None:
    for operation in EVERY:
        if operation.items and not operation.writes:
            missing = {one.name for one in COMMON} - {one.name for one in operation.parameters}
            assert missing == set(), operation.name


def test_an_operation_has_a_text_for_agents_and_help_for_people() -> None:
    for operation in EVERY:
        assert not operation.tool or (operation.text is not str and operation.about and operation.toolset), (
            operation.name
        )
        assert not operation.command or (operation.help and operation.examples), operation.name


def test_a_parameter_is_declared_once_in_an_operation() -> None:
    for operation in EVERY:
        names = [one.name for one in operation.parameters]
        assert len(names) == len(set(names)), operation.name


@in_one_test(
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

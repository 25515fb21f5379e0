"""Calling the tools as an agent calls them, and what each parameter of a tool and its command does, in one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

from cli_asking import answered, argv_of, option_of
from over_server import over_server
from satchel import Satchel
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Outcome, Registry
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.interfaces.operations.declaration import Operation

ONLY_AS_TOOLS: dict[tuple[str, str], str] = {
    ("consult", "*"): "the command reads settings and paths from where it is called, and prints as it goes",
    ("add_constraint", "stated_by"): "it is for agents: a person's own rule needs no check",
    ("report_error", "stack"): "the command is given the file that holds it",
}
"""By tool and parameter, or ``*`` for all, why a case is not asked of the command: it takes another shape by design."""

_ONLY_READING = {one.tool for one in OPERATIONS if not one.writes}
_OPERATIONS = {one.tool: one for one in OPERATIONS if one.command and one.tool is not None}


@dataclass(frozen=True)
class Asker:
    """Calls the tools of one opened store."""

    satchel: Satchel

    def __call__(self, tool: str, **arguments: object) -> Outcome:
        """Call a tool."""
        registry = Registry(ALL_TOOLS)
        return registry.run(registry.tool(tool), arguments, Call(lambda: over_server(self.satchel)))

    def text(self, tool: str, **arguments: object) -> str:
        """Call a tool that is to succeed; return its text."""
        outcome = self(tool, **arguments)
        assert not outcome.is_error, outcome.text
        return outcome.text

    def fields(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool that is to succeed; return its answer as JSON."""
        value = json.loads(self.text(tool, **arguments, format="json"))
        assert isinstance(value, dict)
        return value

    def refused(self, tool: str, **arguments: object) -> str:
        """Call a tool that is to fail; return the error."""
        outcome = self(tool, **arguments)
        assert outcome.is_error, outcome.text
        return outcome.text


class Case(NamedTuple):
    """What one parameter of a tool does, and of the command that is the same operation.

    Attributes:
        arguments: of the call, the parameter among them.
        look: takes from the answer what the parameter changes; a refusal is ``{"error": code}``.
        expected: what is seen then, and not seen without the parameter.
    """

    tool: str
    parameter: str
    arguments: dict[str, Any]
    look: Callable[[dict[str, Any]], object]
    expected: object


def by_tool(cases: Iterable[Case]) -> list[ParameterSet]:
    """Return the cases of each tool as pytest takes them, named for the tool."""
    tools: dict[str, list[Case]] = {}
    for case in cases:
        tools.setdefault(case.tool, []).append(case)
    return [pytest.param(tuple(of_tool), id=tool) for tool, of_tool in tools.items()]


def check_cases(world: Callable[[], Asker], cases: Iterable[Case]) -> None:
    """Call a tool, then the command that is the same operation, with each parameter and, in equal stores, without it.

    Each must make the difference, and the same for both. A parameter that people cannot give is one of the tool alone.
    What only reads leaves one store equal; of what writes, each call has a store of its own, and is made once.
    """
    shared = cache(world)
    answers: dict[tuple[object, ...], dict[str, Any]] = {}
    failures = []
    for case in cases:
        without = {name: value for name, value in case.arguments.items() if name != case.parameter}
        assert without != case.arguments
        for ask in (_by_tool, _by_command) if _is_asked_of_command(case.tool, case.parameter) else (_by_tool,):
            for arguments in (case.arguments, without):
                key = (ask, case.tool, json.dumps(arguments))
                if key not in answers:
                    answers[key] = ask((shared if case.tool in _ONLY_READING else world)(), case.tool, arguments)
                is_seen = _sees(case, answers[key]) and (arguments is not without or "error" not in answers[key])
                if is_seen is (arguments is without):
                    failures.append((case.tool, case.parameter, ask.__name__, arguments, answers[key]))
    assert not failures, "\n".join(map(str, failures))


def _sees(case: Case, answer: dict[str, Any]) -> bool:
    try:
        return case.look(answer) == case.expected
    except (LookupError, TypeError, AttributeError):  # a refusal has no such field
        if "error" in answer:
            return False
        raise


def _by_tool(asker: Asker, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    outcome = asker(tool, **arguments, format="json")
    if outcome.is_error:
        return {"error": outcome.text.removeprefix("error [").partition("]")[0]}
    value = json.loads(outcome.text)
    assert isinstance(value, dict)
    return value


def _by_command(asker: Asker, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return answered(asker.satchel, argv_of(_OPERATIONS[tool], arguments))


def _is_asked_of_command(tool: str, parameter: str) -> bool:
    return tool in _OPERATIONS and parameter in _options_asked(_OPERATIONS[tool])


def _options_asked(operation: Operation) -> dict[str, str]:
    """Return the options of which cases are asked, by the parameters that agents can give as well."""
    return {
        one.name: option_of(one)
        for one in operation.parameters
        if one.option is not None
        and one.name != "detail"
        and not one.for_people
        and not {(operation.tool, one.name), (operation.tool, "*")} & ONLY_AS_TOOLS.keys()
    }


def options_in_cases(groups: Collection[str]) -> set[tuple[str, str]]:
    """Return the options of some groups of commands that :func:`check_cases` tests, as ``options_of`` names them.

    These are all that agents can give as well: for each toolset a test finds the parameters that no case is about.
    """
    return {
        (" ".join(operation.command), option)
        for operation in _OPERATIONS.values()
        if operation.command[0] in groups
        for option in _options_asked(operation).values()
    }


def check_format(asker: Asker, tool: str, arguments: dict[str, Any]) -> None:
    """The answer is JSON only where that is asked for, and another format is refused."""
    assert not asker.text(tool, **arguments).startswith("{")
    assert asker.text(tool, **arguments, format="text") == asker.text(tool, **arguments)
    assert "Valid: text, json" in asker.refused(tool, **arguments, format="yaml")
    asker.fields(tool, **arguments)


def untested(toolset: str, cases: Iterable[Case]) -> set[tuple[str, str]]:
    """Return the parameters of a toolset that no case is about, but for ``format``, and ``detail`` of every list."""
    every = {
        (tool.name, name)
        for tool in ALL_TOOLS
        if tool.toolset == toolset
        for name in tool.parameters["properties"]
        if name not in {"format", "detail"}
    }
    return every - {(case.tool, case.parameter) for case in cases}


def ids(name: str) -> Callable[[dict[str, Any]], object]:
    """Return what takes the ids of a list from an answer."""
    return lambda answer: [item["id"] for item in answer[name]]


def field(*path: str | int) -> Callable[[dict[str, Any]], object]:
    """Return what takes a field, or None where there is none, from an answer."""

    def look(answer: Any) -> object:
        for step in path:
            answer = answer[step] if isinstance(step, int) else answer.get(step)
        return answer

    return look


def fields(*names: str) -> Callable[[dict[str, Any]], object]:
    """Return what takes some fields from an answer."""
    return lambda answer: tuple(answer.get(name) for name in names)

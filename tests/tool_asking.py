"""Calling the tools as an agent calls them, and a table of what each of their parameters does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

from satchel import Satchel
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Outcome, Registry
from satchel.interfaces.mcp.tools import ALL_TOOLS


@dataclass(frozen=True)
class Asker:
    """Calls the tools of one opened store."""

    satchel: Satchel

    def __call__(self, tool: str, **arguments: object) -> Outcome:
        """Call a tool."""
        registry = Registry(ALL_TOOLS)
        return registry.run(registry.tool(tool), arguments, Call(self.satchel))

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
    """What one parameter of a tool does.

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


def named(cases: Iterable[Case]) -> list[ParameterSet]:
    """Return the cases as pytest takes them, named for tool and parameter."""
    return [pytest.param(case, id=f"{case.tool}-{case.parameter}") for case in cases]


def check_case(world: Callable[[], Asker], case: Case) -> None:
    """Call the tool with the parameter, then in an equal store without it: it must make the difference."""
    without = {name: value for name, value in case.arguments.items() if name != case.parameter}
    assert without != case.arguments
    answered = _answered(world(), case.tool, case.arguments)
    assert case.look(answered) == case.expected, answered
    answered = _answered(world(), case.tool, without)
    assert "error" in answered or case.look(answered) != case.expected, answered


def _answered(asker: Asker, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    outcome = asker(tool, **arguments, format="json")
    if outcome.is_error:
        return {"error": outcome.text.removeprefix("error [").partition("]")[0]}
    value = json.loads(outcome.text)
    assert isinstance(value, dict)
    return value


def check_format(asker: Asker, tool: str, arguments: dict[str, Any]) -> None:
    """The answer is JSON only where that is asked for, and another format is refused."""
    assert not asker.text(tool, **arguments).startswith("{")
    assert asker.text(tool, **arguments, format="text") == asker.text(tool, **arguments)
    assert "Valid: text, json" in asker.refused(tool, **arguments, format="yaml")
    asker.fields(tool, **arguments)


def untested(toolset: str, cases: Iterable[Case]) -> set[tuple[str, str]]:
    """Return the parameters of a toolset that no case is about, but for ``format``."""
    every = {
        (tool.name, name)
        for tool in ALL_TOOLS
        if tool.toolset == toolset
        for name in tool.parameters["properties"]
        if name != "format"
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

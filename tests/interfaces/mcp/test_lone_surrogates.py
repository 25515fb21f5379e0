"""A lone surrogate, in whatever argument, is cleaned or refused; it is never an internal fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from satchel import Satchel
from satchel.interfaces.mcp.jsonrpc import encode_result
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test
from tool_asking import Asker

LONE = ("\ud800", "a\udcffb", "ab\ud800", "\udbff\udbff cd")

GIVEN: dict[str, list[dict[str, Any]]] = {
    "write_context": [
        {"type": "discovery", "content": "x"},
        {"type": "error", "content": {"message": "m"}},
        {"entries": [{"type": "discovery", "content": "x"}]},
    ],
    "search": [{"query": "zebra"}, {"like": "e1"}, {"query": "zebra", "syntax": "operators"}],
    "set_decision": [{"key": "k", "value": "v"}, {"decisions": [{"key": "k", "value": "v"}]}],
    "add_constraint": [{"text": "x"}],
    "review_item": [{"id": "c1", "verdict": "retract"}],
    "report_error": [{"error_type": "E", "message": "m"}],
    "report_outcome": [{"id": "s1", "helped": True}, {"solution": "x", "id": "p1"}],
    "save_package": [{"summary": "x", "content": "y"}, {"summary": "x", "path": "a.md"}, {"package": "k1"}],
    "get_packages": [{}, {"packages": ["k1"]}],
    "save_strategy": [{"topic": "a", "insight": "b"}],
    "send_message": [{"message": "x", "agent": "ann"}],
    "get_messages": [{"agent": "ann"}],
    "mark_read": [{"ids": ["m1"], "agent": "ann"}],
    "record_file_change": [{"file": "a.py", "change": "modified"}],
    "claim_files": [{"paths": ["a.py"], "agent": "ann"}],
    "release_files": [{"paths": ["a.py"], "agent": "ann"}],
    "consult": [{"assistant": "gpt", "instructions": "x", "dry_run": True, "agent": "ann"}],
    "reset_conversation": [{"conversation": "s"}],
}
"""What each tool is called with beside the parameter in question; several where a tool has several forms."""


def spoilt(value: object, lone: str) -> Iterator[object]:
    """Yield a value with a lone surrogate in each text and in each name that it holds."""
    if isinstance(value, str):
        yield lone
        yield f"{value}{lone}"
    elif isinstance(value, dict):
        yield {**value, lone: "x"}
        for name, item in value.items():
            for other in spoilt(item, lone):
                yield {**value, name: other}
    elif isinstance(value, list):
        for item in value:
            for other in spoilt(item, lone):
                yield [other]


def values(schema: dict[str, Any]) -> list[object]:
    """Return texts, lists and objects that a parameter takes."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    takes: dict[str, list[object]] = {
        "string": ["x"],
        "array": [["x"], [{"x": "y"}]],
        "object": [{"x": "y", "z": ["y", {"v": "w"}]}],
    }
    return [value for kind in kinds for value in takes.get(kind, [])]


def calls(tool: Tool[Satchel]) -> Iterator[dict[str, Any]]:
    """Yield arguments of a tool that hold a lone surrogate somewhere."""
    for given in GIVEN.get(tool.name, [{}]):
        for name, schema in tool.parameters["properties"].items():
            for value in [*([given[name]] if name in given else []), *values(schema)]:
                for lone in LONE:
                    for other in spoilt(value, lone):
                        yield {**given, name: other}
        yield {**given, "\ud800": "x"}


@pytest.fixture
def asker(empty: Asker) -> Asker:
    """A store with one of most things."""
    satchel = empty.satchel
    satchel.entries.write("discovery", "a zebra", agent="ann")
    satchel.decisions.set("alpha", "v", agent="ann")
    satchel.constraints.add("be quick", agent="ann")
    satchel.messages.send("look", to="ann", agent="bob")
    return empty


@in_one_test("tool", ALL_TOOLS)
def test_no_argument_of_a_tool_fails_inside(asker: Asker, tool: Tool[Satchel]) -> None:
    for arguments in calls(tool):
        outcome = asker(tool.name, **arguments)
        assert "error [internal]" not in outcome.text, arguments
        encode_result(1, {"text": outcome.text}).decode()

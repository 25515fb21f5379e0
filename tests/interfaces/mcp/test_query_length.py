"""One limit of length holds for whatever text a tool searches for."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test
from tool_asking import Asker

SEARCHING = [
    pytest.param(tool, name, id=tool.name)
    for tool in ALL_TOOLS
    for name in ("search", "query")
    if name in tool.parameters["properties"]
]


@in_one_test(("tool", "name"), SEARCHING)
def test_a_search_of_more_than_64_kib_is_refused(empty: Asker, tool: Tool[Satchel], name: str) -> None:
    empty.satchel.entries.write("discovery", "x", agent="ann")
    agent = {"agent": "ann"} if tool.name == "get_messages" else {}
    refused = empty.refused(tool.name, **{name: "é" * 32_769}, **agent)
    assert refused.startswith("error [too_large]: the text to search for has 65,538")
    assert "too_large" not in empty(tool.name, **{name: "é" * 32_768}, **agent).text

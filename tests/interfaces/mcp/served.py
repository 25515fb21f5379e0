"""A small server on stdio, started as a process of its own by the tests beside it.

Tools that must wait do so on files in the folder named by the first argument, never by the clock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from satchel.base.errors import NotFound
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.guidance import Prompt, PromptArgument, Resource
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry, Tool
from satchel.interfaces.mcp.stdio import serve_stdio

_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


def _echo(_call: Call[Path], /, text: str, times: int = 1) -> str:
    return text * times


def _agent(call: Call[Path], /) -> str:
    return str(call.meta.get("satchel/agent"))


def _hold(call: Call[Path], /, name: str) -> str:
    """Report progress, then wait for the file ``name.go`` or for cancellation."""
    wake = threading.Event()
    with call.on_cancel(wake.set):
        call.progress(1)
        while not (call.service / f"{name}.go").exists():
            if wake.wait(0.01):
                (call.service / f"{name}.interrupted").touch()
                raise RuntimeError("the statement was interrupted")
    return f"{name} held"


def _linger(call: Call[Path], /) -> str:
    """Outlast the end of the input, unless interrupted."""
    wake = threading.Event()
    with call.on_cancel(wake.set):
        return "interrupted" if wake.wait(0.2) else "lingered"


def _count(call: Call[Path], /) -> str:
    for done in range(1, 4):
        call.progress(done, 3, f"step {done}")
    call.progress(2, 3, "a step back is not sent")
    return "counted"


def _fail(_call: Call[Path], /, how: str) -> str:
    if how == "known":
        raise NotFound("run 'r9' does not exist", "The nearest is 'r7'")
    if how == "exit":
        sys.exit(3)
    raise RuntimeError("the password is hunter2")


def _shout(_call: Call[Path], /) -> str:
    print("printed by a handler")  # noqa: T201 - what is tested
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["echo", "printed by a child"], check=True)
    child_input = subprocess.run(["cat"], check=True, capture_output=True).stdout
    sys.__stdout__.write("buffered until exit")  # type: ignore[union-attr] # the process has one
    return f"shouted; the child read {child_input!r}"


def _surrogate(_call: Call[Path], /) -> str:
    return "half \ud83d a pair"


def _tool(tool_name: str, handler: Callable[..., str], /, **properties: Mapping[str, object]) -> Tool[Path]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [name for name, schema in properties.items() if "default" not in schema],
        "additionalProperties": False,
    }
    description = f"Test tool {tool_name}."
    return Tool(tool_name, "test", tool_name.title(), description, parameters, handler, read_only=tool_name != "hold")


def _state(values: Mapping[str, str]) -> str:
    if values["run_id"] == "r9":
        raise NotFound("run 'r9' does not exist", "The nearest is 'r7'")
    return f"state of {values['run_id']}"


def _broken(_values: Mapping[str, str]) -> str:
    raise RuntimeError("the password is hunter2")


def _no_text(_values: Mapping[str, str]) -> str:
    return cast("str", b"bytes")


def make_server(folder: Path) -> Server[Path]:
    """Build the server; it works in the folder."""
    tools = [
        _tool("echo", _echo, text={"type": "string"}, times={"type": "integer", "default": 1}),
        _tool("agent", _agent),
        _tool("hold", _hold, name={"type": "string"}),
        _tool("linger", _linger),
        _tool("count", _count),
        _tool("fail", _fail, how={"type": "string", "enum": ["known", "unknown", "exit"]}),
        _tool("shout", _shout),
        _tool("surrogate", _surrogate),
    ]
    return Server(
        "served",
        "1.2.3",
        lambda: folder,
        Registry(tools),
        instructions="Only for tests.",
        resources=[
            Resource("test://hello", "hello", "A greeting.", lambda _values: "hello"),
            Resource("test://broken", "broken", "A fault.", _broken),
            Resource("test://no-text", "no-text", "Bytes.", _no_text),
            Resource("test://runs/{run_id}/state", "state", "A run's state.", _state),
        ],
        prompts=[
            Prompt(
                "review",
                "Review a decision.",
                lambda given: f"Review {given['key']} {given.get('tone', 'kindly')}",
                (PromptArgument("key", "The decision.", required=True), PromptArgument("tone", "How.")),
            )
        ],
    )


if __name__ == "__main__":
    _folder, _grace_seconds, _max_line_bytes = sys.argv[1:]
    sys.exit(
        serve_stdio(
            make_server(Path(_folder)),
            grace_seconds=float(_grace_seconds),
            max_line_bytes=int(_max_line_bytes),
        )
    )

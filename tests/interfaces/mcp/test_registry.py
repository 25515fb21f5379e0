from __future__ import annotations

import io
from typing import Any

import pytest

from satchel.base.errors import Conflict, InvalidInput
from satchel.interfaces.mcp.call import Call, notice_for
from satchel.interfaces.mcp.registry import Registry, Tool

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "additionalProperties": False,
}


def double(call: Call[int], /, n: int = 1) -> str:
    return str(call.service * n)


def tool(name: str, toolset: str = "find", **changes: Any) -> Tool[int]:
    fields: dict[str, Any] = {
        "title": name.title(),
        "description": f"Does {name}.",
        "parameters": PARAMETERS,
        "handler": double,
        "read_only": True,
    }
    return Tool(name, toolset, **fields | changes)


TOOLS = [
    tool("write", "context", read_only=False),
    tool("search", "find"),
    tool("read", "context"),
    tool("clear", "admin", read_only=False, destructive=True),
]


def run(subject: Tool[int], arguments: dict[str, object], call: Call[int] | None = None) -> tuple[str, bool]:
    outcome = Registry([subject]).run(subject, arguments, call or Call(lambda: 2))
    return outcome.text, outcome.is_error


def test_tools_are_listed_in_the_order_of_their_declaration() -> None:
    assert list(Registry(TOOLS).tools) == ["write", "search", "read", "clear"]
    assert list(Registry(TOOLS, ["find", "context"]).tools) == ["write", "search", "read"]


def test_a_read_only_registry_has_only_tools_that_read() -> None:
    assert list(Registry(TOOLS, read_only=True).tools) == ["search", "read"]


def hints(read_only: bool = False, destructive: bool = False, idempotent: bool = False) -> dict[str, bool]:
    return {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": False,
    }


def test_a_listing_shows_what_a_host_needs_and_nothing_more() -> None:
    shown = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert Registry(TOOLS, ["context"]).listing() == [
        {
            "name": "write",
            "title": "Write",
            "description": "Does write.",
            "inputSchema": shown,
            "annotations": {"title": "Write", **hints()},
        },
        {
            "name": "read",
            "title": "Read",
            "description": "Does read.",
            "inputSchema": shown,
            "annotations": {"title": "Read", **hints(read_only=True)},
        },
    ]


def test_a_destructive_tool_says_so() -> None:
    (listed,) = Registry(TOOLS, ["admin"]).listing()
    assert listed["annotations"] == {"title": "Clear", **hints(destructive=True)}


def listed_parameters(*names: str, **changes: Any) -> dict[str, Any]:
    """Return the parameters that a tool with these is listed with."""
    described = {"type": "string", "description": "A way.", "enum": ["a", "b"]}
    parameters = {"type": "object", "properties": dict.fromkeys(names, described), "additionalProperties": False}
    (listed,) = Registry([tool("one", parameters=parameters, **changes)]).listing()
    shown: dict[str, Any] = listed["inputSchema"]["properties"]
    return shown


def test_a_parameter_that_is_taken_need_not_be_listed() -> None:
    assert list(listed_parameters("n", "m", unlisted=frozenset({"m"}))) == ["n"]


def test_each_tool_is_listed_as_if_it_were_the_only_one() -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "string", "description": "A way."}}}
    tools = [tool(name, parameters={**parameters, "additionalProperties": False}) for name in ("one", "two")]
    one, two = Registry(tools).listing()
    assert one["inputSchema"] == two["inputSchema"] == parameters


def test_of_a_union_the_first_type_is_listed_and_every_one_taken() -> None:
    parameters = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}},
        "additionalProperties": False,
    }
    subject = tool("one", parameters=parameters, handler=lambda _call, /, n: f"{n}")
    assert Registry([subject]).listing()[0]["inputSchema"]["properties"] == {"n": {"type": "integer"}}
    assert run(subject, {"n": None}) == ("None", False)


def test_a_host_that_shows_names_alone_is_told_how_a_tool_is_found() -> None:
    (found,) = Registry([tool("one", found_by="remember notes")]).listing()
    (shown,) = Registry([tool("one", always_shown=True)]).listing()
    assert (found["_meta"], shown["_meta"]) == (
        {"anthropic/searchHint": "remember notes"},
        {"anthropic/alwaysLoad": True},
    )
    assert "_meta" not in Registry([tool("one")]).listing()[0]


def test_a_wire_name_may_be_a_word_of_the_language() -> None:
    def handler(_call: Call[int], /, to: str, **others: str) -> str:
        return others["from"] + to

    parameters = {
        "type": "object",
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
        "additionalProperties": False,
    }
    subject = tool("get", parameters=parameters, handler=handler)
    assert run(subject, {"from": "a", "to": "b"}) == ("ab", False)
    assert run(subject, {"from_": "a"})[0].startswith("error [invalid_input]: unknown get argument 'from_'")


def test_a_tool_that_needs_no_agent_accepts_one() -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    subject = tool("double", parameters=parameters, handler=lambda _call, /, n: str(n * 2))
    assert run(subject, {"n": 3, "agent": "ann"}) == ("6", False)
    assert run(subject, {"n": 3, "author": "ann"})[1]


def test_an_unknown_toolset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        InvalidInput,
        match=r"unknown toolset .contxt.\. Did you mean .context.\? Valid: context, find, admin, all",
    ):
        Registry(TOOLS, ["contxt"])


def test_a_registry_without_a_toolset_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no toolset is chosen"):
        Registry(TOOLS, [])


def test_an_unknown_tool_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match=r"unknown tool .serch.\. Did you mean .search."):
        Registry(TOOLS).tool("serch")


def test_an_unknown_tool_is_refused_with_the_one_that_its_words_find() -> None:
    tools = [tool("write_context", found_by="remember notes"), tool("read_context", found_by="recall notes")]
    with pytest.raises(InvalidInput, match=r"Did you mean .write_context."):
        Registry(tools).tool("remember")
    with pytest.raises(InvalidInput, match=r"unknown tool .notes.\. Valid"):
        Registry(tools).tool("notes")


def test_a_tool_of_another_toolset_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"belongs to the toolset admin; .* and not read-only"):
        Registry(TOOLS, ["find"]).tool("clear")


def test_a_handler_gets_the_service_and_the_checked_arguments() -> None:
    assert run(tool("double"), {"n": "21"}) == ("42", False)


def test_an_error_on_purpose_is_shown_with_its_code_and_remedy() -> None:
    def fail(_call: Call[int], /, n: int = 1) -> str:
        raise Conflict("two runs are active", "Name one")

    assert run(tool("fail", handler=fail), {}) == ("error [conflict]: two runs are active. Name one", True)


def test_a_refused_argument_is_shown_as_an_error() -> None:
    told, is_error = run(tool("double"), {"m": 1})
    assert is_error
    assert told.startswith("error [invalid_input]: unknown double argument 'm'")


@pytest.mark.parametrize("answer", [None, 3, b"bytes"])
def test_an_answer_that_is_no_text_is_a_fault(answer: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tool("odd", handler=lambda _call: answer), {}) == (
        "error [internal]: internal error; see the server's log",
        True,
    )
    assert "TypeError: the handler returned" in capsys.readouterr().err


def test_a_fault_survives_a_log_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert run(tool("odd", handler=lambda _call: None), {})[1] is True


def test_a_keyboard_interrupt_is_not_swallowed() -> None:
    def stop(_call: Call[int], /) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tool("stop", handler=stop), {})


def test_a_call_cancelled_before_its_turn_does_not_run() -> None:
    call = Call(lambda: 2)
    call.cancel()
    assert run(tool("double"), {}, call) == ("error [interrupted]: the call was cancelled", True)


def test_what_a_cancelled_handler_raises_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(call: Call[int], /) -> str:
        call.cancel()
        raise RuntimeError("the statement was interrupted")

    assert run(tool("wait", handler=interrupted), {})[0].startswith("error [interrupted]")
    assert capsys.readouterr().err == ""


def test_what_a_caller_must_not_read_is_hidden_in_each_answer_about_an_error() -> None:
    def write(call: Call[Any], /, n: int = 1) -> str:
        call.is_done = n > 1
        raise Conflict("it is in /srv/p")

    call: Call[Any] = Call(lambda: None, hide=lambda text, code: text.replace("/srv/p", f"({code})"))
    subject = tool("write", handler=write, read_only=False)
    assert run(subject, {}, call)[0] == "error [conflict]: it is in (conflict)"
    assert "written: it is in (conflict). Read it back" in run(subject, {"n": 2}, call)[0]
    call.service = Broken()
    assert (
        notice_for(call, None) == "notice: claims and messages of others could not be looked up (it is in (conflict))"
    )


def test_a_store_that_cannot_be_opened_is_tried_once_in_a_call_and_again_in_the_next() -> None:
    tries: list[int] = []

    def opened() -> int:
        tries.append(1)
        if len(tries) < 2:
            raise Conflict("no store is here", "make one")
        return 4

    assert run(tool("read"), {}, Call(opened)) == ("error [conflict]: no store is here. make one", True)
    assert len(tries) == 1
    call = Call(opened)
    assert [run(tool("read"), {}, call) for _ in range(2)] == [("4", False)] * 2
    assert len(tries) == 2


class Broken:
    def interrupter(self) -> None:
        raise Conflict("it is in /srv/p")

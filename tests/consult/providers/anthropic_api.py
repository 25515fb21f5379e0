"""A server that speaks Anthropic's Messages API, streamed, in its version 2026-10-21.

Format: https://platform.claude.com/docs/en/api/messages-streaming
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from consult.providers.server import Answer, FakeProvider, Request, as_events, as_json

SIGNATURE = "c2lnbmVkIGJ5IHRoZSBtb2RlbA=="


@dataclass(frozen=True)
class Said:
    """What the model says to one request: thoughts, text in pieces, then calls of a tool as (name, arguments).

    Attributes:
        web: what it looks for in the web before that, and the address that it cites.
    """

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    thoughts: str = ""
    stop: str | None = None
    error: str | None = None
    web: tuple[str, str] | None = None


class AnthropicApi(FakeProvider):
    """Anthropic, small."""

    prefix = ""

    def __init__(self, *said: Said, key: str = "sk-ant-test") -> None:
        super().__init__()
        self.script = list(said) or [Said(("It ", "is ", "so."))]
        self.key = key

    def step_of(self, method: str, path: str) -> str:
        return "chat" if (method, path) == ("POST", "/v1/messages") else f"{method} {path}"

    def error_body(self, status: int) -> Any:
        return {"type": "error", "error": {"type": "some_error", "message": f"something with {status}"}}

    def answer(self, request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            error = {"type": "authentication_error", "message": "invalid key"}
            return as_json({"type": "error", "error": error}, 401)
        assert request.headers["anthropic-version"] == "2026-10-21"
        body = request.json
        assert not {"temperature", "top_p", "top_k"} & body.keys()
        assert body["stream"] is True
        assert body["max_tokens"] >= 1
        _check(body["messages"])
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        names = {tool["name"] for tool in body.get("tools", ())}
        may_call = "file_search" in names and body["tool_choice"]["type"] != "none"
        assert said.web is None or "web_search" in names
        assert may_call or not said.calls
        return as_events(_events(said, body["model"]), named=True)


def _check(messages: list[dict[str, Any]]) -> None:
    """Refuse what the real one refuses: roles out of turn, calls without results, thoughts that were tampered with."""
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        assert message["role"] == ("assistant" if place % 2 else "user")
        blocks = message["content"]
        if isinstance(blocks, str):
            assert blocks
            assert not open_calls
            continue
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert answered == open_calls
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        for block in blocks:
            if block["type"] == "thinking":
                assert block["signature"] == SIGNATURE
                assert block["thinking"]
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict)
    assert not open_calls
    last = messages[-1]
    assert last["role"] == "user" or last["content"][-1]["type"] == "web_search_tool_result"


def _events(said: Said, model: str) -> Iterable[dict[str, Any]]:
    usage = {"input_tokens": 40, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if said.thoughts:
        deltas = [
            {"type": "thinking_delta", "thinking": said.thoughts},
            {"type": "signature_delta", "signature": SIGNATURE},
        ]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    citations: list[dict[str, Any]] = []
    if said.web:
        query, url = said.web
        page = {
            "type": "web_search_result",
            "url": url,
            "title": "A page",
            "encrypted_content": "EqgC",
            "page_age": None,
        }
        use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        blocks.append((use, [{"type": "input_json_delta", "partial_json": f'{{"query": "{query}"}}'}]))
        blocks.append(({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]}, []))
        location = {"type": "web_search_result_location", "url": url, "title": "A page", "cited_text": "so"}
        citations = [{"type": "citations_delta", "citation": {**location, "encrypted_index": "Eo8B"}}]
    if said.pieces:
        deltas = [*({"type": "text_delta", "text": piece} for piece in said.pieces), *citations]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for place, (name, arguments) in enumerate(said.calls):
        half = len(arguments) // 2
        parts = (arguments[:half], arguments[half:])
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *parts)]
        blocks.append(({"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": {}}, deltas))
    for place, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": place, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    if said.error is not None:
        yield {"type": "error", "error": {"type": said.error, "message": "the stream had an accident"}}
        return
    stop = said.stop or ("tool_use" if said.calls else "end_turn")
    ending: dict[str, Any] = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}

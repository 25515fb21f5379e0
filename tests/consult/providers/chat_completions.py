"""A server that speaks OpenAI's chat completions, streamed, as Ollama and many others do.

Format: https://developers.openai.com/api/reference/resources/chat
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from consult.providers.server import Answer, FakeProvider, Request, as_events, as_json


@dataclass(frozen=True)
class Said:
    """What the model says to one request: text in pieces, then calls of a tool as (name, arguments)."""

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = (100, 10)
    reasoning: str = ""
    with_place: bool = True


@dataclass
class Model:
    """A model that says what it was told to say, the last thing again and again."""

    script: list[Said] = field(default_factory=lambda: [Said(("Hello", ", ", "world"))])

    def say(self) -> Said:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class ChatCompletions(FakeProvider):
    """An endpoint with one model.

    Attributes:
        key: the only key that is let in; None lets everyone in.
    """

    def __init__(self, *said: Said, key: str | None = None) -> None:
        super().__init__()
        self.model = Model(list(said)) if said else Model()
        self.key = key

    def step_of(self, method: str, path: str) -> str:
        return "chat" if (method, path) == ("POST", "/chat/completions") else f"{method} {path}"

    def error_body(self, status: int) -> Any:
        return {"error": {"message": f"something with {status}", "type": "some_error", "code": None, "param": None}}

    def answer(self, request: Request) -> Answer:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            error = {"message": "Incorrect API key provided: sk-wrong", "type": "invalid_request_error"}
            return as_json({"error": {**error, "code": "invalid_api_key", "param": None}}, 401)
        if request.step != "chat":
            return as_json({"error": {"message": "no such page"}}, 404)
        body = request.json
        assert body["stream"] is True
        assert body["stream_options"] == {"include_usage": True}
        assert isinstance(body["model"], str)
        check_messages(body["messages"])
        said = self.model.say()
        may_call = "tools" in body and body["tool_choice"] != "none"
        while said.calls and not may_call and said.finish != "stubborn":
            said = self.model.say()
        return as_events(chunks(said, body["model"]), named=False, last="[DONE]")


def check_messages(messages: list[dict[str, Any]]) -> None:
    """Refuse what the real servers refuse: results of calls that were not made, and calls without a result."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls, "a result without a call"
            open_calls.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not open_calls, "a call without a result"
        assert message["role"] in {"user", "assistant"}
        for call in message.get("tool_calls", ()):
            json.dumps(call["function"]["arguments"])
            open_calls.append(call["id"])
    assert not open_calls, "a call without a result"
    assert messages[-1]["role"] in {"user", "tool"}


def chunks(said: Said, model: str) -> list[dict[str, Any]]:
    """Return the chunks of an answer: text, calls in pieces, the reason to stop, the usage."""
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_795_000_000, "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}

    events = [chunk({"role": "assistant", "content": ""})]
    if said.reasoning:
        events.append(chunk({"content": None, "reasoning": said.reasoning}))
    events += [chunk({"content": piece}) for piece in said.pieces]
    for place, (name, arguments) in enumerate(said.calls):
        where: dict[str, Any] = {"index": place} if said.with_place else {}
        whole = {"id": f"call_{place}x", "type": "function", "function": {"name": name, "arguments": ""}}
        if not said.with_place:
            whole["function"] = {"name": name, "arguments": arguments}
            events.append(chunk({"tool_calls": [whole]}))
            continue
        events.append(chunk({"tool_calls": [{**where, **whole}]}))
        half = len(arguments) // 2
        events += [
            chunk({"tool_calls": [{**where, "function": {"arguments": part}}]})
            for part in (arguments[:half], arguments[half:])
        ]
    finish = said.finish if said.finish != "stubborn" else None
    events.append(chunk({}, finish or ("tool_calls" if said.calls else "stop")))
    if said.usage is not None:
        taken, given = said.usage
        usage = {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}
        events.append({**common, "choices": [], "usage": usage})
    return events

"""A server that speaks the Gemini API, streamed.

Format: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from consult.providers.server import Answer, FakeProvider, Request, as_events, as_json

SIGNATURE = "c2lnbmVkIGJ5IHRoZSBtb2RlbA=="


@dataclass(frozen=True)
class Said:
    """What the model says to one request: thoughts, text in pieces, then calls of a tool as (name, arguments)."""

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    thoughts: str = ""
    stop: str = "STOP"
    blocked: str | None = None
    web: tuple[str, str] | None = None


class GeminiApi(FakeProvider):
    """Gemini, small."""

    prefix = ""

    def __init__(self, *said: Said, key: str = "gemini-test-key") -> None:
        super().__init__()
        self.script = list(said) or [Said(("It ", "is ", "so."))]
        self.key = key

    def step_of(self, method: str, path: str) -> str:
        is_chat = method == "POST" and path == "/v1/models/gemini-test:streamGenerateContent"
        return "chat" if is_chat else f"{method} {path}"

    def error_body(self, status: int) -> Any:
        return {"error": {"code": status, "message": f"something with {status}", "status": "SOME_STATUS"}}

    def answer(self, request: Request) -> Answer:
        if request.headers.get("x-goog-api-key") != self.key:
            details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
            error = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}
            return as_json({"error": error}, 400)
        assert request.step == "chat"
        assert request.query["alt"] == "sse"
        body = request.json
        assert body["generationConfig"]["maxOutputTokens"] >= 1
        _check(body["contents"])
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        mode = body["toolConfig"]["functionCallingConfig"]["mode"] if "toolConfig" in body else "NONE"
        assert said.web is None or {"googleSearch": {}} in body["tools"]
        assert mode != "NONE" or not said.calls
        return as_events(_chunks(said), named=False)


def _check(contents: list[dict[str, Any]]) -> None:
    """Refuse what the real one refuses: roles out of turn, calls without answers, calls without their signature."""
    open_calls: list[str] = []
    for place, content in enumerate(contents):
        assert content["role"] == ("model" if place % 2 else "user")
        answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        assert answered == open_calls
        called = [part for part in content["parts"] if "functionCall" in part]
        open_calls = [part["functionCall"]["name"] for part in called]
        assert not called or called[0]["thoughtSignature"] == SIGNATURE
    assert not open_calls
    assert contents[-1]["role"] == "user"


def _chunks(said: Said) -> Iterable[dict[str, Any]]:
    if said.blocked is not None:
        yield {"promptFeedback": {"blockReason": said.blocked}}
        return
    parts: list[dict[str, Any]] = [{"text": said.thoughts, "thought": True}] if said.thoughts else []
    parts += [{"text": piece} for piece in said.pieces]
    for place, (name, arguments) in enumerate(said.calls):
        call = {"functionCall": {"id": f"c{place}", "name": name, "args": json.loads(arguments)}}
        parts.append({**call, "thoughtSignature": SIGNATURE} if place == 0 else call)
    for part in parts:
        yield {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 6,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 110,
    }
    last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": said.stop, "index": 0}
    if said.web:
        chunk = {"web": {"uri": said.web[1], "title": "A page"}}
        last["groundingMetadata"] = {"webSearchQueries": [said.web[0]], "groundingChunks": [chunk]}
    yield {"candidates": [last], "usageMetadata": usage}

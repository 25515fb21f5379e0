"""A model that the clients of coding agents talk to: it calls the tools of its script, and keeps what it was asked.

It speaks Anthropic's Messages API and OpenAI's Responses API, streamed, as far as Claude Code and Codex need them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Protocol

Json = dict[str, Any]

LAST_WORDS = "The script is done."


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the model makes."""

    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Given:
    """What the client gave the model for a call: the text of the answer, or the tools that a search of tools found."""

    text: str
    tools: tuple[str, ...] = ()
    is_error: bool = False


class Api(Protocol):
    """How a client asks the model, and how the model answers."""

    path: ClassVar[str]

    def given(self, body: Json) -> list[Given]:
        """Return what a request holds for the calls made so far, in their order."""

    def events(self, call: Call | None, number: int) -> list[Json]:
        """Return the events that call a tool, or say the last words."""


class Messages:
    """Anthropic's Messages API."""

    path: ClassVar[str] = "/v1/messages"

    def given(self, body: Json) -> list[Given]:
        """Return the results of the tools; what a search found is a reference to each tool."""
        contents = [message["content"] for message in body["messages"] if message["role"] == "user"]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return [self._result(block) for block in blocks if block["type"] == "tool_result"]

    def _result(self, block: Json) -> Given:
        content = block["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return Given(
            "\n".join(part["text"] for part in parts if part["type"] == "text"),
            tuple(part["tool_name"] for part in parts if part["type"] == "tool_reference"),
            bool(block.get("is_error")),
        )

    def events(self, call: Call | None, number: int) -> list[Json]:
        """Return the events of one message with one block."""
        opening: Json
        if call is None:
            reason, opening = "end_turn", {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": LAST_WORDS}
        else:
            reason = "tool_use"
            opening = {"type": "tool_use", "id": f"toolu_{number:04}", "name": call.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        message = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": "scripted"}
        usage = {"input_tokens": 10, "output_tokens": 1}
        return [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": opening},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]


class Responses:
    """OpenAI's Responses API; a tool's name is ``namespace.name`` where it has a namespace."""

    path: ClassVar[str] = "/v1/responses"

    def given(self, body: Json) -> list[Given]:
        """Return the outputs of the calls; what a search found is a list of tools in their namespaces."""
        return [
            self._search(item) if item["type"] == "tool_search_output" else self._output(item)
            for item in body["input"]
            if item.get("type") in {"function_call_output", "tool_search_output"}
        ]

    def _search(self, item: Json) -> Given:
        found = [f"{space['name']}.{tool['name']}" for space in item["tools"] for tool in space.get("tools", [])]
        return Given("", tuple(found))

    def _output(self, item: Json) -> Given:
        output = item["output"]
        return Given(output if isinstance(output, str) else "\n".join(part["text"] for part in output))

    def events(self, call: Call | None, number: int) -> list[Json]:
        """Return the events of one response with one item."""
        response = {"id": f"resp_{number:04}", "object": "response", "model": "scripted"}
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        item = self._item(call, number)
        return [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}},
        ]

    def _item(self, call: Call | None, number: int) -> Json:
        if call is None:
            content = [{"type": "output_text", "text": LAST_WORDS, "annotations": []}]
            return {"type": "message", "id": f"m_{number:04}", "role": "assistant", "content": content}
        made = {"id": f"c_{number:04}", "call_id": f"call_{number:04}", "status": "completed"}
        if call.tool == "tool_search":
            return {**made, "type": "tool_search_call", "execution": "client", "arguments": call.arguments}
        space, _, name = call.tool.rpartition(".")
        item = {**made, "type": "function_call", "name": name, "arguments": json.dumps(call.arguments)}
        return {**item, "namespace": space} if space else item


class ScriptedModel:
    """The server of the model, on this machine only; its requests are kept in their order.

    Which call comes next is told by the results that a request holds, so that one that is repeated is answered alike.
    A request without tools (a title, say) gets the last words.
    """

    def __init__(self, api: Api, script: Sequence[Call]) -> None:
        self.requests: list[Json] = []
        self.strangers: list[str] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
                """Write nothing."""

            def refuse(self) -> None:
                """Refuse what no model answers, such as a way to another server."""
                model.strangers.append(self.requestline)
                self.send_error(404)

            do_GET = do_HEAD = do_CONNECT = refuse  # noqa: N815 - the names they have there

            def do_POST(self) -> None:
                """Stream the next call."""
                if self.path.partition("?")[0] != api.path:
                    self.refuse()
                    return
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for event in model.answer(body):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        self._api, self._script = api, script
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a program asks this server whatever it would ask another one, and is refused."""
        return {"HTTPS_PROXY": self.url, "HTTP_PROXY": self.url, "NO_PROXY": "127.0.0.1"}

    def answer(self, body: Json) -> Iterator[Json]:
        """Keep a request, and return the events that answer it."""
        self.requests.append(body)
        number = len(self._api.given(body))
        is_over = not body.get("tools") or number >= len(self._script)
        yield from self._api.events(None if is_over else self._script[number], number)

    @property
    def asked(self) -> list[Json]:
        """The requests of the conversation: those that offer tools."""
        return [body for body in self.requests if body.get("tools")]

    @property
    def given(self) -> list[Given]:
        """What the model was given for each call of the script."""
        return self._api.given(self.asked[-1])

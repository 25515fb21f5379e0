"""The protocols in which the clients of coding agents talk to a model, as far as those clients need them.

Each reads a client's request, and answers with one call of a tool or with one text, streamed where that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the model makes.

    Attributes:
        window: how many tokens the model says the request had, which is what clients compact by.
    """

    tool: str
    arguments: Json
    window: int = 10


@dataclass(frozen=True, slots=True)
class Given:
    """What the client gave the model for a call: the text of the answer, or the tools that a search of tools found."""

    text: str
    tools: tuple[str, ...] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of an answer to a client, and its type."""

    content_type: str
    body: str

    @classmethod
    def of(cls, message: Json) -> Answer:
        """Return an answer in one piece."""
        return cls("application/json", json.dumps(message))

    @classmethod
    def stream(cls, *events: Json | str) -> Answer:
        """Return an answer as events, each named by its type if it has one."""
        return cls("text/event-stream", "".join(map(_event, events)))


def _event(event: Json | str) -> str:
    if isinstance(event, str):
        return f"data: {event}\n\n"
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model is to do about a request.

    Attributes:
        path: of the request.
        body: of the request.
        step: the call that it makes, or the text that it says.
        number: tells the turns of a conversation apart.
        window: how many tokens it says the request had.
    """

    path: str
    body: Json
    step: Call | str
    number: int
    window: int = 10


class Dialect(Protocol):
    """How a client asks the model, and how the model answers."""

    def is_asked(self, path: str) -> bool:
        """Return whether a request to this path is for the model."""

    def has_tools(self, body: Json) -> bool:
        """Return whether a request offers tools; one that does not is for a title, a summary and the like."""

    def said(self, body: Json) -> Iterator[str | Given]:
        """Yield what a user's side of a request holds, in its order: words, and what calls were given."""

    def answer(self, turn: Turn) -> Answer:
        """Return what calls a tool, or says a text."""


class Messages:
    """Anthropic's Messages API."""

    def is_asked(self, path: str) -> bool:
        """Return whether a request to this path is for the model."""
        return path == "/v1/messages"

    def has_tools(self, body: Json) -> bool:
        """Return whether a request offers tools."""
        return bool(body.get("tools"))

    def said(self, body: Json) -> Iterator[str | Given]:
        """Yield words and results of tools; what a search found is a reference to each tool."""
        for message in body["messages"]:
            if message["role"] != "user":
                continue
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "tool_result":
                    yield self._result(block)
                elif block["type"] == "text":
                    yield block["text"]

    def _result(self, block: Json) -> Given:
        content = block["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return Given(
            "\n".join(part["text"] for part in parts if part["type"] == "text"),
            tuple(part["tool_name"] for part in parts if part["type"] == "tool_reference"),
            bool(block.get("is_error")),
        )

    def answer(self, turn: Turn) -> Answer:
        """Return one message with one block."""
        step, number = turn.step, turn.number
        opening: Json
        if isinstance(step, str):
            reason, opening = "end_turn", {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": step}
        else:
            reason = "tool_use"
            opening = {"type": "tool_use", "id": f"toolu_{number:04}", "name": step.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
        message = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": "scripted"}
        usage = {"input_tokens": turn.window, "output_tokens": 1}
        return Answer.stream(
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": opening},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )


class Responses:
    """OpenAI's Responses API; a tool's name is ``namespace.name`` where it has a namespace."""

    def is_asked(self, path: str) -> bool:
        """Return whether a request to this path is for the model."""
        return path == "/v1/responses"

    def has_tools(self, body: Json) -> bool:
        """Return whether a request offers tools."""
        return bool(body.get("tools"))

    def said(self, body: Json) -> Iterator[str | Given]:
        """Yield words and outputs of calls; what a search found is a list of tools in their namespaces."""
        for item in body["input"]:
            if item.get("type") == "tool_search_output":
                found = [
                    f"{space['name']}.{tool['name']}" for space in item["tools"] for tool in space.get("tools", [])
                ]
                yield Given("", tuple(found))
            elif item.get("type") in {"function_call_output", "custom_tool_call_output"}:
                output = item["output"]
                yield Given(output if isinstance(output, str) else "\n".join(part["text"] for part in output))
            elif item.get("role") == "user":
                yield from (part["text"] for part in item["content"] if part["type"] == "input_text")
            elif item.get("type") == "agent_message":  # what an agent asks of its subagent
                yield from (part.get("encrypted_content") or part["text"] for part in item["content"])

    def answer(self, turn: Turn) -> Answer:
        """Return the events of one response with one item."""
        response = {"id": f"resp_{turn.number:04}", "object": "response", "model": "scripted"}
        usage = {"input_tokens": turn.window, "output_tokens": 10, "total_tokens": turn.window + 10}
        return Answer.stream(
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": self._item(turn.step, turn.number)},
            {"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}},
        )

    def _item(self, step: Call | str, number: int) -> Json:
        if isinstance(step, str):
            content = [{"type": "output_text", "text": step, "annotations": []}]
            return {"type": "message", "id": f"m_{number:04}", "role": "assistant", "content": content}
        made = {"id": f"c_{number:04}", "call_id": f"call_{number:04}", "status": "completed"}
        if step.tool == "tool_search":
            return {**made, "type": "tool_search_call", "execution": "client", "arguments": step.arguments}
        if step.tool == "apply_patch":  # a tool that takes a text as it is
            return {**made, "type": "custom_tool_call", "name": step.tool, "input": step.arguments["input"]}
        space, _, name = step.tool.rpartition(".")
        item = {**made, "type": "function_call", "name": name, "arguments": json.dumps(step.arguments)}
        return {**item, "namespace": space} if space else item


class ChatCompletions:
    """OpenAI's Chat Completions API, which Qwen Code, opencode and Copilot CLI speak to a provider of one's own."""

    def is_asked(self, path: str) -> bool:
        """Return whether a request to this path is for the model."""
        return path == "/v1/chat/completions"

    def has_tools(self, body: Json) -> bool:
        """Return whether a request offers tools."""
        return bool(body.get("tools"))

    def said(self, body: Json) -> Iterator[str | Given]:
        """Yield words and results of tools."""
        for message in body["messages"]:
            content = message.get("content") or ""
            parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
            if message["role"] == "tool":
                yield Given("\n".join(parts))
            elif message["role"] == "user":
                yield from parts

    def answer(self, turn: Turn) -> Answer:
        """Return one choice with one message."""
        step, number = turn.step, turn.number
        message: Json = {"role": "assistant", "content": step if isinstance(step, str) else None}
        if isinstance(step, Call):
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            message["tool_calls"] = [{"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}]
        reason = "stop" if isinstance(step, str) else "tool_calls"
        usage = {"prompt_tokens": turn.window, "completion_tokens": 10, "total_tokens": turn.window + 10}
        made = {"id": f"chat_{number:04}", "created": 1, "model": turn.body["model"]}
        if not turn.body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return Answer.of({**made, "object": "chat.completion", "choices": [choice], "usage": usage})
        made["object"] = "chat.completion.chunk"
        return Answer.stream(
            {**made, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**made, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
            "[DONE]",
        )


class GenerateContent:
    """Google's Gemini API."""

    def is_asked(self, path: str) -> bool:
        """Return whether a request to this path is for the model; which model is a part of it."""
        return path.endswith((":generateContent", ":streamGenerateContent", ":countTokens"))

    def has_tools(self, body: Json) -> bool:
        """Return whether a request offers tools."""
        return any(tool.get("functionDeclarations") for tool in body.get("tools", []))

    def said(self, body: Json) -> Iterator[str | Given]:
        """Yield words and what the functions answered."""
        for content in body["contents"]:
            if content.get("role") == "model":
                continue
            for part in content["parts"]:
                if "functionResponse" in part:
                    response = part["functionResponse"]["response"]
                    yield Given(str(response.get("output", response.get("error", ""))), is_error="error" in response)
                elif "text" in part:
                    yield part["text"]

    def answer(self, turn: Turn) -> Answer:
        """Return one candidate with one part; who asks for JSON gets an object of what the client asks for."""
        step = turn.step
        if turn.path.endswith(":countTokens"):
            return Answer.of({"totalTokens": 10})
        if turn.body.get("generationConfig", {}).get("responseMimeType") == "application/json":
            # the routing of requests to models asks for these two, and asks again five times without them
            step = json.dumps({"complexity_score": 1, "complexity_reasoning": "none", "model_choice": "flash"})
        part: Json = {"text": step}
        if isinstance(step, Call):
            part = {"functionCall": {"name": step.tool, "args": step.arguments}}
        usage = {"promptTokenCount": turn.window, "candidatesTokenCount": 1, "totalTokenCount": turn.window + 1}
        answer = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }
        return Answer.stream(answer) if turn.path.endswith(":streamGenerateContent") else Answer.of(answer)

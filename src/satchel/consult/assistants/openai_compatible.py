"""Any endpoint that speaks OpenAI's chat completions: local servers such as Ollama, and many providers.

Format: https://developers.openai.com/api/reference/resources/chat and its streamed chunks. The history is ours: every
request holds all of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants import searching
from satchel.consult.assistants.base import OwnHistoryAssistant, messages_of, without_nones
from satchel.consult.assistants.openai_client import OpenAIClient
from satchel.consult.assistants.protocol import Ask
from satchel.consult.assistants.rounds import Call, Round
from satchel.consult.assistants.sdk_client import count_of
from satchel.consult.assistants.wire import Wire

_TOOL = {
    "type": "function",
    "function": {"name": searching.NAME, "description": searching.DESCRIPTION, "parameters": searching.SCHEMA},
}


class OpenAICompatible(OwnHistoryAssistant[OpenAIClient]):
    """An assistant behind a chat completions endpoint. Overflow is searched in a store of our own."""

    own_url = ""

    def _open(self, wire: Wire) -> OpenAIClient:
        return OpenAIClient(self.told, wire, base_url=self._base_url, key=self._key, variable=self._variable)

    def _messages(self, ask: Ask) -> list[Any]:
        return [*messages_of(ask.history), {"role": "user", "content": ask.prompt}]

    def _send(
        self, client: OpenAIClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        limit = "max_completion_tokens" if self.name.startswith("azure:") else "max_tokens"
        options = without_nones(**{limit: self.window.output}, reasoning_effort=ask.effort, temperature=ask.temperature)
        if may_search is not None:
            options |= {"tools": [_TOOL], "tool_choice": "auto" if may_search else "none"}
        calls = _Calls(f"call_{len(messages)}")
        finish: str | None = None
        usage: Any = None
        has_begun = False
        try:
            with (
                client.explained(),
                client.sdk.chat.completions.create(
                    model=self.model,
                    messages=messages,
                    stream=True,
                    stream_options={"include_usage": True},
                    **options,
                ) as stream,
            ):
                for chunk in stream:
                    has_begun = True
                    yield ""
                    usage = chunk.usage or usage
                    for choice in chunk.choices:
                        finish = choice.finish_reason or finish
                        calls.gather(choice.delta.tool_calls or ())
                        client.wire.check_content(parts=len(calls), arguments=calls.chars)
                        piece = choice.delta.content or choice.delta.refusal
                        if piece:
                            yield piece
        except AssistantFailed:
            # what is missing after the reason to stop is only how many tokens it took
            if finish is None:
                raise
        if finish is None:
            raise client.unfinished("no event of a stream", has_begun=has_begun)
        return Round(
            calls=calls.whole(),
            is_cut=finish == "length",
            input_tokens=count_of(usage, "prompt_tokens"),
            output_tokens=count_of(usage, "completion_tokens"),
            notes=("the provider's content filter ended the answer",) if finish == "content_filter" else (),
        )

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        called = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in one.calls
        ]
        return [
            {"role": "assistant", "content": one.text or None, "tool_calls": called},
            *(
                {"role": "tool", "tool_call_id": call.id, "content": result}
                for call, result in zip(one.calls, results, strict=True)
            ),
        ]


class _Calls:
    """Tool calls that arrive in pieces. Endpoints differ: some leave out the place or the id, some send calls whole.

    Attributes:
        chars: of all arguments.
    """

    def __init__(self, prefix: str) -> None:
        """Begin without a call.

        Args:
            prefix: of the ids of calls that come without one.
        """
        self._prefix = prefix
        self._calls: list[Call] = []
        self._at: dict[int, int] = {}
        self.chars = 0

    def gather(self, deltas: Sequence[Any]) -> None:
        """Put pieces to what is there of their calls."""
        for delta in deltas:
            name = (delta.function.name if delta.function else None) or ""
            place = self._place(delta.index, delta.id, name)
            one = self._calls[place]
            more = (delta.function.arguments if delta.function else None) or ""
            self.chars += len(more)
            self._calls[place] = Call(one.id or delta.id or "", one.tool or name, one.arguments + more)

    def __len__(self) -> int:
        return len(self._calls)

    def whole(self) -> tuple[Call, ...]:
        """Return the calls, each with an id."""
        return tuple(
            Call(call.id or f"{self._prefix}_{place}", call.tool, call.arguments)
            for place, call in enumerate(self._calls)
        )

    def _place(self, index: int | None, number: str | None, name: str) -> int:
        """Return which call a piece is of; a name with another id begins a call, even at the place of another."""
        known = self._at.get(index, -1) if index is not None else len(self._calls) - 1
        if known >= 0:
            is_same = self._calls[known].id == number if number else index is not None
            if is_same or not name:
                return known
        self._calls.append(Call("", "", ""))
        if index is not None:
            self._at[index] = len(self._calls) - 1
        return len(self._calls) - 1

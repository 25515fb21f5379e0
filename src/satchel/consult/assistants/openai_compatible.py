"""Any endpoint that speaks OpenAI's chat completions: local servers such as Ollama, and many providers.

Format: https://developers.openai.com/api/reference/resources/chat and its streamed chunks. The history is ours: every
request holds all of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants import failing, searching
from satchel.consult.assistants.openai_client import OpenAIClient
from satchel.consult.assistants.protocol import Ask, Reply, Timing
from satchel.consult.assistants.retrying import Patience
from satchel.consult.assistants.rounds import Call, Round, converse
from satchel.consult.assistants.sdk_client import count_of
from satchel.consult.assistants.wire import Wire
from satchel.consult.records import Window

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

KEY_VARIABLE = "SATCHEL_CONSULT_KEY"


class OpenAICompatible:
    """An assistant behind a chat completions endpoint. Overflow is searched in a store of our own."""

    keeps_history = False

    def __init__(
        self,
        model: str,
        window: Window,
        *,
        base_url: str,
        provider: str = "compatible",
        key: str | None = None,
        variable: str = KEY_VARIABLE,
        timing: Timing | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Name an endpoint; nothing is sent yet.

        Args:
            model: as the endpoint calls it.
            base_url: up to and with ``/v1``.
            provider: what stands before the model in the assistant's name.
            key: None where the endpoint needs none.
            variable: the environment variable that holds the key, for errors.
        """
        self.model = model
        self.window = window
        self.name = f"{provider}:{model}"
        self._base_url = base_url
        self._key = key
        self._variable = variable
        self._timing = timing or Timing()
        self._patience = patience or Patience()

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`."""
        with ExitStack() as stack:
            wire = stack.enter_context(Wire(self._timing, ask.is_cancelled))
            client = OpenAIClient(self.name, wire, base_url=self._base_url, key=self._key, variable=self._variable)
            stack.enter_context(closing(client))
            searches = stack.enter_context(searching.searches(ask, self.window))
            messages: list[ChatCompletionMessageParam] = []
            for past in ask.history:
                messages.append({"role": "user", "content": past.prompt})
                messages.append({"role": "assistant", "content": past.answer})
            messages.append({"role": "user", "content": ask.prompt})

            def send(may_search: bool) -> Generator[str, None, Round]:
                return self._send(client, messages, may_search, searches is not None)

            def remember(one: Round, results: Sequence[str]) -> None:
                messages.extend(_with_results(one, results))

            ask.on_progress(f"asking {self.name}")
            return converse(self.name, ask, wire, self._patience, send, searches, remember)

    def _send(
        self, client: OpenAIClient, messages: list[ChatCompletionMessageParam], may_search: bool, has_tool: bool
    ) -> Generator[str, None, Round]:
        options: dict[str, Any] = {}
        if has_tool:
            function = {
                "name": searching.NAME,
                "description": searching.DESCRIPTION,
                "parameters": searching.SCHEMA,
            }
            options["tools"] = [{"type": "function", "function": function}]
            options["tool_choice"] = "auto" if may_search else "none"
        texts: list[str] = []
        calls: dict[int, list[str]] = {}
        finish: str | None = None
        usage: Any = None
        has_begun = False
        try:
            with (
                client.explained(),
                client.sdk.chat.completions.create(
                    model=self.model,
                    messages=messages,
                    max_tokens=self.window.output,
                    stream=True,
                    stream_options={"include_usage": True},
                    **options,
                ) as stream,
            ):
                for chunk in stream:
                    has_begun = True
                    usage = chunk.usage or usage
                    for choice in chunk.choices:
                        finish = choice.finish_reason or finish
                        piece = choice.delta.content or choice.delta.refusal
                        _gather(calls, choice.delta.tool_calls or ())
                        if piece:
                            texts.append(piece)
                            yield piece
        except AssistantFailed:
            # what is missing after the reason to stop is only how many tokens it took
            if finish is None:
                raise
        if finish is None:
            raise failing.cut(self.name) if has_begun else failing.nonsense(self.name, "no event of a stream")
        return Round(
            text="".join(texts),
            calls=tuple(
                Call(identity or f"call_{place}", tool, arguments)
                for place, (identity, tool, arguments) in sorted(calls.items())
            ),
            is_cut=finish == "length",
            input_tokens=count_of(usage, "prompt_tokens"),
            output_tokens=count_of(usage, "completion_tokens"),
            notes=("the provider's content filter ended the answer",) if finish == "content_filter" else (),
        )


def _gather(calls: dict[int, list[str]], deltas: Sequence[Any]) -> None:
    """Put pieces of tool calls together; some endpoints leave their place out, and send each call whole."""
    for delta in deltas:
        place = delta.index if delta.index is not None else len(calls)
        call = calls.setdefault(place, ["", "", ""])
        call[0] = delta.id or call[0]
        if delta.function is not None:
            call[1] += delta.function.name or ""
            call[2] += delta.function.arguments or ""


def _with_results(one: Round, results: Sequence[str]) -> list[ChatCompletionMessageParam]:
    """Return the messages that a round with its results adds."""
    messages: list[ChatCompletionMessageParam] = [
        {
            "role": "assistant",
            "content": one.text or None,
            "tool_calls": [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in one.calls
            ],
        }
    ]
    for call, result in zip(one.calls, results, strict=True):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return messages

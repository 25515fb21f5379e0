"""Anthropic's models, through the Messages API. The history is ours: every request holds all of it.

Format: https://platform.claude.com/docs/en/api/messages and https://platform.claude.com/docs/en/api/messages-streaming.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from satchel.consult.assistants import failing, searching
from satchel.consult.assistants.protocol import Ask, Reply, Timing
from satchel.consult.assistants.retrying import Patience
from satchel.consult.assistants.rounds import Call, Round, converse
from satchel.consult.assistants.sdk_client import StainlessClient, count_of
from satchel.consult.assistants.wire import Wire
from satchel.consult.records import Window

if TYPE_CHECKING:
    from anthropic import Anthropic

PROVIDER = "anthropic"
KEY_VARIABLE = "ANTHROPIC_API_KEY"

_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicClient(StainlessClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, key: str, base_url: str | None) -> None:
        """Make a client.

        Raises:
            Unavailable: the SDK is missing.
        """
        try:
            import anthropic
        except ImportError as error:
            raise failing.missing_sdk(name, PROVIDER, error) from error
        super().__init__(name, wire, KEY_VARIABLE, anthropic, anthropic.AnthropicError)
        self.sdk: Anthropic = anthropic.Anthropic(
            api_key=key,
            base_url=base_url,
            max_retries=0,
            http_client=anthropic.DefaultHttpxClient(event_hooks=wire.event_hooks()),
        )

    @property
    def address(self) -> str:
        """Where requests go."""
        return str(self.sdk.base_url)

    def close(self) -> None:
        """Close the connections."""
        self.sdk.close()


class AnthropicMessages:
    """An assistant at Anthropic. Overflow is searched in a store of our own."""

    keeps_history = False

    def __init__(
        self,
        model: str,
        window: Window,
        *,
        key: str,
        base_url: str | None = None,
        timing: Timing | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Name a model; nothing is sent yet.

        Args:
            base_url: of another address that speaks the same; None is Anthropic's.
        """
        self.model = model
        self.window = window
        self.name = f"{PROVIDER}:{model}"
        self._key = key
        self._base_url = base_url
        self._timing = timing or Timing()
        self._patience = patience or Patience()

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`."""
        with ExitStack() as stack:
            wire = stack.enter_context(Wire(self._timing, ask.is_cancelled))
            client = AnthropicClient(self.name, wire, key=self._key, base_url=self._base_url)
            stack.enter_context(closing(client))
            searches = stack.enter_context(searching.searches(ask, self.window))
            messages: list[Any] = []
            for past in ask.history:
                messages.append({"role": "user", "content": past.prompt})
                messages.append({"role": "assistant", "content": past.answer})
            # what stands up to here comes again: with the next search, and as the beginning of the next turn
            cached = {"type": "text", "text": ask.prompt, "cache_control": {"type": "ephemeral"}}
            messages.append({"role": "user", "content": [cached]})
            blocks: list[Any] = []

            def send(may_search: bool) -> Generator[str, None, Round]:
                return self._send(client, messages, blocks, may_search, searches is not None)

            def remember(one: Round, results: Sequence[str]) -> None:
                messages.append({"role": "assistant", "content": list(blocks)})
                messages.append({"role": "user", "content": _results(one, results)})

            ask.on_progress(f"asking {self.name}")
            return converse(self.name, ask, wire, self._patience, send, searches, remember)

    def _send(
        self, client: AnthropicClient, messages: list[Any], blocks: list[Any], may_search: bool, has_tool: bool
    ) -> Generator[str, None, Round]:
        options: dict[str, Any] = {}
        if has_tool:
            options["tools"] = [
                {
                    "name": searching.NAME,
                    "description": searching.DESCRIPTION,
                    "input_schema": searching.SCHEMA,
                }
            ]
            options["tool_choice"] = {"type": "auto" if may_search else "none"}
        with (
            client.explained(),
            client.sdk.messages.stream(
                model=self.model, messages=messages, max_tokens=self.window.output, **options
            ) as stream,
        ):
            has_begun = False
            for event in stream:
                has_begun = has_begun or event.type == "message_start"
                if event.type == "text":
                    yield event.text
            if not has_begun:
                raise failing.nonsense(self.name, "no beginning of a message")
            final = stream.get_final_message()
            if final.stop_reason is None:
                raise failing.cut(self.name)
            # thinking goes back as it came, with its signature, or the provider refuses what follows from it
            blocks[:] = [
                block.model_dump(mode="json", exclude_none=True)
                for block in final.content
                # a blank text is given, but not taken
                if block.type != "text" or block.text.strip()
            ]
            return _round(final)


def _round(final: Any) -> Round:
    counts = [count_of(final.usage, field) for field in _INPUT_COUNTS]
    calls = [block for block in final.content if block.type == "tool_use"]
    return Round(
        text="".join(block.text for block in final.content if block.type == "text"),
        calls=tuple(Call(call.id, call.name, searching.as_json(call.input)) for call in calls),
        is_cut=final.stop_reason in {"max_tokens", "model_context_window_exceeded"},
        input_tokens=None if counts[0] is None else sum(count or 0 for count in counts),
        output_tokens=count_of(final.usage, "output_tokens"),
        notes=("the provider refused to go on",) if final.stop_reason == "refusal" else (),
    )


def _results(one: Round, results: Sequence[str]) -> list[Any]:
    return [
        {"type": "tool_result", "tool_use_id": call.id, "content": result}
        for call, result in zip(one.calls, results, strict=True)
    ]

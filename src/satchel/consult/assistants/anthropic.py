"""Anthropic's models, through the Messages API. The history is ours: every request holds all of it.

Format: https://platform.claude.com/docs/en/api/messages and https://platform.claude.com/docs/en/api/messages-streaming.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput
from satchel.consult.assistants import failing, searching
from satchel.consult.assistants.base import OwnHistoryAssistant, messages_of, without_nones
from satchel.consult.assistants.protocol import Ask
from satchel.consult.assistants.rounds import Call, Round
from satchel.consult.assistants.sdk_client import StainlessClient, count_of, making
from satchel.consult.assistants.wire import Wire

if TYPE_CHECKING:
    from anthropic import Anthropic

EXTRA = "anthropic"
OWN_URL = "https://api.anthropic.com"

_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_TOOL = {"name": searching.NAME, "description": searching.DESCRIPTION, "input_schema": searching.SCHEMA}


class AnthropicClient(StainlessClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, key: str | None, base_url: str | None, variable: str) -> None:
        """Make a client.

        Raises:
            Unavailable: the SDK is missing, or what the environment says of connections is of no use.
        """
        try:
            import anthropic
        except ImportError as error:
            raise failing.missing_sdk(name, EXTRA, error) from error
        super().__init__(name, wire, variable, anthropic, anthropic.AnthropicError)
        with making(name):
            self.sdk: Anthropic = anthropic.Anthropic(
                api_key=key,
                base_url=base_url or OWN_URL,
                max_retries=0,
                http_client=anthropic.DefaultHttpxClient(event_hooks=wire.event_hooks()),
            )


class AnthropicMessages(OwnHistoryAssistant[AnthropicClient]):
    """An assistant at Anthropic. Overflow is searched in a store of our own."""

    own_url = OWN_URL

    def _open(self, wire: Wire) -> AnthropicClient:
        return AnthropicClient(self.told, wire, key=self._key, base_url=self._base_url, variable=self._variable)

    def _messages(self, ask: Ask) -> list[Any]:
        # what stands up to here comes again: with the next search, and as the beginning of the next turn
        cached = {"type": "text", "text": ask.prompt, "cache_control": {"type": "ephemeral"}}
        return [*messages_of(ask.history), {"role": "user", "content": [cached]}]

    def _send(
        self, client: AnthropicClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        if ask.temperature is not None:
            raise InvalidInput(f"{self.name} takes no temperature", "Leave it out")
        options = without_nones(output_config=ask.effort and {"effort": ask.effort})
        if may_search is not None:
            options |= {"tools": [_TOOL], "tool_choice": {"type": "auto" if may_search else "none"}}
        with (
            client.explained(),
            client.sdk.messages.stream(
                model=self.model, messages=messages, max_tokens=self.window.output, **options
            ) as stream,
        ):
            has_begun = False
            parts = thoughts = arguments = 0
            for event in stream:
                has_begun = has_begun or event.type == "message_start"
                if event.type == "content_block_start":
                    parts += 1
                elif event.type == "thinking":
                    thoughts += len(event.thinking)
                elif event.type == "input_json":
                    arguments += len(event.partial_json)
                client.wire.check_content(parts=parts, thoughts=thoughts, arguments=arguments)
                yield event.text if event.type == "text" else ""
            if not has_begun:
                raise client.unfinished("no beginning of a message")
            final = stream.get_final_message()
            if final.stop_reason is None:
                raise failing.cut(self.told)
            return _round(final)

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in zip(one.calls, results, strict=True)
        ]
        return [{"role": "assistant", "content": list(one.raw)}, {"role": "user", "content": answers}]


def _round(final: Any) -> Round:
    counts = [count_of(final.usage, field) for field in _INPUT_COUNTS]
    calls = [block for block in final.content if block.type == "tool_use"]
    return Round(
        calls=tuple(Call(call.id, call.name, searching.as_json(call.input)) for call in calls),
        # thinking goes back as it came, with its signature, or the provider refuses what follows from it
        raw=tuple(
            block.model_dump(mode="json", exclude_none=True)
            for block in final.content
            # a blank text is given, but not taken
            if block.type != "text" or block.text.strip()
        ),
        is_cut=final.stop_reason in {"max_tokens", "model_context_window_exceeded"},
        # what comes from the cache whole leaves nothing that is counted as input
        input_tokens=sum(count or 0 for count in counts) or None,
        output_tokens=count_of(final.usage, "output_tokens"),
        notes=("the provider refused to go on",) if final.stop_reason == "refusal" else (),
    )

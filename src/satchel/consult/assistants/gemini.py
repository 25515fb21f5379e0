"""Google's Gemini models, through the Gemini API. The history is ours: every request holds all of it.

Format: https://ai.google.dev/api/generate-content, in the SDK's spelling of its names.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import AssistantFailed
from satchel.consult.assistants import failing, searching
from satchel.consult.assistants.base import OwnHistoryAssistant, without_nones
from satchel.consult.assistants.protocol import Ask
from satchel.consult.assistants.rounds import Call, Round
from satchel.consult.assistants.sdk_client import SdkClient, count_of, making
from satchel.consult.assistants.wire import Wire

if TYPE_CHECKING:
    from google.genai import Client

EXTRA = "gemini"

OWN_URL = "https://generativelanguage.googleapis.com"
_WRONG_KEY = "API_KEY_INVALID"
_WELL = frozenset({"STOP", "MAX_TOKENS"})
_TOOL = {
    "function_declarations": [
        {
            "name": searching.NAME,
            "description": searching.DESCRIPTION,
            "parameters_json_schema": searching.SCHEMA,
        }
    ]
}


class GeminiClient(SdkClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, key: str | None, base_url: str | None, variable: str) -> None:
        """Make a client.

        Raises:
            Unavailable: the SDK is missing, or what the environment says of connections is of no use.
        """
        try:
            from google import genai
            from google.genai import errors, types
        except ImportError as error:
            raise failing.missing_sdk(name, EXTRA, error) from error
        super().__init__(name, wire, variable, (errors.APIError,))
        with making(name):
            self.sdk: Client = genai.Client(
                api_key=key,
                vertexai=False,
                http_options=types.HttpOptions(
                    base_url=base_url or OWN_URL,
                    timeout=round(wire.timing.total * 1_000),
                    client_args={"event_hooks": wire.event_hooks()},
                ),
            )

    def failure(self, error: Any) -> AssistantFailed:
        """Tell what one of the SDK's own errors means."""
        status = error.code if isinstance(error.code, int) else 0
        message = str(error.message or error)
        if _WRONG_KEY in str(error.details):
            status = 401
        if status < 400:
            return failing.from_code(self.name, str(error.status or ""), message)
        headers = dict(getattr(error.response, "headers", None) or {})
        headers.update(_delay(error.details))
        return failing.from_status(self.name, self.variable, status, str(error.status or ""), message, headers)


class GeminiContents(OwnHistoryAssistant[GeminiClient]):
    """An assistant at Google. Overflow is searched in a store of our own."""

    own_url = OWN_URL

    def _open(self, wire: Wire) -> GeminiClient:
        return GeminiClient(self.told, wire, key=self._key, base_url=self._base_url, variable=self._variable)

    def _messages(self, ask: Ask) -> list[Any]:
        contents: list[Any] = []
        for past in ask.history:
            contents.append({"role": "user", "parts": [{"text": past.prompt}]})
            contents.append({"role": "model", "parts": [{"text": past.answer}]})
        contents.append({"role": "user", "parts": [{"text": ask.prompt}]})
        return contents

    def _send(
        self, client: GeminiClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        config: Any = without_nones(
            max_output_tokens=self.window.output,
            automatic_function_calling={"disable": True},
            temperature=ask.temperature,
            thinking_config=ask.effort and {"thinking_level": ask.effort.upper()},
        )
        if may_search is not None:
            config["tools"] = [_TOOL]
            config["tool_config"] = {"function_calling_config": {"mode": "AUTO" if may_search else "NONE"}}
        parts: list[Any] = []
        calls: list[Call] = []
        reason: str | None = None
        usage: Any = None
        has_begun = False
        with client.explained():
            for chunk in client.sdk.models.generate_content_stream(model=self.model, contents=messages, config=config):
                usage = chunk.usage_metadata or usage
                yield ""
                blocked = chunk.prompt_feedback.block_reason if chunk.prompt_feedback else None
                if blocked:
                    raise AssistantFailed(
                        f"{self.told} blocked the question: {failing.shown(_value(blocked))}", reason="refused"
                    )
                for candidate in chunk.candidates or ():
                    has_begun = True
                    reason = _value(candidate.finish_reason) or reason
                    for part in (candidate.content.parts if candidate.content else None) or ():
                        # thoughts' signatures go back as they came
                        parts.append(part)
                        client.wire.check_content(parts=len(parts))
                        if part.function_call is not None:
                            call = part.function_call
                            calls.append(Call(call.id or "", call.name or "", searching.as_json(call.args)))
                        elif part.text and not part.thought:
                            yield part.text
            if not has_begun:
                raise client.unfinished("no candidate in the answer")
            if reason is None:
                raise failing.cut(self.told)
        return Round(
            calls=tuple(calls),
            raw=tuple(parts),
            is_cut=reason == "MAX_TOKENS",
            input_tokens=count_of(usage, "prompt_token_count"),
            output_tokens=_sum(count_of(usage, "candidates_token_count"), count_of(usage, "thoughts_token_count")),
            notes=() if reason in _WELL else (f"the provider ended the answer: {failing.shown(reason)}",),
        )

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        answers = [
            {"function_response": {"id": call.id or None, "name": call.tool, "response": {"output": result}}}
            for call, result in zip(one.calls, results, strict=True)
        ]
        return [{"role": "model", "parts": list(one.raw)}, {"role": "user", "parts": answers}]


def _value(name: Any) -> str | None:
    """Return the text of one of the SDK's enumerations."""
    return None if name is None else str(getattr(name, "value", name))


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _delay(details: Any) -> dict[str, str]:
    """Return how long to wait, which this provider says in the body, as the header that others send."""
    try:
        rows = details["error"]["details"]
        return {"retry-after": next(row["retryDelay"] for row in rows if "retryDelay" in row).removesuffix("s")}
    except (LookupError, TypeError, AttributeError, StopIteration):
        return {}

"""Providers: Anthropic's and Google's adapters, and the table from a model's name to its assistant."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import AssistantFailed, InvalidInput, Unavailable
from satchel.base.records import dataclass
from satchel.consult import rounds, sdk
from satchel.consult.command_line import CLIENTS, CommandLineAssistant, find_program
from satchel.consult.models import Ask, Assistant, Call, Round, Timing, find_model
from satchel.consult.openai import OpenAICompatible, OpenAIResponses, OpenRouter
from satchel.consult.reading import is_document
from satchel.consult.records import Media
from satchel.consult.rounds import OwnHistoryAssistant, SdkAssistant
from satchel.consult.sdk import (
    SdkClient,
    StainlessClient,
    base64_of,
    count_of,
    making,
    messages_of,
    sum_of,
    without_nones,
)
from satchel.consult.wire import Wire

if TYPE_CHECKING:
    from anthropic import Anthropic
    from google.genai import Client

ANTHROPIC_URL = "https://api.anthropic.com"

_ANTHROPIC_WEB: Any = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
_ANTHROPIC_TOOL = {"name": rounds.TOOL, "description": rounds.DESCRIPTION, "input_schema": rounds.SCHEMA}


class AnthropicClient(StainlessClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, key: str | None, base_url: str | None, variable: str) -> None:
        with making(name, "anthropic"):
            import anthropic

            super().__init__(name, wire, variable, anthropic, anthropic.AnthropicError)
            self.sdk: Anthropic = anthropic.Anthropic(
                api_key=key,
                base_url=base_url or ANTHROPIC_URL,
                max_retries=0,
                http_client=anthropic.DefaultHttpxClient(event_hooks=wire.event_hooks()),
            )


class AnthropicMessages(OwnHistoryAssistant[AnthropicClient]):
    """An assistant at Anthropic. Overflow is searched in a store of our own."""

    own_url = ANTHROPIC_URL
    client = AnthropicClient
    unsupported = frozenset({"temperature"})

    def _messages(self, ask: Ask) -> list[Any]:
        # what stands up to here comes again: with the next search, and as the beginning of the next turn
        cached = {"type": "text", "text": ask.prompt, "cache_control": {"type": "ephemeral"}}
        now = {"role": "user", "content": [*map(_anthropic_part, ask.media), cached]}
        return [*messages_of(ask.history, _anthropic_part), now]

    def _send(
        self, client: AnthropicClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        settings = ask.settings
        shape = settings.schema and {"type": "json_schema", "schema": dict(settings.schema)}
        options = without_nones(output_config=without_nones(effort=settings.effort, format=shape) or None)
        tools = [_ANTHROPIC_WEB] if settings.web_search else []
        if may_search is not None:
            tools.append(_ANTHROPIC_TOOL)
            options["tool_choice"] = {"type": "auto" if may_search else "none"}
        if tools:
            options["tools"] = tools
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
                raise sdk.cut(self.label)
            return _anthropic_round(final)

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in zip(one.calls, results, strict=True)
        ]
        thread: list[Any] = [{"role": "assistant", "content": list(one.raw)}]
        return [*thread, {"role": "user", "content": answers}] if answers else thread


def _anthropic_part(media: Media) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media.type, "data": base64_of(media)}
    return {"type": "document" if is_document(media) else "image", "source": source}


def _anthropic_round(final: Any) -> Round:
    calls = [block for block in final.content if block.type == "tool_use"]
    return Round(
        calls=tuple(Call(call.id, call.name, rounds.as_json(call.input)) for call in calls),
        # thinking goes back as it came, with its signature, or the provider refuses what follows from it
        raw=tuple(
            block.model_dump(mode="json", exclude_none=True)
            for block in final.content
            # a blank text is given, but not taken
            if block.type != "text" or block.text.strip()
        ),
        is_cut=final.stop_reason in {"max_tokens", "model_context_window_exceeded"},
        is_paused=final.stop_reason == "pause_turn",
        queries=tuple(str(block.input.get("query", "")) for block in final.content if block.type == "server_tool_use"),
        cited=tuple(
            dict.fromkeys(
                note.url
                for block in final.content
                for note in (getattr(block, "citations", None) or ())
                if note.type == "web_search_result_location"
            )
        ),
        # what comes from the cache whole leaves nothing that is counted as input
        input_tokens=sum_of(final.usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        output_tokens=count_of(final.usage, "output_tokens"),
        notes=("the provider refused to continue",) if final.stop_reason == "refusal" else (),
    )


GEMINI_URL = "https://generativelanguage.googleapis.com"
_WRONG_KEY = "API_KEY_INVALID"
_WELL = frozenset({"STOP", "MAX_TOKENS"})
_GEMINI_TOOL = {
    "function_declarations": [
        {
            "name": rounds.TOOL,
            "description": rounds.DESCRIPTION,
            "parameters_json_schema": rounds.SCHEMA,
        }
    ]
}


class GeminiClient(SdkClient):
    """A client for one call."""

    def __init__(self, name: str, wire: Wire, *, key: str | None, base_url: str | None, variable: str) -> None:
        with making(name, "gemini"):
            from google import genai
            from google.genai import errors, types

            super().__init__(name, wire, variable, (errors.APIError,))
            self.sdk: Client = genai.Client(
                api_key=key,
                vertexai=False,
                http_options=types.HttpOptions(
                    base_url=base_url or GEMINI_URL,
                    timeout=round(wire.timing.total * 1_000),
                    client_args={"event_hooks": wire.event_hooks()},
                ),
            )

    def failure(self, error: Any) -> AssistantFailed:
        """Translate one of the SDK's own errors."""
        status = error.code if isinstance(error.code, int) else 0
        message = str(error.message or error)
        if _WRONG_KEY in str(error.details):
            status = 401
        if status < 400:
            return sdk.from_code(self.name, str(error.status or ""), message)
        headers = dict(getattr(error.response, "headers", None) or {})
        headers.update(_delay(error.details))
        return sdk.from_status(self.name, self.variable, status, str(error.status or ""), message, headers)


class GeminiContents(OwnHistoryAssistant[GeminiClient]):
    """An assistant at Google. Overflow is searched in a store of our own."""

    own_url = GEMINI_URL
    client = GeminiClient

    def _messages(self, ask: Ask) -> list[Any]:
        contents: list[Any] = []
        for past in ask.history:
            contents.append({"role": "user", "parts": _gemini_parts(past.media, past.prompt)})
            contents.append({"role": "model", "parts": [{"text": past.answer}]})
        contents.append({"role": "user", "parts": _gemini_parts(ask.media, ask.prompt)})
        return contents

    def _send(
        self, client: GeminiClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        settings = ask.settings
        config: Any = without_nones(
            max_output_tokens=self.window.output,
            automatic_function_calling={"disable": True},
            temperature=settings.temperature,
            thinking_config=settings.effort and {"thinking_level": settings.effort.upper()},
            response_mime_type=settings.schema and "application/json",
            response_json_schema=settings.schema and dict(settings.schema),
            tools=[{"google_search": {}}] if settings.web_search else None,
        )
        if may_search is not None:
            config["tools"] = [*config.get("tools", ()), _GEMINI_TOOL]
            config["tool_config"] = {"function_calling_config": {"mode": "AUTO" if may_search else "NONE"}}
        parts: list[Any] = []
        calls: list[Call] = []
        reason: str | None = None
        usage: Any = None
        has_begun = False
        queries: dict[str, None] = {}
        cited: dict[str, None] = {}
        with client.explained():
            for chunk in client.sdk.models.generate_content_stream(model=self.model, contents=messages, config=config):
                usage = chunk.usage_metadata or usage
                yield ""
                blocked = chunk.prompt_feedback.block_reason if chunk.prompt_feedback else None
                if blocked:
                    raise AssistantFailed(
                        f"{self.label} blocked the question: {sdk.excerpt(_value(blocked))}", reason="refused"
                    )
                for candidate in chunk.candidates or ():
                    has_begun = True
                    reason = _value(candidate.finish_reason) or reason
                    if (web := candidate.grounding_metadata) is not None:
                        queries |= dict.fromkeys(web.web_search_queries or ())
                        sources = [one.web.uri for one in web.grounding_chunks or () if one.web and one.web.uri]
                        cited |= dict.fromkeys(sources)
                    for part in (candidate.content.parts if candidate.content else None) or ():
                        # thoughts' signatures go back as they came
                        parts.append(part)
                        client.wire.check_content(parts=len(parts))
                        if part.function_call is not None:
                            call = part.function_call
                            calls.append(Call(call.id or "", call.name or "", rounds.as_json(call.args)))
                        elif part.text and not part.thought:
                            yield part.text
            if not has_begun:
                raise client.unfinished("no candidate in the answer")
            if reason is None:
                raise sdk.cut(self.label)
        return Round(
            calls=tuple(calls),
            raw=tuple(parts),
            is_cut=reason == "MAX_TOKENS",
            queries=tuple(queries),
            cited=tuple(cited),
            input_tokens=count_of(usage, "prompt_token_count"),
            output_tokens=sum_of(usage, "candidates_token_count", "thoughts_token_count"),
            notes=() if reason in _WELL else (f"the provider ended the answer: {sdk.excerpt(reason)}",),
        )

    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        answers = [
            {"function_response": {"id": call.id or None, "name": call.tool, "response": {"output": result}}}
            for call, result in zip(one.calls, results, strict=True)
        ]
        return [{"role": "model", "parts": list(one.raw)}, {"role": "user", "parts": answers}]


def _gemini_parts(media: Sequence[Media], text: str) -> list[Any]:
    return [*({"inline_data": {"mime_type": one.type, "data": one.data}} for one in media), {"text": text}]


def _value(name: Any) -> str | None:
    return None if name is None else str(getattr(name, "value", name))


def _delay(details: Any) -> dict[str, str]:
    try:
        rows = details["error"]["details"]
        return {"retry-after": next(row["retryDelay"] for row in rows if "retryDelay" in row).removesuffix("s")}
    except (LookupError, TypeError, AttributeError, StopIteration):
        return {}


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models. Its key is sent to its own address only.

    Attributes:
        key: the environment variable of its key.
        url: its default address; None if it has none, or the adapter knows it.
        url_variable: the environment variable that overrides the address; with None, ``consult.base_url`` does.
        adapter: the client of its protocol; most speak OpenAI's chat completions.
        needs_key: whether it refuses calls without a key.
    """

    key: str
    url: str | None
    url_variable: str | None
    adapter: type[SdkAssistant[Any]] = OpenAICompatible
    needs_key: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("OPENAI_API_KEY", None, "OPENAI_BASE_URL", OpenAIResponses),
    "anthropic": Provider("ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL", AnthropicMessages),
    "gemini": Provider("GEMINI_API_KEY", None, "GOOGLE_GEMINI_BASE_URL", GeminiContents),
    "openrouter": Provider("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", OpenRouter),
    "grok": Provider("XAI_API_KEY", "https://api.x.ai/v1", "XAI_BASE_URL"),
    "azure": Provider("AZURE_OPENAI_API_KEY", None, "AZURE_OPENAI_BASE_URL"),
    "mistral": Provider("MISTRAL_API_KEY", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL"),
    "deepseek": Provider("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL"),
    "groq": Provider("GROQ_API_KEY", "https://api.groq.com/openai/v1", "GROQ_BASE_URL"),
    "ollama": Provider("SATCHEL_CONSULT_KEY", "http://127.0.0.1:11434/v1", None, needs_key=False),
    "lmstudio": Provider("LMSTUDIO_API_KEY", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", needs_key=False),
    "vllm": Provider("VLLM_API_KEY", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", needs_key=False),
    "compatible": Provider("SATCHEL_CONSULT_KEY", None, None, needs_key=False),
}


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """Configuration of assistants; None where unset."""

    base_url: str | None = None
    window: int | None = None
    output: int | None = None


DEFAULT_SETTINGS = AssistantSettings()


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Whether a provider can be asked: its name, and the variables and keys that are not set, or None."""

    provider: str
    missing: str | None


def open_assistant(
    name: str,
    environ: Mapping[str, str],
    settings: AssistantSettings = DEFAULT_SETTINGS,
    *,
    timing: Timing | None = None,
) -> Assistant:
    """Return the assistant of a model; nothing is sent and no SDK is imported yet."""
    model = find_model(name, window=settings.window, output=settings.output)
    if model.provider == "cli":
        return CommandLineAssistant(model, environ, timing)
    provider = PROVIDERS[model.provider]
    key, url = _read_key(environ, provider.key), _url(environ, provider, settings)
    if url is None and provider.adapter is OpenAICompatible:
        raise InvalidInput(
            f"the address of {name} is not configured",
            f"Set {provider.url_variable or 'consult.base_url'} to the endpoint, up to and with /v1",
        )
    if provider.needs_key and not key:
        raise Unavailable(
            f"there is no key for {model.full_name}",
            f"Set {provider.key} in the environment, or ask a local model such as ollama:NAME, which needs none",
        )
    return provider.adapter(model, provider.key, key=key or None, base_url=url, timing=timing)


def _url(environ: Mapping[str, str], provider: Provider, settings: AssistantSettings) -> str | None:
    url = settings.base_url if provider.url_variable is None else environ.get(provider.url_variable, "").strip()
    return url or provider.url


def _read_key(environ: Mapping[str, str], variable: str) -> str:
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"{variable} holds characters that no key has", "Set it again, to one line of ASCII")
    return key


def providers(environ: Mapping[str, str], settings: AssistantSettings = DEFAULT_SETTINGS) -> tuple[ProviderState, ...]:
    """Return who could be asked here, and what is missing for the others."""
    states = []
    for name, provider in PROVIDERS.items():
        missing = [provider.key] if provider.needs_key and not environ.get(provider.key, "").strip() else []
        if provider.adapter is OpenAICompatible and _url(environ, provider, settings) is None:
            missing.append(provider.url_variable or "consult.base_url")
        states.append(ProviderState(name, ", ".join(missing) or None))
    clients = [
        ProviderState(f"cli:{name}", None if find_program(name, environ) else "not installed") for name in CLIENTS
    ]
    return (*states, *clients)

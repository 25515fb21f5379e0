"""Assistants of OpenAI, with its hosted file search, Anthropic and Google."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import AssistantFailed, InvalidInput
from satchel.base.records import replace
from satchel.consult import rounds, sdk
from satchel.consult.models import Ask, Call, Reply, Round
from satchel.consult.reading import is_document
from satchel.consult.records import Media
from satchel.consult.rounds import OwnHistoryAssistant, SdkAssistant, converse
from satchel.consult.sdk import (
    OPENAI_URL,
    OpenAIClient,
    SdkClient,
    StainlessClient,
    base64_of,
    count_of,
    id_of,
    making,
    messages_of,
    shape_of,
    sum_of,
    without_nones,
)
from satchel.consult.vector_stores import HostedStore, Sweeper, remove_store
from satchel.consult.wire import Wire

if TYPE_CHECKING:
    from anthropic import Anthropic
    from google.genai import Client

_MAX_RESULTS = 20
# Tokens of one result of the hosted search with default chunks.
_RESULT_TOKENS = 800


class OpenAIResponses(SdkAssistant[OpenAIClient]):
    """An assistant at OpenAI."""

    own_url = OPENAI_URL
    client = OpenAIClient
    keeps_history = True

    @property
    def sweeper(self) -> Sweeper:
        """Deleter of hosted stores that earlier calls with the same key left."""
        # a sweep with another key would find nothing and count it as deleted
        digest = hashlib.sha256(f"{self._base_url} {self._key}".encode()).hexdigest()
        account = f"openai-{digest[:12]}"
        return Sweeper(account, lambda store, is_over: remove_store(store, self._open, self._timing, is_over))

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""
        if not ask.searchable:
            with self._calling(ask) as client:
                return self._ask(client, ask, None)
        if ask.stores is None:
            raise InvalidInput(
                "a hosted vector store has to be recorded before it is made", "Give the call a log of stores"
            )
        account = self.sweeper.account
        with (
            self._calling(ask) as client,
            HostedStore(client, self._open, ask.stores, account, ask.on_progress) as store,
        ):
            store.fill(ask.searchable)
            reply = self._ask(client, ask, store)
        return replace(reply, dropped=tuple(store.dropped), notes=(*reply.notes, *store.notes))

    def _ask(self, client: OpenAIClient, ask: Ask, store: HostedStore | None) -> Reply:
        ask.on_progress(f"asking {self.name}")
        return converse(self.label, ask, client.wire, lambda _: self._send(client, ask, store))

    def _send(self, client: OpenAIClient, ask: Ask, store: HostedStore | None) -> Generator[str, None, Round]:
        settings = ask.settings
        options = without_nones(
            previous_response_id=ask.provider_ref,
            reasoning=settings.effort and {"effort": settings.effort},
            temperature=settings.temperature,
            text=settings.schema and {"format": {"type": "json_schema", **shape_of(settings.schema)}},
        )
        tools: list[Any] = [{"type": "web_search"}] if settings.web_search else []
        if store is not None and store.external_id is not None:
            room = self.window.tokens - self.window.output - ask.tokens
            results = max(1, min(_MAX_RESULTS, room // _RESULT_TOKENS))
            stores = [store.external_id]
            tools.append({"type": "file_search", "vector_store_ids": stores, "max_num_results": results})
        if tools:
            options["tools"] = tools
        has_text = False
        final: Any = None
        with (
            client.explained(),
            client.sdk.responses.create(
                model=self.model,
                input=_with_media(ask),
                max_output_tokens=self.window.output,
                store=True,
                stream=True,
                **options,
            ) as stream,
        ):
            has_begun = False
            for event in stream:
                has_begun = True
                if event.type in {"response.output_text.delta", "response.refusal.delta"}:
                    has_text = True
                    yield event.delta
                elif event.type in {"response.completed", "response.incomplete"}:
                    final = event.response
                elif event.type == "response.failed":
                    error = event.response.error
                    raise sdk.from_code(
                        self.label, error.code if error else "", error.message if error else "it gave no reason"
                    )
                elif event.type == "error":
                    raise sdk.from_code(self.label, event.code or "", event.message)
                else:
                    yield ""
            if final is None:
                raise client.unfinished("no event of a stream", has_begun=has_begun)
            if not has_text and final.output_text:
                yield final.output_text
            return self._round(final, store.paths if store else {})

    def _round(self, final: Any, paths: Mapping[str, str]) -> Round:
        queries: list[str] = []
        cited: dict[str, None] = {}
        for item in final.output:
            if item.type == "file_search_call":
                queries.extend(item.queries)
            elif item.type == "web_search_call":
                queries.append(str(getattr(item.action, "query", None) or getattr(item.action, "url", None) or ""))
            elif item.type == "message":
                for part in item.content:
                    for note in getattr(part, "annotations", None) or ():
                        if note.type == "file_citation" and note.file_id in paths:
                            cited[paths[note.file_id]] = None
                        elif note.type == "url_citation":
                            cited[note.url] = None
        reason = final.incomplete_details.reason if final.incomplete_details else None
        return Round(
            is_cut=final.status == "incomplete" and reason != "content_filter",
            provider_ref=id_of(final.id),
            input_tokens=count_of(final.usage, "input_tokens"),
            output_tokens=count_of(final.usage, "output_tokens"),
            queries=tuple(queries),
            cited=tuple(cited),
            notes=("the provider's content filter ended the answer",) if reason == "content_filter" else (),
        )


def _with_media(ask: Ask) -> Any:
    if not ask.media:
        return ask.prompt
    parts = [*map(_part, ask.media), {"type": "input_text", "text": ask.prompt}]
    return [{"role": "user", "content": parts}]


def _part(media: Media) -> dict[str, str]:
    url = f"data:{media.type};base64,{base64_of(media)}"
    if is_document(media):
        return {"type": "input_file", "filename": media.path.rpartition("/")[2], "file_data": url}
    return {"type": "input_image", "image_url": url, "detail": "high"}


def _as_json(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)


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
    """An assistant at Anthropic. Overflow is searched in a local index."""

    own_url = ANTHROPIC_URL
    client = AnthropicClient
    unsupported = frozenset({"temperature"})

    def _messages(self, ask: Ask) -> list[Any]:
        # the prefix up to here repeats with the next search and the next turn, so it is cached
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
        calls=tuple(Call(call.id, call.name, _as_json(call.input)) for call in calls),
        # thinking goes back unchanged, with its signature, or the provider refuses the next request
        raw=tuple(
            block.model_dump(mode="json", exclude_none=True)
            for block in final.content
            # the provider sends blank texts but refuses them
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
        # input wholly from the cache leaves a count of 0
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
    """An assistant at Google. Overflow is searched in a local index."""

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
                        # signatures of thoughts go back unchanged
                        parts.append(part)
                        client.wire.check_content(parts=len(parts))
                        if part.function_call is not None:
                            call = part.function_call
                            calls.append(
                                Call(
                                    call.id or "",
                                    call.name or "",
                                    _as_json(call.args),
                                )
                            )
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

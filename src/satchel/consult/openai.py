"""OpenAI's SDK: its Responses API, and every endpoint that speaks chat completions."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from satchel.base.errors import AssistantFailed, InvalidInput
from satchel.base.records import replace
from satchel.consult import rounds, sdk
from satchel.consult.models import Ask, Call, Reply, Round
from satchel.consult.reading import is_document
from satchel.consult.records import Media
from satchel.consult.rounds import OwnHistoryAssistant, SdkAssistant, converse
from satchel.consult.sdk import OPENAI_URL, OpenAIClient, base64_of, count_of, id_of, messages_of, without_nones
from satchel.consult.vector_stores import HostedStore, Sweeper, remove_store

_SEARCH_TOOL = {
    "type": "function",
    "function": {"name": rounds.TOOL, "description": rounds.DESCRIPTION, "parameters": rounds.SCHEMA},
}


class OpenAICompatible(OwnHistoryAssistant[OpenAIClient]):
    """An assistant behind a chat completions endpoint. Overflow is searched in a store of our own."""

    own_url = ""
    client = OpenAIClient
    unsupported = frozenset({"web_search"})

    def _messages(self, ask: Ask) -> list[Any]:
        return [*messages_of(ask.history), {"role": "user", "content": ask.prompt}]

    def _send(
        self, client: OpenAIClient, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        limit = "max_completion_tokens" if self.name.startswith("azure:") else "max_tokens"
        settings = ask.settings
        options = without_nones(
            **{limit: self.window.output},
            reasoning_effort=settings.effort,
            temperature=settings.temperature,
            response_format=settings.schema and {"type": "json_schema", "json_schema": _shape(settings.schema)},
            extra_body={"plugins": [{"id": "web"}]} if settings.web_search else None,
        )
        if may_search is not None:
            options |= {"tools": [_SEARCH_TOOL], "tool_choice": "auto" if may_search else "none"}
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


class OpenRouter(OpenAICompatible):
    """An assistant at OpenRouter, whose plugin searches the web for every model."""

    unsupported = frozenset()


def _shape(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "answer", "schema": dict(schema)}


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


class _Calls:
    """Tool calls that arrive in pieces. Endpoints differ: some leave out the place or the id, some send calls whole."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._calls: list[Call] = []
        self._at: dict[int, int] = {}
        self.chars = 0

    def gather(self, deltas: Sequence[Any]) -> None:
        """Append pieces to their calls."""
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
        known = self._at.get(index, -1) if index is not None else len(self._calls) - 1
        if known >= 0:
            is_same = self._calls[known].id == number if number else index is not None
            if is_same or not name:
                return known
        self._calls.append(Call("", "", ""))
        if index is not None:
            self._at[index] = len(self._calls) - 1
        return len(self._calls) - 1


_MAX_RESULTS = 20
_RESULT_TOKENS = 800
"""What one result of the hosted search takes, as files are cut by default."""


class OpenAIResponses(SdkAssistant[OpenAIClient]):
    """An assistant at OpenAI."""

    own_url = OPENAI_URL
    client = OpenAIClient
    keeps_history = True

    @property
    def sweeper(self) -> Sweeper:
        """Deleter of the hosted stores that earlier calls with the same key left."""
        # a sweep with another key would find nothing, and take that for deleted
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
            text=settings.schema and {"format": {"type": "json_schema", **_shape(settings.schema)}},
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

"""OpenAI's own models, through the Responses API, which keeps the thread and searches in a hosted vector store.

Format: https://developers.openai.com/api/reference/resources/responses and its streaming events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput
from satchel.consult.assistants import failing
from satchel.consult.assistants.openai_client import KEY_VARIABLE, OpenAIClient
from satchel.consult.assistants.protocol import Ask, Reply, Timing
from satchel.consult.assistants.retrying import Patience
from satchel.consult.assistants.rounds import Round, converse
from satchel.consult.assistants.sdk_client import count_of
from satchel.consult.assistants.wire import Wire
from satchel.consult.records import HeldBack, Window
from satchel.consult.vector_stores import hosted
from satchel.consult.vector_stores.hosted import Filled, HostedStore

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputParam

    from satchel.consult.sweeping import VectorStore

PROVIDER = "openai"

_ACCOUNT_CHARS = 12
_MOST_RESULTS = 20
_RESULT_TOKENS = 800
"""What one result of the hosted search takes, as files are cut by default."""


class OpenAIResponses:
    """An assistant at OpenAI.

    Attributes:
        account: what its hosted stores are recorded under, and swept by.
    """

    keeps_history = True

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
            base_url: of another address that speaks the same; None is OpenAI's.
        """
        self.model = model
        self.window = window
        self.name = f"{PROVIDER}:{model}"
        # a sweep with another key would find nothing, and take that for deleted
        self.account = f"{PROVIDER}-{hashlib.sha256(f'{base_url} {key}'.encode()).hexdigest()[:_ACCOUNT_CHARS]}"
        self._key = key
        self._base_url = base_url
        self._timing = timing or Timing()
        self._patience = patience or Patience()

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`.

        Raises:
            InvalidInput: there are files to search and no log to record their store in.
        """
        store: HostedStore | None = None
        dropped: tuple[HeldBack, ...] = ()
        with ExitStack() as stack:
            wire = stack.enter_context(Wire(self._timing, ask.is_cancelled))
            client = stack.enter_context(closing(self._open(wire)))
            filled: Filled | None = None
            if ask.searchable:
                if ask.stores is None:
                    raise InvalidInput(
                        "a hosted vector store has to be recorded before it is made", "Give the call a log of stores"
                    )
                store = stack.enter_context(
                    HostedStore(
                        client,
                        wire,
                        self._open,
                        ask.stores,
                        self.account,
                        self._timing,
                        self._patience,
                        ask.on_progress,
                    )
                )
                filled = store.fill(ask.searchable)
                dropped = filled.dropped
            ask.on_progress(f"asking {self.name}")
            reply = converse(self.name, ask, wire, self._patience, lambda _: self._send(client, ask, filled))
        return replace(reply, dropped=dropped, notes=(*reply.notes, *(store.notes if store else ())))

    def remove(self, store: VectorStore) -> None:
        """Delete at the provider what an earlier call has left; see :data:`satchel.consult.sweeping.Remover`."""
        hosted.remove(store, self._open, self._timing, self._patience)

    def _open(self, wire: Wire) -> OpenAIClient:
        return OpenAIClient(self.name, wire, base_url=self._base_url, key=self._key, variable=KEY_VARIABLE)

    def _send(self, client: OpenAIClient, ask: Ask, filled: Filled | None) -> Generator[str, None, Round]:
        options: dict[str, Any] = {}
        if ask.provider_ref is not None:
            options["previous_response_id"] = ask.provider_ref
        if filled is not None and filled.external_id is not None:
            room = self.window.tokens - self.window.output - ask.tokens
            results = max(1, min(_MOST_RESULTS, room // _RESULT_TOKENS))
            tool = {"type": "file_search", "vector_store_ids": [filled.external_id], "max_num_results": results}
            options["tools"] = [tool]
        texts: list[str] = []
        final: Any = None
        with (
            client.explained(),
            client.sdk.responses.create(
                model=self.model,
                input=_input(ask),
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
                    texts.append(event.delta)
                    yield event.delta
                elif event.type in {"response.completed", "response.incomplete"}:
                    final = event.response
                elif event.type == "response.failed":
                    error = event.response.error
                    raise failing.from_code(
                        self.name, error.code if error else "", error.message if error else "it gave no reason"
                    )
                elif event.type == "error":
                    raise failing.from_code(self.name, event.code or "", event.message)
            if final is None:
                raise failing.cut(self.name) if has_begun else failing.nonsense(self.name, "no event of a stream")
            if not texts and final.output_text:
                texts.append(final.output_text)
                yield final.output_text
            return self._round("".join(texts), final, filled.paths if filled else {})

    def _round(self, text: str, final: Any, paths: Mapping[str, str]) -> Round:
        queries: list[str] = []
        cited: dict[str, None] = {}
        for item in final.output:
            if item.type == "file_search_call":
                queries.extend(item.queries)
            elif item.type == "message":
                for part in item.content:
                    for note in getattr(part, "annotations", None) or ():
                        if note.type == "file_citation" and note.file_id in paths:
                            cited[paths[note.file_id]] = None
        reason = final.incomplete_details.reason if final.incomplete_details else None
        return Round(
            text=text,
            is_cut=reason == "max_output_tokens",
            provider_ref=final.id,
            input_tokens=count_of(final.usage, "input_tokens"),
            output_tokens=count_of(final.usage, "output_tokens"),
            queries=tuple(queries),
            cited=tuple(cited),
            notes=("the provider's content filter ended the answer",) if reason == "content_filter" else (),
        )


def _input(ask: Ask) -> str | ResponseInputParam:
    if ask.provider_ref is not None or not ask.history:
        return ask.prompt
    messages: ResponseInputParam = []
    for past in ask.history:
        messages.append({"role": "user", "content": past.prompt})
        messages.append({"role": "assistant", "content": past.answer})
    messages.append({"role": "user", "content": ask.prompt})
    return messages

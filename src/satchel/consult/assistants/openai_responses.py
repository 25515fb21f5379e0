"""OpenAI's own models, through the Responses API, which keeps the thread and searches in a hosted vector store.

Format: https://developers.openai.com/api/reference/resources/responses and its streaming events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.consult.assistants import failing
from satchel.consult.assistants.base import SdkAssistant, without_nones
from satchel.consult.assistants.openai_client import OWN_URL, OpenAIClient
from satchel.consult.assistants.protocol import Ask, Reply
from satchel.consult.assistants.rounds import Round, converse
from satchel.consult.assistants.sdk_client import count_of, id_of
from satchel.consult.assistants.wire import Wire
from satchel.consult.records import IsCancelled
from satchel.consult.sweeping import Sweeper
from satchel.consult.vector_stores import removing
from satchel.consult.vector_stores.hosted import Filled, HostedStore

if TYPE_CHECKING:
    from satchel.consult.sweeping import VectorStore

PROVIDER = "openai"

_ACCOUNT_CHARS = 12
_MAX_RESULTS = 20
_RESULT_TOKENS = 800
"""What one result of the hosted search takes, as files are cut by default."""


class OpenAIResponses(SdkAssistant[OpenAIClient]):
    """An assistant at OpenAI."""

    own_url = OWN_URL
    keeps_history = True

    @property
    def sweeper(self) -> Sweeper:
        """What deletes the hosted stores that earlier calls with the same key have left."""
        # a sweep with another key would find nothing, and take that for deleted
        digest = hashlib.sha256(f"{self._base_url} {self._key}".encode()).hexdigest()
        return Sweeper(f"{PROVIDER}-{digest[:_ACCOUNT_CHARS]}", self._remove)

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`.

        Raises:
            InvalidInput: there are files to search and no log to record their store in.
        """
        if not ask.searchable:
            with self._calling(ask) as (client, wire):
                return self._ask(client, wire, ask, None)
        if ask.stores is None:
            raise InvalidInput(
                "a hosted vector store has to be recorded before it is made", "Give the call a log of stores"
            )
        with self._calling(ask) as (client, wire):
            store = HostedStore(
                client,
                wire,
                self._open,
                ask.stores,
                self.sweeper.account,
                self._timing,
                self._patience,
                ask.on_progress,
            )
            with store:
                filled = store.fill(ask.searchable)
                reply = self._ask(client, wire, ask, filled)
        return replace(reply, dropped=filled.dropped, notes=(*reply.notes, *store.notes))

    def _ask(self, client: OpenAIClient, wire: Wire, ask: Ask, filled: Filled | None) -> Reply:
        ask.on_progress(f"asking {self.name}")
        return converse(self.told, ask, wire, self._patience, lambda _: self._send(client, ask, filled))

    def _remove(self, store: VectorStore, is_cancelled: IsCancelled) -> None:
        removing.remove(store, self._open, self._timing, self._patience, is_cancelled)

    def _open(self, wire: Wire) -> OpenAIClient:
        return OpenAIClient(self.told, wire, base_url=self._base_url, key=self._key, variable=self._variable)

    def _send(self, client: OpenAIClient, ask: Ask, filled: Filled | None) -> Generator[str, None, Round]:
        options = without_nones(
            previous_response_id=ask.provider_ref,
            reasoning=ask.effort and {"effort": ask.effort},
            temperature=ask.temperature,
        )
        if filled is not None and filled.external_id is not None:
            room = self.window.tokens - self.window.output - ask.tokens
            results = max(1, min(_MAX_RESULTS, room // _RESULT_TOKENS))
            tool = {"type": "file_search", "vector_store_ids": [filled.external_id], "max_num_results": results}
            options["tools"] = [tool]
        has_text = False
        final: Any = None
        with (
            client.explained(),
            client.sdk.responses.create(
                model=self.model,
                input=ask.prompt,
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
                    raise failing.from_code(
                        self.told, error.code if error else "", error.message if error else "it gave no reason"
                    )
                elif event.type == "error":
                    raise failing.from_code(self.told, event.code or "", event.message)
                else:
                    yield ""
            if final is None:
                raise client.unfinished("no event of a stream", has_begun=has_begun)
            if not has_text and final.output_text:
                yield final.output_text
            return self._round(final, filled.paths if filled else {})

    def _round(self, final: Any, paths: Mapping[str, str]) -> Round:
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
            is_cut=reason == "max_output_tokens",
            provider_ref=id_of(final.id),
            input_tokens=count_of(final.usage, "input_tokens"),
            output_tokens=count_of(final.usage, "output_tokens"),
            queries=tuple(queries),
            cited=tuple(cited),
            notes=("the provider's content filter ended the answer",) if reason == "content_filter" else (),
        )

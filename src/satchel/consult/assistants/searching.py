"""The tool that lets a model search what did not fit into its prompt, in a store of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.base.errors import TooLarge
from satchel.base.tokens import estimate
from satchel.consult.assistants.protocol import Ask
from satchel.consult.records import Window
from satchel.consult.vector_stores.local import LocalStore, Passage

NAME = "file_search"
DESCRIPTION = (
    "Search the files that were not put into the conversation. Returns passages with their path and lines. "
    "Any words do: names, parts of identifiers, a question. Search again with other words if nothing fits."
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "what to look for"}},
    "required": ["query"],
    "additionalProperties": False,
}

MAX_PASSAGES = 8
RESULT_TOKENS = 4_000
"""How many tokens one search may return."""

_LEAST_TOKENS = 200
_SHARE = 8


def search_reserve(window: Window) -> int:
    """Return how many tokens a plan should leave free in a window when files overflow, for what searches return."""
    return min(4 * RESULT_TOKENS, (window.tokens - window.output) // _SHARE)


class Searches:
    """The searches of one call: what was looked for, and how much room there is for results."""

    __slots__ = ("_check", "_room", "_store", "queries")

    def __init__(self, store: LocalStore, room: int, check: Callable[[], None]) -> None:
        """Search a store.

        Args:
            room: how many tokens all results together may take.
            check: called before each search; raises when the call is over.
        """
        self._check = check
        self._store = store
        self._room = room
        self.queries: list[str] = []

    @property
    def has_room(self) -> bool:
        """Whether there is room for the result of another search."""
        return self._room >= _LEAST_TOKENS

    def answer(self, tool: str, arguments: str) -> str:
        """Return the result of a call as the model gets it; what is wrong with the call is a result too.

        Args:
            tool: the name that the model called.
            arguments: as JSON.
        """
        self._check()
        if tool != NAME:
            return _error(f"there is no tool {tool[:80]!r}, only {NAME}")
        try:
            query = json.loads(arguments)["query"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return _error('the arguments have to be a JSON object like {"query": "words to look for"}')
        if not isinstance(query, str) or not query.strip():
            return _error("query has to be a text with at least one word")
        self.queries.append(query)
        if not self.has_room:
            return _error("there is no room for more results: answer with what you have")
        try:
            return self._rendered(self._store.search(query, MAX_PASSAGES))
        except TooLarge as error:
            return _error(str(error))

    def _rendered(self, passages: tuple[Passage, ...]) -> str:
        if not passages:
            return json.dumps({"passages": [], "note": "nothing found: try other words"})
        rendered: list[str] = []
        left = min(self._room, RESULT_TOKENS)
        for passage in passages:
            # as JSON no passage can pretend to be another, whatever it holds
            one = json.dumps(
                {"path": passage.path, "lines": f"{passage.first_line}-{passage.last_line}", "text": passage.text},
                ensure_ascii=False,
            )
            tokens = estimate(one)
            if tokens > left:
                continue
            left -= tokens
            self._room -= tokens
            rendered.append(one)
        if not rendered:
            return _error("the passages found are too long for the room that is left: answer with what you have")
        return f'{{"passages": [{", ".join(rendered)}]}}'


@contextmanager
def searches(ask: Ask, window: Window, check: Callable[[], None]) -> Iterator[Searches | None]:
    """Index the files of a call for as long as it lasts; None where it has none.

    Args:
        check: called between files, and before each search; raises when the call is over.
    """
    if not ask.searchable:
        yield None
        return
    ask.on_progress(f"indexing {len(ask.searchable):,} files")
    with LocalStore(ask.searchable, check) as store:
        yield Searches(store, window.tokens - window.output - ask.tokens, check)


def as_json(arguments: object) -> str:
    """Return the arguments of a call as JSON, for SDKs that read them already."""
    return json.dumps(arguments, ensure_ascii=False, default=str)


def _error(problem: str) -> str:
    return json.dumps({"error": problem})

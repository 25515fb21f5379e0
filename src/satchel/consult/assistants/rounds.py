"""One turn with a model that may search in between: rounds of asking and answering, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass, replace
from satchel.consult.assistants import failing
from satchel.consult.assistants.limits import too_much
from satchel.consult.assistants.protocol import Ask, Reply, noop
from satchel.consult.assistants.retrying import Patience, persist
from satchel.consult.assistants.searching import Searches
from satchel.consult.assistants.wire import Wire

MAX_ROUNDS = 8
"""How often a model may search before it has to answer with what it has."""

_BETWEEN = "\n\n"
_TOLD_SHARE = 0.5
_LEAST_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model calls: the provider's name for the call, the tool's name, and its arguments as JSON."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Round:
    """What a model answered to one request.

    Attributes:
        text: what was yielded of it, joined; an adapter leaves it empty.
        calls: the tools that it wants to be called before it goes on.
        raw: the answer in the provider's own form, for adapters that have to send it back as it came.
        is_cut: whether it ended at the output limit.
        others: as in :class:`satchel.consult.assistants.protocol.Reply`.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    raw: tuple[Any, ...] = ()
    is_cut: bool = False
    provider_ref: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    queries: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Send = Callable[[bool], Generator[str, None, Round]]
"""Sends what there is to send, yields the text as it arrives, empty where what arrives is none, such as thinking, and
returns the round; told whether it may search."""

Remember = Callable[[Round, Sequence[str]], None]
"""Takes a round with calls, and their results, into what is sent next."""


def converse(
    name: str,
    ask: Ask,
    wire: Wire,
    patience: Patience,
    send: Send,
    searches: Searches | None = None,
    remember: Remember | None = None,
) -> Reply:
    """Ask until there is an answer.

    Args:
        name: the assistant with its address, for errors.
        send: makes one request.
        searches: what the model may search with; None where the provider searches by itself, or nobody does.
        remember: needed with ``searches``.

    Raises:
        AssistantFailed: the provider failed in a way that did not pass, or gave no answer.
        Interrupted: the call was cancelled.
    """
    texts: list[str] = []
    output_tokens: int | None = None
    notes: list[str] = []
    for number in range(MAX_ROUNDS + 1):
        may_search = searches is not None and number < MAX_ROUNDS and searches.has_room
        one = _round(ask, wire, patience, send, may_search, _BETWEEN if texts else "")
        if number == 0 and _is_cut_short(ask.tokens, one.input_tokens):
            notes.append(
                f"{name} took {one.input_tokens:,} tokens of about {ask.tokens:,}: it may have cut what was sent; "
                "give its server a larger context, or configure a smaller window here"
            )
        if one.text:
            texts.append(one.text)
        if one.output_tokens is not None:
            output_tokens = one.output_tokens + (output_tokens or 0)
        if not one.calls:
            break
        if not may_search or searches is None or remember is None:
            raise AssistantFailed(
                f"{name} called {one.calls[0].tool[:80]!r} where it was to answer",
                "Ask again, or ask another model",
                reason="nonsense",
            )
        results = []
        for call in one.calls:
            ask.on_progress(f"searching: {failing.shown(call.arguments)}")
            results.append(searches.answer(call.tool, call.arguments))
        remember(one, results)
    text = _BETWEEN.join(texts)
    if not text.strip():
        raise failing.empty(name, is_cut=one.is_cut, notes=one.notes)
    if one.is_cut:
        notes.append("the answer ends at the output limit and is not whole")
    return Reply(
        text=text,
        provider_ref=one.provider_ref,
        input_tokens=one.input_tokens,
        output_tokens=output_tokens,
        queries=one.queries if searches is None else tuple(searches.queries),
        cited=one.cited,
        notes=(*notes, *one.notes),
    )


def _round(ask: Ask, wire: Wire, patience: Patience, send: Send, may_search: bool, before: str) -> Round:
    texts: list[str] = []
    taken = 0
    is_shown = ask.is_shown and ask.on_text is not noop

    def deliver(text: str) -> None:
        nonlocal taken
        if text:
            taken += len(text.encode())
            if taken > wire.limits.text:
                raise too_much(wire.name, f"more than {wire.limits.text:,} bytes of text")
            ask.on_text(text if texts else before + text)
            texts.append(text)

    def attempt() -> Round:
        nonlocal taken
        taken = 0
        whole = _WholeCharacters()
        with wire.streaming(), closing(send(may_search)) as pieces:
            while True:
                wire.check()
                ask.on_sign()
                try:
                    deliver(whole.feed(next(pieces)))
                except StopIteration as end:
                    deliver(whole.rest())
                    done: Round = end.value
                    return replace(done, text="".join(texts))

    def unseen() -> Round:
        try:
            return attempt()
        except AssistantFailed as failure:
            # what was shown would come a second time; what nobody saw may
            if failure.reason == "cut" and not is_shown:
                texts.clear()
            raise

    return persist(wire, unseen, patience, lambda: not texts)


class _WholeCharacters:
    """Puts characters together that a provider split over two pieces of text, as halves that JSON can name alone."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what can be told of the text so far."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _joined(text[: len(text) - len(self._half)])

    def rest(self) -> str:
        """Return what is left when no more comes."""
        return _joined(self._half)


def _joined(text: str) -> str:
    """Join halves of characters; half a character alone becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_cut_short(sent: int, taken: int | None) -> bool:
    return taken is not None and sent >= _LEAST_TOLD and taken < _TOLD_SHARE * sent

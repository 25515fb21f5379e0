"""Base of the adapters: one turn with a model that may call a search tool, and the index in memory for it."""

from __future__ import annotations

import codecs
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from satchel.base.errors import AssistantFailed, TooLarge
from satchel.base.records import dataclass, replace
from satchel.base.tokens import estimate
from satchel.consult.models import Ask, Model, Reply, Round, Timing, noop
from satchel.consult.records import Content, Window, never
from satchel.consult.sdk import ClientT, empty, excerpt
from satchel.consult.wire import Limits, Wire, persist, public_address, too_much
from satchel.find import documents, query, search
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.store import migrations
from satchel.store.sqlite_transaction import SqliteTransaction

if TYPE_CHECKING:
    from satchel.consult.vector_stores import Sweeper

# Maximum characters of a passage: about 400 tokens.
CHUNK_CHARS = 1_600

_FULL_ENOUGH = 0.5
_PROJECT = "INSERT INTO projects (id, uid, name, created_at) VALUES (1, x'00', 'files', 0)"
_RUN = "INSERT INTO runs (id, uid, seq, project_id, run_id, created_at) VALUES (1, x'00', 1, 1, 'files', 0)"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a file: whole lines, unless one line is too long; lines count from 1."""

    path: str
    first_line: int
    last_line: int
    text: str


class LocalStore:
    """Search index over files, for one thread; a context manager."""

    def __init__(self, contents: Mapping[str, Content], check: Callable[[], object] = never) -> None:
        self._connection = migrations.empty_store()
        self._transaction = SqliteTransaction(self._connection)
        self._passages: list[Passage] = []
        try:
            self._connection.execute("BEGIN")
            self._transaction.run(_PROJECT)
            self._transaction.run(_RUN)
            for path in sorted(contents):
                check()
                for passage in passages(path, contents[path].text):
                    self._add(passage)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def search(self, text: str, limit: int) -> tuple[Passage, ...]:
        """Return the best passages for any query, the best first."""
        ranking = search.rank(self._transaction, query.parse(text), Scope(project_id=1, run_id=1))
        return tuple(self._passages[hit.document - 1] for hit in ranking.hits[:limit])

    def _add(self, passage: Passage) -> None:
        self._passages.append(passage)
        number = len(self._passages)
        documents.add(
            self._transaction,
            Document(
                kind=Kind.ENTRY,
                item_id=number,
                seq=number,
                project_id=1,
                run_id=1,
                # words of the path and of neighbouring passages count too
                text=f"{passage.path}\n{passage.text}",
                created_at=number,
                task_id=passage.path,
            ),
            counts=True,
        )


def passages(path: str, text: str) -> Iterator[Passage]:
    """Cut a file into passages of whole lines, preferably at an empty line in the second half.

    Joined, they give the text again.
    """
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        lines.extend((number, line[start : start + CHUNK_CHARS]) for start in range(0, len(line), CHUNK_CHARS))
    start = 0
    while start < len(lines):
        end, size, blank = start, 0, None
        while end < len(lines) and size + len(lines[end][1]) <= CHUNK_CHARS:
            size += len(lines[end][1])
            end += 1
            if size >= _FULL_ENOUGH * CHUNK_CHARS and not lines[end - 1][1].strip():
                blank = end
        if blank is not None and end < len(lines):
            end = blank
        piece = lines[start:end]
        yield Passage(path, piece[0][0], piece[-1][0], "".join(line for _, line in piece))
        start = end


TOOL = "file_search"
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
# Maximum tokens of one search result.
RESULT_TOKENS = 4_000

_LEAST_TOKENS = 200
_SHARE = 8


def search_reserve(window: Window) -> int:
    """Return the tokens that a plan keeps free for search results when files overflow."""
    return min(4 * RESULT_TOKENS, (window.tokens - window.output) // _SHARE)


class Searches:
    """Searches of one call: their queries, and the room for results."""

    def __init__(self, store: LocalStore, room: int, check: Callable[[], None]) -> None:
        self._check = check
        self._store = store
        self._room = room
        self.queries: list[str] = []

    @property
    def has_room(self) -> bool:
        """Whether there is room for the result of another search."""
        return self._room >= _LEAST_TOKENS

    def answer(self, tool: str, arguments: str) -> str:
        """Return the result of a tool call for the model; an invalid call gives an error as its result."""
        self._check()
        if tool != TOOL:
            return _error(f"there is no tool {tool[:80]!r}, only {TOOL}")
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
        room = min(self._room, RESULT_TOKENS)
        for passage in passages:
            # in JSON no passage can imitate the end of another
            one = json.dumps(
                {"path": passage.path, "lines": f"{passage.first_line}-{passage.last_line}", "text": passage.text},
                ensure_ascii=False,
            )
            tokens = estimate(one)
            if tokens > room:
                continue
            room -= tokens
            self._room -= tokens
            rendered.append(one)
        if not rendered:
            return _error("the passages found are too long for the room that is left: answer with what you have")
        return f'{{"passages": [{", ".join(rendered)}]}}'


@contextmanager
def searches(ask: Ask, window: Window, check: Callable[[], None]) -> Iterator[Searches | None]:
    """Index the files of a call while it lasts; None if there are none."""
    if not ask.searchable:
        yield None
        return
    ask.on_progress(f"indexing {len(ask.searchable):,} files")
    with LocalStore(ask.searchable, check) as store:
        yield Searches(store, window.tokens - window.output - ask.tokens, check)


def _error(problem: str) -> str:
    return json.dumps({"error": problem})


# Maximum searches before the model has to answer.
MAX_ROUNDS = 8

_BETWEEN = "\n\n"
_TOLD_SHARE = 0.5
_LEAST_TOLD = 1_000


# Sends the request, told whether the model may search; yields the text as it arrives, empty for other events such as
# thinking, and returns the round.
Send = Callable[[bool], Generator[str, None, Round]]

# Adds a round with calls and their results to the next request.
Remember = Callable[[Round, Sequence[str]], None]


def converse(
    name: str,
    ask: Ask,
    wire: Wire,
    send: Send,
    searches: Searches | None = None,
    remember: Remember | None = None,
) -> Reply:
    """Repeat requests and searches until the model answers."""
    wire.is_streaming = True
    texts: list[str] = []
    input_tokens = output_tokens = 0
    notes: list[str] = []
    queries: list[str] = []
    cited: list[str] = []
    for number in range(MAX_ROUNDS + 1):
        may_search = searches is not None and number < MAX_ROUNDS and searches.has_room
        one = _round(ask, wire, send, may_search, _BETWEEN if texts else "")
        if number == 0 and not _has_media(ask) and _is_cut_short(ask.tokens, one.input_tokens):
            notes.append(
                f"{name} took {one.input_tokens:,} tokens of about {ask.tokens:,}: it may have cut what was sent; "
                "give its server a larger context, or configure a smaller window here"
            )
        if one.text:
            texts.append(one.text)
        input_tokens += one.input_tokens or 0
        output_tokens += one.output_tokens or 0
        queries += one.queries
        cited += one.cited
        if one.is_paused and remember is not None and number < MAX_ROUNDS:
            remember(one, ())
            continue
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
            ask.on_progress(f"searching: {excerpt(call.arguments)}")
            results.append(searches.answer(call.tool, call.arguments))
        remember(one, results)
    text = _BETWEEN.join(texts)
    if not text.strip():
        raise empty(name, is_cut=one.is_cut, notes=one.notes)
    if one.is_cut:
        notes.append("the answer ends at the output limit and is not whole")
    if one.is_paused:
        notes.append("the provider stopped before the answer was whole")
    return Reply(
        text=text,
        provider_ref=one.provider_ref,
        input_tokens=input_tokens or None,
        output_tokens=output_tokens or None,
        queries=(*queries, *(searches.queries if searches else ())),
        cited=tuple(dict.fromkeys(cited)),
        notes=(*notes, *one.notes),
    )


def _round(ask: Ask, wire: Wire, send: Send, may_search: bool, before: str) -> Round:
    texts: list[str] = []
    received_bytes = 0
    is_shown = ask.is_shown and ask.on_text is not noop

    def deliver(text: str) -> None:
        nonlocal received_bytes
        if text:
            received_bytes += len(text.encode())
            if received_bytes > wire.limits.text:
                raise too_much(wire.name, f"more than {wire.limits.text:,} bytes of text")
            ask.on_text(text if texts else before + text)
            texts.append(text)

    def attempt() -> Round:
        nonlocal received_bytes
        received_bytes = 0
        # a provider may split a character over two pieces, as lone surrogates in JSON
        whole = codecs.getincrementaldecoder("utf-16-le")("replace")
        with closing(send(may_search)) as pieces:
            while True:
                wire.check()
                ask.on_sign()
                try:
                    deliver(whole.decode(next(pieces).encode("utf-16-le", "surrogatepass")))
                except StopIteration as end:
                    deliver(whole.decode(b"", final=True))
                    done: Round = end.value
                    return replace(done, text="".join(texts))

    def unseen() -> Round:
        try:
            return attempt()
        except AssistantFailed as failure:
            # text that was shown would appear twice; unseen text may be repeated
            if failure.reason == "cut" and not is_shown:
                texts.clear()
            raise

    return persist(wire, unseen, lambda: not texts)


def _has_media(ask: Ask) -> bool:
    # media are counted at their maximum; the content of a provider's thread is unknown here
    return bool(ask.media or ask.provider_ref or any(past.media for past in ask.history))


def _is_cut_short(sent_tokens: int, input_tokens: int | None) -> bool:
    return input_tokens is not None and sent_tokens >= _LEAST_TOLD and input_tokens < _TOLD_SHARE * sent_tokens


class SdkAssistant(ABC, Generic[ClientT]):
    """An assistant that is asked through its vendor's SDK."""

    own_url: ClassVar[str]
    keeps_history: ClassVar[bool]
    unsupported: frozenset[str] = frozenset()
    client: ClassVar[type[Any]]

    def __init__(
        self,
        model: Model,
        variable: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.model = model.name
        self._variable = variable
        self.window = model.window
        self.name = model.full_name
        self.address = public_address(base_url or self.own_url)
        self.label = f"{self.name} at {self.address}"
        self._key = key
        self._base_url = base_url
        self._timing = timing or Timing()

    @property
    def sweeper(self) -> Sweeper | None:
        """Deleter of stores left by earlier calls; see :class:`satchel.consult.models.Assistant`."""
        return None

    @abstractmethod
    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""

    def _open(self, wire: Wire) -> ClientT:
        opened: ClientT = self.client(self.label, wire, base_url=self._base_url, key=self._key, variable=self._variable)
        return opened

    @contextmanager
    def _calling(self, ask: Ask) -> Iterator[ClientT]:
        limits = Limits.of(self.window.output)
        with (
            Wire(self._timing, ask.is_cancelled, name=self.label, limits=limits) as wire,
            closing(self._open(wire)) as client,
        ):
            yield client


class OwnHistoryAssistant(SdkAssistant[ClientT]):
    """An assistant without history at the provider: each request has the whole thread, and search is local."""

    keeps_history = False

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""
        with self._calling(ask) as client, searches(ask, self.window, client.wire.check) as search:
            messages = self._messages(ask)

            def send(may_search: bool) -> Generator[str, None, Round]:
                return self._send(client, messages, None if search is None else may_search, ask)

            def remember(one: Round, results: Sequence[str]) -> None:
                messages.extend(self._with_results(one, results))

            ask.on_progress(f"asking {self.name}")
            return converse(self.label, ask, client.wire, send, search, remember)

    @abstractmethod
    def _messages(self, ask: Ask) -> list[Any]:
        """Return the thread in the provider's format, the new prompt last."""

    @abstractmethod
    def _send(
        self, client: ClientT, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        """Make one request; yield the text as it arrives, an empty one for other events, and return the rest."""

    @abstractmethod
    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        """Return the messages for a round with calls: the calls, then their results in order."""

"""A vector store at OpenAI that lives as long as one call, and its removal.

It is recorded before it is made, and deleted with its files however the call ends. Whatever may have been made without
our learning its id is found by its name, which nothing else bears; what even that misses expires by itself.

Formats and limits, read in November 2026: https://developers.openai.com/api/docs/guides/tools-file-search and
https://developers.openai.com/api/reference (files, vector stores and their file batches), which the SDK repeats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

from satchel.base.errors import AssistantFailed, SatchelError
from satchel.base.records import dataclass
from satchel.consult import sdk
from satchel.consult.models import Timing
from satchel.consult.records import Content, HeldBack, IsCancelled, never
from satchel.consult.sdk import OpenAIClient, id_of
from satchel.consult.wire import Wire, persist

if TYPE_CHECKING:
    from openai.types.vector_stores import VectorStoreFileBatch

    from satchel.consult.upkeep import VectorStore, VectorStores


T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 8
_TAG_CHARS = 20
_CLEANUP_SECONDS_PER_FILE = 0.05
_CLOCK_SKEW_SECONDS = 600

OpenClient = Callable[[Wire], OpenAIClient]


def tag_of(name: str) -> str:
    """Return what the names of all files of a store begin with."""
    return f"{name[:_TAG_CHARS]}--"


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Finds and deletes what is at the provider, for a bounded time; what fails in passing is tried again."""

    client: OpenAIClient

    def stores_named(self, name: str) -> list[str]:
        """Return the ids of all stores with a name."""
        return self._do(
            lambda: [store.id for store in self.client.sdk.vector_stores.list(limit=100) if store.name == name]
        )

    def files_of(self, store: VectorStore) -> set[str]:
        """Return the ids of all files that were uploaded for a store."""
        tag, since = tag_of(store.name), store.created_at / 1_000 - _CLOCK_SKEW_SECONDS

        def find() -> set[str]:
            ids: set[str] = set()
            for file in self.client.sdk.files.list(purpose="assistants", order="desc", limit=1_000):
                if file.created_at < since:
                    break
                if file.filename.startswith(tag):
                    ids.add(file.id)
            return ids

        return self._do(find)

    def delete_stores(self, stores: Iterable[str]) -> None:
        """Delete stores by their ids; one that is gone already is no failure."""
        for number in dict.fromkeys(stores):
            self._delete(self.client.sdk.vector_stores.delete, number)

    def delete_files(self, files: Iterable[str]) -> None:
        """Delete files by their ids, several at once; one that is gone already is no failure."""

        for _ in several_at_once(lambda number: self._delete(self.client.sdk.files.delete, number), sorted(files)):
            pass

    def _delete(self, delete: Callable[[str], Any], number: str) -> None:
        def attempt() -> None:
            # a page of some proxy is no proof
            if delete(number).deleted is not True:
                raise ValueError(f"{number} was not deleted")

        try:
            self._do(attempt)
        except AssistantFailed as failure:
            # what is gone already is what was asked for
            if failure.reason != "not_found":
                raise

    def _do(self, work: Callable[[], T]) -> T:
        def attempt() -> T:
            with self.client.explained():
                return work()

        return persist(self.client.wire, attempt)


@contextmanager
def cleaning(open_client: OpenClient, timing: Timing, files: int, is_cancelled: IsCancelled) -> Iterator[Cleaner]:
    """Yield a cleaner with a separate client."""
    total = timing.cleanup + files * _CLEANUP_SECONDS_PER_FILE
    with Wire(timing, is_cancelled, total) as wire, closing(open_client(wire)) as client:
        yield Cleaner(client)


def remove_store(store: VectorStore, open_client: OpenClient, timing: Timing, is_cancelled: IsCancelled) -> None:
    """Delete what a call has left: a store by its id or its name, and the files that were uploaded for it."""
    with cleaning(open_client, timing, 0, is_cancelled) as cleaner:
        stores = [] if store.external_id is None else [store.external_id]
        cleaner.delete_stores([*stores, *cleaner.stores_named(store.name)])
        cleaner.delete_files(cleaner.files_of(store))


def several_at_once(work: Callable[[T], R], items: Sequence[T]) -> Generator[R, None, None]:
    """Do something with each item, several at once; yield the results in order, and stop at the first failure.

    Nothing is under way any more once it has ended, or is closed.
    """
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="satchel-store") as pool:
        yield from pool.map(work, items)


BATCH_FILES = 2_000
UPLOADS_A_MINUTE = 1_000
ACCEPTED = frozenset(
    ".c .cpp .cs .css .go .html .java .js .json .md .php .py .rb .sh .tex .ts .txt".split()  # text only, as ours are
)
"""The endings of text files that are taken as they are; any other file is uploaded with ``.txt`` behind its name."""

_TOLD_EVERY = 100
_NAME_CHARS = 180
_FILE_LIFE_SECONDS = 7_200
_INDEXING_SECONDS_PER_FILE = 0.25
# after these the provider may have done what it was asked for
_UNCERTAIN = frozenset({"cut", "timed_out", "failing", "nonsense", "too_much", "compressed"})
_NOT_THIS_FILE = frozenset({"refused", "too_long"})
_FAULTS_OF_FILES = frozenset({"not_taken", "not_indexed"})


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that can be searched."""

    external_id: str | None
    paths: Mapping[str, str]
    dropped: tuple[HeldBack, ...]


class HostedStore:
    """One call's store; a context manager that leaves nothing at the provider."""

    def __init__(
        self,
        client: OpenAIClient,
        open_client: OpenClient,
        log: VectorStores,
        provider: str,
        on_progress: Callable[[str], None],
    ) -> None:
        self._client = client
        self._wire = client.wire
        self._open_client = open_client
        self._log = log
        self._provider = provider
        self._timing = client.wire.timing
        self._on_progress = on_progress
        self._store: VectorStore | None = None
        self._external_id: str | None = None
        self._paths: dict[str, str] = {}
        self._dropped: list[HeldBack] = []
        self._is_uncertain = threading.Event()
        self._is_given_up = threading.Event()
        self.notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is None:
            return
        try:
            self._clean_up(self._store)
        except SatchelError as failure:
            # the answer is worth more; what is left stays recorded
            self.notes = (
                f"the vector store {self._external_id or self._store.name} could not be deleted yet and will be later: "
                f"{failure.problem}",
            )

    def fill(self, contents: Mapping[str, Content]) -> Filled:
        """Make the store with files in it, and wait until they can be searched."""
        taken = self._checked(contents)
        if not taken:
            return Filled(None, {}, tuple(self._dropped))
        self._store = store = self._log.announce(self._provider)
        self._on_progress("making a vector store")
        self._external_id = external_id = self._do(
            lambda: id_of(
                self._client.sdk.vector_stores.create(
                    name=store.name, expires_after={"anchor": "last_active_at", "days": 1}
                ).id
            )
        )
        self._store = self._log.made(store, external_id)
        for start in range(0, len(taken), UPLOADS_A_MINUTE):
            self._upload(taken[start : start + UPLOADS_A_MINUTE], tag_of(store.name), start, len(taken))
        files = sorted(self._paths, key=self._paths.__getitem__)
        for start in range(0, len(files), BATCH_FILES):
            self._add(external_id, files[start : start + BATCH_FILES])
        in_store = len(files) - sum(dropped.reason == "not_indexed" for dropped in self._dropped)
        if in_store < 1:
            faults = [dropped.detail for dropped in self._dropped if dropped.reason in _FAULTS_OF_FILES]
            raise AssistantFailed(f"{self._client.name} took none of the files: {faults[0]}", reason="not_indexed")
        return Filled(external_id, dict(self._paths), tuple(sorted(self._dropped, key=lambda dropped: dropped.path)))

    def _checked(self, contents: Mapping[str, Content]) -> list[tuple[str, bytes, str]]:
        taken: list[tuple[str, bytes, str]] = []
        for path in sorted(contents):
            media = contents[path].media
            raw = contents[path].text.encode() if media is None else media.data
            if not raw.strip():
                self._dropped.append(HeldBack(path, "empty", "nothing but blanks, which a vector store does not take"))
            else:
                taken.append((path, raw, "text/plain" if media is None else media.type))
        return taken

    def _upload(self, files: Sequence[tuple[str, bytes, str]], tag: str, before: int, total: int) -> None:
        began = self._timing.clock()

        def upload(one: tuple[str, bytes, str]) -> HeldBack | None:
            path, raw, kind = one
            try:
                number = self._do(
                    lambda: id_of(
                        self._client.sdk.files.create(
                            file=(_upload_name(tag, path, kind), raw, kind),
                            purpose="assistants",
                            expires_after={"anchor": "created_at", "seconds": _FILE_LIFE_SECONDS},
                        ).id
                    )
                )
            except AssistantFailed as failure:
                if failure.reason in _NOT_THIS_FILE:
                    return HeldBack(path, "not_taken", failure.problem)
                self._is_given_up.set()
                raise
            self._paths[number] = path
            return None

        # closed before anything is cleaned up, whatever raises: no upload outlives the store
        with closing(several_at_once(upload, files)) as results:
            for done, dropped in enumerate(results, before + 1):
                if dropped is not None:
                    self._dropped.append(dropped)
                if done % _TOLD_EVERY == 0 or done == total:
                    self._on_progress(f"uploaded {done:,} of {total:,} files")
        rest = began + 60.0 - self._timing.clock()
        if before + len(files) < total and rest > 0:
            self._on_progress("waiting: the provider takes no more files within this minute")
            self._wire.pause(rest)

    def _add(self, external_id: str, files: Sequence[str]) -> None:
        batches = self._client.sdk.vector_stores.file_batches
        number, is_under_way, done = self._do(lambda: _progress(batches.create(external_id, file_ids=list(files))))
        seconds = self._timing.indexing + len(files) * _INDEXING_SECONDS_PER_FILE
        until = self._timing.clock() + seconds
        while is_under_way:
            if self._timing.clock() >= until:
                raise AssistantFailed(
                    f"{self._client.name} was not done indexing within {seconds:g} seconds",
                    "Give fewer files, or ask later",
                    reason="timed_out",
                )
            self._on_progress(f"indexed {done:,} of {len(files):,} files")
            self._wire.pause(self._timing.poll)
            _, is_under_way, done = self._do(lambda: _progress(batches.retrieve(number, vector_store_id=external_id)))
        if done == len(files):
            return
        pages = batches.list_files
        listed = self._do(
            lambda: {one.id: one for one in islice(pages(number, vector_store_id=external_id, limit=100), len(files))}
        )
        for file in files:
            one = listed.get(file)
            if one is None or one.status != "completed":
                detail = one.last_error.message if one and one.last_error else "the provider did not index it"
                self._dropped.append(HeldBack(self._paths[file], "not_indexed", sdk.excerpt(detail)))

    def _do(self, work: Callable[[], T]) -> T:
        def attempt() -> T:
            try:
                with self._client.explained():
                    return work()
            except AssistantFailed as failure:
                if failure.reason in _UNCERTAIN:
                    self._is_uncertain.set()
                raise
            except BaseException:
                self._is_uncertain.set()
                raise

        return persist(self._wire, attempt, lambda: not self._is_given_up.is_set())

    def _clean_up(self, store: VectorStore) -> None:
        is_all_known = not self._is_uncertain.is_set()
        # a caller who cancelled wants nothing left of the call
        with cleaning(self._open_client, self._timing, len(self._paths), never) as cleaner:
            stores = [] if self._external_id is None else [self._external_id]
            if not is_all_known:
                stores += cleaner.stores_named(store.name)
            cleaner.delete_stores(stores)
            cleaner.delete_files(set(self._paths) if is_all_known else {*self._paths, *cleaner.files_of(store)})
        if stores or is_all_known:
            # a store that may still be in the making stays recorded, for a sweep to look again
            self._log.deleted(store)


def _progress(batch: VectorStoreFileBatch) -> tuple[str, bool, int]:
    return id_of(batch.id), batch.status == "in_progress", int(batch.file_counts.completed)


def _upload_name(tag: str, path: str, kind: str) -> str:
    flat = path.strip("/").replace("/", "--")[-_NAME_CHARS:]
    ending = flat[flat.rfind(".") :].lower() if "." in flat else ""
    return f"{tag}{flat}" if ending in ACCEPTED or kind != "text/plain" else f"{tag}{flat}.txt"

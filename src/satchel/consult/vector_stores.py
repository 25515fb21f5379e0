"""Vector stores at OpenAI: one per call, recorded before it is made and deleted however the call ends.

The next call deletes stores whose record has expired. A store that was made without its id reaching us is found by its
unique name; any other remnant expires at the provider.

Formats and limits, read in November 2026: https://developers.openai.com/api/docs/guides/tools-file-search and
https://developers.openai.com/api/reference (files, vector stores, file batches).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

from satchel.base.errors import AssistantFailed, Interrupted, SatchelError
from satchel.base.records import dataclass, replace
from satchel.consult import sdk
from satchel.consult.models import Timing
from satchel.consult.records import Content, HeldBack, IsCancelled, never
from satchel.consult.sdk import OpenAIClient, id_of
from satchel.consult.wire import Wire, persist
from satchel.keep import projects
from satchel.keep.projects import Service, Workplace
from satchel.store.transaction import Row

if TYPE_CHECKING:
    from openai.types.vector_stores import VectorStoreFileBatch

# Time after which a store whose call is silent counts as abandoned.
LIFE_MS = 3_600_000

MAX_SWEPT = 5  # a limit per call, so that the call gets to its own work

_ANNOUNCED, _MADE, _LEAVING = 1, 2, 3  # states in the table
_NAME = "satchel-"
_COLUMNS = "uid, provider, external_id, conversation_id, attempts, expires_at, created_at"
_RECORD = f"""
    INSERT INTO vector_stores
        (uid, project_id, conversation_id, provider, external_id, state, expires_at, created_at)
    VALUES
        (:uid, :project, (SELECT id FROM conversations WHERE id = :conversation), :provider, :external,
        :state, :expires, :created)
    ON CONFLICT (uid) DO UPDATE
    SET external_id = excluded.external_id, state = excluded.state, expires_at = excluded.expires_at
    RETURNING {_COLUMNS}
"""
_IS_DUE = "project_id = :project AND provider = :provider AND expires_at <= :now ORDER BY expires_at, id LIMIT 1"
# the pause after a failure doubles, from five minutes up to a day
_CLAIM = f"""
    UPDATE vector_stores
    SET state = {_LEAVING}, attempts = attempts + 1,
        expires_at = :now + CASE WHEN attempts < 9 THEN 300000 * (1 << CAST(attempts AS INTEGER)) ELSE 86400000 END
    WHERE id = (SELECT id FROM vector_stores WHERE {_IS_DUE})
    RETURNING {_COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class VectorStore:
    """Record of a vector store at a provider."""

    name: str
    provider: str
    external_id: str | None
    conversation_id: int | None
    attempts: int
    expires_at: int
    created_at: int


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Deleter of stores at a provider; ``remove`` raises an error unless the store is certainly gone."""

    account: str
    remove: Callable[[VectorStore, IsCancelled], object]


class VectorStores(Service):
    """Log of the vector stores that a project has, or may have, at providers."""

    def __init__(self, workplace: Workplace, conversation_id: int | None = None) -> None:
        super().__init__(workplace)
        self._conversation_id = conversation_id

    def announce(self, provider: str) -> VectorStore:
        """Record a store before it is made; this is durable when it returns."""
        now = self._workplace.clock()
        name = f"{_NAME}{os.urandom(16).hex()}"
        return self._record(VectorStore(name, provider, None, self._conversation_id, 0, 0, now), _ANNOUNCED)

    def made(self, store: VectorStore, external_id: str) -> VectorStore:
        """Record the provider's id of a store, even if a sweep came before it was made."""
        return self._record(replace(store, external_id=external_id), _MADE)

    def _record(self, store: VectorStore, state: int) -> VectorStore:
        work = self._workplace
        with work.engine.write() as transaction:
            now = work.clock()
            row = transaction.one(
                _RECORD,
                {
                    "uid": _uid(store),
                    "project": projects.ensure(transaction, work, now).id,
                    "conversation": store.conversation_id,
                    "provider": store.provider,
                    "external": store.external_id,
                    "state": state,
                    "expires": now + LIFE_MS,
                    "created": store.created_at,
                },
            )
        assert row is not None
        return _store(row)

    def deleted(self, store: VectorStore) -> None:
        """Record that a store was deleted or never made."""
        with self._workplace.engine.write() as transaction:
            transaction.run("DELETE FROM vector_stores WHERE uid = :uid", {"uid": _uid(store)})

    def sweep(self, sweeper: Sweeper, is_cancelled: IsCancelled = never) -> list[str]:
        """Delete stores that earlier calls left at a provider, and return the failures.

        Failed ones are tried again after a pause of five minutes, which doubles each time.
        """
        failures: list[str] = []
        for _ in range(MAX_SWEPT):
            # one at a time, so that a cancelled sweep leaves the rest to the next one
            store = self._claim(sweeper.account)
            if store is None:
                break
            try:
                sweeper.remove(store, is_cancelled)
            except Interrupted:
                raise
            except SatchelError as error:
                failures.append(f"the vector store {store.external_id or store.name} was not deleted: {error.problem}")
            else:
                self.deleted(store)
        return failures

    def _claim(self, provider: str) -> VectorStore | None:
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            values = {"project": project.id, "provider": provider, "now": work.clock()}
            if transaction.one(f"SELECT 1 FROM vector_stores WHERE {_IS_DUE}", values) is None:
                return None
        with work.engine.write() as transaction:
            row = transaction.one(_CLAIM, values)
        return None if row is None else _store(row)


def _store(row: Row) -> VectorStore:
    uid, *rest = row
    return VectorStore(f"{_NAME}{uid.hex()}", *rest)


def _uid(store: VectorStore) -> bytes:
    return bytes.fromhex(store.name.removeprefix(_NAME))


T = TypeVar("T")
_AT_ONCE = 8
_TAG_CHARS = 20
_CLEANUP_SECONDS_PER_FILE = 0.05
_CLOCK_SKEW_SECONDS = 600

OpenClient = Callable[[Wire], OpenAIClient]


def _tag(name: str) -> str:
    return f"{name[:_TAG_CHARS]}--"


@dataclass(frozen=True, slots=True)
class _Cleaner:
    """Finds and deletes stores at the provider within a time limit, with retries."""

    client: OpenAIClient

    def stores_named(self, name: str) -> list[str]:
        return self._do(
            lambda: [store.id for store in self.client.sdk.vector_stores.list(limit=100) if store.name == name]
        )

    def files_of(self, store: VectorStore) -> set[str]:
        tag, since = _tag(store.name), store.created_at / 1_000 - _CLOCK_SKEW_SECONDS

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
        for number in dict.fromkeys(stores):
            self._delete(self.client.sdk.vector_stores.delete, number)

    def delete_files(self, files: Iterable[str]) -> None:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="satchel-store") as pool:
            list(pool.map(lambda number: self._delete(self.client.sdk.files.delete, number), sorted(files)))

    def _delete(self, delete: Callable[[str], Any], number: str) -> None:
        def attempt() -> None:
            # a 404 page of a proxy proves nothing
            if delete(number).deleted is not True:
                raise ValueError(f"{number} was not deleted")

        try:
            self._do(attempt)
        except AssistantFailed as failure:
            # already gone, as requested
            if failure.reason != "not_found":
                raise

    def _do(self, work: Callable[[], T]) -> T:
        def attempt() -> T:
            with self.client.explained():
                return work()

        return persist(self.client.wire, attempt)


def remove_store(
    store: VectorStore,
    open_client: OpenClient,
    timing: Timing,
    is_cancelled: IsCancelled,
    files: Collection[str] = (),
    *,
    is_all_known: bool = False,
) -> bool:
    """Delete a store and its files, and unless ``is_all_known`` those with its name; return whether it existed."""
    total = timing.cleanup + len(files) * _CLEANUP_SECONDS_PER_FILE
    with Wire(timing, is_cancelled, total) as wire, closing(open_client(wire)) as client:
        cleaner = _Cleaner(client)
        stores = [] if store.external_id is None else [store.external_id]
        if not is_all_known:
            stores += cleaner.stores_named(store.name)
        cleaner.delete_stores(stores)
        cleaner.delete_files(files if is_all_known else {*files, *cleaner.files_of(store)})
    return bool(stores)


BATCH_FILES = 2_000
UPLOADS_A_MINUTE = 1_000
# Endings that the provider accepts; texts with others are uploaded with ``.txt`` after their name.
_ACCEPTED = frozenset(".c .cpp .cs .css .go .html .java .js .json .md .php .py .rb .sh .tex .ts .txt".split())

_TEXT = "text/plain"
_TOLD_EVERY = 100
_NAME_CHARS = 180
_FILE_LIFE_SECONDS = 7_200
_INDEXING_SECONDS_PER_FILE = 0.25
# after these the provider may have fulfilled the request
_UNCERTAIN = frozenset({"cut", "timed_out", "failing", "nonsense", "too_much", "compressed"})
_NOT_THIS_FILE = frozenset({"refused", "too_long"})
_FAULTS_OF_FILES = frozenset({"not_taken", "not_indexed"})


class HostedStore:
    """Vector store of one call; a context manager that leaves nothing at the provider.

    Attributes:
        paths: paths of its files, by the provider's ids.
        dropped: files that it did not accept.
    """

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
        self._on_progress = on_progress
        self._store: VectorStore | None = None
        self.paths: dict[str, str] = {}
        self.dropped: list[HeldBack] = []
        self._is_uncertain = threading.Event()
        self._is_given_up = threading.Event()
        self.notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        store, is_all_known = self._store, not self._is_uncertain.is_set()
        if store is None:
            return
        try:
            # a cancelled call leaves nothing either
            there_was_one = remove_store(
                store, self._open_client, self._wire.timing, never, self.paths, is_all_known=is_all_known
            )
            if there_was_one or is_all_known:
                # a store that may still be in the making stays recorded, for the next sweep
                self._log.deleted(store)
        except SatchelError as failure:
            # the answer is worth more; stores that remain stay recorded
            self.notes = (
                f"the vector store {store.external_id or store.name} could not be deleted yet and will be later: "
                f"{failure.problem}",
            )

    @property
    def external_id(self) -> str | None:
        return self._store.external_id if self._store else None

    def fill(self, contents: Mapping[str, Content]) -> None:
        """Make the store with the files, and wait until they are searchable."""
        uploads: list[tuple[str, bytes, str]] = []
        for path, content in sorted(contents.items(), key=lambda one: one[0]):
            raw, kind = (content.media.data, content.media.type) if content.media else (content.text.encode(), _TEXT)
            if raw.strip():
                uploads.append((path, raw, kind))
            else:
                self.dropped.append(HeldBack(path, "empty", "nothing but blanks, which a vector store does not take"))
        if not uploads:
            return
        self._store = store = self._log.announce(self._provider)
        self._on_progress("making a vector store")
        external_id = self._do(
            lambda: id_of(
                self._client.sdk.vector_stores.create(
                    name=store.name, expires_after={"anchor": "last_active_at", "days": 1}
                ).id
            )
        )
        self._store = replace(store, external_id=external_id)
        self._log.made(store, external_id)
        for start in range(0, len(uploads), UPLOADS_A_MINUTE):
            self._upload(uploads[start : start + UPLOADS_A_MINUTE], _tag(store.name), start, len(uploads))
        files = sorted(self.paths, key=self.paths.__getitem__)
        for start in range(0, len(files), BATCH_FILES):
            self._add(external_id, files[start : start + BATCH_FILES])
        self.dropped.sort(key=lambda dropped: dropped.path)
        if len(files) == sum(dropped.reason == "not_indexed" for dropped in self.dropped):
            faults = [dropped.detail for dropped in self.dropped if dropped.reason in _FAULTS_OF_FILES]
            raise AssistantFailed(f"{self._client.name} took none of the files: {faults[0]}", reason="not_indexed")

    def _upload(self, files: Sequence[tuple[str, bytes, str]], tag: str, before: int, total: int) -> None:
        began = self._wire.timing.clock()

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
            self.paths[number] = path
            return None

        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="satchel-store") as pool:
            try:
                for done, dropped in enumerate(pool.map(upload, files), before + 1):
                    if dropped is not None:
                        self.dropped.append(dropped)
                    if done % _TOLD_EVERY == 0 or done == total:
                        self._on_progress(f"uploaded {done:,} of {total:,} files")
            except BaseException:
                pool.shutdown(cancel_futures=True)  # no upload outlives the store
                raise
        rest = began + 60.0 - self._wire.timing.clock()
        if before + len(files) < total and rest > 0:
            self._on_progress("waiting: the provider takes no more files within this minute")
            self._wire.pause(rest)

    def _add(self, external_id: str, files: Sequence[str]) -> None:
        batches = self._client.sdk.vector_stores.file_batches
        number, is_under_way, done = self._do(lambda: _progress(batches.create(external_id, file_ids=list(files))))
        seconds = self._wire.timing.indexing + len(files) * _INDEXING_SECONDS_PER_FILE
        until = self._wire.timing.clock() + seconds
        while is_under_way:
            if self._wire.timing.clock() >= until:
                raise AssistantFailed(
                    f"{self._client.name} was not done indexing within {seconds:g} seconds",
                    "Give fewer files, or ask later",
                    reason="timed_out",
                )
            self._on_progress(f"indexed {done:,} of {len(files):,} files")
            self._wire.pause(self._wire.timing.poll)
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
                self.dropped.append(HeldBack(self.paths[file], "not_indexed", sdk.excerpt(detail)))

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


def _progress(batch: VectorStoreFileBatch) -> tuple[str, bool, int]:
    return id_of(batch.id), batch.status == "in_progress", int(batch.file_counts.completed)


def _upload_name(tag: str, path: str, kind: str) -> str:
    flat = path.strip("/").replace("/", "--")[-_NAME_CHARS:]
    ending = flat[flat.rfind(".") :].lower() if "." in flat else ""
    return f"{tag}{flat}" if ending in _ACCEPTED or kind != _TEXT else f"{tag}{flat}.txt"

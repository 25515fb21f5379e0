"""Deleting a vector store at OpenAI with its files: at the end of the call it was made for, or later by a sweep."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass
from satchel.consult.assistants.openai_client import OpenAIClient
from satchel.consult.assistants.protocol import Timing
from satchel.consult.assistants.retrying import Patience, persist
from satchel.consult.assistants.wire import Wire
from satchel.consult.records import IsCancelled

if TYPE_CHECKING:
    from satchel.consult.sweeping import VectorStore

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
    wire: Wire
    patience: Patience

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

        def delete(number: str) -> None:
            self._delete(self.client.sdk.files.delete, number)

        with closing(several_at_once(delete, sorted(files))) as deleted:
            for _ in deleted:
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

        return persist(self.wire, attempt, self.patience)


@contextmanager
def cleaning(
    open_client: OpenClient, timing: Timing, patience: Patience, files: int, is_cancelled: IsCancelled
) -> Iterator[Cleaner]:
    """Hand out what cleans up, with a client of its own.

    Args:
        files: how many files there may be to delete, which makes the time longer.
    """
    total = timing.cleanup + files * _CLEANUP_SECONDS_PER_FILE
    with Wire(timing, is_cancelled, total) as wire, closing(open_client(wire)) as client:
        yield Cleaner(client, wire, patience)


def remove(
    store: VectorStore, open_client: OpenClient, timing: Timing, patience: Patience, is_cancelled: IsCancelled
) -> None:
    """Delete what a call has left: a store by its id or its name, and the files that were uploaded for it.

    Raises:
        AssistantFailed, Unavailable: it could not be deleted, or it is not known whether it is there.
        Interrupted: the call that sweeps was cancelled.
    """
    with cleaning(open_client, timing, patience, 0, is_cancelled) as cleaner:
        stores = [] if store.external_id is None else [store.external_id]
        cleaner.delete_stores([*stores, *cleaner.stores_named(store.name)])
        cleaner.delete_files(cleaner.files_of(store))


def several_at_once(work: Callable[[T], R], items: Sequence[T]) -> Generator[R, None, None]:
    """Do something with each item, several at once; yield the results as they come, and stop at the first failure.

    Nothing is under way any more once it has ended, or is closed.
    """
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="satchel-store") as pool:
        waiting = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

"""Vector stores: recorded before they are made, gone when a call has ended, swept when it could not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Lock, Thread
from typing import TYPE_CHECKING

import pytest

from consult.answered_turns import KEY, stores_left
from every_table import is_untouched
from satchel import Satchel
from satchel.base.errors import Interrupted, Unavailable
from satchel.consult.conversations import Conversations
from satchel.consult.vector_stores import LIFE_MS, MAX_SWEPT, Sweeper, VectorStore, VectorStores

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000


class Provider:
    """Stores at a provider, by name; None is an external id that was never told."""

    def __init__(self) -> None:
        self.stores: dict[str, str] = {}
        self.asked: list[VectorStore] = []
        self.fails = False
        self.sweeper = Sweeper("openai", self.remove)

    def make(self, store: VectorStore) -> str:
        self.stores[store.name] = f"vs_{len(self.stores)}"
        return self.stores[store.name]

    def remove(self, store: VectorStore, is_cancelled: Callable[[], bool]) -> None:
        self.asked.append(store)
        if is_cancelled():
            raise Interrupted("cancelled")
        if self.fails:
            raise Unavailable("the provider answered 503", "Try again later")
        for name, external_id in list(self.stores.items()):
            if external_id == store.external_id or (store.external_id is None and name == store.name):
                del self.stores[name]


def deleted(stores: VectorStores, provider: Provider) -> int:
    """Return how many stores a sweep deletes."""
    before = len(provider.asked)
    failures = stores.sweep(provider.sweeper)
    return len(provider.asked) - before - len(failures)


@pytest.fixture
def stores(satchel: Satchel) -> VectorStores:
    return VectorStores(satchel.workplace)


@pytest.fixture
def provider() -> Provider:
    return Provider()


def test_a_store_is_recorded_before_it_is_made(stores: VectorStores, satchel: Satchel, clock: ManualClock) -> None:
    held = Conversations(satchel.workplace).acquire(KEY)
    announced = VectorStores(satchel.workplace, held.id).announce("openai")
    assert stores_left(stores) == (announced,)
    assert (announced.provider, announced.external_id, announced.conversation_id) == ("openai", None, held.id)
    assert (announced.attempts, announced.created_at) == (0, clock.now)
    assert announced.expires_at == clock.now + LIFE_MS


def test_names_differ(stores: VectorStores) -> None:
    assert stores.announce("openai").name != stores.announce("openai").name


def test_its_external_id_is_recorded_once_known(stores: VectorStores, clock: ManualClock) -> None:
    announced = stores.announce("openai")
    clock.advance(30_000)
    made = stores.made(announced, "vs_1")
    assert (made.name, made.external_id) == (announced.name, "vs_1")
    assert made.expires_at == clock.now + LIFE_MS
    assert stores_left(stores) == (made,)


def test_a_call_that_ends_as_it_should_leaves_nothing(stores: VectorStores, provider: Provider) -> None:
    made = stores.made(stores.announce("openai"), "vs_1")
    stores.deleted(made)
    stores.deleted(made)
    assert stores_left(stores) == ()


def test_a_store_in_use_is_not_swept(stores: VectorStores, provider: Provider, clock: ManualClock) -> None:
    stores.made(stores.announce("openai"), "vs_1")
    clock.advance(LIFE_MS - 1)
    assert deleted(stores, provider) == 0
    assert provider.asked == []


def test_a_store_that_is_said_to_be_in_use_again_lives_on(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    made = stores.made(stores.announce("openai"), "vs_1")
    clock.advance(LIFE_MS - 1)
    stores.made(made, "vs_1")
    clock.advance(LIFE_MS - 1)
    assert deleted(stores, provider) == 0


@pytest.mark.parametrize("is_known", [True, False], ids=["made", "only announced"])
def test_what_a_crash_left_is_swept(
    stores: VectorStores, provider: Provider, clock: ManualClock, is_known: bool
) -> None:
    announced = stores.announce("openai")
    external_id = provider.make(announced)
    if is_known:
        stores.made(announced, external_id)
    clock.advance(LIFE_MS)
    assert stores.sweep(provider.sweeper) == []
    assert provider.stores == {}
    assert stores_left(stores) == ()


def test_a_sweep_deletes_from_its_own_account_and_project_only(
    open_in: Callable[..., Satchel], project: Path, provider: Provider, clock: ManualClock
) -> None:
    one, other = (VectorStores(open_in(project, project=name).workplace) for name in ("one", "other"))
    for stores, account in ((one, "openai"), (one, "azure"), (other, "openai")):
        stores.announce(account)
    clock.advance(LIFE_MS)
    assert deleted(one, provider) == 1
    assert [store.provider for store in stores_left(one)] == ["azure"]
    assert len(stores_left(other, "openai")) == 1


def test_what_cannot_be_deleted_is_said_and_tried_again_later_and_later(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    stores.made(stores.announce("openai"), "vs_1")
    clock.advance(LIFE_MS)
    provider.fails = True
    for pause in (5, 10, 20, 40):
        assert stores.sweep(provider.sweeper) == ["the vector store vs_1 was not deleted: the provider answered 503"]
        clock.advance(pause * MINUTE - 1)
        assert stores.sweep(provider.sweeper) == []
        clock.advance(1)
    (left,) = stores_left(stores)
    assert left.attempts == 4
    provider.fails = False
    assert deleted(stores, provider) == 1


def test_one_that_never_can_be_deleted_is_tried_every_day(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    stores.announce("openai")
    provider.fails = True
    for _ in range(40):
        clock.advance(86_400_000)
        assert len(stores.sweep(provider.sweeper)) == 1


def test_one_failure_does_not_keep_the_others_from_being_deleted(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    bad, good = (stores.made(stores.announce("openai"), external_id) for external_id in ("bad", "good"))
    clock.advance(LIFE_MS)

    def remove(store: VectorStore, is_cancelled: Callable[[], bool]) -> None:
        provider.fails = store.external_id == bad.external_id
        provider.remove(store, is_cancelled)

    assert len(stores.sweep(Sweeper("openai", remove))) == 1
    assert [store.external_id for store in stores_left(stores)] == ["bad"]
    assert good.external_id in {store.external_id for store in provider.asked}


@pytest.mark.parametrize("error", [Interrupted("cancelled"), KeyboardInterrupt()])
def test_a_sweep_that_is_cancelled_forgets_nothing_and_leaves_the_rest_to_the_next(
    stores: VectorStores, provider: Provider, clock: ManualClock, error: BaseException
) -> None:
    for _ in range(2):
        stores.announce("openai")
    clock.advance(LIFE_MS)

    def cancel(_: VectorStore, is_cancelled: Callable[[], bool]) -> None:
        raise error

    with pytest.raises(type(error)):
        stores.sweep(Sweeper("openai", cancel))
    assert [store.attempts for store in stores_left(stores)] == [1, 0]
    assert deleted(stores, provider) == 1


def test_a_sweep_asks_whether_it_is_cancelled(stores: VectorStores, provider: Provider, clock: ManualClock) -> None:
    stores.announce("openai")
    clock.advance(LIFE_MS)
    with pytest.raises(Interrupted):
        stores.sweep(provider.sweeper, is_cancelled=lambda: True)
    assert len(stores_left(stores)) == 1


def test_one_call_sweeps_a_few_at_most_the_oldest_first(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    names = []
    for _ in range(MAX_SWEPT + 2):
        names.append(stores.announce("openai").name)
        clock.advance(1)
    clock.advance(LIFE_MS)
    assert deleted(stores, provider) == MAX_SWEPT
    assert [store.name for store in provider.asked] == names[:MAX_SWEPT]
    assert deleted(stores, provider) == 2


def test_a_store_that_was_made_after_it_was_swept_is_recorded_anew(
    stores: VectorStores, provider: Provider, clock: ManualClock
) -> None:
    announced = stores.announce("openai")
    clock.advance(LIFE_MS)
    stores.sweep(provider.sweeper)
    made = stores.made(announced, provider.make(announced))
    assert stores_left(stores) == (made,)
    clock.advance(LIFE_MS)
    stores.sweep(provider.sweeper)
    assert provider.stores == {}


def test_a_conversation_that_is_gone_keeps_no_store_from_being_recorded(stores: VectorStores, satchel: Satchel) -> None:
    conversations = Conversations(satchel.workplace)
    held = conversations.acquire(KEY)
    conversations.release(held)
    assert VectorStores(satchel.workplace, held.id).announce("openai").conversation_id is None


def test_where_nothing_is_left_over_a_sweep_writes_nothing(
    stores: VectorStores, satchel: Satchel, provider: Provider
) -> None:
    assert deleted(stores, provider) == 0
    assert is_untouched(satchel.workplace.engine)


def test_of_sweeps_at_once_each_store_is_deleted_by_one(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    every = [VectorStores(open_in(project).workplace) for _ in range(3)]
    names = {every[0].announce("openai").name for _ in range(12)}
    clock.advance(LIFE_MS)
    barrier, lock, asked = Barrier(3), Lock(), list[str]()

    def remove(store: VectorStore, is_cancelled: Callable[[], bool]) -> None:
        with lock:
            asked.append(store.name)

    def sweep(stores: VectorStores) -> None:
        barrier.wait()
        stores.sweep(Sweeper("openai", remove))

    threads = [Thread(target=sweep, args=(stores,)) for stores in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == sorted(names)


_CRASH = """
import os, sys
from pathlib import Path
from satchel import open_satchel
from satchel.consult.vector_stores import VectorStores

store, folder, now = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
with open_satchel(store, "p", cwd=folder, environ={}, clock=lambda: now) as satchel:
    print(VectorStores(satchel.workplace).announce("openai").name, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_swept_by_another(
    tmp_path: Path, open_in: Callable[..., Satchel], provider: Provider, clock: ManualClock
) -> None:
    satchel = open_in(tmp_path, db=tmp_path / "s.db", project="p")
    killed = subprocess.run(
        [sys.executable, "-c", _CRASH, satchel.workplace.engine.location, str(tmp_path), str(clock.now)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert killed.returncode == -9
    stores = VectorStores(satchel.workplace)
    (left,) = stores_left(stores)
    assert left.name == killed.stdout.strip()
    provider.make(left)
    clock.advance(LIFE_MS)
    assert deleted(stores, provider) == 1
    assert provider.stores == {}

"""In which threads calls run: who waits holds up nobody else."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path

import pytest

from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.serving import Turns

STORE, OTHER = (Access("", "", AGENT, Path(f"/{name}/store.db"), "app") for name in ("one", "other"))


def test_calls_that_wait_for_others_stop_neither_reads_nor_writes() -> None:
    async def talk() -> list[str]:
        turns, is_over = Turns(), threading.Event()
        claims = [
            asyncio.ensure_future(turns.run(STORE, "claim_files", {"paths": ["a"], "wait_seconds": 45}, is_over.wait))
            for _ in range(100)
        ]
        try:
            return [
                await turns.run(STORE, "read_context", {"limit": 1}, lambda: "read"),
                await turns.run(STORE, "claim_files", {"paths": ["b"]}, lambda: "claimed"),
            ]
        finally:
            is_over.set()
            await asyncio.gather(*claims)

    assert asyncio.run(talk()) == ["read", "claimed"]


def test_a_store_that_nobody_can_write_to_stops_neither_its_readers_nor_those_who_write_to_another() -> None:
    async def talk() -> list[str]:
        turns, is_over = Turns(), threading.Event()
        stuck = [asyncio.ensure_future(turns.run(STORE, "write_context", {}, is_over.wait)) for _ in range(50)]
        try:
            return [
                await turns.run(STORE, "read_context", {}, lambda: "read"),
                await turns.run(STORE, "no such operation", None, lambda: "refused"),
                await turns.run(OTHER, "write_context", {}, lambda: "written"),
            ]
        finally:
            is_over.set()
            await asyncio.gather(*stuck)

    assert asyncio.run(talk()) == ["read", "refused", "written"]


def test_what_a_cancelled_call_has_begun_is_waited_for_and_what_it_has_not_is_dropped() -> None:
    done: list[int] = []

    async def talk() -> None:
        turns, begun, is_over = Turns(), threading.Semaphore(0), threading.Event()

        def work(number: int) -> None:
            begun.release()
            is_over.wait()
            done.append(number)

        tasks = [
            asyncio.ensure_future(turns.run(STORE, "write_context", {}, partial(work, number))) for number in range(4)
        ]
        for _ in range(3):
            await asyncio.to_thread(begun.acquire)
        for task in tasks:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[3]
        assert not any(task.done() for task in tasks[:3])
        is_over.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(talk())
    assert sorted(done) == [0, 1, 2]


def test_calls_that_write_to_one_project_of_a_database_run_together_and_hold_up_no_other() -> None:
    one, other = (Access("", "", AGENT, "postgresql:team", project) for project in ("one", "other"))

    async def talk() -> str:
        turns, together = Turns(), threading.Barrier(4)
        writing = [asyncio.ensure_future(turns.run(one, "write_context", {}, together.wait)) for _ in range(3)]
        try:
            return await turns.run(other, "write_context", {}, lambda: "written")
        finally:
            await turns.run(one, "write_context", {}, together.wait)
            await asyncio.gather(*writing)

    assert asyncio.run(talk()) == "written"


def test_threads_without_work_end_when_they_are_closed() -> None:
    async def talk() -> list[threading.Thread]:
        turns = Turns()
        threads = [await turns.run(STORE, name, {}, threading.current_thread) for name in ("search", "write_context")]
        turns.close()
        return threads

    for thread in asyncio.run(talk()):
        thread.join(60)
        assert not thread.is_alive()

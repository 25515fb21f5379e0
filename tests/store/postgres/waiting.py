"""Threads that wait for a turn at a project, in an order that a test knows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from satchel.store.postgres.engine import PostgresEngine, Writers
from satchel.store.transaction import Transaction
from store.postgres.notes import note

Body = Callable[[Transaction], object]


class Queue:
    """Writes of threads, one behind the other: the first has its turn until all others wait.

    Args:
        engine: bound to a project.
        pool: has a thread for each.
    """

    def __init__(self, engine: PostgresEngine, pool: ThreadPoolExecutor) -> None:
        self._engine, self._pool = engine, pool
        self._writers = engine.database.writers.setdefault(engine.project, Writers(engine.database, engine.project))
        self._has_turn, self._may_end = threading.Event(), threading.Event()
        self.writes: list[Future[None]] = []

    def add(self, body: Body, wait_ms: int = 60_000) -> None:
        """Let a thread write, and return when it waits, or has its turn."""
        before = self._writers.awaited
        self.writes.append(self._pool.submit(self._write, body, wait_ms, is_first=not self.writes))
        if len(self.writes) == 1:
            assert self._has_turn.wait(60)
        else:
            self.wait_for(before + 1)

    def wait_for(self, awaited: int) -> None:
        """Wait until so many wait."""
        pause = threading.Event()
        while self._writers.awaited != awaited and not (awaited and self.writes[-1].done()):
            pause.wait(0.001)

    def release(self) -> None:
        """Let the first one end."""
        self._may_end.set()

    def _write(self, body: Body, wait_ms: int, *, is_first: bool) -> None:
        with self._engine.write(wait_ms) as transaction:
            if is_first:
                self._has_turn.set()
                assert self._may_end.wait(60)
            body(transaction)


@contextmanager
def queue(engine: PostgresEngine, threads: int) -> Iterator[Queue]:
    """Hand out a queue; its first write ends with the block at the latest, and all others are over after it."""
    with ThreadPoolExecutor(threads) as pool:
        one = Queue(engine, pool)
        try:
            yield one
        finally:
            one.release()


def writes(engine: PostgresEngine, text: str) -> Body:
    """Return a body that writes a note."""
    assert engine.project is not None
    project = engine.project
    return lambda transaction: note(transaction, project, text)

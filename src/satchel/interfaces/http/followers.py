"""Listeners to events over HTTP: one watcher for each store, and a bounded queue for each listener."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress

from satchel.base.errors import Conflict, SatchelError
from satchel.interfaces.http.failing import Refusal
from satchel.interfaces.http.settings import StreamLimits as Limits
from satchel.keep import following, projects
from satchel.keep.following import Cursor, StreamItem
from satchel.keep.projects import POLL_SECONDS, Workplace
from satchel.store.engine import Engine, State

_log = logging.getLogger(__name__)

_RETRY_SECONDS = 5


class Listener:
    """A listener to one project; after :meth:`__init__`, used on its event loop only.

    Args:
        watcher: the watcher that notifies it once it is added there.
        workplace: the store and the project.
        kinds: the kinds of events to receive; None means all.
        most: the capacity of its queue.

    Attributes:
        is_behind: whether the queue overflowed, so that the store must be read again.
        failed: why delivery stopped.
    """

    def __init__(
        self, watcher: Watcher, workplace: Workplace, kinds: Collection[str] | None = None, most: int = 1_000
    ) -> None:
        self.workplace = workplace
        self.kinds = kinds
        self.is_behind = False
        self.failed: SatchelError | None = None
        self.loop = asyncio.get_running_loop()
        self.watcher = watcher
        self._most = most
        self._queue: deque[StreamItem] = deque()
        self._news = asyncio.Event()

    @property
    def project(self) -> str:
        return self.workplace.project_name or ""

    def tell(self, items: Sequence[StreamItem] | None) -> None:
        """Queue new events; None means there were too many to pass on."""
        if items is not None:
            items = [one for one in items if self.kinds is None or one.of.kind in self.kinds]
            if not items:
                return
        if items is None or self.is_behind or len(self._queue) + len(items) > self._most:
            self._queue.clear()
            self.is_behind = True
        else:
            self._queue.extend(items)
        self._news.set()

    def fail(self, why: SatchelError) -> None:
        """Stop delivery with a reason."""
        self.failed = why
        self._news.set()

    async def news(self, seconds: float) -> list[StreamItem]:
        """Wait for queued events and return them; return none on timeout, on failure, or if it is behind."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()
        items = list(self._queue)
        self._queue.clear()
        return items


class Followers:
    """All listeners of a server.

    Attributes:
        cut: how many were disconnected because they did not read.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.cut = 0
        self._of_token: dict[str, int] = {}
        self._watchers: dict[Engine, Watcher] = {}

    @property
    def count(self) -> int:
        return sum(self._of_token.values())

    def enter(self, token: str, workplace: Workplace, kinds: Collection[str] | None) -> Listener:
        """Add a listener, to be removed with :meth:`leave`.

        Raises:
            Refusal: the limit of listeners is reached.
        """
        if self.count >= self.limits.in_all:
            raise _too_many(503, f"{self.count} listeners follow this server's projects", "try again later")
        if self._of_token.get(token, 0) >= self.limits.of_token:
            raise _too_many(429, f"{self.limits.of_token} listeners use this token", "end one of them")
        engine, most = workplace.engine, self.limits.queue
        watcher = self._watchers.setdefault(engine, Watcher(engine, most))
        listener = Listener(watcher, workplace, kinds, most)
        self._of_token[token] = self._of_token.get(token, 0) + 1
        return listener

    def leave(self, token: str, listener: Listener) -> None:
        self._of_token[token] -= 1
        if not self._of_token[token]:
            del self._of_token[token]
        listener.watcher.remove(listener)


def _too_many(status: int, problem: str, remedy: str) -> Refusal:
    return Refusal(
        status,
        "busy",
        f"{problem}, and no more may",
        f"Ask from time to time with wait=0 instead, or {remedy}",
        (("Retry-After", str(_RETRY_SECONDS)),),
    )


class _Project:
    """The listeners of one project, and their position."""

    def __init__(self, workplace: Workplace, reached: Cursor) -> None:
        self.workplace = workplace
        self.reached = reached
        self.listeners: set[Listener] = set()


class Watcher:
    """A thread that watches one store and notifies its listeners, running while there are any.

    Args:
        engine: the store.
        most: the most events to pass on at once; if there are more, each listener reads the store.
    """

    def __init__(self, engine: Engine, most: int) -> None:
        self.engine = engine
        self._most = most
        self._projects: dict[str, _Project] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, listener: Listener) -> None:
        """Add a listener for new commits. Reads the store.

        Raises:
            SatchelError: the store cannot be read.
        """
        with self._lock:
            # before the first read, so that later replacement or damage is noticed
            state = self.engine.state()
            project = self._projects.get(listener.project)
            if project is None:
                with self.engine.read() as transaction:
                    stored = projects.find(transaction, listener.workplace)
                    project = _Project(listener.workplace, following.now(transaction, stored))
                self._projects[listener.project] = project
            project.listeners.add(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(state,), name="satchel-events", daemon=True)
                self._thread.start()

    def remove(self, listener: Listener) -> None:
        """Remove a listener."""
        project = self._projects.get(listener.project)
        if project is not None:
            project.listeners.discard(listener)

    def _run(self, state: State) -> None:
        try:
            while self._watch(state):
                state = self.engine.state()
        except SatchelError as error:
            self._fail(error)
        except Exception:  # noqa: BLE001 -- a fault here must not leave listeners without a word
            _log.exception("watching a store failed")
            self._fail(SatchelError("watching the store failed", "The server's log says why; listen again"))

    def _watch(self, state: State) -> bool:
        """Pass on new events while anybody listens.

        Args:
            state: the file's state before the first listener read anything.

        Returns:
            Whether the file has only just been created and must be watched from then on.
        """
        identity, written = state
        with self.engine.watch() as is_changed:
            is_first = is_changed()
            while not self._ends():
                time.sleep(POLL_SECONDS)
                has_commit = is_changed()
                now, written_now = self.engine.state()
                if (now, written_now) == (identity, written) and not has_commit and not is_first:
                    continue
                is_first = False
                if identity is None and now is not None:
                    return True
                if now == identity and written_now != written and not has_commit:
                    # what wrote to the file without a commit was a checkpoint, or damaged it, which a page that is
                    # in memory does not show
                    self.engine.check_again()
                written = written_now
                news = self._read()
                self._refuse_another(identity)
                for listeners, items in news:
                    _hand(listeners, items)
        return False

    def _refuse_another(self, identity: Hashable) -> None:
        if self.engine.state().which != identity:
            raise Conflict(
                f"the store {self.engine.location} was replaced or removed while it was listened to",
                "Read your lists again, then listen without a cursor",
            )

    def _ends(self) -> bool:
        """Drop projects without listeners; return whether none is left, which ends the thread."""
        with self._lock:
            for name, project in list(self._projects.items()):
                if not project.listeners:
                    del self._projects[name]
            if not self._projects:
                self._thread = None
            return self._thread is None

    def _read(self) -> list[tuple[list[Listener], Sequence[StreamItem] | None]]:
        """Read new events once per project; None in place of more than can be passed on."""
        news: list[tuple[list[Listener], Sequence[StreamItem] | None]] = []
        with self._lock, self.engine.read() as transaction:
            for one in self._projects.values():
                project = projects.find(transaction, one.workplace)
                page = following.read(transaction, project, one.reached, self._most)
                one.reached = page.cursor if page.is_last else following.now(transaction, project)
                if page.items:
                    news.append((list(one.listeners), page.items if page.is_last else None))
        return news

    def _fail(self, error: SatchelError) -> None:
        with self._lock:
            listeners = [listener for project in self._projects.values() for listener in list(project.listeners)]
            self._projects.clear()
            self._thread = None
        for listener in listeners:
            with suppress(RuntimeError):  # its event loop is closed
                listener.loop.call_soon_threadsafe(listener.fail, error)


def _hand(listeners: Sequence[Listener], items: Sequence[StreamItem] | None) -> None:
    """Notify listeners on their event loop."""

    def tell() -> None:
        for listener in listeners:
            listener.tell(items)

    if listeners:
        with suppress(RuntimeError):  # their event loop is closed
            listeners[0].loop.call_soon_threadsafe(tell)

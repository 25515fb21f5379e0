"""Listeners to events over HTTP, and one watcher for each store that wakes them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Collection, Hashable
from contextlib import suppress

from satchel.base.errors import Conflict, SatchelError
from satchel.interfaces.http.exchange import Refusal
from satchel.interfaces.http.settings import StreamLimits as Limits
from satchel.keep import following, projects
from satchel.keep.following import Cursor, Page
from satchel.keep.projects import POLL_SECONDS, Workplace
from satchel.store.engine import Engine, State

_log = logging.getLogger(__name__)

_RETRY_SECONDS = 5

# How much is read of the store at once, and how much an answer to ``wait=0`` holds at most.
PAGE = 500


class Listener:
    """A listener to one project; after :meth:`__init__`, used on its event loop only.

    Attributes:
        failed: why delivery stopped.
    """

    def __init__(self, watcher: Watcher, workplace: Workplace, kinds: frozenset[str] | None = None) -> None:
        self.workplace = workplace
        self.kinds = kinds
        self.failed: SatchelError | None = None
        self.loop = asyncio.get_running_loop()
        self.watcher = watcher
        self._news = asyncio.Event()

    def wake(self, why: SatchelError | None = None) -> None:
        """Tell it that the store was written, or why it can hear no more."""
        self.failed = self.failed or why
        self._news.set()

    async def news(self, seconds: float) -> None:
        """Wait until it is woken, or for some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()


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

    def enter(self, token: str, workplace: Workplace, kinds: frozenset[str] | None) -> Listener:
        """Add a listener, to be removed with :meth:`leave`."""
        if self.count >= self.limits.in_all:
            raise _too_many(503, f"{self.count} listeners follow this server's projects", "try again later")
        if self._of_token.get(token, 0) >= self.limits.of_token:
            raise _too_many(429, f"{self.limits.of_token} listeners use this token", "end one of them")
        engine = workplace.engine
        listener = Listener(self._watchers.setdefault(engine, Watcher(engine)), workplace, kinds)
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


class Watcher:
    """A thread that watches one store and wakes its listeners, running while there are any."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._listeners: set[Listener] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._writes = 0
        self._reading = threading.Lock()
        self._read: tuple[object, Page] | None = None

    def add(self, listener: Listener) -> None:
        with self._lock:
            # before the first read, so that later replacement or damage is noticed
            state = self.engine.state()
            self._listeners.add(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(state,), name="satchel-events", daemon=True)
                self._thread.start()

    def remove(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.discard(listener)

    def page(self, listener: Listener, position: Cursor) -> Page:
        """Return a page of what follows a position; it is read once for all listeners that are equally far."""
        workplace = listener.workplace
        with self._reading:
            place = self._writes, workplace.project_name, position, listener.kinds
            if self._read is None or self._read[0] != place:
                with self.engine.read() as transaction:
                    project = projects.find(transaction, workplace)
                    self._read = place, following.read(transaction, project, position, PAGE, listener.kinds)
            return self._read[1]

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
        """Wake the listeners at each commit; return True to begin again, on a new file."""
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
                self._refuse_another(identity)
                self._writes += 1
                self._wake(self._listeners)
        return False

    def _refuse_another(self, identity: Hashable) -> None:
        if self.engine.state().which != identity:
            with self.engine.read():  # which fails where nothing can be read any more
                pass
            raise Conflict(
                f"the store {self.engine.location} was replaced or removed while it was listened to",
                "Read your lists again, then listen without a cursor",
            )

    def _ends(self) -> bool:
        """Return whether there are no listeners, which ends the thread."""
        with self._lock:
            if not self._listeners:
                self._thread = None
            return self._thread is None

    def _fail(self, error: SatchelError) -> None:
        with self._lock:
            listeners, self._listeners = self._listeners, set()
            self._thread = None
        self._wake(listeners, error)

    def _wake(self, listeners: Collection[Listener], why: SatchelError | None = None) -> None:
        for listener in list(listeners):
            with suppress(RuntimeError):  # its event loop is closed
                listener.loop.call_soon_threadsafe(listener.wake, why)

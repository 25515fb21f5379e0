"""Consultations in the background: a thread each, and a handle by which their owner gets the answer.

They live as long as the program that asks. Answers are recorded in their conversations as any others are.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable

from satchel.base.errors import Conflict, InvalidInput, NotFound, SatchelError
from satchel.base.records import dataclass
from satchel.consult.consultation import Consultation, Panel
from satchel.consult.records import IsCancelled

MAX_RUNNING = 8
MAX_WAIT_S = 45
_MAX_STORED = 64
_START_S = 2.0
"""How long a start may take to fail; later errors are found by the handle."""


@dataclass(frozen=True, slots=True)
class BackgroundConsultation:
    """State of a consultation in the background."""

    handle: str
    step: str
    seconds: int
    result: Consultation | Panel | None = None
    error: SatchelError | None = None

    @property
    def state(self) -> str:
        """``running``, ``done`` or ``failed``."""
        return "done" if self.result is not None else "failed" if self.error is not None else "running"


class _Job:
    def __init__(self, owner: Hashable) -> None:
        self.owner = owner
        self.handle = os.urandom(8).hex()
        self.began, self.took = time.monotonic(), 0.0
        self.has_begun, self.is_over, self.is_cancelled = threading.Event(), threading.Event(), threading.Event()
        self.step = "starting"
        self.result: Consultation | Panel | None = None
        self.error: SatchelError | None = None

    def run(self, ask: Callable[[Callable[[str], None], IsCancelled], Consultation | Panel]) -> None:
        try:
            self.result = ask(self.tell, self.is_cancelled.is_set)
        except SatchelError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 -- nobody would learn of it
            self.error = SatchelError(f"the consultation failed: {error!r:.300}", "Report this fault in Satchel")
        finally:
            self.took = time.monotonic() - self.began
            self.is_over.set()
            self.has_begun.set()

    def tell(self, step: str) -> None:
        self.step = step
        if "asking " in step:  # the question is good: what comes now is the provider's
            self.has_begun.set()

    def state(self) -> BackgroundConsultation:
        seconds = self.took if self.is_over.is_set() else time.monotonic() - self.began
        return BackgroundConsultation(self.handle, self.step, int(seconds), self.result, self.error)


_jobs: dict[str, _Job] = {}
_lock = threading.Lock()


def start(
    owner: Hashable, ask: Callable[[Callable[[str], None], IsCancelled], Consultation | Panel]
) -> BackgroundConsultation:
    """Ask in a thread."""
    job = _Job(owner)
    with _lock:
        running = [one.handle for one in _jobs.values() if not one.is_over.is_set() and one.owner == owner]
        if len(running) >= MAX_RUNNING:
            raise Conflict(
                f"{MAX_RUNNING} consultations are running in the background", f"Wait for one, such as {running[0]}"
            )
        for one in [one for one in _jobs.values() if one.is_over.is_set()][: max(0, len(_jobs) - _MAX_STORED)]:
            del _jobs[one.handle]
        _jobs[job.handle] = job
    threading.Thread(target=job.run, args=(ask,), name=f"satchel-consult-{job.handle}", daemon=True).start()
    job.has_begun.wait(_START_S)
    if job.error is not None:
        raise job.error
    return job.state()


def get(owner: Hashable, handle: str, *, wait: float = 0, cancel: bool = False) -> BackgroundConsultation:
    """Return the state of a consultation, or its answer."""
    if not 0 <= wait <= MAX_WAIT_S:
        raise InvalidInput(f"wait {wait!r} is out of range", f"Give 0 to {MAX_WAIT_S} seconds")
    job = _jobs.get(handle)
    if job is None or job.owner != owner:
        raise NotFound(
            f"there is no consultation {handle[:80]!r} in the background",
            "A restart forgets handles; answers that arrived are in their conversations, see list_conversations",
        )
    if cancel:
        job.is_cancelled.set()
    job.is_over.wait(MAX_WAIT_S if cancel else wait)
    return job.state()

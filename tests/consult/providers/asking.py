"""What the tests of all assistants share: files, waiting that passes at once, and the table of faults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from satchel.consult.models import Timing
from satchel.consult.records import Content, Stat
from satchel.consult.vector_stores import VectorStore, VectorStores


def content(text: str) -> Content:
    """A file's content."""
    return Content(text=text, digest=b"", stat=Stat(size=len(text), mtime_ns=0))


class Pauses:
    """Time to wait that passes at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def quick(pauses: Pauses, **times: float) -> Timing:
    """Return times in which a test ends, and pauses that are left to no chance: all of what may be waited."""
    settings: dict[str, Any] = {"connect": 30.0, "silence": 60.0, "total": 120.0, **times}
    return Timing(**settings, sleep=pauses, chance=lambda: 1.0)


def silence_until(kind: str) -> float:
    """Return the silence to allow before a fault: short only where it is what the test waits for.

    Any other call to a provider may take longer than that on a busy machine.
    """
    return 0.5 if kind == "hang" else 60.0


class Log(VectorStores):
    """Where stores are recorded: in memory, with what happened to each."""

    def __init__(self, now: int = 1_795_000_000_000) -> None:
        self.now = now
        self.left: dict[str, VectorStore] = {}
        self.steps: list[str] = []

    def announce(self, provider: str) -> VectorStore:
        self.steps.append("announced")
        name = f"satchel-{os.urandom(16).hex()}"
        store = VectorStore(name, provider, None, None, 0, self.now + 1, self.now)
        self.left[name] = store
        return store

    def made(self, store: VectorStore, external_id: str) -> VectorStore:
        self.steps.append("made")
        self.left[store.name] = replace(store, external_id=external_id)
        return self.left[store.name]

    def deleted(self, store: VectorStore) -> None:
        self.steps.append("deleted")
        del self.left[store.name]


Details = Mapping[str, Any]

PASSING: tuple[tuple[str, Details, float], ...] = (
    ("drop", {}, 0.5),
    ("lose", {}, 0.5),
    ("status", {"status": 429, "headers": {"retry-after": "3"}}, 3.25),
    ("status", {"status": 500}, 0.5),
    ("status", {"status": 503}, 0.5),
    ("status", {"status": 529}, 0.5),
)
"""Faults that are gone at the second attempt, and the seconds to wait before it."""

LASTING: tuple[tuple[str, Details, str], ...] = (
    ("status", {"status": 400}, "refused"),
    ("status", {"status": 401}, "unauthorized"),
    ("status", {"status": 403}, "forbidden"),
    ("status", {"status": 404}, "not_found"),
    ("status", {"status": 413}, "too_long"),
    ("status", {"status": 429, "headers": {"retry-after": "900"}}, "rate_limited"),
    ("status", {"status": 500}, "failing"),
    ("hang", {}, "timed_out"),
    ("drop", {}, "cut"),
    ("lose", {}, "cut"),
    ("html", {}, "nonsense"),
    ("garbage", {}, "nonsense"),
    ("cut", {}, "cut"),
)
"""Faults that stay, and the reason that is given for them."""

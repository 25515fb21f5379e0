"""A caller on another machine: the facts that it sent, and whether its call was saved."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from satchel.base.clock import Clock
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.machine import NEEDED
from satchel.base.wire import error_of, packed, unpacked
from satchel.keep.citations import COMPARED
from satchel.keep.files.places import Place
from satchel.store import kept_calls
from satchel.store.transaction import Transaction

MAX_FACTS = 10_000
_MOST_TREES, _MOST_KEPT = 100, 1_000
_PLACE = packed(Place("", None))["$r"]

Facts = Mapping[str, Mapping[str, Any]]
"""What was seen, by the function and the arguments: an ``answer``, or an ``error``."""


class Recorded:
    """Facts that outlive a call, for the last 100 working trees that called. Thread-safe.

    They hold the comparison of citations from the session start, and the processes that have ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: OrderedDict[tuple[str, ...], Facts] = OrderedDict()

    def of(self, tree: tuple[str, ...], sent: Facts) -> Facts:
        """Return the facts about a tree; newly sent ones replace the recorded ones."""
        lasting = {
            key: fact
            for key, fact in sent.items()
            if key.startswith(COMPARED) or (key.startswith("is_alive") and fact.get("answer") is False)
        }
        with self._lock:
            if sent:
                self._facts[tree] = dict([*lasting.items()][:_MOST_KEPT])
            if tree in self._facts:
                self._facts.move_to_end(tree)
            while len(self._facts) > _MOST_TREES:
                self._facts.popitem(last=False)
            return sent or self._facts.get(tree, {})


class KeptBefore(BaseException):
    """A repeated call whose first run was saved; nothing is saved twice."""


class CallerElsewhere:
    """A remote caller, for one run of one call: see :mod:`satchel.base.machine`.

    Attributes:
        is_kept: whether the call has saved anything.
        is_done: whether the call's work is done; later writes are not part of it.
    """

    def __init__(self, facts: Facts, project: str, key: bytes | None, clock: Clock) -> None:
        self._facts = facts
        self._project = project
        self._call = key
        self._clock = clock
        self._is_beside = False
        self.is_kept = False
        self.is_done = False

    def fact(self, name: str, arguments: tuple[Any, ...], unknown: Any = None) -> Any:
        """Return a fact from the caller's machine, or ``unknown`` if it was not sent."""
        fact = self._facts.get(_key(name, packed(list(arguments))))
        if fact is None:
            if unknown is NEEDED:
                raise Conflict(
                    f"the call does not say what {name} sees on your machine",
                    "Bring server and local program to the same version",
                )
            return unknown
        if "error" in fact:
            raise error_of(fact["error"])
        return unpacked(fact.get("answer"))

    @contextmanager
    def beside_the_call(self) -> Iterator[None]:
        """Exclude writes within the block from those of the call."""
        self._is_beside = True
        try:
            yield
        finally:
            self._is_beside = False

    def before_commit(self, transaction: Transaction) -> None:
        """Save the key of the call in its transaction."""
        if self._call is None or self.is_kept or self.is_done or self._is_beside:
            return
        if not kept_calls.keep(transaction, self._project, self._call, self._clock()):
            raise KeptBefore

    def after_commit(self) -> None:
        """Record that the call has written something."""
        self.is_kept = self.is_kept or not (self.is_done or self._is_beside)


def read_facts(sent: list[Any], known_as: Callable[[str | None], str | None]) -> dict[str, Mapping[str, Any]]:
    """Return the facts, parsed and checked."""
    if len(sent) > MAX_FACTS:
        raise InvalidInput(f"{len(sent):,} facts were sent", f"At most {MAX_FACTS:,} are taken")

    def renamed(value: Any) -> Any:
        if not isinstance(value, dict) or value.get("$r") != _PLACE or value.get("is_key"):
            return value
        worktree = value.get("worktree")
        if not isinstance(worktree, str | None):
            raise _malformed()
        return {**value, "worktree": known_as(worktree)}

    facts: dict[str, Mapping[str, Any]] = {}
    for fact in sent:
        if not (isinstance(fact, list) and len(fact) == 3 and isinstance(fact[1], list) and isinstance(fact[2], dict)):
            raise _malformed()
        name, arguments, result = fact
        facts[_key(name, [renamed(one) for one in arguments])] = {key: renamed(value) for key, value in result.items()}
    return facts


def _malformed() -> InvalidInput:
    return InvalidInput("a fact of the call is malformed", "Use the satchel program to call the server")


def _key(name: str, arguments: list[Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"

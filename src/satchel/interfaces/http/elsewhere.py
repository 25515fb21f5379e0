"""A caller on another machine: the facts that it sent, and whether its call was kept."""

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
    """Facts that hold for longer than a call, of the last 100 working trees that calls came from.

    They are how citations compared as a session started, and which processes are over. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: OrderedDict[tuple[str, ...], Facts] = OrderedDict()

    def of(self, tree: tuple[str, ...], sent: Facts) -> Facts:
        """Return what is known of a tree, after some was sent: that takes the place of what was known."""
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
    """A call is made once more that was kept: nothing of it is kept a second time."""


class CallerElsewhere:
    """A caller, for one run of one call: see :mod:`satchel.base.machine`.

    Args:
        facts: what its program sees, from :func:`read_facts`.
        project: the one that the call is for, by name.
        key: the key of the call, which is kept with the first thing that it writes; None keeps none.
        clock: milliseconds UTC.

    Attributes:
        is_kept: whether anything of what the call is for was kept.
        is_done: whether what the call is for is done; what is written from then on is not what it was made for.
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
        """Return what the caller's program sees, or ``unknown`` if it did not say.

        Raises:
            Conflict: it did not say what is needed.
            SatchelError: looking ended in that.
        """
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
        """Count nothing that is written in the block as written by the call."""
        self._is_beside = True
        try:
            yield
        finally:
            self._is_beside = False

    def before_commit(self, transaction: Transaction) -> None:
        """Keep the key of the call with what it writes.

        Raises:
            KeptBefore: the call was kept before.
        """
        if self._call is None or self.is_kept or self.is_done or self._is_beside:
            return
        if not kept_calls.keep(transaction, self._project, self._call, self._clock()):
            raise KeptBefore

    def after_commit(self) -> None:
        """Note that the call has written something."""
        self.is_kept = self.is_kept or not (self.is_done or self._is_beside)


def read_facts(sent: list[Any], known_as: Callable[[str | None], str | None]) -> dict[str, Mapping[str, Any]]:
    """Return facts as they were sent.

    Args:
        known_as: returns the name that a worktree of the caller has for others.

    Raises:
        InvalidInput: they are malformed, or too many.
    """
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

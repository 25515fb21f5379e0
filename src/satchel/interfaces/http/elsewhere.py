"""A caller on another machine: what it sent along, what it is still to be asked, and whether its call was kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from satchel.base.clock import Clock
from satchel.base.errors import InvalidInput
from satchel.base.machine import NeedsCaller
from satchel.base.wire import error_of, packed, unpacked
from satchel.keep.files.places import Place
from satchel.store import kept_calls
from satchel.store.transaction import Transaction

MAX_FACTS = 10_000


class KeptBefore(BaseException):
    """A call is made once more that was kept: nothing of it is kept a second time."""


class CallerElsewhere:
    """A caller, for one run of one call: see :mod:`satchel.base.machine`.

    Args:
        facts: questions with their arguments and answers, as they travelled.
        known_as: returns the name that a worktree of the caller has for others.
        project: the one that the call is for, by name.
        key: the key of the call, which is kept with the first thing that it writes; None keeps none.
        clock: milliseconds UTC.
        may_repeat: whether the call may be made again after something of it was kept.

    Attributes:
        asks: what the caller is to be asked before the call is made again, as it travels.
        is_kept: whether anything of what the call is for was kept.
        is_done: whether what the call is for is done; what is written from then on is not what it was made for.

    Raises:
        InvalidInput: the facts are malformed, or too many.
    """

    def __init__(
        self,
        facts: Sequence[Any],
        known_as: Callable[[str | None], str | None],
        project: str,
        key: bytes | None,
        clock: Clock,
        *,
        may_repeat: bool = False,
    ) -> None:
        if len(facts) > MAX_FACTS:
            raise InvalidInput(f"{len(facts):,} facts were sent", f"At most {MAX_FACTS:,} are taken")
        self._facts: dict[str, Mapping[str, Any]] = {}
        for fact in facts:
            if not (isinstance(fact, list) and len(fact) == 3 and isinstance(fact[2], dict)):
                raise InvalidInput("a fact of the call is malformed", "Use the satchel program to call the server")
            self._facts[_key(*fact[:2])] = fact[2]
        self._known_as = known_as
        self._project = project
        self._call = key
        self._clock = clock
        self._may_repeat = may_repeat
        self._asked: dict[str, list[Any]] = {}
        self._is_beside = False
        self.is_kept = False
        self.is_done = False

    @property
    def asks(self) -> list[list[Any]]:
        """What the caller is to be asked before the call is made again; nothing where it must not be."""
        return list(self._asked.values()) if self._may_repeat or not self.is_kept else []

    def ask(self, question: str, arguments: tuple[Any, ...], unknown: Any) -> Any:
        """Return what the caller answered to a question, or what stands for an answer that is not known.

        Raises:
            SatchelError: that was its answer.
        """
        travelling = packed(list(arguments))
        key = _key(question, travelling)
        fact = self._facts.get(key)
        if fact is None:
            self._asked.setdefault(key, [question, travelling])
            return unknown
        if "error" in fact:
            raise error_of(fact["error"])
        answer = unpacked(fact.get("answer"))
        return answer._replace(worktree=self._known_as(answer.worktree)) if isinstance(answer, Place) else answer

    @contextmanager
    def beside_the_call(self) -> Iterator[None]:
        """What is kept in the block is no part of what the call asks for, and may be kept again."""
        self._is_beside = True
        try:
            yield
        finally:
            self._is_beside = False

    def before_commit(self, transaction: Transaction) -> None:
        """Keep the key of the call with what it writes.

        Raises:
            NeedsCaller: the caller must be asked first.
            KeptBefore: the call was kept before.
        """
        if self.asks:
            raise NeedsCaller
        if self._call is None or self.is_kept or self.is_done or self._is_beside:
            return
        if not kept_calls.keep(transaction, self._project, self._call, self._clock()):
            raise KeptBefore

    def after_commit(self) -> None:
        """Take in that something was kept."""
        self.is_kept = self.is_kept or not (self.is_done or self._is_beside)


def _key(question: str, arguments: Any) -> str:
    return f"{question} {json.dumps(arguments, sort_keys=True)}"

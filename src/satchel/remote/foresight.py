"""What a server will ask of the next call, judged by what it asked of the last one of the same name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

_MOST_NAMES, _MOST_QUESTIONS, _MOST_CHARS = 50, 8, 2_000

_ONCE = frozenset({"machine", "own", "ancestors", "is_alive", "find_client"})
"""Questions about who calls, which are asked when its session is made or seen, and not with each call."""

_Pattern = tuple[str, tuple[tuple[str | None, Any], ...]]
"""A question, and for each of its arguments the name and type of the call's own that it is, or None and its value."""


class Foresight:
    """The questions that each kind of call was asked, so that the next can bring the answers along.

    A question that is foreseen wrongly is answered in vain; one that is not foreseen is asked. Safe to share between
    threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, list[_Pattern]] = OrderedDict()

    def questions(self, name: str, named: Mapping[str, Any]) -> list[list[Any]]:
        """Return the questions to expect, with their arguments as they travel.

        Args:
            name: what is called.
            named: the arguments of the call by name, as they travel.
        """
        with self._lock:
            patterns = [*self._asked.get(name, ())]
        return [
            [question, [value if one is None else named[one] for one, value in arguments]]
            for question, arguments in patterns
            if all(one is None or type(named.get(one)) is kind for one, kind in arguments)
        ]

    def learn(self, name: str, named: Mapping[str, Any], asks: Iterable[list[Any]]) -> None:
        """Take in what a call was asked.

        Args:
            asks: questions with their arguments, as they travelled.
        """
        names = {(type(value), value): one for one, value in named.items() if type(value) in {str, int}}

        def pattern(value: Any) -> tuple[str | None, Any]:
            one = names.get((type(value), value)) if type(value) in {str, int} else None
            return (None, value) if one is None else (one, type(value))

        patterns: list[_Pattern] = [
            (question, tuple(map(pattern, arguments)))
            for question, arguments in asks
            if question not in _ONCE and len(repr(arguments)) <= _MOST_CHARS
        ]
        with self._lock:
            known = [one for one in self._asked.pop(name, ()) if one not in patterns]
            self._asked[name] = (patterns + known)[:_MOST_QUESTIONS]
            if len(self._asked) > _MOST_NAMES:
                self._asked.popitem(last=False)

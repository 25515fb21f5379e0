"""Names that nothing speaks against, neither rules nor what they say: met once, they need no second look."""

from __future__ import annotations

import re
from functools import lru_cache

from satchel.consult.ignoring import Rules
from satchel.redaction.filenames import is_secret_folder, is_secret_name

UNSAYABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What a name that stands in a prompt may not hold: control characters, ends of lines and what is no text."""

_MOST = 50_000


class PlainNames:
    """The names that nothing speaks against under some rules, as far as they were met: few change between turns."""

    __slots__ = ("_rules", "known")

    def __init__(self, rules: tuple[Rules, ...]) -> None:
        self._rules = rules
        self.known: set[str] = set()

    def learn(self, name: str) -> None:
        """Look at a name that was met."""
        if len(self.known) >= _MOST:
            self.known.clear()
        speaks_itself = is_secret_name(name) or is_secret_folder(name) or UNSAYABLE.search(name)
        if not speaks_itself and not any(rules.may_speak_of(name) for rules in self._rules):
            self.known.add(name)


@lru_cache(maxsize=16)
def plain_names(rules: tuple[Rules, ...]) -> PlainNames:
    """Return the names that were met under some rules before."""
    return PlainNames(rules)

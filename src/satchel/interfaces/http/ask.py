"""A request of a local program, validated member by member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple
from satchel.base.text import check_name
from satchel.client import check_default_run
from satchel.interfaces.http.access import Access

_MAX_KEY_CHARS = 64


class Ask(NamedTuple):
    """A request of a local program, as received."""

    access: Access
    name: str
    fields: Mapping[str, Any]

    def member(self, name: str, kind: Any) -> Any:
        """Return a member of the request, or an empty value if it is missing."""
        value = self.fields.get(name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise malformed(name)
        return value

    def key(self) -> str:
        """Return the program's key for the call, or an empty text."""
        key = str(self.member("key", str))
        if len(key) > _MAX_KEY_CHARS or not key.isascii():
            raise malformed("key")
        return key

    def durable_key(self) -> bytes | None:
        """Return the key under which the store records the call, unique per token; None if the call has no key."""
        key = self.key()
        return blake2b(key.encode(), key=self.access.token.encode()[:64], digest_size=16).digest() if key else None

    def standing(self) -> Mapping[str, Any]:
        """Return the project, run and agent that the program calls with."""
        standing: dict[str, Any] = self.member("standing", dict)
        if not all(value is None or isinstance(value, (str, bool)) for value in standing.values()):
            raise malformed("standing")
        for name in ("agent", "run", "project", "root", "worktree", "host", "machine"):
            if isinstance(standing.get(name), bool):
                raise malformed(f"standing.{name}")
        check_default_run(standing.get("run"))
        if standing.get("agent") is not None:
            check_name(standing["agent"], "agent")
        return standing


def malformed(what: str) -> InvalidInput:
    """Return the error for a part of a call that no local program would send."""
    return InvalidInput(f"{what} of the call is malformed", "Use the satchel program to call the server")


def are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)

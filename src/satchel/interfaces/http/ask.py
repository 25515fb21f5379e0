"""One request of a local program, as it was sent: nothing in it is believed before it is looked at."""

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
    """One request of a local program, as it was sent."""

    access: Access
    name: str
    fields: Mapping[str, Any]

    def member(self, name: str, kind: Any) -> Any:
        """Return a member of the request; what is left out is empty.

        Raises:
            InvalidInput: it is of another type.
        """
        value = self.fields.get(name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise malformed(name)
        return value

    def key(self) -> str:
        """Return the key that the program gave the call; an empty one is none.

        Raises:
            InvalidInput: it is no key.
        """
        key = str(self.member("key", str))
        if len(key) > _MAX_KEY_CHARS or not key.isascii():
            raise malformed("key")
        return key

    def durable_key(self) -> bytes | None:
        """Return what the store knows the call by, which no other token can name; None where it has no key."""
        key = self.key()
        return blake2b(key.encode(), key=self.access.token.encode()[:64], digest_size=16).digest() if key else None

    def standing(self) -> Mapping[str, Any]:
        """Return where and as whom the program calls.

        Raises:
            InvalidInput: it is malformed.
        """
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
    """Return the error for a part of a call that no local program sends so."""
    return InvalidInput(f"{what} of the call is malformed", "Use the satchel program to call the server")


def are_texts(values: Iterable[object]) -> bool:
    """Whether all of some values are texts."""
    return all(isinstance(value, str) for value in values)

"""Records of actors and of the caller's session."""

from __future__ import annotations

from satchel.base.records import NamedTuple


class Actor(NamedTuple):
    """The actor of a call, by numbers.

    Attributes:
        number: None for nobody, -1 for a name that is not registered yet.
        is_named: whether the name was chosen by the call or for all calls; anonymous callers are not distinguished.
    """

    number: int | None = None
    name: str | None = None
    session: int | None = None
    is_named: bool = False
    window: int = 0


class CurrentSession(NamedTuple):
    """The caller's session with its agent and context window; ``seen_at`` None means that it is new."""

    session: str
    agent: str
    window: int
    seen_at: int | None

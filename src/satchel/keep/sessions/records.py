"""Records of actors and of the caller's session."""

from __future__ import annotations

from satchel.base.records import NamedTuple


class Actor(NamedTuple):
    """The actor of a call.

    Attributes:
        number: the agent's number; None for nobody, -1 for a name that is not registered yet.
        name: the agent's name, or None.
        session: the number of its session, or None.
        is_named: whether the name was chosen by the call or for all calls; anonymous callers are not distinguished.
        window: the session's window number.
    """

    number: int | None = None
    name: str | None = None
    session: int | None = None
    is_named: bool = False
    window: int = 0


class CurrentSession(NamedTuple):
    """The caller's session.

    Attributes:
        session: its uid in hexadecimal.
        agent: the name of its default agent.
        window: the number of its context window.
        seen_at: when it was seen before, in milliseconds UTC; None if it is new.
    """

    session: str
    agent: str
    window: int
    seen_at: int | None

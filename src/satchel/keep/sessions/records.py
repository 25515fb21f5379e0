"""Who acts in a call, and in which session a client works."""

from __future__ import annotations

from satchel.base.records import NamedTuple


class Actor(NamedTuple):
    """Who acts in a call.

    Attributes:
        number, name: of the agent; None for nobody, and the number is -1 for a name that no agent has yet, and for
            who calls in a session without a name before its first write.
        session: the number of its session; None without one.
        is_named: whether it was chosen, by the call or for all calls; those who give no name are told apart by nothing.
        window: the number of the session's window.
    """

    number: int | None = None
    name: str | None = None
    session: int | None = None
    is_named: bool = False
    window: int = 0


class Entered(NamedTuple):
    """A session in which a client works.

    Attributes:
        session: its uid, in hexadecimal.
        agent: the name of those who name nobody in it.
        window: the number of its context window.
        seen_at: when it was seen before, in milliseconds UTC; None where it was just made.
    """

    session: str
    agent: str
    window: int
    seen_at: int | None

"""The records of messages."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.find.kind import Kind

MESSAGE_TYPES = ("decision", "warning", "request", "info")
"""The types of messages; the number of a type in the table is its place here, from 1."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        sender: who sent it, or None; ``from`` on the wire.
        to: who it is for; None is everyone. Of one that a session inherited, the agent of the session before it.
        priority: low, medium, high or critical.
        payload: any JSON value, or None.
        reply_to: the number of the message it answers, or None.
        thread: the number of the message that began the thread; its own where it did.
        created_at: milliseconds UTC.
        expires_at: when it is gone for everyone.
        read_at: when the agent it was read for had marked it read; None while unread.
        notes: what the sender should know; empty when read.
        read_by: of one that the reader sent, the agents who read it or were briefed with it.
        answered_by: the number of the last message that answers it, or None.
    """

    id: int
    uid: str
    seq: int
    sender: str | None
    to: str | None
    type: str
    priority: str
    message: str
    payload: object
    reply_to: int | None
    thread: int
    created_at: int
    expires_at: int
    read_at: int | None = None
    score: float | None = None
    notes: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    answered_by: int | None = None

    @property
    def ref(self) -> str:
        """The short id, as in ``m12``."""
        return Kind.MESSAGE.ref(self.id)


@dataclass(frozen=True, slots=True)
class MessagePage(KeptPage[Message]):
    """Part of an agent's messages, counted and read in one snapshot.

    Attributes:
        agent: whose they are.
        unread: how many unread messages the agent has in all, whatever the filters.
        asked_at: when they were listed, in milliseconds UTC; 0 where there is nothing yet.
    """

    agent: str = ""
    unread: int = 0
    asked_at: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The part."""
        return self.items


@dataclass(frozen=True, slots=True)
class MarkedRead:
    """What marking messages as read did.

    Attributes:
        marked: short ids of those that were unread until now.
        already: of those that had been read before.
        unknown: of those that do not exist, or have expired.
        foreign: of those that are not the agent's to read: for another, or its own.
        unread: how many the agent has left.
    """

    agent: str
    marked: tuple[str, ...]
    already: tuple[str, ...]
    unknown: tuple[str, ...]
    foreign: tuple[str, ...]
    unread: int

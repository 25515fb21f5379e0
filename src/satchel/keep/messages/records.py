"""Records of messages."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.find.kind import Kind

# The types of messages, stored by their position, from 1.
MESSAGE_TYPES = ("decision", "warning", "request", "info")


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        sender: who sent it, or None; ``from`` on the wire.
        to: its addressee; None is everyone. For an inherited message, the agent of the previous session.
        priority: low, medium, high or critical.
        payload: any JSON value, or None.
        reply_to: the number of the message it answers, or None.
        thread: the number of the message that began the thread; its own where it did.
        created_at: milliseconds UTC.
        expires_at: when it expires for everyone.
        read_at: when its reader marked it as read; None while unread.
        answer_by: when its sender needs an answer, in milliseconds UTC, or None.
        notes: what the sender should know; empty when read.
        read_by: the agents that read it or were briefed with it, if the reader sent it.
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
    answer_by: int | None = None
    score: float | None = None
    notes: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    answered_by: int | None = None

    @property
    def ref(self) -> str:
        return Kind.MESSAGE.ref(self.id)

    @property
    def awaits_answer(self) -> bool:
        """Whether it is a question that nobody has answered with a reply."""
        return self.answered_by is None and (self.type == "request" or self.message.rstrip().endswith("?"))


@dataclass(frozen=True, slots=True)
class MessagePage(KeptPage[Message]):
    """A page of an agent's messages, counted and read in one snapshot.

    Attributes:
        agent: the reader.
        unread: how many unread messages the agent has, whatever the filters.
        asked_at: when they were listed, in milliseconds UTC; 0 before the project's first write.
    """

    agent: str = ""
    unread: int = 0
    asked_at: int = 0


@dataclass(frozen=True, slots=True)
class MarkedRead:
    """Result of marking messages as read.

    Attributes:
        marked: short ids of messages that were unread until now.
        already: ids of messages read before.
        unknown: ids of messages that do not exist or have expired.
        foreign: ids of messages to another agent, or sent by this one.
        unread: how many the agent still has.
    """

    agent: str
    marked: tuple[str, ...]
    already: tuple[str, ...]
    unknown: tuple[str, ...]
    foreign: tuple[str, ...]
    unread: int

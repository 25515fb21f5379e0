"""What needs a person: messages to them without an answer, and agents that say they are blocked."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.client import Satchel
from satchel.keep.messages.records import Message

_MOST = 50


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person.

    Attributes:
        kind: message or blocked.
        severity: low, medium, high or critical.
        text: what it is.
        ref: the short id of the item.
        session: the uid of the session whose agent it is about, in hexadecimal; None without one.
        agent: who it is about, or None.
        began_at: since when it waits, in milliseconds UTC.
        actions: what may be done about it: answer, read.
    """

    kind: str
    severity: str
    text: str
    ref: str
    session: str | None
    agent: str | None
    began_at: int
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """What needs a person, the most urgent first.

    Attributes:
        person: whom.
        items: at most 50 of ``total``.
        asked_at: in milliseconds UTC.
    """

    person: str
    items: tuple[Need, ...]
    total: int
    asked_at: int


def needs_of(satchel: Satchel, person: str) -> Needs:
    """Return what needs a person.

    Args:
        satchel: the project.
        person: their name as an author, as in ``human:ann``.
    """
    page = satchel.messages.inbox(agent=person, unread=True, limit=_MOST)
    team = satchel.sessions.team()
    found = [_of_message(message) for message in page if _is_to_person(message)]
    for session in team.sessions:
        pad = session.scratchpad
        if not session.gone and pad is not None and pad.blockers:
            agent = session.agents[0] if session.agents else None
            text = "; ".join(pad.blockers)
            found.append(Need("blocked", "high", text, pad.ref, session.uid, agent, pad.created_at))
    found.sort(key=lambda need: (-PRIORITIES.index(need.severity), need.began_at))
    return Needs(person, tuple(found[:_MOST]), len(found), team.asked_at)


def _is_to_person(message: Message) -> bool:
    return message.to is not None and message.answered_by is None


def _of_message(message: Message) -> Need:
    actions = ("answer", "read")
    return Need(
        *("message", message.priority, message.message, message.ref, None, message.sender),
        *(message.created_at, actions),
    )

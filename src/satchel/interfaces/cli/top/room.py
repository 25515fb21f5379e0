"""The room of a project: looked at and acted in through operations, so that a server may have the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from satchel.base.records import NamedTuple
from satchel.brief.room.records import Collisions, Needs, Released, Since, Where
from satchel.client import Satchel
from satchel.interfaces.operations import items, messages, room
from satchel.interfaces.operations.declaration import load
from satchel.keep.items import Item, OpenedItems
from satchel.keep.messages.records import Message

SECTIONS = ("needs", "since", "where", "collisions")

_OPERATIONS = {one.name: one for one in (*room.OPERATIONS, *messages.OPERATIONS, *items.OPERATIONS)}

_LOCAL_SECONDS = 0.25
"""How often a store here is asked whether anybody has written: measured, 0.1 % of a processor."""

_REMOTE_SECONDS = 2.0
"""How often a server is asked: each time is a request, of 4 ms of processor time here."""


class Looked(NamedTuple):
    """The room as it was at one time.

    Attributes:
        read_at: when it was read, on the clock of :func:`time.monotonic`.
    """

    needs: Needs
    since: Since
    where: Where
    collisions: Collisions
    read_at: float

    @property
    def now(self) -> int:
        """The present time on the clock of the store, in milliseconds UTC."""
        return self.needs.asked_at + int((time.monotonic() - self.read_at) * 1_000)


class Room:
    """The room of a project, as one person sees it.

    Args:
        looker: reads, and marks nothing as read.
        actor: writes.
        person: who looks and acts.
    """

    def __init__(self, looker: Satchel, actor: Satchel, person: str) -> None:
        self._looker = looker
        self._actor = actor
        self.person = person
        self.project = actor.workplace.project_name or actor.workplace.suggested_name

    def look(self) -> Looked:
        """Read the four sections."""
        read_at = time.monotonic()
        needs, since, where, collisions = (self._ask(name) for name in SECTIONS)
        return Looked(needs, since, where, collisions, read_at)

    def fields(self) -> dict[str, Mapping[str, object]]:
        """Return the four sections as JSON."""
        return {name: _OPERATIONS[f"room_{name}"].as_json(self._ask(name)) for name in SECTIONS}

    def text_of(self, ref: str) -> str:
        """Return an item whole, as text."""
        operation = _OPERATIONS["get_items"]
        return str(load(operation.text)(self._read(ref)))

    def message(self, ref: str) -> Message | None:
        """Return a message; None where the item is none."""
        item: Item = self._read(ref).items[0]
        return item.record if isinstance(item.record, Message) else None

    def answer(self, ref: str, text: str, answered_by: str | None) -> Message:
        """Answer a message, as :meth:`satchel.brief.room.service.Room.answer` does."""
        answer: Message = self._act("room_answer", ref=ref, message=text, answered_by=answered_by, person=self.person)
        return answer

    def tell(self, agent: str, text: str) -> Message:
        """Send a message to an agent."""
        sent: Message = self._act("send_message", message=text, to=agent)
        return sent

    def release(self, session: str, path: str, expires_at: int) -> Released:
        """End a claim, as :meth:`satchel.brief.room.service.Room.release` does."""
        released: Released = self._act(
            "room_release", session=session, path=path, expires_at=expires_at, person=self.person
        )
        return released

    def set_aside(self, ref: str) -> None:
        """Mark a message as read."""
        self._act("message_read", refs=[ref])

    def see(self, refs: list[str] | None, up_to: int) -> None:
        """Mark changes as seen; None is all."""
        self._act("room_see", refs=refs, up_to=up_to, person=self.person)

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """Hand out what says whether anything has changed, for the thread that calls."""
        if self._looker.remote is not None:
            yield _RemoteWatch(self._looker)
            return
        with ExitStack() as stack:
            yield _LocalWatch(self._looker, stack)

    def _ask(self, name: str) -> Any:
        given = {"person": self.person} if name in {"needs", "since"} else {}
        return _OPERATIONS[f"room_{name}"].bound(self._looker)(**given)

    def _read(self, ref: str) -> OpenedItems:
        opened: OpenedItems = _OPERATIONS["get_items"].bound(self._looker)(refs=[ref])
        return opened

    def _act(self, name: str, **arguments: Any) -> Any:
        return _OPERATIONS[name].bound(self._actor)(**arguments)


class Watch(Protocol):
    """Says whether anything has changed.

    Attributes:
        seconds: how often it is to be asked.
    """

    seconds: float

    def has_changed(self) -> bool:
        """Whether anything has changed since it was last asked; at first it says so."""


class _LocalWatch:
    seconds = _LOCAL_SECONDS

    def __init__(self, satchel: Satchel, stack: ExitStack) -> None:
        self._engine = satchel.workplace.engine
        self._stack = stack
        self._which: object = ()
        self._is_changed: Callable[[], bool] = lambda: True

    def has_changed(self) -> bool:
        """Whether anybody has committed, or the store is another."""
        which = self._engine.state().which
        if which != self._which:
            self._stack.close()
            self._is_changed = self._stack.enter_context(self._engine.watch())
            self._which = which
        return self._is_changed()


class _RemoteWatch:
    seconds = _REMOTE_SECONDS

    def __init__(self, satchel: Satchel) -> None:
        self._ask = _OPERATIONS["room_reached"].bound(satchel)
        self._reached: object = None

    def has_changed(self) -> bool:
        """Whether the project has come further."""
        before, self._reached = self._reached, self._ask()
        return before != self._reached

"""What is declared of one kind of lines, and the fields that several kinds have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep.moving.fields import (
    AGENT,
    BORN,
    FILL,
    MIN,
    NAME,
    Field,
    Line,
    Part,
    linked,
    named,
)
from satchel.keep.moving.reading import Reading
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LineKind:
    """One kind of lines.

    Attributes:
        name: what lines call it.
        table: where its items are.
        about: what a reader of the schema is told.
        fields, parts: what its lines hold.
        letter: of its short ids; empty for none.
        key: the column of what makes two items one whatever their uids are, and what it is called in lines.
        documents: its kind among what can be found; None for what is not.
        given: names that every project begins with, which no line need say.
        expires: whether its items have an ``expires_at``, after which they are gone.
        shown: brings a line that was made of its fields into shape.
        derive: gives a row the columns that follow from others; gets what was read of the line, and that.
        prepare: makes room for a new item.
        enter: does what follows from new or changed items in other tables; gets their numbers.
        withdraw: takes that back before they change.
        keep_old: keeps the state before a change; None keeps it beside the item. Gets the item's number, that state
            and the new one.
        renew: does what follows where it was met again on the other side; gets its number.
        rank: what tells which of two states is the later one.
        take: takes a line of a kind that is of no table with uids; returns whether it brought anything.
    """

    name: str
    table: str
    about: str
    fields: tuple[Field, ...]
    parts: tuple[Part, ...] = ()
    letter: str = ""
    key: tuple[str, str] | None = None
    documents: Kind | None = None
    given: tuple[str, ...] = ()
    expires: bool = False
    shown: Callable[[Line], None] | None = None
    derive: Callable[[Reading, dict[str, Any]], None] | None = None
    prepare: Callable[[Reading, dict[str, Any], bytes], None] | None = None
    enter: Callable[[Transaction, int, Sequence[int]], None] | None = None
    withdraw: Callable[[Transaction, int, Sequence[int]], object] | None = None
    keep_old: Callable[[Reading, int, Line, Line], None] | None = None
    renew: Callable[[Reading, int], None] | None = None
    rank: tuple[str, ...] = ()
    take: Callable[[Reading, Line], bool] | None = None

    def field(self, name: str) -> Field:
        """Return the field that lines call so."""
        return next(field for field in self.fields if field.name == name)


CREATED = Field("created_at", BORN, required=True)
BEGAN = Field("created_at", BORN, required=True, merge=MIN)
SESSION = linked("session", "sessions", "session_id")
TASK, LOOP = Field("task_id", NAME), Field("loop_id", NAME)
AUTHOR = named("agent", AGENT, "agents", "agent_id", merge=FILL)

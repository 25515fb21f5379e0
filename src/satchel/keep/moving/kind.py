"""Declaration of a kind of lines, and the fields that several kinds share."""

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
    link_field,
    name_field,
)
from satchel.keep.moving.reading import Reading
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LineKind:
    """A kind of lines.

    Attributes:
        name: its name in lines.
        table: the table of its items.
        about: description for readers of the schema.
        fields, parts: the content of its lines.
        letter: the letter of its short ids, or empty.
        key: the column that identifies an item besides its uid, and the name of that field in lines.
        documents: its kind in the search index, if it is searchable.
        predefined: names that exist in every project and are not exported.
        expires: whether its items have an ``expires_at``.
        finish: completes a line made from its fields.
        derive: sets a row's derived columns.
        prepare: makes room for a new item.
        enter: updates other tables for new or changed items; receives their ids.
        withdraw: reverts ``enter`` before items change.
        keep_old: stores a state before it changes; None uses ``kept_states``. Receives the item's id, that state
            and the new one.
        renew: handles an item that was seen again on the other side; receives its id.
        rank: the fields that order states by age.
        take: imports a line of a kind without a table of uids; returns whether it added anything.
        only_as_written: whether lines are ignored unless an import is one as written.
    """

    name: str
    table: str
    about: str
    fields: tuple[Field, ...]
    parts: tuple[Part, ...] = ()
    letter: str = ""
    key: tuple[str, str] | None = None
    documents: Kind | None = None
    predefined: tuple[str, ...] = ()
    expires: bool = False
    finish: Callable[[Line], None] | None = None
    derive: Callable[[Reading, dict[str, Any]], None] | None = None
    prepare: Callable[[Reading, dict[str, Any], bytes], None] | None = None
    enter: Callable[[Transaction, int, Sequence[int]], None] | None = None
    withdraw: Callable[[Transaction, int, Sequence[int]], object] | None = None
    keep_old: Callable[[Reading, int, Line, Line], None] | None = None
    renew: Callable[[Reading, int], None] | None = None
    rank: tuple[str, ...] = ()
    take: Callable[[Reading, Line], bool] | None = None
    only_as_written: bool = False

    @property
    def has_seq(self) -> bool:
        """Whether its table has the number of each item's last change."""
        return self.take is None and self.table != "sessions"

    def field(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)


CREATED = Field("created_at", BORN, required=True)
BEGAN = Field("created_at", BORN, required=True, merge=MIN)
SESSION = link_field("session", "sessions", "session_id")
TASK, LOOP = Field("task_id", NAME), Field("loop_id", NAME)
AUTHOR = name_field("agent", AGENT, "agents", "agent_id", merge=FILL)

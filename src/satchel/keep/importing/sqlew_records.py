"""The records of what a sqlew database holds, and the columns and readings that they are made of."""

from __future__ import annotations

from functools import partial

from satchel.base.records import dataclass
from satchel.keep.importing.records import ForeignStore
from satchel.keep.importing.sqlew_tables import SqlewTables, milliseconds
from satchel.keep.importing.tables import Row, column, columns, linked_names
from satchel.keep.importing.values import Unreadable, described, number_of, one_of, optional_text, text_of
from satchel.keep.texts import parse_json
from satchel.store.foreign import Value

_MEDIUM = 2
_PRIORITY = partial(one_of, most=4, default=_MEDIUM)


@dataclass(frozen=True, slots=True)
class ForeignState:
    """One state of a decision.

    Attributes:
        status: 1 active, 2 deprecated, 3 draft.
        set_at: milliseconds UTC.
    """

    value: str | float
    version: str | None
    status: int
    layer: str | None
    agent: str | None
    rationale: str | None
    set_at: int


@dataclass(frozen=True, slots=True)
class ForeignDecision:
    """One decision with all of its states.

    Attributes:
        key_id: the number of its key there.
        created_at: when the key was first set, as far as that is known, in milliseconds UTC.
        states: the oldest first; the last is the current one.
    """

    key_id: int
    key: str
    created_at: int
    states: tuple[ForeignState, ...]
    tags: tuple[str, ...]
    scopes: tuple[str, ...]

    @property
    def row(self) -> str:
        """What tells it from others in a report."""
        return f"key_id {self.key_id}"


def _identifier(value: Value, field: str) -> int:
    number = number_of(value)
    if number is None:
        raise Unreadable(f"its {field} is {described(value)}")
    return number


def _flag(value: Value, field: str, *, default: bool) -> bool:
    if value is None:
        return default
    number = number_of(value)
    if number not in {0, 1}:
        raise Unreadable(f"its {field} is {described(value)}, neither 0 nor 1")
    return bool(number)


def named(column_names: str, masters: str) -> str | None:
    """Declare the name that a number stands for, or None for none; one that stands for none is reported.

    Args:
        column_names: of ``one|other`` the first that is there.
        masters: the table of the names.
    """
    called = column_names.partition("|")[0]

    def name(row: Row[SqlewTables], number: Value) -> str | None:
        return row.tables.known(masters).get(number, called, row.table, row.name)

    return columns(column_names, read=name)


def _needed(column_name: str, masters: str) -> str:
    """Declare the name that a number stands for; one that stands for none is refused."""

    def name(row: Row[SqlewTables], number: Value) -> str:
        return row.tables.known(masters).need(number, column_name)

    return columns(column_name, read=name)


def time(column_names: str = "ts") -> int:
    """Declare the time of a row, in milliseconds UTC."""
    return columns(column_names, read=lambda _, value: milliseconds(value))


class _Numbered:
    __slots__ = ()
    id: int

    @property
    def row(self) -> str:
        """What tells it from others in a report."""
        return f"id {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignConstraint(_Numbered):
    """One constraint.

    Attributes:
        priority: 1 low to 4 critical.
        reason: why it was made, or None.
        created_at: milliseconds UTC.
    """

    id: int = column("id", _identifier)
    category: str = _needed("category_id", "constraint_categories")
    text: str = column("constraint_text", text_of)
    priority: int = column("priority", _PRIORITY)
    layer: str | None = named("layer_id", "layers")
    tags: tuple[str, ...] = linked_names()
    agent: str | None = named("created_by|agent_id", "agents")
    active: bool = column("active|is_active", partial(_flag, default=True))
    reason: str | None = column("reason", optional_text)
    created_at: int = time()


def _payload(row: Row[SqlewTables], payload: Value) -> object:
    text = optional_text(payload, "payload")
    if text is None:
        value: object = None
    else:
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            row.said("its payload is no JSON; it was kept as text")
            value = text
    if value is None and row.fields["text"] is None:
        raise Unreadable("it has neither a text nor a payload")
    return value


def _addressee(row: Row[SqlewTables], number: Value) -> str | None:
    return None if number is None else row.tables.known("agents").need(number, "to_agent_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage(_Numbered):
    """One message.

    Attributes:
        text: None where the other tool kept none.
        payload: any JSON value, or None.
        to: who it is for; None is everyone.
        type: 1 decision, 2 warning, 3 request, 4 info.
        priority: 1 low to 4 critical.
        read: the one mark that the other tool has for all readers.
        created_at: milliseconds UTC.
    """

    text: str | None = column("message", optional_text)
    payload: object = columns("payload", read=_payload)
    id: int = column("id", _identifier)
    sender: str | None = named("from_agent_id", "agents")
    to: str | None = columns("to_agent_id", read=_addressee)
    type: int = column("msg_type", partial(one_of, most=4))
    priority: int = column("priority", _PRIORITY)
    read: bool = column("read", partial(_flag, default=False))
    created_at: int = time()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFileChange(_Numbered):
    """One recorded edit.

    Attributes:
        change: 1 created, 2 modified, 3 deleted.
        created_at: milliseconds UTC.
    """

    id: int = column("id", _identifier)
    file: str = _needed("file_id", "files")
    change: int = column("change_type", partial(one_of, most=3))
    agent: str | None = named("agent_id", "agents")
    layer: str | None = named("layer_id", "layers")
    description: str | None = column("description", optional_text)
    created_at: int = time()


@dataclass(frozen=True, slots=True)
class SqlewStore(ForeignStore):
    """Everything that can be read of a sqlew database.

    Attributes:
        project_id: the project's number there; 1, which an upgrade gives the first, where the store knows none.
    """

    project_id: int
    decisions: tuple[ForeignDecision, ...]
    constraints: tuple[ForeignConstraint, ...]
    messages: tuple[ForeignMessage, ...]
    file_changes: tuple[ForeignFileChange, ...]

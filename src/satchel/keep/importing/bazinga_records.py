"""The records of what a bazinga database holds, and the columns and readings that they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from satchel.base.records import dataclass
from satchel.keep.importing.bazinga_tables import (
    BazingaTables,
    count_of,
    days_of,
    group_of,
    key_of,
    moment_of,
    tenths_of,
)
from satchel.keep.importing.records import ForeignStore
from satchel.keep.importing.tables import Row, column, columns, linked_names, replaced
from satchel.keep.importing.values import Unreadable, described, number_of, optional_text, text_of
from satchel.keep.texts import parse_json
from satchel.store.foreign import Value

ACTIVE, COMPLETED = "active", "completed"
_STATUSES = (ACTIVE, COMPLETED, "failed")


def _row_name() -> str:
    """Declare what tells a row from others in a report."""

    def name(row: Row[BazingaTables]) -> str:
        return row.name

    return columns(read=name)


def _session(value: Value, field: str) -> str:
    return text_of(value, field).strip()


def _begun(_: Row[BazingaTables], started: Value, created: Value) -> int:
    return moment_of(created if started is None else started, "start_time")


def _over(row: Row[BazingaTables], ended: Value) -> int | None:
    try:
        return None if ended is None else max(row.fields["created_at"], moment_of(ended, "end_time"))
    except Unreadable as error:
        row.said(f"{error}; left out")
        return None


def _status(status: Value) -> tuple[str, str | None]:
    if status is None:
        return ACTIVE, None
    if status not in _STATUSES:
        return COMPLETED, f"its status is {described(status)}; {COMPLETED} here"
    return str(status), None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """One session.

    Attributes:
        row: what tells it from others, for a report; so in every record here.
        created_at: milliseconds UTC; so for ``ended_at``, which is None where that is not recorded.
        status: active, completed or failed.
        session: its id.
        requirements: what it was asked to do, or None.
        is_listed: whether the table of sessions has it; False for one that only other tables name.
    """

    row: str = _row_name()
    created_at: int = columns("start_time", "created_at", read=_begun)
    ended_at: int | None = columns("end_time", read=_over)
    status: str = replaced("status", _status)
    session: str = column("session_id", _session)
    requirements: str | None = column("original_requirements", optional_text)
    is_listed: bool = columns(read=lambda _: True)


def _group(_: Row[BazingaTables], group: Value, scope: Value = None) -> str | None:
    return group_of(group, scope)


def _supersedes(value: Value, field: str) -> str | None:
    return None if value is None else key_of(value, field)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPackage:
    """One context package.

    Attributes:
        id: its number or UUID there, as text.
        group: the task group, or None for the whole session.
        consumers: the kinds of agents that it is meant for.
        supersedes: the id of the package that it replaces, or None.
        created_at: milliseconds UTC.
    """

    row: str = _row_name()
    id: str = column("id|package_id", key_of)
    session: str = column("session_id", _session)
    group: str | None = columns("group_id", "scope", read=_group)
    path: str = column("content_path|file_path", text_of, "path")
    type: str | None = column("package_type", optional_text)
    priority: str | None = column("priority", optional_text)
    summary: str | None = column("summary", optional_text)
    producer: str | None = column("producer_agent", optional_text)
    consumers: tuple[str, ...] = linked_names()
    supersedes: str | None = column("supersedes_id", _supersedes)
    created_at: int = column("created_at", moment_of)


def _seen(row: Row[BazingaTables], created: Value, seen: Value) -> tuple[int, int]:
    """Return when something was made and last seen; one of them is enough."""
    try:
        last = moment_of(seen, "last_seen")
    except Unreadable as error:
        first = moment_of(created, "created_at")
        row.said(f"{error}; taken as when it was made")
        return first, first
    try:
        return min(moment_of(created, "created_at"), last), last
    except Unreadable as error:
        row.said(f"{error}; taken as when it was last seen")
        return last, last


class _Seen:
    __slots__ = ()
    seen: tuple[int, int]

    @property
    def created_at(self) -> int:
        """When it was made, in milliseconds UTC."""
        return self.seen[0]

    @property
    def last_seen(self) -> int:
        """When it was last seen, in milliseconds UTC."""
        return self.seen[1]


def _signature(value: Value, field: str) -> Mapping[str, object]:
    """Return the object that a signature is.

    Raises:
        Unreadable: it is no JSON, or none of an object.
    """
    text = text_of(value, field)
    try:
        said = parse_json(text)
    except (ValueError, RecursionError):
        raise Unreadable(f"its {field} is no JSON") from None
    if not isinstance(said, dict):
        raise Unreadable(f"its {field} is no JSON object")
    return said


def _signed(field: str) -> str:
    """Declare a text of the signature."""

    def text(row: Row[BazingaTables]) -> str:
        value = row.fields["signature"].get(field)
        if not isinstance(value, str) or not value.strip():
            raise Unreadable(f"its signature_json has no {field}")
        return value

    return columns(read=text)


def _stack(row: Row[BazingaTables]) -> tuple[str, ...]:
    """Return a list of texts, or one text as a list; anything else only ranks nothing, so it is none."""
    value = row.fields["signature"].get("stack_pattern")
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return tuple(one for one in value if isinstance(one, str) and one.strip()) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPattern(_Seen):
    """One error pattern with its only solution.

    Attributes:
        seen: when it was made and last seen, in milliseconds UTC.
        hash: what identifies it there.
        message: as bazinga keeps it, quoted names and paths left out.
        stack: the lines of its stack pattern.
        solution: None where there is none.
        tenths: the confidence, 1 to 10.
    """

    row: str = _row_name()
    signature: Mapping[str, object] = column("signature_json", _signature)
    seen: tuple[int, int] = columns("created_at", "last_seen", read=_seen)
    hash: str = column("pattern_hash", text_of)
    error_type: str = _signed("error_type")
    message: str = _signed("message_pattern")
    stack: tuple[str, ...] = columns(read=_stack)
    solution: str | None = column("solution", optional_text)
    lang: str | None = column("lang", optional_text)
    tenths: int = replaced("confidence", tenths_of)
    ttl_days: int = replaced("ttl_days", days_of)
    occurrences: int = replaced("occurrences", partial(count_of, least=1, field="occurrences"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignStrategy(_Seen):
    """One strategy.

    Attributes:
        seen: when it was made and last seen, in milliseconds UTC.
        helpfulness: how often it helped, at least 0.
    """

    row: str = _row_name()
    seen: tuple[int, int] = columns("created_at", "last_seen", read=_seen)
    id: str = column("strategy_id", key_of)
    topic: str = column("topic", text_of)
    insight: str = column("insight", text_of)
    lang: str | None = column("lang", optional_text)
    framework: str | None = column("framework", optional_text)
    helpfulness: int = replaced("helpfulness", partial(count_of, least=0, field="helpfulness"))


def _iteration(value: Value, field: str) -> int:
    number = number_of(value)
    if number is None or number < 0:
        raise Unreadable(f"its {field} is {described(value)}, not a whole number from 0")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignDelivery:
    """One package that was consumed.

    Attributes:
        session: its id; so for ``package``.
        group: the task group, or None for none.
        role: the kind of agent.
        consumed_at: milliseconds UTC.
    """

    row: str = _row_name()
    iteration: int = column("iteration", _iteration)
    session: str = column("session_id", _session)
    group: str | None = columns("group_id", read=_group)
    role: str = column("agent_type", text_of)
    package: str = column("package_id", key_of)
    consumed_at: int = column("consumed_at", moment_of)


@dataclass(frozen=True, slots=True)
class BazingaStore(ForeignStore):
    """Everything that can be read of a bazinga database."""

    runs: tuple[ForeignRun, ...]
    packages: tuple[ForeignPackage, ...]
    patterns: tuple[ForeignPattern, ...]
    strategies: tuple[ForeignStrategy, ...]
    deliveries: tuple[ForeignDelivery, ...]

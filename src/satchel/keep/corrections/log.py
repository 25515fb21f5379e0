"""The log of corrections, for all kinds of items, and the results of corrections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.errors import Conflict, NotFound, Refused
from satchel.base.records import NamedTuple, dataclass
from satchel.base.text import shortened
from satchel.base.vocabulary import HUMAN, PRIORITIES
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events
from satchel.keep.names import is_persons
from satchel.store.transaction import Transaction, add_item, set_of

# The actions of corrections, as stored.
SUPERSEDED, RETRACTED, CONFIRMED = 1, 2, 3


class Corrector(NamedTuple):
    """The author of a correction, with the transaction, project and time of the call.

    Attributes:
        passes: tells whether it may change what a person wrote.
        name: for messages to others.
    """

    transaction: Transaction
    project_id: int
    agent: int | None
    session: int | None
    passes: Callable[[str], bool]
    now: int
    name: str | None = None

    def may_end(self, ref: str, author: str | None, *, is_critical: bool = False) -> bool:
        return not (is_critical or is_persons(author)) or self.passes(ref)


class Correction(NamedTuple):
    """A correction that was not undone; ``agent`` is a name, ``heir`` the number of the replacement."""

    id: int
    action: int
    kind: Kind
    item: int
    heir: int | None
    agent: str | None
    reason: str | None
    created_at: int

    @property
    def heir_ref(self) -> str | None:
        return None if self.heir is None else self.kind.ref(self.heir)


_COLUMNS = "c.id, c.action, c.item_kind, c.item_id, c.heir_id, a.name, c.reason, c.created_at"


def author_of(alias: str) -> str:
    """Return SQL for the author of a correction; that of an undo is in its event, so that no undo takes it back."""
    return f"""COALESCE({alias}.agent_id, (
        SELECT e.agent_id FROM events e WHERE e.project_id = {alias}.project_id AND e.kind = {events.TAKEN_BACK}
            AND e.item_kind = {alias}.item_kind AND e.item_id = {alias}.item_id
            AND e.created_at = {alias}.created_at LIMIT 1
    ))"""


def record(
    by: Corrector, action: int, item: tuple[Kind, int], *, heir: int | None = None, reason: str | None = None
) -> int:
    """Record a correction of an item, and return its number; the replacement ``heir`` inherits the item's pin."""
    if heir is not None:
        by.transaction.run(
            """
            INSERT INTO pins (project_id, kind, item_id, agent_id, created_at)
            SELECT project_id, kind, :heir, agent_id, created_at FROM pins
            WHERE project_id = :project AND kind = :kind AND item_id = :item
            ON CONFLICT DO NOTHING
            """,
            {"heir": heir, "project": by.project_id, "kind": item[0].number, "item": item[1]},
        )
    return add_item(
        by.transaction,
        "corrections",
        by.project_id,
        action=action,
        item_kind=item[0].number,
        item_id=item[1],
        heir_id=heir,
        agent_id=by.agent,
        session_id=by.session,
        reason=reason,
        created_at=by.now,
    )


def log_event(by: Corrector, kind: int, item: tuple[Kind, int], details: Mapping[str, object] | None = None) -> None:
    events.record(
        by.transaction, by.project_id, kind, by.now, session=by.session, agent=by.agent, item=item, details=details
    )


def of_item(transaction: Transaction, kind: Kind, number: int) -> list[Correction]:
    """Return an item's corrections that were not undone, in order."""
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM corrections c LEFT JOIN agents a ON a.id = {author_of('c')} "
        "WHERE c.item_kind = :kind AND c.item_id = :item AND c.undone_at IS NULL ORDER BY c.id",
        {"kind": kind.number, "item": number},
    )
    return [_correction(*row) for row in rows]


def last_of(by: Corrector, item: tuple[Kind, int] | None = None) -> Correction | None:
    """Return the last correction not undone by the session, or without one by the agent; if given, of an item."""
    of_item = "" if item is None else f"AND c.item_kind = {item[0].number} AND c.item_id = {item[1]}"
    row = by.transaction.one(
        f"""
        SELECT {_COLUMNS} FROM corrections c LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.project_id = :project AND c.undone_at IS NULL {of_item}
            AND c.session_id IS NOT DISTINCT FROM :session AND (:session IS NOT NULL OR c.agent_id = :agent)
        ORDER BY c.id DESC LIMIT 1
        """,
        {"project": by.project_id, "session": by.session, "agent": by.agent},
    )
    return None if row is None else _correction(*row)


def forget(transaction: Transaction, kind: Kind, numbers: Sequence[int]) -> None:
    if numbers:
        these = set_of(numbers)
        where = f"item_kind = {kind.number} AND (item_id IN {these} OR heir_id IN {these})"
        transaction.run(f"DELETE FROM corrections WHERE {where}")


def ending_of(record: object) -> str:
    """Name the end of an item without a replacement: what is done is closed, what is wrong retracted."""
    return "closed" if can_close(record) else "retracted"


def can_close(record: object) -> bool:
    """Return whether an item is a bug or a review issue, which end by being settled."""
    return getattr(record, "type", None) in {"bug", "review_issue"}


def is_closed(record: Any) -> bool:
    """Return whether a bug or review issue ended without a replacement."""
    return can_close(record) and record.superseded_by == record.id


def last_end(transaction: Transaction, kind: Kind, number: int) -> Correction | None:
    ends = [one for one in of_item(transaction, kind, number) if one.action != CONFIRMED]
    return ends[-1] if ends else None


def history_notes(transaction: Transaction, kind: Kind, number: int, ending: str) -> tuple[str, ...]:
    """Return lines on who replaced or ended an item and why, and who confirmed it."""
    active = of_item(transaction, kind, number)
    # a retracted rule itself shows by whom and why
    says_itself = kind is Kind.CONSTRAINT
    ends = [one for one in active if one.action != CONFIRMED and not (says_itself and one.heir is None)]
    by = [one for one in active if one.action == CONFIRMED]
    names = [f"{one.agent or 'somebody unnamed'}{f' ({one.reason})' if one.reason else ''}" for one in by]
    return (*(describe(one, ending) for one in ends[-1:]), *([f"confirmed by {', '.join(names)}"] if names else []))


def confirmers(transaction: Transaction, kind: Kind, number: int) -> tuple[str, ...]:
    active = of_item(transaction, kind, number)
    return tuple(one.agent for one in active if one.action == CONFIRMED and one.agent is not None)


def end_reason(transaction: Transaction, kind: Kind, number: int, ending: str) -> str:
    end = last_end(transaction, kind, number)
    return "who ended it is not recorded" if end is None else describe(end, ending)


def describe(one: Correction, ending: str = "retracted") -> str:
    who = "" if one.agent is None else f" by {one.agent}"
    if one.heir is not None:
        return f"replaced{who}, see {one.heir_ref}"
    return f"{ending}{who}" + ("" if one.reason is None else f": {one.reason}")


def replaced_note(kind: Kind, old: Sequence[int]) -> tuple[str, ...]:
    if not old:
        return ()
    are, them = ("is", "it") if len(old) == 1 else ("are", "them")
    return (f"{', '.join(map(kind.ref, old))} {are} replaced: searches show {them} only if status asks for {them}",)


def check_replaceable(by: Corrector, item: tuple[Kind, int]) -> None:
    """Refuse to replace an item that does not exist, was replaced or retracted, or that only a person can replace."""
    transaction, (kind, number) = by.transaction, item
    critical = f"i.priority = {len(PRIORITIES)}" if kind is Kind.CONSTRAINT else "1 = 0"
    row = transaction.one(
        f"SELECT a.name, {kind.live}, {critical} FROM {kind.table} i "
        f"LEFT JOIN agents a ON a.id = {kind.author} WHERE i.project_id = :project AND i.id = :id",
        {"project": by.project_id, "id": number},
    )
    ref = kind.ref(number)
    if row is None:
        remedy = "Lists show their ids"
        if kind is Kind.ENTRY:
            remedy = "Leave supersedes out, or look for it with search"
        raise NotFound(f"there is no {kind.noun} {ref} in this project", remedy)
    author, is_live, is_critical = row
    if not is_live:
        done = last_end(transaction, *item)
        if done is not None and done.heir is not None:
            heir = done.heir_ref
            raise Conflict(
                f"{ref} was replaced by {heir} already",
                f"Read {heir}, and give supersedes={heir} if it is wrong{_quote(transaction, kind, done.heir)}",
            )
        raise Conflict(f"{ref} was retracted already", "Leave supersedes out")
    if not by.may_end(ref, author, is_critical=bool(is_critical)):
        why = "is critical" if is_critical else "was written by a person"
        raise Refused(
            f"{ref} {why}: only a person can replace it",
            f"Leave supersedes out, and ask a person with satchel's send_message to={HUMAN}",
        )


_REPLACEABLE = [kind for kind in Kind if kind.text is not None]

_DANGLING = " AND ".join(
    f"""
    NOT (c.item_kind = {kind.number}
        AND EXISTS (SELECT 1 FROM {kind.table} i WHERE i.id = c.item_id AND i.project_id = c.project_id)
        AND (c.heir_id IS NULL
            OR EXISTS (SELECT 1 FROM {kind.table} i WHERE i.id = c.heir_id AND i.project_id = c.project_id)))
    """
    for kind in _REPLACEABLE
)


def examine(transaction: Transaction) -> tuple[int, int, list[str]]:
    """Return the number of corrections, how many refer to missing items, and ended items that are still live."""
    [row] = transaction.all(f"SELECT count(*), (SELECT count(*) FROM corrections c WHERE {_DANGLING}) FROM corrections")
    revived = [
        kind.ref(number)
        for kind in _REPLACEABLE
        for (number,) in transaction.all(
            f"SELECT DISTINCT i.id FROM corrections c JOIN {kind.table} i ON i.id = c.item_id "
            f"WHERE c.item_kind = {kind.number} AND c.action <> {CONFIRMED} AND c.undone_at IS NULL "
            f"AND {kind.live} ORDER BY i.id"
        )
    ]
    return row[0], row[1], revived


def _quote(transaction: Transaction, kind: Kind, number: int) -> str:
    row = transaction.one(f"SELECT {kind.text} FROM {kind.table} WHERE id = :id", {"id": number})
    return "" if row is None else f"; it says: {shortened(row[0])}"


def _correction(number: int, action: int, kind: int, item: int, *rest: object) -> Correction:
    return Correction(number, action, KIND_OF[kind], item, *rest)  # type: ignore[arg-type] # columns in this order


@dataclass(frozen=True, slots=True)
class Retracted:
    """Result of retracting an item.

    Attributes:
        text: the start of its text.
        asked: the short id of the message that asks a person to retract it, or its author to change a decision.
        already: how it had been replaced or retracted before, or None.
        correction: the number of the correction, for undo, or None.
    """

    ref: str
    kind: str
    record: object
    text: str
    done: bool = True
    asked: str | None = None
    already: str | None = None
    notes: tuple[str, ...] = ()
    correction: int | None = None
    asked_of: str = HUMAN


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Result of confirming an item: all that confirmed it, and the number of the correction, for undo."""

    ref: str
    kind: str
    by: tuple[str, ...]
    text: str
    notes: tuple[str, ...] = ()
    correction: int | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """Result of an undo; ``heir`` is the replacement, which is retracted now, ``status`` the state that is back."""

    ref: str
    kind: str
    action: str
    heir: str | None
    text: str
    status: str | None = None

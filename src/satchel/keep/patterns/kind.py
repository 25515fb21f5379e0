"""Declaration of error patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.clock import DAY_MS
from satchel.base.errors import unknown_name
from satchel.base.text import check_name, fold
from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.fields import Field
from satchel.keep.kind import ItemKind, Part, Rows
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.patterns import updates
from satchel.keep.patterns.records import COLUMNS, LEAST, STATES, WEAK, ErrorPattern, pattern_of, solutions_of
from satchel.keep.patterns.reports import check_lang
from satchel.keep.patterns.signing import VERSION as SIGNED_BY
from satchel.store.transaction import Row, update_row

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


_CONFIRMATIONS = Part(
    "confirmations",
    "solution_confirmations",
    "solution_id",
    (
        fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
        fields.link_field("session", "sessions", "session_id"),
        Field("helped", fields.FLAG, default=0),
    ),
    same=("agent_id", "session_id", "helped"),
)


def _merge_solutions(reading: Reading, pattern: int, _row: dict[str, Any], incoming: Rows) -> None:
    # for a solution known on both sides, the later side's confidence wins
    transaction = reading.transaction
    existing: dict[bytes, tuple[Any, ...]] = {
        row[1]: row
        for row in transaction.all(
            "SELECT id, uid, solution, updated_at, confirmed, failed FROM error_solutions "
            "WHERE pattern_id = :pattern ORDER BY id",
            {"pattern": pattern},
        )
    }
    by_text = {fold(row[2]): uid for uid, row in existing.items()}
    for one in incoming:
        confirmations = one.pop("confirmations", [])
        uid = one["uid"] if one["uid"] in existing else by_text.get(fold(one["solution"]))
        if uid is None:
            seq = reading.seq(one["seq"], transaction.next_seq(reading.project))
            placed = {**one, "seq": seq, "project_id": reading.project, "pattern_id": pattern}
            number = transaction.add("error_solutions", placed)
        else:
            number, _, _, updated, confirmed, failed = existing[uid]
            changes = {"confirmed": max(confirmed, one["confirmed"]), "failed": max(failed, one["failed"])}
            if one["updated_at"] > updated:
                changes |= {name: one[name] for name in ("confidence", "state", "solution", "updated_at")}
            if changes != {"confirmed": confirmed, "failed": failed}:
                changes["seq"] = transaction.next_seq(reading.project)
                update_row(transaction, "error_solutions", number, **changes)
        reading.add_rows(_CONFIRMATIONS, number, {}, confirmations)


def _add_occurrences(reading: Reading, pattern: int, _row: dict[str, Any], rows: Rows) -> None:
    for row in rows:
        uid = row.pop("solution")
        number = None if uid is None else reading.number_of("error_solutions", uid.hex())
        placed = {**row, "project_id": reading.project, "pattern_id": pattern, "solution_id": number}
        reading.transaction.add("error_reports", placed)


OCCURRENCES = Part(
    "met",
    "error_reports",
    "pattern_id",
    (
        fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", required=True),
        fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
        fields.link_field("session", "sessions", "session_id"),
        Field("task_id", fields.NAME),
        Field("loop_id", fields.NAME),
        Field("solution", fields.HEX, sql="(SELECT n.uid FROM error_solutions n WHERE n.id = i.solution_id)"),
        Field("created_at", fields.TIME, required=True),
    ),
    same=("run_id", "agent_id", "session_id", "loop_id", "task_id", "created_at"),
    add=_add_occurrences,
)

SOLUTIONS = Part(
    "solutions",
    "error_solutions",
    "pattern_id",
    (
        Field("uid", fields.HEX, required=True),
        Field("seq", fields.WHOLE),
        Field("solution", fields.TEXT, required=True),
        Field("confidence", fields.WHOLE, required=True),
        Field("confirmed", fields.WHOLE, default=0),
        Field("failed", fields.WHOLE, default=0),
        Field("state", fields.one_of(STATES), required=True),
        fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
        Field("created_at", fields.TIME, required=True),
        Field("updated_at", fields.TIME, required=True),
    ),
    add=_merge_solutions,
    parts=(_CONFIRMATIONS,),
)


def _pattern_derived(reading: Reading, row: dict[str, Any]) -> None:
    row["expires_at"] = reading.now + row["ttl_days"] * DAY_MS


def _live_on(reading: Reading, number: int) -> None:
    reading.transaction.run(
        f"UPDATE error_patterns SET expires_at = :now + ttl_days * {DAY_MS} "
        f"WHERE id = :id AND expires_at < :now + ttl_days * {DAY_MS}",
        {"now": reading.now, "id": number},
    )


ERROR_PATTERN: ItemKind[Any] = ItemKind(
    "an error with its solutions and their confirmations",
    (
        fields.BEGAN,
        Field("hash", fields.NAME, "pattern_hash", required=True),
        Field("signed_by", fields.WHOLE, default=SIGNED_BY, merge=fields.SOFT),
        Field("error_type", fields.NAME, required=True, merge=fields.SOFT),
        Field("message", fields.TEXT, required=True, merge=fields.SOFT),
        Field("example", fields.TEXT, required=True, merge=fields.SOFT),
        Field("lang", fields.FOLDED, merge=fields.SOFT),
        Field("occurrences", fields.COUNT, default=1, merge=fields.MAX),
        Field("ttl_days", fields.COUNT, required=True, merge=fields.SOFT),
        Field("last_seen", fields.TIME, required=True, merge=fields.MAX),
    ),
    (SOLUTIONS, OCCURRENCES),
    key=("pattern_hash", "hash"),
    documents=Kind.ERROR_PATTERN,
    expires=True,
    derive=_pattern_derived,
    renew=_live_on,
    rank=("last_seen",),
    source=updates.DOCUMENTS,
    display_texts=updates.display_texts,
    open=lambda transaction, reader, number: updates.load(transaction, reader.project_id, number, reader.now, LEAST),
)


SOLUTION_FILTERS = ("offered", "all")  # which solutions to show: those that reports offer, or also those only observed

UNSOLVED = "unsolved"

STATE_FILTERS = (*STATES, UNSOLVED)  # the states to filter by: that of a solution, or none at all


class ErrorFilters(ListFilters, total=False):
    """Filters for errors.

    Keys:
        lang: only errors of this language, and of any.
        error_type: only errors of exactly this type.
        state: only errors with a solution in this state (active, confirmed or demoted), or unsolved.
        status: offered hides solutions that are only observed; all shows them too.
    """

    lang: str | None
    error_type: str | None
    state: str | None
    status: str


def least_confidence(status: str) -> int:
    if status not in SOLUTION_FILTERS:
        raise unknown_name("status", status, SOLUTION_FILTERS)
    return LEAST if status == "all" else WEAK


def _make(view: View, rows: Sequence[Row]) -> tuple[ErrorPattern, ...]:
    least = view.request.filters["status"]
    solutions = solutions_of(view.transaction, view.project_id, [row[0] for row in rows], least)
    return tuple(pattern_of(row, solutions.get(row[0], ()), score=view.scores.get(row[0])) for row in rows)


def _in_state(view: View, state: str) -> None:
    least = view.request.filters["status"]
    is_in_state = "" if state == UNSOLVED else f"AND s.state = {STATES.index(state) + 1}"
    view.where(
        f"""
        {"NOT " if state == UNSOLVED else ""}EXISTS (SELECT 1 FROM error_solutions s
            WHERE s.pattern_id = p.id AND s.project_id = :project AND s.confidence >= {least} {is_in_state})
        """
    )


LISTING = Listing(
    kind=Kind.ERROR_PATTERN,
    table="error_patterns p",
    columns=COLUMNS,
    source="error_patterns p",
    make=_make,
    filters=(
        Filter("status", lambda value, _: least_confidence(value), None, "offered"),
        filters.compared("lang", "(p.lang IS NULL OR p.lang = {})", lambda value, _: check_lang(value)),
        Filter(
            "error_type",
            lambda value, _: check_name(value, "error_type"),
            lambda view, name: view.where("p.error_type = {}", name),
            known_sql="SELECT DISTINCT error_type FROM error_patterns "
            "WHERE project_id = :project AND expires_at > :now",
        ),
        Filter("state", filters.choice_check("state", STATE_FILTERS), _in_state),
    ),
    changed=("created_at", "last_seen"),
    expires=True,
)

"""Solutions of errors in lines; the same solution on both sides is merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.text import fold
from satchel.keep import fields
from satchel.keep.fields import Field
from satchel.keep.kind import Part, Rows
from satchel.keep.patterns.records import STATES

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


def _merge(reading: Reading, pattern: int, _row: dict[str, Any], incoming: Rows) -> None:
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
                columns = ", ".join(f"{name} = :{name}" for name in changes)
                transaction.run(f"UPDATE error_solutions SET {columns} WHERE id = :id", {**changes, "id": number})
        reading.add_rows(_CONFIRMATIONS, number, {}, confirmations)


def _add_occurrences(reading: Reading, pattern: int, _row: dict[str, Any], rows: Rows) -> None:
    for one in rows:
        uid = one.pop("solution")
        number = None if uid is None else reading.number_of("error_solutions", uid.hex())
        placed = {**one, "project_id": reading.project, "pattern_id": pattern, "solution_id": number}
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
    add=_merge,
    parts=(_CONFIRMATIONS,),
)

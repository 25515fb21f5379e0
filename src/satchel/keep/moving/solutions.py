"""Solutions of errors in lines; the same solution on both sides is merged."""

from __future__ import annotations

from typing import Any

from satchel.base.text import fold
from satchel.keep.kind import (
    AGENT,
    FLAG,
    HEX,
    NAME,
    RUN,
    TEXT,
    TIME,
    WHOLE,
    Field,
    Part,
    Rows,
    link_field,
    name_field,
    one_of,
)
from satchel.keep.moving.reading import Reading
from satchel.keep.patterns.records import STATES

_CONFIRMATIONS = Part(
    "confirmations",
    "solution_confirmations",
    "solution_id",
    (
        name_field("agent", AGENT, "agents", "agent_id"),
        link_field("session", "sessions", "session_id"),
        Field("helped", FLAG, default=0),
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
        name_field("run", RUN, "runs", "run_id", "run_id", required=True),
        name_field("agent", AGENT, "agents", "agent_id"),
        link_field("session", "sessions", "session_id"),
        Field("task_id", NAME),
        Field("loop_id", NAME),
        Field("solution", HEX, sql="(SELECT n.uid FROM error_solutions n WHERE n.id = i.solution_id)"),
        Field("created_at", TIME, required=True),
    ),
    same=("run_id", "agent_id", "session_id", "loop_id", "task_id", "created_at"),
    add=_add_occurrences,
)

SOLUTIONS = Part(
    "solutions",
    "error_solutions",
    "pattern_id",
    (
        Field("uid", HEX, required=True),
        Field("seq", WHOLE),
        Field("solution", TEXT, required=True),
        Field("confidence", WHOLE, required=True),
        Field("confirmed", WHOLE, default=0),
        Field("failed", WHOLE, default=0),
        Field("state", one_of(STATES), required=True),
        name_field("agent", AGENT, "agents", "agent_id"),
        Field("created_at", TIME, required=True),
        Field("updated_at", TIME, required=True),
    ),
    add=_merge,
    parts=(_CONFIRMATIONS,),
)

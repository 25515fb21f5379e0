"""The solutions of errors in lines: what one and the same solution went through on both sides is brought together."""

from __future__ import annotations

from typing import Any

from satchel.base.text import fold
from satchel.keep.moving.fields import (
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
    linked,
    named,
    one_of,
)
from satchel.keep.moving.reading import Reading
from satchel.keep.patterns.records import STATES

_CONFIRMATIONS = Part(
    "confirmations",
    "solution_confirmations",
    "solution_id",
    (
        named("agent", AGENT, "agents", "agent_id"),
        linked("session", "sessions", "session_id"),
        Field("helped", FLAG, default=0),
    ),
    same=("agent_id", "session_id", "helped"),
)


def _bring_together(reading: Reading, pattern: int, _row: dict[str, Any], given: Rows) -> None:
    """Add the solutions that an error does not have; of one that it has, the later side's confidence holds."""
    transaction = reading.transaction
    known: dict[bytes, tuple[Any, ...]] = {
        row[1]: row
        for row in transaction.all(
            "SELECT id, uid, solution, updated_at, confirmed, failed FROM error_solutions "
            "WHERE pattern_id = :pattern ORDER BY id",
            {"pattern": pattern},
        )
    }
    by_text = {fold(row[2]): uid for uid, row in known.items()}
    for one in given:
        confirmations = one.pop("confirmations", [])
        uid = one["uid"] if one["uid"] in known else by_text.get(fold(one["solution"]))
        if uid is None:
            seq = transaction.next_seq(reading.project)
            placed = {**one, "seq": seq, "project_id": reading.project, "pattern_id": pattern}
            number = transaction.add("error_solutions", placed)
        else:
            number, _, _, updated, confirmed, failed = known[uid]
            said = {"confirmed": max(confirmed, one["confirmed"]), "failed": max(failed, one["failed"])}
            if one["updated_at"] > updated:
                said |= {name: one[name] for name in ("confidence", "state", "solution", "updated_at")}
            if said != {"confirmed": confirmed, "failed": failed}:
                said["seq"] = transaction.next_seq(reading.project)
                columns = ", ".join(f"{name} = :{name}" for name in said)
                transaction.run(f"UPDATE error_solutions SET {columns} WHERE id = :id", {**said, "id": number})
        reading.add_rows(_CONFIRMATIONS, number, {}, confirmations)


def _add_met(reading: Reading, pattern: int, _row: dict[str, Any], given: Rows) -> None:
    """Record where an error was met; its solutions are here by now."""
    for one in given:
        uid = one.pop("solution")
        number = None if uid is None else reading.number_of("error_solutions", uid.hex())
        placed = {**one, "project_id": reading.project, "pattern_id": pattern, "solution_id": number}
        reading.transaction.add("error_reports", placed)


MET = Part(
    "met",
    "error_reports",
    "pattern_id",
    (
        named("run", RUN, "runs", "run_id", "run_id", required=True),
        named("agent", AGENT, "agents", "agent_id"),
        linked("session", "sessions", "session_id"),
        Field("task_id", NAME),
        Field("loop_id", NAME),
        Field("solution", HEX, sql="(SELECT n.uid FROM error_solutions n WHERE n.id = i.solution_id)"),
        Field("created_at", TIME, required=True),
    ),
    same=("run_id", "agent_id", "session_id", "loop_id", "task_id", "created_at"),
    add=_add_met,
)

SOLUTIONS = Part(
    "solutions",
    "error_solutions",
    "pattern_id",
    (
        Field("uid", HEX, required=True),
        Field("solution", TEXT, required=True),
        Field("confidence", WHOLE, required=True),
        Field("confirmed", WHOLE, default=0),
        Field("failed", WHOLE, default=0),
        Field("state", one_of(STATES), required=True),
        named("agent", AGENT, "agents", "agent_id"),
        Field("created_at", TIME, required=True),
        Field("updated_at", TIME, required=True),
    ),
    add=_bring_together,
    parts=(_CONFIRMATIONS,),
)

"""Writes of decisions to their tables: row, history, names, counts, bands and document."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from satchel.find import documents, likeness
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.keep.decisions.records import (
    COLUMNS,
    SOURCE,
    Current,
    NumberedName,
    State,
    Value,
    currents,
    names_of,
    value_of,
)
from satchel.keep.paths import globs_in, text_of
from satchel.store.transaction import Transaction, set_of, update_row

_PROJECT, _LAYER, _TAG, _SCOPE = 0, 1, 2, 3  # the dimensions of `decision_counts`


def create(
    transaction: Transaction,
    project_id: int,
    key: str,
    state: State,
    agent: NumberedName | None,
    at: int,
    bands: likeness.Bands,
    session: int | None = None,
) -> Current:
    uid = os.urandom(16)
    seq = transaction.next_seq(project_id, documents=1)
    number = transaction.add(
        "decisions",
        {
            "uid": uid,
            "seq": seq,
            "project_id": project_id,
            "key": key,
            "revision": 1,
            "agent_id": _number(agent),
            "created_at": at,
            "updated_at": at,
            "session_id": session,
            **_values(state),
        },
    )
    made = Current(number, uid, seq, key, 1, state, agent, at, at, session)
    _link(transaction, number, at, state)
    _count(transaction, project_id, [(state, 1)])
    likeness.remember(transaction, project_id, Kind.DECISION, number, bands.recorded)
    documents.add(transaction, _document(project_id, made))
    return made


def change(
    transaction: Transaction,
    project_id: int,
    before: Current,
    state: State,
    agent: NumberedName | None,
    at: int,
    session: int | None = None,
) -> Current:
    """Change a decision's state; the previous one is added to the history."""
    seq = transaction.next_seq(project_id, 2) + 1
    old = before.state
    transaction.add(
        "decision_history",
        {
            "uid": os.urandom(16),
            "seq": seq - 1,
            "project_id": project_id,
            "decision_id": before.id,
            "revision": before.revision,
            "agent_id": _number(before.agent),
            "tags": _json(old.tags),
            "scopes": _json(old.scopes),
            "set_at": before.updated_at,
            "created_at": at,
            "session_id": before.session,
            **_values(old),
        },
    )
    revision = before.revision + 1
    after = Current(before.id, before.uid, seq, before.key, revision, state, agent, before.created_at, at, session)
    columns = {"seq": seq, "revision": revision, "agent_id": _number(agent), "updated_at": at, "session_id": session}
    update_row(transaction, "decisions", before.id, **columns, **_values(state))
    if (old.status, old.tags, old.scopes) != (state.status, state.tags, state.scopes):
        _unlink(transaction, before.id)
        _link(transaction, before.id, before.created_at, state)
    _count(transaction, project_id, [(old, -1), (state, 1)])
    if old.value != state.value:
        removed, added = (set(value_bands(project_id, value).recorded) for value in (old.value, state.value))
        likeness.forget(transaction, project_id, Kind.DECISION, before.id, removed - added)
        likeness.remember(transaction, project_id, Kind.DECISION, before.id, added - removed)
    documents.remove(transaction, Kind.DECISION, [before.id])
    documents.add(transaction, _document(project_id, after), counts=True)
    return after


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    for number in withdraw(transaction, project_id, numbers):
        transaction.run("DELETE FROM decisions WHERE id = :id", {"id": number})
        documents.remove(transaction, Kind.DECISION, [number])


def enter(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Count decisions after their rows and names were written, and record their bands."""
    decisions = _load(transaction, project_id, numbers)
    _count(transaction, project_id, [(current.state, 1) for current in decisions.values()])
    for number, current in decisions.items():
        bands = bands_of(project_id, current.key, current.state.value)
        likeness.remember(transaction, project_id, Kind.DECISION, number, bands.recorded)


def withdraw(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> list[int]:
    """Remove decisions from counts and bands before their rows change, and return the existing ones."""
    decisions = _load(transaction, project_id, numbers)
    _count(transaction, project_id, [(current.state, -1) for current in decisions.values()])
    for number, current in decisions.items():
        bands = bands_of(project_id, current.key, current.state.value)
        likeness.forget(transaction, project_id, Kind.DECISION, number, bands.recorded)
    return list(decisions)


def _load(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> dict[int, Current]:
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id IN {set_of(numbers)}",
        {"project": project_id},
    )
    return currents(transaction, rows)


def _document(project_id: int, current: Current) -> Document:
    state = current.state
    names = [name for _, name in (*state.tags, *state.scopes)]
    layer = None if state.layer is None else state.layer[1]
    return Document(
        Kind.DECISION,
        current.id,
        current.seq,
        project_id,
        None,
        _searchable(current.key, *_columns_of(state.value), state.rationale, layer, text_of(state.paths), names),
        current.updated_at,
        agent_id=_number(current.agent),
        status=state.status,
    )


def _searchable(
    key: str,
    text: str | None,
    number: float | None,
    rationale: str | None,
    layer: str | None,
    paths: str,
    names: Sequence[str] = (),
) -> str:
    words = " ".join([*names, *globs_in(paths), *([layer] if layer else [])])
    return "\n".join(filter(None, (f"{key}: {value_of(text, number)}", rationale, words)))


def _names(transaction: Transaction, numbers: Sequence[int]) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for table in ("tag", "scope"):
        for number, of_decision in names_of(transaction, table, numbers).items():
            names.setdefault(number, []).extend(name for _, name in of_decision)
    return names


DOCUMENTS = documents.Source(
    Kind.DECISION,
    "key, value_text, value_number, rationale, (SELECT n.name FROM layers n WHERE n.id = i.layer_id), paths",
    _searchable,
    also=_names,
    created_at="updated_at",
    agent_id="agent_id",
    status="status",
)


def _columns_of(value: Value) -> tuple[str | None, float | None]:
    return (value, None) if isinstance(value, str) else (None, float(value))


def _values(state: State) -> dict[str, object]:
    text, number = _columns_of(state.value)
    return {
        "value_text": text,
        "value_number": number,
        "layer_id": _number(state.layer),
        "version": state.version,
        "status": state.status,
        "rationale": state.rationale,
        "paths": text_of(state.paths),
        "metadata": state.metadata,
    }


def _number(pair: NumberedName | None) -> int | None:
    return None if pair is None else pair[0]


def _json(names: Sequence[NumberedName]) -> str:
    return json.dumps([name for _, name in names], ensure_ascii=False)


def _link(transaction: Transaction, number: int, created_at: int, state: State) -> None:
    for table, column, names in (
        ("decision_tags", "tag_id", state.tags),
        ("decision_scopes", "scope_id", state.scopes),
    ):
        if names:
            transaction.many(
                f"INSERT INTO {table} ({column}, status, created_at, decision_id) "
                "VALUES (:name, :status, :created, :decision)",
                [
                    {"name": name, "status": state.status, "created": created_at, "decision": number}
                    for name, _ in names
                ],
            )


def _unlink(transaction: Transaction, number: int) -> None:
    transaction.run("DELETE FROM decision_tags WHERE decision_id = :id", {"id": number})
    transaction.run("DELETE FROM decision_scopes WHERE decision_id = :id", {"id": number})


def counted(state: State) -> list[tuple[int, int, int]]:
    """Return the entries of a state in ``decision_counts``: dimension, name and status."""
    names = [(_PROJECT, 0), (_LAYER, _number(state.layer) or 0)]
    names += [(_TAG, number) for number, _ in state.tags]
    names += [(_SCOPE, number) for number, _ in state.scopes]
    return [(dimension, number, state.status) for dimension, number in names]


def _count(transaction: Transaction, project_id: int, changes: Sequence[tuple[State, int]]) -> None:
    totals: dict[tuple[int, int, int], int] = {}
    for state, amount in changes:
        for place in counted(state):
            totals[place] = totals.get(place, 0) + amount
    transaction.many(
        """
        INSERT INTO decision_counts (project_id, dimension, name_id, status, decisions)
        VALUES (:project, :dimension, :name, :status, :amount)
        ON CONFLICT (project_id, dimension, name_id, status)
        DO UPDATE SET decisions = decision_counts.decisions + excluded.decisions
        """,
        [
            {"project": project_id, "dimension": dimension, "name": name, "status": status, "amount": amount}
            for (dimension, name, status), amount in totals.items()
            if amount
        ],
    )


def bands_of(project_id: int, key: str, value: Value) -> likeness.Bands:
    return likeness.key_bands(project_id, likeness.words_of(key)) + value_bands(project_id, value)


def value_bands(project_id: int, value: Value) -> likeness.Bands:
    """Return the bands of a decision's value; a number has none."""
    return likeness.text_bands(project_id, likeness.words_of(value)) if isinstance(value, str) else likeness.NO_BANDS

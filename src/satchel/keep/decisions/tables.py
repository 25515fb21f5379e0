"""Writes of decisions to their tables: row, history, names, counts, bands and document."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.records import replace
from satchel.base.text import fold
from satchel.find import documents, likeness
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.keep.decisions.records import STATUSES, Decision, Value, names_of, value_of
from satchel.keep.fields import EMPTY
from satchel.keep.names import ensure_name
from satchel.keep.paths import globs_in, text_of
from satchel.keep.texts import to_json
from satchel.store.transaction import Transaction, set_of, update_row

if TYPE_CHECKING:
    from satchel.keep.decisions.updates import Setter


def create(transaction: Transaction, by: Setter, new: Decision, bands: likeness.Bands) -> Decision:
    """Insert a decision, and return it with its number."""
    project_id, agent = by.project_id, by.actor.number
    uid = os.urandom(16)
    seq = transaction.next_seq(project_id, documents=1)
    number = transaction.add(
        "decisions",
        {
            "uid": uid,
            "seq": seq,
            "project_id": project_id,
            "key": new.key,
            "revision": new.revision,
            "agent_id": agent,
            "created_at": new.created_at,
            "updated_at": new.updated_at,
            "session_id": by.actor.session,
            "layer_id": _layer_number(transaction, project_id, new),
            **_columns(new),
        },
    )
    made = replace(new, id=number, uid=uid.hex(), seq=seq)
    _link(transaction, project_id, made)
    _count(transaction, [number], 1)
    likeness.remember(transaction, project_id, Kind.DECISION, number, bands.recorded)
    documents.add(transaction, _document(project_id, made, agent))
    return made


_KEEP_STATE = """
    INSERT INTO decision_history (
        uid, seq, project_id, decision_id, tags, scopes, created_at, revision, set_at, agent_id, session_id, layer_id,
        value_text, value_number, version, status, rationale, paths, metadata
    )
    SELECT :uid, :seq, project_id, id, :tags, :scopes, :now, revision, updated_at, agent_id, session_id, layer_id,
        :value_text, :value_number, :version, :status, :rationale, :paths, :metadata
    FROM decisions WHERE id = :id
"""


def change(transaction: Transaction, by: Setter, before: Decision, wanted: Decision) -> Decision:
    """Change a decision's state; the previous one is added to the history."""
    project_id, agent = by.project_id, by.actor.number
    wanted = replace(wanted, agent=by.actor.name, updated_at=by.now)
    seq = transaction.next_seq(project_id, 2) + 1
    tags, scopes = (json.dumps(names, ensure_ascii=False) for names in (before.tags, before.scopes))
    values = {"uid": os.urandom(16), "seq": seq - 1, "now": wanted.updated_at, "id": before.id}
    # not copied from the row, since a damaged text must be refused
    transaction.run(_KEEP_STATE, {**values, "tags": tags, "scopes": scopes, **_columns(before)})
    after = replace(wanted, seq=seq, revision=before.revision + 1)
    columns = {"seq": seq, "revision": after.revision, "agent_id": agent, "updated_at": after.updated_at}
    if after.layer != before.layer:
        columns["layer_id"] = _layer_number(transaction, project_id, after)
    has_other_names = (after.status, after.tags, after.scopes) != (before.status, before.tags, before.scopes)
    is_counted_elsewhere = has_other_names or after.layer != before.layer
    if is_counted_elsewhere:
        _count(transaction, [before.id], -1)
    update_row(transaction, "decisions", before.id, **columns, **_columns(after), session_id=by.actor.session)
    if has_other_names:
        for table in ("decision_tags", "decision_scopes"):
            transaction.run(f"DELETE FROM {table} WHERE decision_id = :id", {"id": before.id})
        _link(transaction, project_id, after)
    if is_counted_elsewhere:
        _count(transaction, [before.id], 1)
    if before.value != after.value:
        removed, added = (set(value_bands(project_id, value).recorded) for value in (before.value, after.value))
        likeness.forget(transaction, project_id, Kind.DECISION, before.id, removed - added)
        likeness.remember(transaction, project_id, Kind.DECISION, before.id, added - removed)
    documents.remove(transaction, Kind.DECISION, [before.id])
    documents.add(transaction, _document(project_id, after, agent), counts=True)
    return after


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    for number in withdraw(transaction, project_id, numbers):
        transaction.run("DELETE FROM decisions WHERE id = :id", {"id": number})
        documents.remove(transaction, Kind.DECISION, [number])


def enter(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Count decisions after their rows and names were written, and record their bands."""
    bands = _bands(transaction, project_id, numbers)
    _count(transaction, list(bands), 1)
    for number, of_decision in bands.items():
        likeness.remember(transaction, project_id, Kind.DECISION, number, of_decision.recorded)


def withdraw(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> list[int]:
    """Remove decisions from counts and bands before their rows change, and return the existing ones."""
    bands = _bands(transaction, project_id, numbers)
    _count(transaction, list(bands), -1)
    for number, of_decision in bands.items():
        likeness.forget(transaction, project_id, Kind.DECISION, number, of_decision.recorded)
    return list(bands)


def _bands(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> dict[int, likeness.Bands]:
    rows = transaction.all(
        "SELECT id, key, value_text, value_number FROM decisions "
        f"WHERE project_id = :project AND id IN {set_of(numbers)}",
        {"project": project_id},
    )
    return {number: bands_of(project_id, key, value_of(text, amount)) for number, key, text, amount in rows}


def _document(project_id: int, decision: Decision, agent: int | None) -> Document:
    text, number = _text_and_number(decision.value)
    paths, names = text_of(decision.paths), (*decision.tags, *decision.scopes)
    return Document(
        Kind.DECISION,
        decision.id,
        decision.seq,
        project_id,
        None,
        _searchable(decision.key, text, number, decision.rationale, decision.layer, paths, names),
        decision.updated_at,
        agent_id=agent,
        status=STATUSES.index(decision.status) + 1,
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
            names.setdefault(number, []).extend(of_decision)
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


def _text_and_number(value: Value) -> tuple[str | None, float | None]:
    return (value, None) if isinstance(value, str) else (None, float(value))


def metadata_text(decision: Decision) -> str:
    return to_json(dict(sorted(decision.metadata.items()))) if decision.metadata else EMPTY


def _columns(decision: Decision) -> dict[str, object]:
    text, number = _text_and_number(decision.value)
    return {
        "value_text": text,
        "value_number": number,
        "version": decision.version,
        "status": STATUSES.index(decision.status) + 1,
        "rationale": decision.rationale,
        "paths": text_of(decision.paths),
        "metadata": metadata_text(decision),
    }


def _layer_number(transaction: Transaction, project_id: int, decision: Decision) -> int | None:
    # the layer was checked or registered before
    layer, now = decision.layer, decision.updated_at
    return None if layer is None else ensure_name(transaction, "layers", project_id, layer, now)[0]


def _link(transaction: Transaction, project_id: int, decision: Decision) -> None:
    values = {
        "project": project_id,
        "status": STATUSES.index(decision.status) + 1,
        "created": decision.created_at,
        "decision": decision.id,
    }
    for name, names in (("tag", decision.tags), ("scope", decision.scopes)):
        if names:
            transaction.many(
                f"INSERT INTO decision_{name}s ({name}_id, status, created_at, decision_id) "
                f"SELECT id, :status, :created, :decision FROM {name}s WHERE project_id = :project AND folded = :name",
                [{**values, "name": fold(one)} for one in names],
            )


# in the dimensions of the whole project (0), a layer (1), a tag (2) and a scope (3)
_COUNT = """
    INSERT INTO decision_counts (project_id, dimension, name_id, status, decisions)
    SELECT d.project_id, n.dimension, n.name_id, d.status, :amount
    FROM decisions d CROSS JOIN (
        SELECT 0 AS dimension, 0 AS name_id
        UNION ALL SELECT 1, COALESCE(layer_id, 0) FROM decisions WHERE id = :id
        UNION ALL SELECT 2, tag_id FROM decision_tags WHERE decision_id = :id
        UNION ALL SELECT 3, scope_id FROM decision_scopes WHERE decision_id = :id
    ) AS n
    WHERE d.id = :id
    ON CONFLICT (project_id, dimension, name_id, status)
    DO UPDATE SET decisions = decision_counts.decisions + excluded.decisions
"""


def _count(transaction: Transaction, numbers: Sequence[int], amount: int) -> None:
    transaction.many(_COUNT, [{"id": number, "amount": amount} for number in numbers])


def bands_of(project_id: int, key: str, value: Value) -> likeness.Bands:
    return likeness.key_bands(project_id, likeness.words_of(key)) + value_bands(project_id, value)


def value_bands(project_id: int, value: Value) -> likeness.Bands:
    """Return the bands of a decision's value; a number has none."""
    return likeness.text_bands(project_id, likeness.words_of(value)) if isinstance(value, str) else likeness.NO_BANDS

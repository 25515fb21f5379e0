"""Writes of constraints and of their search documents."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.grouping import grouped
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.base.vocabulary import priority_number
from satchel.find import documents, near
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.constraints.records import ACTIVE, COLUMNS, INACTIVE, SOURCE, Constraint, constraint_of
from satchel.keep.corrections import log
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content
from satchel.store.transaction import Transaction, set_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked constraint, ready to be stored."""

    text: str
    category: str
    priority: int
    layer: str | None
    tags: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(
    text: object, category: object, priority: object, layer: object, tags: object, workplace: Workplace
) -> Prepared:
    """Check a constraint and make its text storable."""
    content = check_content(text, "text", workplace.max_content_bytes)
    return Prepared(
        text=content.text,
        category=names.check_identifier(category, "category"),
        priority=priority_number(priority),
        layer=None if layer is None else names.check_identifier(layer, "layer"),
        tags=names.check_names(tags, "tags"),
        notes=content.notes,
    )


def insert(
    transaction: Transaction,
    workplace: Workplace,
    project_id: int,
    agent: int | None,
    new: Prepared,
    now: int,
) -> int:
    """Insert a constraint with its names, tags and document."""
    layer: tuple[int | None, str | None] = (None, None)
    if new.layer is not None:
        layer = names.ensure_layer(transaction, workplace, project_id, new.layer, now)
    category, category_name = names.ensure_name(transaction, "categories", project_id, new.category, now)
    tags = [names.ensure_name(transaction, "tags", project_id, tag, now) for tag in new.tags]
    seq = transaction.next_seq(project_id, documents=1)
    number = transaction.add(
        "constraints",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "category_id": category,
            "text": new.text,
            "priority": new.priority,
            "layer_id": layer[0],
            "created_by": agent,
            "created_at": now,
        },
    )
    transaction.many(
        "INSERT INTO constraint_tags (tag_id, constraint_id) VALUES (:tag, :constraint)",
        [{"tag": tag, "constraint": number} for tag, _ in tags],
    )
    tag_names = tuple(sorted((name for _, name in tags), key=fold))
    text = _searchable(new.text, category_name, layer[1], tag_names)
    documents.add(transaction, Document(Kind.CONSTRAINT, number, seq, project_id, None, text, now, agent_id=agent))
    return number


def notes_on_similar(transaction: Transaction, project_id: int, text: str, old: int | None = None) -> tuple[str, ...]:
    """Return notes on active constraints similar to a new one, except ``old``, best first."""
    alike = near.by_search(transaction, project_id, Kind.CONSTRAINT, text, _active_texts)
    return tuple(one.note(Kind.CONSTRAINT) for one in alike if one.item != old)


def _active_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    return dict(transaction.all(f"SELECT id, text FROM constraints WHERE active = 1 AND id IN {set_of(numbers)}"))


def shown_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """Return the texts of constraints by number, without the searchable category, layer and tags."""
    return dict(transaction.all(f"SELECT id, text FROM constraints WHERE id IN {set_of(numbers)}"))


def end(
    transaction: Transaction, project_id: int, number: int, reason: str | None, agent: int | None, now: int
) -> None:
    """Deactivate a constraint."""
    seq = transaction.next_seq(project_id)
    transaction.run(
        """
        UPDATE constraints
        SET active = 0, reason = :reason, deactivated_by = :agent, deactivated_at = :now, seq = :seq
        WHERE project_id = :project AND id = :id
        """,
        {"reason": reason, "agent": agent, "now": now, "seq": seq, "project": project_id, "id": number},
    )
    documents.set_status(transaction, Kind.CONSTRAINT, [(number, seq)], INACTIVE)


def revive(transaction: Transaction, project_id: int, number: int) -> None:
    """Activate a constraint again."""
    seq = transaction.next_seq(project_id)
    transaction.run(
        """
        UPDATE constraints SET active = 1, reason = NULL, deactivated_by = NULL, deactivated_at = NULL, seq = :seq
        WHERE project_id = :project AND id = :id
        """,
        {"seq": seq, "project": project_id, "id": number},
    )
    documents.set_status(transaction, Kind.CONSTRAINT, [(number, seq)], ACTIVE)


def load(transaction: Transaction, project_id: int, number: int, *, notes: tuple[str, ...] = ()) -> Constraint | None:
    """Return a constraint, or None."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    if row is None:
        return None
    return constraint_of(row, tags_of(transaction, [number]).get(number, ()), notes=notes)


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Delete constraints with their tags and documents."""
    transaction.many(
        "DELETE FROM constraints WHERE project_id = :project AND id = :id",
        [{"project": project_id, "id": number} for number in numbers],
    )
    documents.remove(transaction, Kind.CONSTRAINT, numbers)
    log.forget(transaction, Kind.CONSTRAINT, numbers)


def tags_of(transaction: Transaction, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the sorted tags of constraints by number."""
    rows = transaction.all(
        f"""
        SELECT j.constraint_id, n.name FROM constraint_tags j JOIN tags n ON n.id = j.tag_id
        WHERE j.constraint_id IN {set_of(numbers)} ORDER BY n.folded
        """
    )
    by_constraint: dict[int, list[str]] = grouped(rows)
    return {number: tuple(tags) for number, tags in by_constraint.items()}


def _searchable(text: str, category: str, layer: str | None, tags: Sequence[str] = ()) -> str:
    return "\n".join((text, " ".join((category, *([layer] if layer else []), *tags))))


DOCUMENTS = documents.Source(
    Kind.CONSTRAINT,
    "text, (SELECT g.name FROM categories g WHERE g.id = category_id), "
    "(SELECT y.name FROM layers y WHERE y.id = layer_id)",
    _searchable,
    also=tags_of,
    agent_id="created_by",
    status=f"CASE WHEN active = 1 THEN {ACTIVE} ELSE {INACTIVE} END",
)

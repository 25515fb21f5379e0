"""Writing constraints, and what the search documents knows of them."""

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
    """A constraint that passed every check and is ready to be stored as it is."""

    text: str
    category: str
    priority: int
    layer: str | None
    tags: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(
    text: object, category: object, priority: object, layer: object, tags: object, workplace: Workplace
) -> Prepared:
    """Check a constraint and make its text storable, before anything is written.

    Raises:
        InvalidInput: an empty text, an unknown priority, or a category, layer or tag that is no name.
        TooLarge: the text exceeds the configured size.
    """
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
    """Store a constraint with its names, its tags and its document.

    Args:
        now: when it was added, in milliseconds UTC.

    Returns:
        Its number.

    Raises:
        InvalidInput: there is no such layer.
    """
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
    shown = tuple(sorted((name for _, name in tags), key=fold))
    text = _searchable(new.text, category_name, layer[1], shown)
    documents.add(transaction, Document(Kind.CONSTRAINT, number, seq, project_id, None, text, now, agent_id=agent))
    return number


def notes_on_similar(transaction: Transaction, project_id: int, text: str, old: int | None = None) -> tuple[str, ...]:
    """Say which constraints that hold, but for ``old``, say nearly the same as a new one, the most alike first."""
    found = near.by_search(transaction, project_id, Kind.CONSTRAINT, text, _active_texts)
    return tuple(one.note(Kind.CONSTRAINT) for one in found if one.item != old)


def _active_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    return dict(transaction.all(f"SELECT id, text FROM constraints WHERE active = 1 AND id IN {set_of(numbers)}"))


def shown_texts(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """Return the texts of constraints by their numbers, without the category, layer and tags that a search finds."""
    return dict(transaction.all(f"SELECT id, text FROM constraints WHERE id IN {set_of(numbers)}"))


def end(
    transaction: Transaction, project_id: int, number: int, reason: str | None, agent: int | None, now: int
) -> None:
    """Record that a constraint does not hold any more.

    Args:
        now: since when, in milliseconds UTC.
    """
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
    """Record that a constraint holds again."""
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
    """Return one constraint, or None where the project has no such one.

    Args:
        notes: what the writer should know.
    """
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    if row is None:
        return None
    return constraint_of(row, tags_of(transaction, [number]).get(number, ()), notes=notes)


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Remove constraints with their tags and documents."""
    transaction.many(
        "DELETE FROM constraints WHERE project_id = :project AND id = :id",
        [{"project": project_id, "id": number} for number in numbers],
    )
    documents.remove(transaction, Kind.CONSTRAINT, numbers)
    log.forget(transaction, Kind.CONSTRAINT, numbers)


def tags_of(transaction: Transaction, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the tags of constraints, sorted, by their numbers; those that have none are left out."""
    rows = transaction.all(
        f"""
        SELECT j.constraint_id, n.name FROM constraint_tags j JOIN tags n ON n.id = j.tag_id
        WHERE j.constraint_id IN {set_of(numbers)} ORDER BY n.folded
        """
    )
    found: dict[int, list[str]] = grouped(rows)
    return {number: tuple(tags) for number, tags in found.items()}


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

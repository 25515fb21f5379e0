"""Functions derived from the declaration of a kind: checks, records, inserts, deletions, search documents and lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.base.records import NamedTuple, field_names
from satchel.base.text import fold
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.keep import names, projects
from satchel.keep.corrections import log
from satchel.keep.fields import BORN, TIME, Check, Field
from satchel.keep.kind import ItemKind, Part, Record
from satchel.keep.listing import Filter, Listing, Order, View
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting, persons_gate
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Row, Transaction, grouped, set_of

if TYPE_CHECKING:
    from satchel.keep.messages.visibility import Reader


class Checked(NamedTuple):
    values: dict[str, Any]
    notes: tuple[str, ...]


class _Context:
    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        self.notes: list[str] = []


def check(kind: ItemKind[Any], workplace: Workplace, **arguments: object) -> Checked:
    """Check the arguments for a new item and make its texts storable, before anything is written."""
    context = _Context(workplace)
    plan = _plan(kind)
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in plan.writes:
            one, check_one = plan.writes[name]
            values[name] = None if value is None and not one.required else check_one(value, context, name)
        else:
            check_one = plan.lists[name][1]
            values[name] = tuple([check_one(one, context, name) for one in names.check_names(value, name)])
    return Checked(values, tuple(dict.fromkeys(context.notes)))


def insert(
    kind: ItemKind[Record],
    transaction: Transaction,
    workplace: Workplace,
    project_id: int,
    new: Checked,
    now: int,
    agent: int | None,
    notes: tuple[str, ...] = (),
    **columns: object,
) -> Record:
    """Insert an item of an author with its names, lists and search document; ``columns`` are further ones."""
    plan = _plan(kind)
    row: dict[str, Any] = {kind.document["agent_id"]: agent, **dict.fromkeys(plan.times, now), **columns}
    lists: list[tuple[str, Sequence[object]]] = []
    for name, value in new.values.items():
        if name in plan.lists:
            part = plan.lists[name][0]
            column, store = part.fields[0].column_name, part.fields[0].codec.store
            stored = value if store is None else [store(transaction, workplace, project_id, one, now) for one in value]
            lists.append((f"INSERT INTO {part.table} ({column}, {part.owner}) VALUES (:value, :owner)", stored))
        elif value is not None:
            written = plan.writes[name][0]
            store = written.codec.store
            row[written.column_name] = value if store is None else store(transaction, workplace, project_id, value, now)
    seq = transaction.next_seq(project_id, documents=1)
    row = {"uid": os.urandom(16), "seq": seq, "project_id": project_id, **row}
    number = transaction.add(kind.table, row)
    for sql, listed_values in lists:
        transaction.many(sql, [{"value": value, "owner": number} for value in listed_values])
    record = load(kind, transaction, project_id, number, notes)
    assert record is not None
    text = _searchable(
        kind, *[getattr(record, name, None) or new.values.get(name) for name in (*kind.text, *kind.words)]
    )
    documents.add(transaction, plan.source.document({"id": number, **row}, text))
    return record


def add(
    kind: ItemKind[Record],
    workplace: Workplace,
    new: Checked,
    *,
    agent: str | None,
    supersedes: str | int | None,
    similar: Callable[[Transaction, int, int | None], tuple[str, ...]],
    end: Callable[[log.Corrector, int, int], None],
    own: Callable[[Transaction, int, Actor, int | None, int], tuple[dict[str, object], tuple[str, ...]]] | None = None,
) -> Record:
    """Add an item of a kind with corrections, and replace another; ``own`` returns further columns and notes."""
    old = None if supersedes is None else kind.kind.number_of(supersedes)
    agent = names.check_agent(workplace, agent)
    similar_notes = projects.looked_up(workplace, lambda transaction, project: similar(transaction, project, old))
    with projects.writing(workplace) as (transaction, project, now):
        actor = acting(transaction, workplace, project.id, agent, now)
        gate = persons_gate(transaction, workplace, project.id, agent, now)
        corrector = log.Corrector(transaction, project.id, actor.number, actor.session, gate, now)
        if old is not None:
            log.check_replaceable(corrector, (kind.kind, old))
        columns, own_notes = ({}, ()) if own is None else own(transaction, project.id, actor, old, now)
        notes = (*new.notes, *own_notes, *log.replaced_note(kind.kind, [] if old is None else [old]), *similar_notes)
        record = insert(kind, transaction, workplace, project.id, new, now, actor.number, notes, **columns)
        if old is not None:
            end(corrector, old, record.id)
            log.record(corrector, log.SUPERSEDED, (kind.kind, old), heir=record.id)
    return record


def load(
    kind: ItemKind[Record], transaction: Transaction, project_id: int, number: int, notes: tuple[str, ...] = ()
) -> Record | None:
    row = transaction.one(_plan(kind).select, {"project": project_id, "id": number})
    return None if row is None else records(kind, transaction, [row], notes=notes)[0]


def records(
    kind: ItemKind[Record],
    transaction: Transaction,
    rows: Sequence[Row],
    scores: Mapping[int, float] | None = None,
    notes: tuple[str, ...] = (),
) -> tuple[Record, ...]:
    """Build records from rows of the kind's columns; ``scores`` are those of a search, by number."""
    plan, make = _plan(kind), kind.record
    assert make is not None
    lists = (
        [(place, _lists(transaction, part, [row[0] for row in rows])) for place, part in plan.places] if rows else []
    )
    built = []
    for row in rows:
        values: list[Any] = list(row[: plan.width])
        for place, decode in plan.decoders:
            if values[place] is not None:
                values[place] = decode(values[place])
        for place, listed in lists:
            values[place] = listed.get(row[0], ())
        built.append(make(*values, scores.get(row[0]) if scores else None, notes))
    return tuple(built)


def _lists(transaction: Transaction, part: Part, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    rows = transaction.all(
        f"SELECT i.{part.owner}, {part.fields[0].expression} FROM {part.table} i "
        f"WHERE i.{part.owner} IN {set_of(numbers)}"
    )
    by_owner: dict[int, list[str]] = grouped(rows)
    return {owner: tuple(sorted(listed, key=fold)) for owner, listed in by_owner.items()}


class _Plan(NamedTuple):
    """Cached plan of a kind.

    Attributes:
        columns: the SELECT list of its records, in their order, with NULL for lists.
        decoders: places of columns with what decodes them.
        times: the columns of times that every item has, which a new one begins with.
        writes, lists: the fields and lists that a service takes, each with what checks a value.
    """

    columns: str
    select: str
    width: int
    decoders: tuple[tuple[int, Callable[[Any], Any]], ...]
    places: tuple[tuple[int, Part], ...]
    times: tuple[str, ...]
    writes: dict[str, tuple[Field, Check]]
    lists: dict[str, tuple[Part, Check]]
    source: documents.Source


_PLANS: dict[Kind, _Plan] = {}


def _plan(kind: ItemKind[Any]) -> _Plan:
    plan = _PLANS.get(kind.kind)
    if plan is None:
        plan = _PLANS[kind.kind] = _make_plan(kind)
    return plan


def _make_plan(kind: ItemKind[Any]) -> _Plan:
    names_of = field_names(kind.record) or ()
    attributes = names_of[: names_of.index("score")]
    fields = {field.attribute or field.name: field for field in kind.fields}
    parts = {part.name: part for part in kind.parts}
    columns = ", ".join(
        "NULL" if name in parts else fields[name].selection if name in fields else f"i.{name}" for name in attributes
    )
    decoders: list[tuple[int, Any]] = [
        (place, bytes.hex if name == "uid" else decode)
        for place, name in enumerate(attributes)
        if name == "uid" or (name in fields and (decode := fields[name].codec.decode) is not None)
    ]
    return _Plan(
        columns,
        f"SELECT {columns} FROM {kind.table} i WHERE i.project_id = :project AND i.id = :id",
        len(attributes),
        tuple(decoders),
        tuple((place, parts[name]) for place, name in enumerate(attributes) if name in parts),
        tuple(field.column_name for field in kind.fields if field.required and field.codec in {BORN, TIME}),
        {field.name: (field, check) for field in kind.fields if (check := field.codec.check) is not None},
        {part.name: (part, check) for part in kind.parts if (check := part.fields[0].codec.check) is not None},
        _source(kind),
    )


def _searchable(kind: ItemKind[Any], *values: Any) -> str:
    count = len(kind.text)
    words = [
        word for value in values[count:] if value is not None for word in ([value] if isinstance(value, str) else value)
    ]
    return "\n".join([*filter(None, values[:count]), *([" ".join(words)] if words else [])])


def _source(kind: ItemKind[Any]) -> documents.Source:
    fields = {field.name: field for field in kind.fields}
    texts = [fields[name].expression for name in (*kind.text, *kind.words) if name in fields]
    listed = [one for one in kind.parts if one.name in kind.words]

    def lists(transaction: Transaction, numbers: Sequence[int]) -> dict[int, list[str]]:
        words: dict[int, list[str]] = {}
        for part in listed:
            for number, of_item in _lists(transaction, part, numbers).items():
                words.setdefault(number, []).extend(of_item)
        return words

    columns = dict(kind.document)
    if kind.kind.live is not None:
        columns["status"] = f"CASE WHEN {kind.kind.live} THEN {LIVE} ELSE {SUPERSEDED} END"
    if kind.expires:
        columns["expires_at"] = "expires_at"
    searchable = partial(_searchable, kind)
    return documents.Source(kind.kind, ", ".join(texts), searchable, also=lists if listed else None, **columns)


def texts(kind: ItemKind[Any], transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    """Return the searchable texts of items by number, without those that no longer exist."""
    return (kind.source or _plan(kind).source).texts(transaction, numbers)


def display_texts(kind: ItemKind[Any], transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    return texts(kind, transaction, numbers) if kind.display_texts is None else kind.display_texts(transaction, numbers)


def load_documents(kind: ItemKind[Any], transaction: Transaction, after: int, most: int) -> list[Document]:
    """Return the search documents of the next items after a number, in order."""
    return (kind.source or _plan(kind).source).load(transaction, after, most)


def open_item(kind: ItemKind[Any], transaction: Transaction, reader: Reader, number: int) -> object:
    if kind.open is not None:
        return kind.open(transaction, reader, number)
    return load(kind, transaction, reader.project_id, number)


def delete(kind: ItemKind[Any], transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Delete items with their lists, corrections and documents; what they replaced goes to their replacement."""
    if kind.delete is not None:
        kind.delete(transaction, project_id, numbers)
        return
    if any(field.name == "superseded_by" for field in kind.fields):
        from satchel.keep import replacing  # imported here: only a deletion needs it

        for number in numbers:
            replacing.hand_on(transaction, project_id, kind.kind, number)
    rows = transaction.all(
        f"DELETE FROM {kind.table} WHERE project_id = :project AND id IN {set_of(numbers)} RETURNING id",
        {"project": project_id},
    )
    deleted = [number for (number,) in rows]
    documents.remove(transaction, kind.kind, deleted)
    if kind.kind.text is not None:
        log.forget(transaction, kind.kind, deleted)


def listing(
    kind: ItemKind[Record],
    filters: tuple[Filter, ...],
    usual: Order | None = None,
    *,
    in_run: bool = False,
    begin: Callable[[View], None] | None = None,
    finish: Callable[[View, str], None] | None = None,
) -> Listing[Record]:
    return Listing(
        kind=kind.kind,
        table=f"{kind.table} i",
        columns=_plan(kind).columns,
        source=f"{kind.table} i",
        make=lambda view, rows: records(kind, view.transaction, rows, view.scores),
        filters=filters,
        usual=usual,
        changed=tuple(field.column_name for field in kind.fields if field.codec in {BORN, TIME}),
        expires=kind.expires,
        in_run=in_run,
        begin=begin,
        finish=finish,
    )

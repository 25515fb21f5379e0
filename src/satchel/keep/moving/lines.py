"""Export lines of a project's items, and the digests that compare them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from satchel.base.errors import StoreDamaged
from satchel.base.records import dataclass
from satchel.keep.fields import FILL, MAX, MIN, SOFT, Field
from satchel.keep.kind import Line, LineKind, Part
from satchel.keep.moving import marks
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.records import KindLines
from satchel.store.damage import is_damaged
from satchel.store.transaction import Row, Transaction, first_number, put_rows, set_of, update_row

SCHEMA = 1  # the schema version that this program writes, and the latest one it reads

HEADER = "satchel"  # the kind of a file's first line

DIGEST_BYTES = 16
_PER_PAGE = 500


def lines_of(transaction: Transaction, project_id: int, kind: str, numbers: Sequence[int]) -> dict[int, Line]:
    """Return the lines of items by id, without those that no longer exist; refuse damaged ones."""
    plan = _plan(kind)
    rows = transaction.all(
        f"{plan.select} WHERE i.project_id = :project AND i.id IN {set_of(numbers)} ORDER BY i.id",
        {"project": project_id},
    )
    damaged: list[str] = []
    lines = _lines(transaction, plan, rows, damaged)
    if damaged:
        raise StoreDamaged(
            f"{damaged[0]} holds damaged text, which is neither shared nor merged",
            "`satchel forget` removes it by its id, `satchel restore` goes back to a backup",
        )
    return lines


def all_lines(
    transaction: Transaction,
    project_id: int,
    now: int = 0,
    kinds: Sequence[str] = tuple(LINE_KINDS),
    *,
    damaged: list[str],
) -> Iterator[Line]:
    """Yield a line for each unexpired item of a project, oldest first; damaged items are named in ``damaged``."""
    for kind in kinds:
        if kind == marks.DELIVERY:
            yield from marks.window_lines(transaction, project_id)
            continue
        plan = _plan(kind)
        where, values = _condition(plan.kind, project_id, now)
        values["after"] = 0
        where += " AND i.id > :after"
        while rows := transaction.all(f"{plan.select} WHERE {where} ORDER BY i.id LIMIT {_PER_PAGE}", values):
            yield from _lines(transaction, plan, rows, damaged).values()
            values["after"] = rows[-1][0]


def _condition(kind: LineKind, project_id: int, now: int) -> tuple[str, dict[str, Any]]:
    # the plus keeps the table's own order
    where, values = "+i.project_id = :project", {"project": project_id}
    if kind.predefined:
        where += f" AND i.folded NOT IN ({', '.join(map(repr, kind.predefined))})"
    if kind.expires:
        where += " AND i.expires_at > :now"
        values["now"] = now
    return where, values


def count(transaction: Transaction, project_id: int, now: int, kinds: Sequence[str] = tuple(LINE_KINDS)) -> int:
    """Return the approximate number of lines :func:`all_lines` yields: windows without deliveries count too."""
    total = 0
    for kind in kinds:
        where, values = _condition(LINE_KINDS[kind], project_id, now)
        total += first_number(transaction, f"SELECT count(*) FROM {LINE_KINDS[kind].table} i WHERE {where}", values)
    return total


def digest(line: Line) -> bytes:
    """Return a digest of an item's content, without ids and what is merged without a conflict, such as counters."""
    return _hash(line, _plan(line["kind"]).apart)


class Tally:
    """Numbers of lines and digests by kind, the same wherever the items are; short ids do not count."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[int, blake2b]] = {}

    def add(self, line: Line) -> None:
        lines, digest = self._kinds.get(line["kind"]) or (0, blake2b(digest_size=DIGEST_BYTES))
        content = {name: value for name, value in line.items() if name != "id"}
        digest.update(_encode(content).encode("utf-8", "surrogatepass"))
        self._kinds[line["kind"]] = lines + 1, digest

    def result(self) -> tuple[KindLines, ...]:
        return tuple(KindLines(kind, lines, digest.hexdigest()) for kind, (lines, digest) in self._kinds.items())


def has_ignored_fields(line: Line) -> bool:
    """Return whether a line has fields that :func:`digest` leaves out, so that :func:`whole_digest` differs."""
    return not _plan(line["kind"]).ignored.isdisjoint(line)


def whole_digest(line: Line) -> bytes:
    """Return a digest of a whole line except its ids; equal to :func:`digest` if it has no other fields."""
    return _hash(line, _IDS)


def core_digest(line: Line) -> bytes:
    """Return a digest of an item's content without the soft fields, which may differ without a conflict."""
    plan = _plan(line["kind"])
    return _hash(line, plan.apart | plan.soft)


_IDS = frozenset({"id", "uid", "seq"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def _hash(line: Line, without: frozenset[str]) -> bytes:
    # missing fields and the order of names do not matter
    content = {name: value for name, value in line.items() if value is not None and value != [] and name not in without}
    for name in _plan(line["kind"]).sets:
        if isinstance(content.get(name), list):
            content[name] = sorted(content[name], key=str)
    return blake2b(_encode(content).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def rank_of(line: Line) -> tuple[str, ...]:
    """Return the key that orders two states of an item by age; equal ranks are ordered by digest."""
    return tuple(str(line.get(name) or "") for name in LINE_KINDS[line["kind"]].rank)


_Shows = tuple[tuple[str, Callable[[Any], Any] | None], ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Cached reading plan of a kind.

    Attributes:
        apart: the names that a digest leaves out; ``soft``: those a core digest also leaves out.
        sets: unordered lists of names.
        ignored: the names in ``apart`` that are not ids.
    """

    kind: LineKind
    select: str
    shows: _Shows
    apart: frozenset[str]
    soft: frozenset[str]
    sets: tuple[str, ...]
    ignored: frozenset[str]


@cache
def _plan(name: str) -> _Plan:
    kind = LINE_KINDS[name]
    columns = ", ".join(field.expression for field in kind.fields)
    apart = {field.name for field in kind.fields if field.merge in {MAX, MIN}}
    apart |= {part.name for part in kind.parts if not part.is_own}
    return _Plan(
        kind,
        f"SELECT i.id, i.uid, {'i.seq' if kind.has_seq else 'NULL'}, {columns} FROM {kind.table} i",
        _shows(kind.fields),
        frozenset(apart | _IDS),
        frozenset(field.name for field in kind.fields if field.merge in {SOFT, FILL}),
        tuple(part.name for part in kind.parts if part.is_own and not part.is_single),
        frozenset(apart),
    )


def _shows(fields: Sequence[Field]) -> _Shows:
    return tuple((field.name, field.codec.show) for field in fields for _ in range(field.either))


def _show(shows: _Shows, values: Sequence[Any], line: Line) -> Line:
    for (name, show), value in zip(shows, values, strict=False):
        if value is not None:
            rendered = value if show is None else show(value)
            if rendered is not None:
                line[name] = rendered
    return line


def _lines(transaction: Transaction, plan: _Plan, rows: Sequence[Row], damaged: list[str]) -> dict[int, Line]:
    kind = plan.kind
    spoiled = {row[0] for row in rows if is_damaged(row)}
    by_number: dict[int, Line] = {}
    for number, uid, seq, *values in rows:
        if number in spoiled:
            continue
        line: Line = {"kind": kind.name, "uid": uid.hex()}
        if kind.letter:
            line["id"] = f"{kind.letter}{number}"
        if seq is not None:
            line["seq"] = seq
        _show(plan.shows, values, line)
        if kind.finish is not None:
            kind.finish(line)
        by_number[number] = line
    if by_number:
        numbers = set_of(by_number)
        for part in kind.parts:
            for owner, listed in _parts(transaction, part, numbers, spoiled).items():
                by_number[owner][part.name] = listed[0] if part.is_single else listed
        for number, field, target in transaction.all(
            f"SELECT item_id, field, target FROM unresolved_links WHERE kind = :kind AND item_id IN {numbers}",
            {"kind": kind.name},
        ):
            by_number[number][field] = target.hex()
    damaged += [f"{kind.letter or f'{kind.name} '}{number}" for number in sorted(spoiled)]
    return {number: line for number, line in by_number.items() if number not in spoiled}


def _parts(transaction: Transaction, part: Part, owners: str, spoiled: set[int]) -> dict[int, list[Any]]:
    columns = ", ".join(field.expression for field in part.fields)
    own = "i.id" if part.parts else "NULL"
    order = "o" if part.order == "1" else part.order
    first = "" if order != "o" else f", lower({part.fields[0].expression}) AS o"
    rows = transaction.all(
        f"SELECT i.{part.owner}, {own}, {columns}{first} FROM {part.table} i "
        f"WHERE i.{part.owner} IN {owners} ORDER BY i.{part.owner}, {order}"
    )
    shows = _shows(part.fields)
    by_owner: dict[int, list[Any]] = {}
    by_number: dict[int, Line] = {}
    for owner, number, *values in rows:
        if is_damaged(values):
            spoiled.add(owner)
            continue
        rendered = _show(shows, values, {})
        by_number[number] = rendered
        by_owner.setdefault(owner, []).append(rendered if len(part.fields) > 1 else next(iter(rendered.values()), None))
    if by_number and part.parts:
        inside = set_of(by_number)
        owner_of = {number: owner for owner, number, *_ in rows}
        for inner in part.parts:
            spoiled_parts: set[int] = set()
            for number, listed in _parts(transaction, inner, inside, spoiled_parts).items():
                by_number[number][inner.name] = listed
            spoiled |= {owner_of[number] for number in spoiled_parts}
    return by_owner


Unresolved = tuple[int, str, bytes]  # a waiting link: the item's id, the field, and the uid of the target


def unresolved_links(
    kind: LineKind, number: int, uid: bytes, columns: dict[str, Any], links: Iterable[tuple[str, bytes]]
) -> list[Unresolved]:
    """Return the links of an item that wait; one marked ``is_own`` points at the item itself until then."""
    own = [field for name, _ in links if (field := kind.field(name)).is_own]
    columns.update({field.column_name: number for field in own})
    return [(number, name, target) for name, target in links if target != uid]


def record_links(
    transaction: Transaction,
    project_id: int,
    kind: LineKind,
    waiting: Sequence[Unresolved],
    arrived: Mapping[bytes, int],
) -> None:
    """Record waiting links of items of a kind, and resolve those to items of the kind that arrived, by uid."""
    put_rows(
        transaction,
        "unresolved_links",
        ("kind", "item_id", "field"),
        [
            {"project_id": project_id, "kind": kind.name, "item_id": number, "field": name, "target": target}
            for number, name, target in waiting
        ],
    )
    if transaction.one("SELECT 1 FROM unresolved_links WHERE project_id = :project LIMIT 1", {"project": project_id}):
        _resolve(transaction, project_id, kind, arrived)


def _resolve(transaction: Transaction, project_id: int, arrived_kind: LineKind, arrived: Mapping[bytes, int]) -> None:
    waiting = transaction.all(
        f"SELECT kind, item_id, field, target FROM unresolved_links "
        f"WHERE project_id = :project AND target IN {set_of(arrived)}",
        {"project": project_id},
    )
    for name, item, field_name, target in waiting:
        kind = LINE_KINDS[name]
        field = kind.field(field_name)
        # skip fields of the same name that link to another table
        if f"FROM {arrived_kind.table} n" not in field.expression:
            continue
        update_row(transaction, kind.table, item, **{field.column_name: arrived[target]})
        transaction.run(
            "DELETE FROM unresolved_links WHERE kind = :kind AND item_id = :item AND field = :field",
            {"kind": name, "item": item, "field": field_name},
        )


def forget_links(transaction: Transaction, kind: LineKind, number: int) -> None:
    transaction.run(
        "DELETE FROM unresolved_links WHERE kind = :kind AND item_id = :id", {"kind": kind.name, "id": number}
    )

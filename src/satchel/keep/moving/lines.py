"""Lines of what a project keeps: JSON objects that another store takes, each with the uid of its item."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from satchel.base.records import dataclass
from satchel.keep.moving import windows
from satchel.keep.moving.fields import FILL, MAX, MIN, SOFT, Field, Line, Part
from satchel.keep.moving.kind import LineKind
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.store.transaction import Row, Transaction, set_of

SCHEMA = 1
"""The version of the lines that this program writes, and the latest that it reads."""

HEADER = "satchel"
"""The kind of the line that a file begins with."""

DIGEST_BYTES = 16
_PER_PAGE = 500


def lines_of(transaction: Transaction, project_id: int, kind: str, numbers: Sequence[int]) -> dict[int, Line]:
    """Return the lines of some items, by their numbers; those that are gone are left out."""
    plan = _plan(LINE_KINDS[kind])
    rows = transaction.all(
        f"{plan.select} WHERE i.project_id = :project AND i.id IN {set_of(numbers)} ORDER BY i.id",
        {"project": project_id},
    )
    return _lines(transaction, plan, rows)


def all_lines(
    transaction: Transaction, project_id: int, now: int = 0, kinds: Sequence[str] = tuple(LINE_KINDS)
) -> Iterator[Line]:
    """Yield a line for everything that a project keeps, kind by kind, in the order it came.

    Args:
        now: milliseconds UTC; what has expired by then is left out.
        kinds: which.
    """
    for kind in kinds:
        if kind == windows.NAME_OF_KIND:
            yield from windows.all_lines(transaction, project_id)
            continue
        plan = _plan(LINE_KINDS[kind])
        where, values = _chosen(plan.kind, project_id, now)
        values["after"] = 0
        where += " AND i.id > :after"
        while rows := transaction.all(f"{plan.select} WHERE {where} ORDER BY i.id LIMIT {_PER_PAGE}", values):
            yield from _lines(transaction, plan, rows).values()
            values["after"] = rows[-1][0]


def _chosen(kind: LineKind, project_id: int, now: int) -> tuple[str, dict[str, Any]]:
    """Return the condition on the rows that there are lines of, and its values."""
    # the plus keeps the order that of the table
    where, values = "+i.project_id = :project", {"project": project_id}
    if kind.given:
        where += f" AND i.folded NOT IN ({', '.join(map(repr, kind.given))})"
    if kind.expires:
        where += " AND i.expires_at > :now"
        values["now"] = now
    return where, values


def count(transaction: Transaction, project_id: int, now: int, kinds: Sequence[str] = tuple(LINE_KINDS)) -> int:
    """Return about how many lines :func:`all_lines` yields: a window counts though nothing was delivered in it."""
    total = 0
    for kind in kinds:
        where, values = _chosen(LINE_KINDS[kind], project_id, now)
        row = transaction.one(f"SELECT count(*) FROM {LINE_KINDS[kind].table} i WHERE {where}", values)
        total += row[0] if row else 0
    return total


def digest(line: Line) -> bytes:
    """Return a digest of what an item says: not its ids, nor what came to pass with it.

    What does not count is that of one clone alone, or is brought together from both sides without a question: counters,
    reads, sightings, histories.
    """
    plan = _plan(LINE_KINDS[line["kind"]])
    return _hash(line, plan.apart, plan)


def says_more(line: Line) -> bool:
    """Whether a line says more than :func:`digest` counts, so that it differs from :func:`whole_digest`."""
    return not _plan(LINE_KINDS[line["kind"]]).told.isdisjoint(line)


def whole_digest(line: Line) -> bytes:
    """Return a digest of all that a line says, but for the short id; that of :func:`digest` where no more is said."""
    plan = _plan(LINE_KINDS[line["kind"]])
    return _hash(line, _IDS, plan)


def core_digest(line: Line) -> bytes:
    """Return a digest of what an item says for good: not what may change without a conflict either, as its end may."""
    plan = _plan(LINE_KINDS[line["kind"]])
    return _hash(line, plan.apart | plan.soft, plan)


_IDS = frozenset({"id", "uid"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def _hash(line: Line, without: frozenset[str], plan: _Plan) -> bytes:
    # what is not said, and the order of names, make no difference
    said = {name: value for name, value in line.items() if value is not None and value != [] and name not in without}
    for name in plan.sets:
        if isinstance(said.get(name), list):
            said[name] = sorted(said[name], key=str)
    return blake2b(_encode(said).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def rank_of(line: Line) -> tuple[str, ...]:
    """Return what tells which of two states of an item is the later one; their digests decide between equals."""
    return tuple(str(line.get(name) or "") for name in LINE_KINDS[line["kind"]].rank)


_Shows = tuple[tuple[str, Callable[[Any], Any] | None], ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the lines of a kind are read: made once.

    Attributes:
        shows: of each field the name and what shows its value, or None.
        apart: the names that a digest leaves out; ``soft``: those that its core leaves out too.
        sets: those that list names, in no order.
        told: those of ``apart`` that are no ids.
    """

    kind: LineKind
    select: str
    shows: _Shows
    apart: frozenset[str]
    soft: frozenset[str]
    sets: tuple[str, ...]
    told: frozenset[str]


_PLANS: dict[str, _Plan] = {}


def _plan(kind: LineKind) -> _Plan:
    plan = _PLANS.get(kind.name)
    if plan is None:
        columns = ", ".join(field.read_from for field in kind.fields)
        apart = {field.name for field in kind.fields if field.merge in {MAX, MIN}}
        apart |= {part.name for part in kind.parts if not part.is_own}
        plan = _PLANS[kind.name] = _Plan(
            kind,
            f"SELECT i.id, i.uid, {columns} FROM {kind.table} i",
            _shows(kind.fields),
            frozenset(apart | _IDS),
            frozenset(field.name for field in kind.fields if field.merge in {SOFT, FILL}),
            tuple(part.name for part in kind.parts if part.is_own and not part.is_single),
            frozenset(apart),
        )
    return plan


def _shows(fields: Sequence[Field]) -> _Shows:
    return tuple((field.name, field.codec.show) for field in fields for _ in range(field.either))


def _show(shows: _Shows, values: Sequence[Any], line: Line) -> Line:
    """Put the values of a row into a line as they stand there, but for those that are none."""
    for (name, show), value in zip(shows, values, strict=False):
        if value is not None:
            shown = value if show is None else show(value)
            if shown is not None:
                line[name] = shown
    return line


def _lines(transaction: Transaction, plan: _Plan, rows: Sequence[Row]) -> dict[int, Line]:
    kind = plan.kind
    found: dict[int, Line] = {}
    for number, uid, *values in rows:
        line: Line = {"kind": kind.name, "uid": uid.hex()}
        if kind.letter:
            line["id"] = f"{kind.letter}{number}"
        _show(plan.shows, values, line)
        if kind.shown is not None:
            kind.shown(line)
        found[number] = line
    if not found:
        return found
    numbers = set_of(found)
    for part in kind.parts:
        for owner, listed in _parts(transaction, part, numbers).items():
            found[owner][part.name] = listed[0] if part.is_single else listed
    for number, field, target in transaction.all(
        f"SELECT item_id, field, target FROM unresolved_links WHERE kind = :kind AND item_id IN {numbers}",
        {"kind": kind.name},
    ):
        found[number][field] = target.hex()
    return found


def _parts(transaction: Transaction, part: Part, owners: str) -> dict[int, list[Any]]:
    columns = ", ".join(field.read_from for field in part.fields)
    own = "i.id" if part.parts else "NULL"
    order = "o" if part.order == "1" else part.order
    first = "" if order != "o" else f", lower({part.fields[0].read_from}) AS o"
    rows = transaction.all(
        f"SELECT i.{part.owner}, {own}, {columns}{first} FROM {part.table} i "
        f"WHERE i.{part.owner} IN {owners} ORDER BY i.{part.owner}, {order}"
    )
    shows = _shows(part.fields)
    found: dict[int, list[Any]] = {}
    by_number: dict[int, Line] = {}
    for owner, number, *values in rows:
        said = _show(shows, values, {})
        by_number[number] = said
        found.setdefault(owner, []).append(said if len(part.fields) > 1 else next(iter(said.values()), None))
    if by_number and part.parts:
        inside = set_of(by_number)
        for inner in part.parts:
            for number, listed in _parts(transaction, inner, inside).items():
                by_number[number][inner.name] = listed
    return found

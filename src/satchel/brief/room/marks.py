"""Marks of what a person has seen: kinds of changes, single ones, or everything, with an undo of the last."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import InvalidInput, NotFound, unknown_name
from satchel.base.records import NamedTuple
from satchel.brief.room.looking import Look
from satchel.brief.room.records import CHANGES
from satchel.find.kind import Kind, read_number
from satchel.keep.files.claiming import UNDO_MS
from satchel.keep.kinds import read_ref
from satchel.keep.moving.marks import ACTION, CORRECTION, EVERYTHING, FILES, HOOK, NOBODY, SOLUTION
from satchel.keep.patterns.records import SOLUTION_LETTER, solution_number
from satchel.keep.presence import find_agent_row

# The number of each of :data:`CHANGES` in the table.
OF_CHANGES = {
    "action": ACTION,
    "decision": Kind.DECISION.number,
    "rule": Kind.CONSTRAINT.number,
    "fix": SOLUTION,
    "files": FILES,
    "correction": CORRECTION,
}

# How many things are marked at once.
MOST_MARKED = 500

_FILES_OF, _EVERYTHING = "files:", "everything:"

# Refs with a number: what they name, its kind, and its table and column.
_NUMBERED = {
    "correction": ("a correction", CORRECTION, "corrections", "id"),
    "hook": ("a fault of a hook", HOOK, "events", "seq"),
    "action": ("an action", ACTION, "events", "seq"),
}

# The item of the mark of everything before the last, for undoing that; exports leave it out, as no item has it.
_BEFORE = 1
_UNKNOWN_AUTHOR = "?"

_MARK = """
    INSERT INTO seen (project_id, person_id, kind, item_id, seq, created_at)
    VALUES (:project, :me, :kind, :item, :seq, :at)
    ON CONFLICT (person_id, kind, item_id) DO UPDATE SET
        created_at = excluded.created_at, seq = excluded.seq WHERE excluded.seq > seen.seq
"""


class Mark(NamedTuple):
    """The last change seen, and when, in milliseconds UTC; 0 for never."""

    seq: int
    seen_at: int


class _Thing(NamedTuple):
    kind: int
    item: int


def files_ref(agent: str | None) -> str:
    return f"{_FILES_OF}{_UNKNOWN_AUTHOR if agent is None else agent}"


def numbered_ref(name: str, number: int) -> str:
    """Return what marks a correction, a fault of a hook or an action as seen."""
    return f"{name}:{number}"


def marks(look: Look) -> dict[str, Mark]:
    """Return how far a person has seen each of :data:`CHANGES`, and everything as an empty name."""
    rows = look.rows("SELECT kind, seq, created_at FROM seen WHERE person_id = :me AND item_id = 0")
    by_kind = {kind: Mark(seq, at) for kind, seq, at in rows}
    never = Mark(0, 0)
    everything = by_kind.get(EVERYTHING, never)
    return {"": everything} | {name: max(everything, by_kind.get(OF_CHANGES[name], never)) for name in CHANGES}


def mark(look: Look, refs: Sequence[str], up_to: int) -> None:
    """Mark things as seen by a person with an id.

    ``refs`` are short ids, other refs of answers, or names of :data:`CHANGES`; none is everything.
    """
    things = [_thing(look, ref) for ref in refs] or [_Thing(EVERYTHING, 0)]
    before = marks(look)[""]
    rows = [(thing, up_to, look.now) for thing in things]
    if not refs and up_to > before.seq:
        rows.append((_Thing(EVERYTHING, _BEFORE), *before))
    look.transaction.many(
        _MARK,
        [{**look.values, "kind": thing.kind, "item": thing.item, "seq": seq, "at": at} for thing, seq, at in rows],
    )
    for thing in things:
        if thing.item == 0:
            # what an undo of everything shows again keeps its own mark
            kinds = [thing.kind] if thing.kind else [*OF_CHANGES.values()]
            look.transaction.run(
                f"DELETE FROM seen WHERE person_id = :me AND seq <= :seq AND kind IN ({', '.join(map(str, kinds))})"
                + (" AND item_id <> 0" if thing.kind else ""),
                {"me": look.number, "seq": up_to if thing.kind else before.seq},
            )


def everything_ref(seq: int) -> str:
    """Return what undoes the mark of everything up to a change."""
    return f"{_EVERYTHING}{seq}"


def unmark(look: Look, ref: str) -> bool:
    """Remove the mark of one thing, or restore the mark of everything before the last; return whether it had its own
    or, of everything, whether it is the last and less than 10 minutes old.
    """
    if ref.startswith(_EVERYTHING):
        return _restore_everything(look, read_number(ref.removeprefix(_EVERYTHING), "", "a change"))
    thing = _thing(look, ref)
    removed = look.transaction.execute(
        "DELETE FROM seen WHERE person_id = :me AND kind = :kind AND item_id = :item AND item_id <> 0",
        {"me": look.number, "kind": thing.kind, "item": thing.item},
    )
    return removed > 0


def _restore_everything(look: Look, seq: int) -> bool:
    of_everything = f"person_id = :me AND kind = {EVERYTHING}"
    before = look.rows(f"SELECT seq FROM seen WHERE {of_everything} AND item_id = {_BEFORE}")
    last = f"SELECT 1 FROM seen WHERE {of_everything} AND item_id = 0 AND seq = :seq AND created_at >= :after"
    if not before or not look.rows(last, seq=seq, after=look.now - UNDO_MS):
        return False
    dropped_items = "item_id = 0" if before[0][0] else f"item_id IN (0, {_BEFORE})"
    look.transaction.run(f"DELETE FROM seen WHERE {of_everything} AND {dropped_items}", look.values)
    look.transaction.run(f"UPDATE seen SET item_id = 0 WHERE {of_everything} AND item_id = {_BEFORE}", look.values)
    return True


def check_refs(refs: object) -> tuple[str, ...]:
    """Return the refs to mark, each once."""
    if isinstance(refs, str) or not isinstance(refs, Sequence) or not all(isinstance(one, str) for one in refs):
        raise InvalidInput("refs is no list of ids", 'Give a list as in ["d12", "rule"], or omit refs for everything')
    if not 1 <= len(refs) <= MOST_MARKED:
        raise InvalidInput(
            f"{len(refs)} ids were given", f"Mark 1 to {MOST_MARKED} at once, or omit refs for everything"
        )
    return tuple(dict.fromkeys(one.strip() for one in refs))


def _thing(look: Look, ref: str) -> _Thing:
    if ref in OF_CHANGES:
        return _Thing(OF_CHANGES[ref], 0)
    if ref.startswith(_FILES_OF):
        name = ref.removeprefix(_FILES_OF)
        row = find_agent_row(look.transaction, look.project_id, name)
        number = None if row is None else row[0]
        return _Thing(FILES, NOBODY if row is None and name == _UNKNOWN_AUTHOR else _existing(ref, number))
    name, colon, text = ref.partition(":")
    if colon and name in _NUMBERED:
        what, kind_number, table, column = _NUMBERED[name]
        return _Thing(kind_number, _existing(ref, _number(look, table, column, read_number(text, "", what))))
    if ref.startswith(SOLUTION_LETTER):
        return _Thing(SOLUTION, _existing(ref, _number(look, "error_solutions", "id", solution_number(ref))))
    if not any(character.isdigit() for character in ref):
        raise unknown_name("change", ref, CHANGES)
    kind, number = read_ref(ref)
    return _Thing(kind.number, _existing(ref, _number(look, kind.table, "id", number)))


def _number(look: Look, table: str, column: str, value: int) -> int | None:
    rows = look.rows(f"SELECT {column} FROM {table} WHERE {column} = :value AND project_id = :project", value=value)
    return rows[0][0] if rows else None


def _existing(ref: str, number: int | None) -> int:
    if number is None:
        raise NotFound(f"there is no {ref[:80]} in this project", "Give a ref from the answer")
    return number

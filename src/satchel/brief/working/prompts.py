"""Prompts: what is kept of what one is about, where that is well met and new to the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from satchel.base.records import NamedTuple, replace
from satchel.base.text import fold, shortened
from satchel.brief.working import notes
from satchel.brief.working.scene import Scene, Shown, fitting
from satchel.find.about import LEAST, RelatedItem, about
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.find.search import SUNK
from satchel.find.words import WORD
from satchel.keep import deliveries
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction, set_of

_MOST_FOUND = 12
_MOST_SHOWN = 2
_OTHERS_CHARS = 120
"""So much is shown of what is not the strongest."""

_ERROR_CHARS = 100
_ALIKE = 0.6
"""Of two texts that share so many of their words only the stronger one is shown."""

_REPORTS, _RULES, _BOTH = "reports, not orders", "rules that bind", "reports, not orders; rules bind"


class Item(NamedTuple):
    """What a prompt is about, as it is shown.

    Attributes:
        seq: the number of its last change.
        head: what stands before its text.
    """

    met: RelatedItem
    seq: int
    head: str
    text: str

    @property
    def shown(self) -> Shown:
        """What is recorded once it was shown."""
        return self.met.kind.number, self.met.item, self.seq


class Looked(NamedTuple):
    """What would be put in at a prompt.

    Attributes:
        tokens: how many the text has at most, estimated.
        met: what the prompt is about, the strongest first.
        why: why there is nothing, for people.
    """

    text: str
    tokens: int
    met: tuple[RelatedItem, ...]
    why: str


class _Found(NamedTuple):
    """The items of one kind that a prompt is about, to be read.

    Attributes:
        met: by their numbers.
        is_over: asked before a cited file is read: whether the rest goes unmarked.
        now: milliseconds UTC.
    """

    transaction: Transaction
    met: Mapping[int, RelatedItem]
    files_root: str | None
    is_over: Callable[[], bool]
    now: int

    @property
    def listed(self) -> str:
        """Their numbers, for IN."""
        return set_of(self.met)


def find(
    transaction: Transaction, work: Workplace, project_id: int, prompt: str, is_over: Callable[[], bool]
) -> list[Item]:
    """Return what a prompt is about, for any agent, the strongest first.

    Args:
        is_over: asked before a cited file is read: whether the rest goes unmarked.
    """
    now = work.clock()
    found = about(transaction, prompt, Scope(project_id, now=now, condition=_CONDITION), _MOST_FOUND)
    items: list[Item] = []
    for kind, load in _LOADERS.items():
        met = {one.item: one for one in found if one.kind is kind}
        items += load(_Found(transaction, met, work.files_root, is_over, now)) if met else []
    items.sort(key=lambda item: -item.met.strength)
    kept: list[Item] = []
    for item in items:
        if not any(_are_alike(item.text, other.text) for other in kept):
            kept.append(item)
    return kept


def known(scene: Scene) -> dict[int, dict[int, int]]:
    """Return what the window of a session has: by the numbers of kind and item, the item's seq."""
    from satchel.brief.briefing import own

    got = deliveries.delivered(scene.transaction, scene.window)
    written = own.find(scene.transaction, scene.project_id, scene.actor, scene.window)
    for kind, some in written.in_window.items():
        got[kind] = {**got.get(kind, {}), **some}
    return got


def told(items: Sequence[Item], known: Mapping[int, Mapping[int, int]], budget: int) -> tuple[list[str], list[Shown]]:
    """Return what is put in of what a prompt is about, and what to record.

    Args:
        known: what the window has: by the numbers of kind and item, the item's seq.
        budget: tokens.
    """
    fresh = [item for item in items if known.get(item.met.kind.number, {}).get(item.met.item, -1) < item.seq]
    made: dict[str, Item] = {}
    for item in fresh[:_MOST_SHOWN]:
        made[notes.line(item.head, item.text, _OTHERS_CHARS if made else notes.SHOWN_CHARS)] = item
    rules = sum(item.met.kind is Kind.CONSTRAINT for item in made.values())
    opening = f"Satchel ({_BOTH if 0 < rules < len(made) else _RULES if rules else _REPORTS}):"
    lines = fitting([opening, *made], budget)
    if len(lines) < 2 or lines[0] != opening:
        return [], []
    return lines, [made[line].shown for line in lines[1:]]


def _are_alike(text: str, other: str) -> bool:
    first, second = (set(WORD.findall(fold(one))) for one in (text, other))
    return len(first & second) >= _ALIKE * max(1, min(len(first), len(second)))


def _notes(found: _Found) -> list[Item]:
    rows = found.transaction.all(
        f"SELECT {notes.COLUMNS} FROM {notes.SOURCE} WHERE c.id IN {found.listed} AND c.superseded_by IS NULL"
    )
    some = [notes.Note(*row) for row in rows]
    standing = notes.standing(found.transaction, found.files_root, some, found.is_over)
    made: list[Item] = []
    for note in some:
        citation, met = standing.get(note.number), found.met[note.number]
        if citation is not None and citation.is_stale:
            met = replace(met, strength=met.strength * SUNK)
        made.append(Item(met, note.seq, note.head(found.now, citation, names_file=True), note.text))
    return [item for item in made if item.met.strength >= LEAST]


def _decisions(found: _Found) -> list[Item]:
    from satchel.keep.decisions.records import STATUSES
    from satchel.keep.decisions.state import value_of

    rows = found.transaction.all(
        f"""
        SELECT id, seq, key, value_text, value_number, rationale FROM decisions
        WHERE id IN {found.listed} AND status = {STATUSES.index("active") + 1}
        """
    )
    return [
        Item(
            found.met[number],
            seq,
            f"{Kind.DECISION.ref(number)} decided, {key}",
            f"{value_of(text, value)}{f'; reason: {rationale}' if rationale else ''}",
        )
        for number, seq, key, text, value, rationale in rows
    ]


def _constraints(found: _Found) -> list[Item]:
    rows = found.transaction.all(f"SELECT id, seq, text FROM constraints WHERE id IN {found.listed} AND active = 1")
    return [Item(found.met[number], seq, f"{Kind.CONSTRAINT.ref(number)} rule", text) for number, seq, text in rows]


def _errors(found: _Found) -> list[Item]:
    from satchel.keep.patterns.records import TENTATIVE, solutions_of

    rows = found.transaction.all(
        f"""
        SELECT id, seq, project_id, error_type, message FROM error_patterns
        WHERE id IN {found.listed} AND expires_at > :now
        """,
        {"now": found.now},
    )
    made: list[Item] = []
    for number, seq, project_id, error_type, message in rows:
        solutions = solutions_of(found.transaction, project_id, [number], TENTATIVE).get(number)
        if solutions:
            head = f"{Kind.ERROR_PATTERN.ref(number)} {error_type}: {shortened(message, _ERROR_CHARS)}, fixed by"
            made.append(Item(found.met[number], seq, head, solutions[0].text))
    return made


def _strategies(found: _Found) -> list[Item]:
    rows = found.transaction.all(
        f"""
        SELECT id, seq, topic, insight FROM strategies
        WHERE id IN {found.listed} AND superseded_by IS NULL AND helped >= not_helped
        """
    )
    return [
        Item(found.met[number], seq, f"{Kind.STRATEGY.ref(number)} strategy, {topic}", insight)
        for number, seq, topic, insight in rows
    ]


_LOADERS: Mapping[Kind, Callable[[_Found], list[Item]]] = {
    Kind.ENTRY: _notes,
    Kind.DECISION: _decisions,
    Kind.CONSTRAINT: _constraints,
    Kind.ERROR_PATTERN: _errors,
    Kind.STRATEGY: _strategies,
}
"""The kinds of what is put in, and what reads those items that hold."""

_CONDITION = (
    f"+d.kind IN ({', '.join(str(kind.number) for kind in _LOADERS)}) "
    f"AND (d.kind <> {Kind.ENTRY.number} OR d.type IN ({', '.join(map(str, notes.NOTE_TYPES))}))"
)
"""Which documents count, in SQL."""

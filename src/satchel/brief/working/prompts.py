"""Stored items that match a prompt and are new to the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from satchel.base.records import NamedTuple, replace
from satchel.base.text import fold, shortened
from satchel.brief.fields import name_text
from satchel.brief.working import notes
from satchel.brief.working.hook_context import HookContext, ItemVersion, fitting
from satchel.find.about import LEAST, RelatedItem, about
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.find.search import SUNK
from satchel.find.words import WORD
from satchel.keep import deliveries
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction, set_of

_MOST_MATCHES = 12
_MOST_SHOWN = 2
_OTHERS_CHARS = 120
"""How much is shown of all items but the strongest."""

_ERROR_CHARS = 100
_ALIKE = 0.6
"""The part of common words from which only the stronger of two items is shown."""

_REPORTS, _RULES, _BOTH = "reports, not orders", "rules that bind", "reports, not orders; rules bind"


class Item(NamedTuple):
    """An item that matches a prompt, with the text to show.

    Attributes:
        seq: the number of its last change.
        head: the part of its line before the text.
    """

    match: RelatedItem
    seq: int
    head: str
    text: str

    @property
    def version(self) -> ItemVersion:
        return self.match.kind.number, self.match.item, self.seq


class PromptPreview(NamedTuple):
    """The text that would be injected at a prompt.

    Attributes:
        tokens: its length at most, estimated.
        matches: the matching items, the strongest first.
        why: why there is nothing, for people.
    """

    text: str
    tokens: int
    matches: tuple[RelatedItem, ...]
    why: str


class _Matches(NamedTuple):
    """The matching items of one kind.

    Attributes:
        by_number: the matches by item id.
        is_over: called before each cited file; the rest then goes unmarked.
        now: milliseconds UTC.
    """

    transaction: Transaction
    by_number: Mapping[int, RelatedItem]
    files_root: str | None
    is_over: Callable[[], bool]
    now: int

    @property
    def listed(self) -> str:
        return set_of(self.by_number)


def find(
    transaction: Transaction, work: Workplace, project_id: int, prompt: str, is_over: Callable[[], bool]
) -> list[Item]:
    """Return the items that match a prompt, for any agent, the strongest first.

    ``is_over`` is called before each cited file; the rest then goes unmarked.
    """
    now = work.clock()
    matches = about(transaction, prompt, Scope(project_id, now=now, condition=_CONDITION), _MOST_MATCHES)
    items: list[Item] = []
    for kind, load in _LOADERS.items():
        by_number = {one.item: one for one in matches if one.kind is kind}
        items += load(_Matches(transaction, by_number, work.files_root, is_over, now)) if by_number else []
    items.sort(key=lambda item: -item.match.strength)
    distinct: list[Item] = []
    for item in items:
        if not any(_are_alike(item.text, other.text) for other in distinct):
            distinct.append(item)
    return distinct


def window_contents(context: HookContext) -> dict[int, dict[int, int]]:
    """Return the items that the window of a session has: the seq by kind number and item id."""
    from satchel.brief.briefing import own

    got = deliveries.delivered(context.transaction, context.window)
    written = own.find(context.transaction, context.project_id, context.actor, context.window)
    for kind, some in written.in_window.items():
        got[kind] = {**got.get(kind, {}), **some}
    return got


def render(
    items: Sequence[Item], contents: Mapping[int, Mapping[int, int]], budget: int
) -> tuple[list[str], list[ItemVersion]]:
    """Return the lines for items that the window does not have, and the items to record."""
    fresh = [item for item in items if contents.get(item.match.kind.number, {}).get(item.match.item, -1) < item.seq]
    rendered: dict[str, Item] = {}
    for item in fresh[:_MOST_SHOWN]:
        rendered[notes.line(item.head, item.text, _OTHERS_CHARS if rendered else notes.SHOWN_CHARS)] = item
    rules = sum(item.match.kind is Kind.CONSTRAINT for item in rendered.values())
    opening = f"Satchel ({_BOTH if 0 < rules < len(rendered) else _RULES if rules else _REPORTS}):"
    lines = fitting([opening, *rendered], budget)
    if len(lines) < 2 or lines[0] != opening:
        return [], []
    return lines, [rendered[line].version for line in lines[1:]]


def _are_alike(text: str, other: str) -> bool:
    first, second = (set(WORD.findall(fold(one))) for one in (text, other))
    return len(first & second) >= _ALIKE * max(1, min(len(first), len(second)))


def _notes(matches: _Matches) -> list[Item]:
    rows = matches.transaction.all(
        f"SELECT {notes.COLUMNS} FROM {notes.SOURCE} WHERE c.id IN {matches.listed} AND c.superseded_by IS NULL"
    )
    some = [notes.Note(*row) for row in rows]
    compared = notes.compare(matches.transaction, matches.files_root, some, matches.is_over)
    rendered: list[Item] = []
    for note in some:
        citation, match = compared.get(note.number), matches.by_number[note.number]
        if citation is not None and citation.is_stale:
            match = replace(match, strength=match.strength * SUNK)
        rendered.append(Item(match, note.seq, note.head(matches.now, citation, names_file=True), note.text))
    return [item for item in rendered if item.match.strength >= LEAST]


def _decisions(matches: _Matches) -> list[Item]:
    from satchel.keep.decisions.records import STATUSES
    from satchel.keep.decisions.state import value_of

    rows = matches.transaction.all(
        f"""
        SELECT id, seq, key, value_text, value_number, rationale FROM decisions
        WHERE id IN {matches.listed} AND status = {STATUSES.index("active") + 1}
        """
    )
    return [
        Item(
            matches.by_number[number],
            seq,
            f"{Kind.DECISION.ref(number)} decided, {name_text(key)}",
            f"{value_of(text, value)}{f'; reason: {rationale}' if rationale else ''}",
        )
        for number, seq, key, text, value, rationale in rows
    ]


def _constraints(matches: _Matches) -> list[Item]:
    rows = matches.transaction.all(f"SELECT id, seq, text FROM constraints WHERE id IN {matches.listed} AND active = 1")
    return [
        Item(matches.by_number[number], seq, f"{Kind.CONSTRAINT.ref(number)} rule", text) for number, seq, text in rows
    ]


def _errors(matches: _Matches) -> list[Item]:
    from satchel.keep.patterns.records import TENTATIVE, solutions_of

    rows = matches.transaction.all(
        f"""
        SELECT id, seq, project_id, error_type, message FROM error_patterns
        WHERE id IN {matches.listed} AND expires_at > :now
        """,
        {"now": matches.now},
    )
    rendered: list[Item] = []
    for number, seq, project_id, error_type, message in rows:
        solutions = solutions_of(matches.transaction, project_id, [number], TENTATIVE).get(number)
        if solutions:
            head = f"{Kind.ERROR_PATTERN.ref(number)} {error_type}: {shortened(message, _ERROR_CHARS)}, fixed by"
            rendered.append(Item(matches.by_number[number], seq, head, solutions[0].text))
    return rendered


def _strategies(matches: _Matches) -> list[Item]:
    rows = matches.transaction.all(
        f"""
        SELECT id, seq, topic, insight FROM strategies
        WHERE id IN {matches.listed} AND superseded_by IS NULL AND helped >= not_helped
        """
    )
    return [
        Item(matches.by_number[number], seq, f"{Kind.STRATEGY.ref(number)} strategy, {topic}", insight)
        for number, seq, topic, insight in rows
    ]


_LOADERS: Mapping[Kind, Callable[[_Matches], list[Item]]] = {
    Kind.ENTRY: _notes,
    Kind.DECISION: _decisions,
    Kind.CONSTRAINT: _constraints,
    Kind.ERROR_PATTERN: _errors,
    Kind.STRATEGY: _strategies,
}
"""The loaders of live items by kind."""

_CONDITION = (
    f"+d.kind IN ({', '.join(str(kind.number) for kind in _LOADERS)}) "
    f"AND (d.kind <> {Kind.ENTRY.number} OR d.type IN ({', '.join(map(str, notes.NOTE_TYPES))}))"
)
"""The SQL condition for documents that count."""

"""Echoes: what an agent was told by a briefing is not kept once more because the agent repeats it.

A text is the same as another but for case and space; or if it ends in an ellipsis and is the beginning of the other, as
a briefing shortens it. What is only nearly the same is written with a pointer to what it resembles: one word may be
what is new in it, and a *not* counts for nothing in a likeness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.grouping import grouped
from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep.deliveries import windows_of
from satchel.keep.entries.records import ERROR, LEAST_CHARS, MAX_CHARS, DuplicateDelivery, Prepared, Writer
from satchel.store.transaction import Transaction, set_of

NEARLY = 90
"""From this likeness on, in percent of their words (Dice), a text is pointed to what it resembles."""

MAX_DELIVERED = 200
"""So many deliveries to an agent are compared, the newest."""

_CONTENTS: dict[Kind, str] = {
    Kind.ENTRY: "SELECT id, substr(content, 1, {most}) FROM context WHERE {these}",
    Kind.DECISION: """
        SELECT id, substr(value_text, 1, {most}) FROM decisions WHERE {these} AND value_text IS NOT NULL
        UNION ALL SELECT id, substr(rationale, 1, {most}) FROM decisions WHERE {these} AND rationale IS NOT NULL
    """,
    Kind.CONSTRAINT: "SELECT id, substr(text, 1, {most}) FROM constraints WHERE {these}",
    Kind.MESSAGE: "SELECT id, substr(message, 1, {most}) FROM agent_messages WHERE {these}",
    Kind.ERROR_PATTERN: """
        SELECT pattern_id, substr(solution, 1, {most}) FROM error_solutions
        WHERE project_id = :project AND pattern_id IN {numbers}
    """,
    Kind.STRATEGY: "SELECT id, substr(insight, 1, {most}) FROM strategies WHERE {these}",
}
"""Of each kind that a briefing delivers, the numbers and texts of items."""

_KINDS = {kind.number: kind for kind in _CONTENTS}


@dataclass(frozen=True, slots=True)
class _Told:
    """A text that was delivered."""

    kind: Kind
    item: int
    text: str
    said: str

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)


def find(transaction: Transaction, writer: Writer, entries: Mapping[int, Prepared]) -> Mapping[int, DuplicateDelivery]:
    """Return which of several new entries repeat what a briefing delivered to their writer, by their places.

    Compared are notes (discovery, error, decision) of 40 to 4,000 characters with the newest 200 items that were
    delivered to the agent in this run: entries, decisions, constraints, messages, strategies, and what fixed errors. A
    note that says the same as a live entry of the run and of its type is not to be written; but an error that was met
    in another loop, and a note on another file or line, are news.
    """
    told = _delivered(transaction, writer)
    if not told:
        return {}
    found = ((place, _duplicate_of(transaction, writer, entry, told)) for place, entry in entries.items())
    return {place: one for place, one in found if one is not None}


def _delivered(transaction: Transaction, writer: Writer) -> list[_Told]:
    where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
    rows = transaction.all(
        f"""
        SELECT d.kind, d.item_id FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {where}
        ORDER BY d.created_at DESC, d.kind, d.item_id LIMIT {MAX_DELIVERED}
        """,
        values,
    )
    items = grouped((_KINDS[number], item) for number, item in dict.fromkeys(rows) if number in _KINDS)
    told: list[_Told] = []
    for kind, numbers in items.items():
        these = set_of(numbers)
        sql = _CONTENTS[kind].format(
            these=f"project_id = :project AND id IN {these}", numbers=these, most=MAX_CHARS + 1
        )
        for item, text in transaction.all(sql, {"project": writer.project_id}):
            told.append(_Told(kind, item, text, _said(text)))
    return sorted(told, key=lambda one: (one.kind.number, one.item))


def _duplicate_of(
    transaction: Transaction, writer: Writer, entry: Prepared, told: Sequence[_Told]
) -> DuplicateDelivery | None:
    said = _said(entry.content)
    beginning = said.removesuffix("…").removesuffix("...").rstrip()
    is_cut = len(beginning) < len(said) and len(beginning) >= LEAST_CHARS
    same = [one for one in told if one.said == said or (is_cut and one.said.startswith(beginning))]
    for one in same:
        if one.kind is Kind.ENTRY and _is_nothing_new(transaction, writer, entry, one.item):
            return DuplicateDelivery(
                f"{one.ref} already says this and was delivered to you: nothing was written", one.item
            )
    told = [one for one in told if not (one.kind is Kind.ENTRY and one.item == entry.supersedes)]
    same = [one for one in same if one in told]
    if same:
        return DuplicateDelivery(f"{same[0].ref} says the same and was delivered to you")
    return _resembling(entry.content, told)


def _is_nothing_new(transaction: Transaction, writer: Writer, entry: Prepared, number: int) -> bool:
    """Whether an entry that says the same is live and of this run, so that a new one would add nothing to it."""
    row = transaction.one(
        """
        SELECT type, loop_id, file, line FROM context
        WHERE project_id = :project AND run_id = :run AND id = :id AND superseded_by IS NULL
        """,
        {"project": writer.project_id, "run": writer.run, "id": number},
    )
    if row is None or row[0] != entry.type:
        return False
    if entry.type == ERROR and entry.loop_id is not None and entry.loop_id != row[1]:
        return False
    return entry.file is None or (entry.file, entry.line) == (row[2], row[3])


def _resembling(text: str, told: Sequence[_Told]) -> DuplicateDelivery | None:
    """Return what a text nearly repeats, the most alike."""
    from satchel.find.likeness import text_likeness, words_of

    words = words_of(text)
    alike = [(text_likeness(words, words_of(one.text)), one) for one in told]
    most, one = max(alike, key=lambda pair: pair[0])
    return (
        DuplicateDelivery(f"{one.ref}, which was delivered to you, says nearly the same ({most} % alike)")
        if most >= NEARLY
        else None
    )


def _said(text: str) -> str:
    return " ".join(text.casefold().split())

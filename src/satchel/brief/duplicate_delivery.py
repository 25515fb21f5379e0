"""Notes that only repeat an item from the writer's own briefing, which are not stored again.

Texts are the same if they differ in case and space only, or if one ends in an ellipsis and begins the other, as
briefings shorten texts. A text that is nearly the same is stored with a pointer to the other: one new word, or a *not*,
may matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep.deliveries import windows_of
from satchel.keep.entries.records import ERROR, LEAST_CHARS, MAX_CHARS, DuplicateDelivery, Prepared, Writer
from satchel.store.transaction import Transaction, grouped, set_of

NEARLY = 90
"""The likeness, in percent of their words (Dice), from which a text gets a pointer to the other."""

MAX_DELIVERED = 200
"""How many deliveries to an agent are compared, newest first."""

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
"""SQL for the ids and texts of items, for each kind that briefings deliver."""

_KINDS = {kind.number: kind for kind in _CONTENTS}


@dataclass(frozen=True, slots=True)
class _Delivered:
    kind: Kind
    item: int
    text: str
    normalized: str

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)


def find(transaction: Transaction, writer: Writer, entries: Mapping[int, Prepared]) -> Mapping[int, DuplicateDelivery]:
    """Return the new entries, by place, that repeat an item delivered to their writer.

    Notes (discovery, error, decision) of 40 to 4,000 characters are compared with the 200 items delivered last to the
    agent in this run. One that equals a live entry of its run and type is not stored; an error met in another loop and
    a note on another file or line are.
    """
    delivered = _delivered(transaction, writer)
    if not delivered:
        return {}
    duplicates = ((place, _duplicate_of(transaction, writer, entry, delivered)) for place, entry in entries.items())
    return {place: one for place, one in duplicates if one is not None}


def _delivered(transaction: Transaction, writer: Writer) -> list[_Delivered]:
    where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
    rows = transaction.all(
        f"""
        SELECT d.kind, d.item_id FROM windows w JOIN deliveries d ON d.window_id = w.id WHERE {where}
        ORDER BY d.created_at DESC, d.kind, d.item_id LIMIT {MAX_DELIVERED}
        """,
        values,
    )
    items = grouped((_KINDS[number], item) for number, item in dict.fromkeys(rows) if number in _KINDS)
    texts: list[_Delivered] = []
    for kind, numbers in items.items():
        these = set_of(numbers)
        sql = _CONTENTS[kind].format(
            these=f"project_id = :project AND id IN {these}", numbers=these, most=MAX_CHARS + 1
        )
        for item, text in transaction.all(sql, {"project": writer.project_id}):
            texts.append(_Delivered(kind, item, text, _normalized(text)))
    return sorted(texts, key=lambda one: (one.kind.number, one.item))


def _duplicate_of(
    transaction: Transaction, writer: Writer, entry: Prepared, delivered: Sequence[_Delivered]
) -> DuplicateDelivery | None:
    text = _normalized(entry.content)
    beginning = text.removesuffix("…").removesuffix("...").rstrip()
    is_cut = len(beginning) < len(text) and len(beginning) >= LEAST_CHARS
    same = [one for one in delivered if one.normalized == text or (is_cut and one.normalized.startswith(beginning))]
    for one in same:
        if one.kind is Kind.ENTRY and _adds_nothing(transaction, writer, entry, one.item):
            return DuplicateDelivery(
                f"{one.ref} already says this and was delivered to you: nothing was written", one.item
            )
    delivered = [one for one in delivered if not (one.kind is Kind.ENTRY and one.item == entry.supersedes)]
    same = [one for one in same if one in delivered]
    if same:
        return DuplicateDelivery(f"{same[0].ref} says the same and was delivered to you")
    return _resembling(entry.content, delivered)


def _adds_nothing(transaction: Transaction, writer: Writer, entry: Prepared, number: int) -> bool:
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


def _resembling(text: str, delivered: Sequence[_Delivered]) -> DuplicateDelivery | None:
    from satchel.find.likeness import text_likeness, words_of

    words = words_of(text)
    alike = [(text_likeness(words, words_of(one.text)), one) for one in delivered]
    most, one = max(alike, key=lambda pair: pair[0])
    return (
        DuplicateDelivery(f"{one.ref}, which was delivered to you, says nearly the same ({most} % alike)")
        if most >= NEARLY
        else None
    )


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())

"""Notes that say nearly the same, found by bands that are recorded late, in lots.

The bands of one text lie all over their table, a page each. So who writes a single note compares it with the newest
notes, which have none yet, by bands that are made for the moment, and records those once they are many. A batch neither
looks nor records.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from satchel.base.records import dataclass, field
from satchel.find import likeness, near
from satchel.find.kind import Kind
from satchel.keep.entries.records import COMPARED_TYPES, MAX_CHARS, Prepared
from satchel.store.transaction import Transaction

_KIND = Kind.ENTRY.number
_LOT = 8
"""From so many notes on that have no bands theirs are recorded."""

_CAUGHT_UP = 500
"""At most so many get them, the newest: 12 microseconds each."""


# up to which note bands are recorded stands under a mark of its own
_FRESH = f"""
    SELECT id, content FROM context
    WHERE id > (SELECT COALESCE(max(item_id), 0) FROM likenesses WHERE mark = :mark AND kind = :kind)
        AND +project_id = :project AND type IN ({", ".join(map(str, COMPARED_TYPES))})
        AND length(content) <= {MAX_CHARS}
    ORDER BY id DESC LIMIT {_CAUGHT_UP}
"""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found before a note is written.

    Attributes:
        near: which notes say nearly the same, each with its run.
        late: the bands of other notes that have none yet, by their numbers.
    """

    near: tuple[tuple[int, str], ...] = ()
    late: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def notes(self, run: int) -> tuple[str, ...]:
        """Say which notes of a run say nearly the same."""
        return tuple(said for of_run, said in self.near if of_run == run)


NO_LOOK = Look()


def look(transaction: Transaction, project_id: int, entry: Prepared) -> Look:
    """Look for live notes of the same type that say nearly the same as one that is about to be written."""
    if entry.type not in COMPARED_TYPES or len(entry.content) > MAX_CHARS:
        return NO_LOOK
    bands = likeness.text_bands(project_id, likeness.words_of(entry.content))
    if not bands.recorded:
        return NO_LOOK
    fresh = transaction.all(
        _FRESH, {"project": project_id, "kind": _KIND, "mark": likeness.mark("reached", project_id)}
    )
    # a row that another program spoilt holds no text
    late = {number: _bands(project_id, content) for number, content in fresh if isinstance(content, str)}
    sought = set(bands.sought)
    numbers = [number for number, others in late.items() if not sought.isdisjoint(others)]
    numbers += likeness.candidates(transaction, Kind.ENTRY, bands)
    numbers = [number for number in numbers if number != entry.supersedes]
    if not numbers:
        return Look((), late)
    others = transaction.all(
        f"""
        SELECT id, content, run_id FROM context
        WHERE id IN ({", ".join(map(str, numbers))}) AND +project_id = :project AND +type = :type
            AND superseded_by IS NULL
        """,
        {"project": project_id, "type": entry.type},
    )
    runs = {number: run for number, _, run in others}
    texts = ((number, content) for number, content, _ in others if isinstance(content, str))
    found = near.judged(entry.content, texts, near.share_of_both)
    return Look(tuple((runs[one.item], one.note(Kind.ENTRY)) for one in found), late)


def record(transaction: Transaction, project_id: int, found: Look) -> None:
    """Record the bands of notes that have none yet, once they are many."""
    if len(found.late) < _LOT:
        return
    for late, bands in found.late.items():
        likeness.remember(transaction, Kind.ENTRY, late, bands)
    mark = likeness.mark("reached", project_id)
    transaction.execute("DELETE FROM likenesses WHERE mark = :mark AND kind = :kind", {"mark": mark, "kind": _KIND})
    likeness.remember(transaction, Kind.ENTRY, max(found.late), (mark,))


def forget(transaction: Transaction, project_id: int, number: int) -> None:
    """Remove the bands of a note that is about to be removed."""
    rows = transaction.all(
        f"""
        SELECT content FROM context
        WHERE id = :id AND type IN ({", ".join(map(str, COMPARED_TYPES))})
            AND length(content) <= {MAX_CHARS}
        """,
        {"id": number},
    )
    for (content,) in rows:
        if isinstance(content, str):
            likeness.forget(transaction, Kind.ENTRY, number, _bands(project_id, content))


@lru_cache(maxsize=1_024)
def _bands(project_id: int, content: str) -> tuple[int, ...]:
    return likeness.text_bands(project_id, likeness.words_of(content)).recorded

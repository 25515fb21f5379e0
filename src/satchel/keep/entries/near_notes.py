"""Notes that say nearly the same, found by bands that are recorded late, in lots.

The bands of one text lie all over their table, a page each. So who writes a single note compares it with the newest
notes, which have none yet, by bands that are made for the moment, and records those once they are many. A batch neither
looks nor records.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from satchel.base.records import dataclass, field
from satchel.find import likeness, near
from satchel.find.kind import Kind
from satchel.keep.entries.records import COMPARED_TYPES, MAX_CHARS, Prepared
from satchel.store.transaction import Rows, Transaction

_KIND = Kind.ENTRY.number
_LOT = 8
"""From so many notes on that have no bands theirs are recorded."""

_OF_BAND, _COMPARED = 4, 6
"""Of each band the newest so many, of these so many that share the most bands: of 2,400 notes from 60 nouns 400 share a
band with a new one, and finding all takes 60 us instead of 15; of lines of change logs .220 find their commit among
14,000 so, .229 with all, .200 with the newest 16."""

_CAUGHT_UP = 500
"""At most so many get them, the newest: 12 microseconds each."""


# up to which note bands are recorded stands under a mark of its own
_MARKED = "FROM likenesses WHERE project_id = :project AND mark = :mark AND kind = :kind"
_REACHED = f"SELECT COALESCE(max(item_id), 0) {_MARKED}"


@cache
def _candidates(recorded: str) -> str:
    """Return one statement for notes without bands and with: a round trip more takes longer than it runs."""
    # not by an index of the project: among a million notes that took 25 ms of a write
    return f"""
        SELECT id, content, run_id, is_like, 1 FROM (
            SELECT id, content, run_id, type = :type AND superseded_by IS NULL AS is_like FROM context
            WHERE id > ({_REACHED})
                AND +project_id = :project AND type IN ({", ".join(map(str, COMPARED_TYPES))})
                AND length(content) <= {MAX_CHARS}
            ORDER BY id DESC LIMIT :caught_up
        ) AS fresh
        UNION ALL
        SELECT c.id, c.content, c.run_id, true, 0
        FROM ({recorded}) AS recorded JOIN context c ON c.id = recorded.item_id
        WHERE +c.project_id = :project AND c.type = :type AND c.superseded_by IS NULL
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
    bands = _bands(project_id, entry.content)
    if not bands.recorded:
        return NO_LOOK
    recorded, values = likeness.look_up(project_id, Kind.ENTRY, bands, _COMPARED, _OF_BAND)
    values |= {"mark": likeness.mark("reached", project_id), "type": entry.type, "caught_up": _CAUGHT_UP}
    sought, late = set(bands.looked_up), {}
    runs: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, content, run, is_like, is_fresh in transaction.all(_candidates(recorded), values):
        if is_fresh:
            late[number] = _bands(project_id, content).recorded
            is_like = is_like and not sought.isdisjoint(late[number])  # noqa: PLW2901
        if is_like:
            runs[number], texts[number] = run, content
    if entry.supersedes is not None:
        texts.pop(entry.supersedes, None)
    found = near.judged(entry.content, texts.items(), near.share_of_both)
    return Look(tuple((runs[one.item], one.note(Kind.ENTRY)) for one in found), late)


def ask_reached(transaction: Transaction, project_id: int, found: Look) -> Rows | None:
    """Ask up to which note bands are recorded, where some are to be; None where not."""
    if len(found.late) < _LOT:
        return None
    return transaction.ask(_REACHED, _reached(project_id))


def _reached(project_id: int) -> dict[str, object]:
    return {"project": project_id, "mark": likeness.mark("reached", project_id), "kind": _KIND}


def record(transaction: Transaction, project_id: int, found: Look, asked: Rows | None) -> None:
    """Record the bands of notes that have none yet, once they are many.

    Args:
        asked: what :func:`ask_reached` gives.
    """
    if asked is None:
        return
    (reached,) = asked.one() or (0,)
    # who waited for the turn at the same time has found the same ones
    late = {number: bands for number, bands in found.late.items() if number > reached}
    if not late:
        return
    for number, bands in late.items():
        likeness.remember(transaction, project_id, Kind.ENTRY, number, bands)
    transaction.run(f"DELETE {_MARKED}", _reached(project_id))
    likeness.remember(transaction, project_id, Kind.ENTRY, max(late), (likeness.mark("reached", project_id),))


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
            likeness.forget(transaction, project_id, Kind.ENTRY, number, _bands(project_id, content).recorded)


@lru_cache(maxsize=1_024)
def _bands(project_id: int, content: str) -> likeness.Bands:
    # what one call writes the next ones read until a lot is full
    return likeness.text_bands(project_id, likeness.words_of(content))

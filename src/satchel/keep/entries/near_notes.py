"""Near-duplicate notes, found by similarity bands that are recorded late and in batches.

A text's bands are spread over their table, one page each. The writer of a single note therefore compares it with the
newest notes, which have no bands yet, by bands made on the fly, and records those once there are enough. Batches
neither compare nor record.
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
"""Number of notes without bands at which theirs are recorded."""

_OF_BAND, _COMPARED = 4, 6
"""Number of newest notes looked up per band, and number of best ones compared.

Of change log lines, .220 find their commit among 14,000 this way, .229 with all notes, .200 with the newest 16.
"""

_CAUGHT_UP = 500
"""Maximum number of notes, the newest, that get bands at once."""


# the last note with recorded bands has a mark of its own
_MARKED = "FROM likenesses WHERE project_id = :project AND mark = :mark AND kind = :kind"
_REACHED = f"SELECT COALESCE(max(item_id), 0) {_MARKED}"


@cache
def _candidates(recorded: str) -> str:
    # one statement for notes with and without bands: another round trip costs more than it saves
    # the plus avoids the project's index, which is slow with many notes
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
class Matches:
    """Near-duplicates found before a note is written.

    Attributes:
        near: near-duplicate notes, each with its run.
        late: bands of notes that have none recorded, by note number.
    """

    near: tuple[tuple[int, str], ...] = ()
    late: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def notes(self, run: int) -> tuple[str, ...]:
        """Return remarks on near-duplicates in a run."""
        return tuple(note for of_run, note in self.near if of_run == run)


NO_MATCHES = Matches()


def find_matches(transaction: Transaction, project_id: int, entry: Prepared) -> Matches:
    """Find live notes of the same type that nearly repeat one about to be written."""
    if entry.type not in COMPARED_TYPES or len(entry.content) > MAX_CHARS:
        return NO_MATCHES
    bands = _bands(project_id, entry.content)
    if not bands.recorded:
        return NO_MATCHES
    recorded, values = likeness.look_up(project_id, Kind.ENTRY, bands, _COMPARED, _OF_BAND)
    values |= {"mark": likeness.mark("reached", project_id), "type": entry.type, "caught_up": _CAUGHT_UP}
    wanted, late = set(bands.looked_up), {}
    runs: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, content, run, is_like, is_fresh in transaction.all(_candidates(recorded), values):
        if is_fresh:
            late[number] = _bands(project_id, content).recorded
            is_like = is_like and not wanted.isdisjoint(late[number])  # noqa: PLW2901
        if is_like:
            runs[number], texts[number] = run, content
    if entry.supersedes is not None:
        texts.pop(entry.supersedes, None)
    alike = near.most_similar(entry.content, texts.items(), near.share_of_both)
    return Matches(tuple((runs[one.item], one.note(Kind.ENTRY)) for one in alike), late)


def ask_reached(transaction: Transaction, project_id: int, matches: Matches) -> Rows | None:
    """Query up to which note bands are recorded, if some are due; otherwise return None."""
    if len(matches.late) < _LOT:
        return None
    return transaction.ask(_REACHED, _reached(project_id))


def _reached(project_id: int) -> dict[str, object]:
    return {"project": project_id, "mark": likeness.mark("reached", project_id), "kind": _KIND}


def record(transaction: Transaction, project_id: int, matches: Matches, rows_reached: Rows | None) -> None:
    """Record the bands of notes that have none, once there are enough.

    ``rows_reached`` is the result of :func:`ask_reached`.
    """
    if rows_reached is None:
        return
    (reached,) = rows_reached.one() or (0,)
    # a concurrent writer may have found the same ones
    late = {number: bands for number, bands in matches.late.items() if number > reached}
    if not late:
        return
    for number, bands in late.items():
        likeness.remember(transaction, project_id, Kind.ENTRY, number, bands)
    transaction.run(f"DELETE {_MARKED}", _reached(project_id))
    likeness.remember(transaction, project_id, Kind.ENTRY, max(late), (likeness.mark("reached", project_id),))


def forget(transaction: Transaction, project_id: int, number: int) -> None:
    """Delete the bands of a note about to be deleted."""
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
    # later calls read the bands of this one until a batch is full
    return likeness.text_bands(project_id, likeness.words_of(content))

"""Notes that repeat others: the same is counted as a sighting, nearly the same is stored with a note to the writer."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cache, lru_cache

from satchel.base.records import dataclass, field
from satchel.find import likeness, near
from satchel.find.kind import Kind
from satchel.keep.entries.records import COMPARED_TYPES, ERROR, MAX_CHARS, Prepared, Writer
from satchel.store.transaction import Rows, Transaction

# Shorter texts, such as ``done``, are not compared: they repeat by chance.
_LEAST_WORDS = 3


def key_of(
    type: int,  # noqa: A002 -- the field's own name
    content: str,
    file: str | None,
    line: int | None,
    loop_id: str | None,
    agent: int | None,
) -> int | None:
    # an error's key includes its agent and loop: elsewhere it was a new occurrence
    if type not in COMPARED_TYPES:
        return None
    words = content.casefold().split()
    if len(words) < _LEAST_WORDS:
        return None
    text = f"{type}\0{' '.join(words)}\0{file or ''}\0{line or ''}"
    if type == ERROR:
        text += f"\0{agent or ''}\0{loop_id or ''}"
    from hashlib import blake2b  # imported here: it loads OpenSSL

    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Sightings:
    """Existing equivalents of new notes by their places, once :meth:`read` has found them.

    Attributes:
        keys: the results of :func:`key_of`.
        known: the equivalent live note.
        first: the place of an equivalent earlier new note.
        ended: the newest equivalent note that is no longer live.
    """

    def __init__(self, transaction: Transaction, writer: Writer, entries: Sequence[Prepared]) -> None:
        self.keys = [key_of(one.type, one.content, one.file, one.line, one.loop_id, writer.agent) for one in entries]
        self.known: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self._compared = {
            place: key
            for place, (key, one) in enumerate(zip(self.keys, entries, strict=True))
            if key is not None and one.supersedes is None
        }
        # bound, so that the statement for a single note is prepared only once
        wanted = {f"said{place}": key for place, key in enumerate({*self._compared.values()})}
        self._rows = wanted and transaction.ask(
            "SELECT id, said, superseded_by IS NULL FROM context "
            f"WHERE project_id = :project AND said IN (:{', :'.join(wanted)}) ORDER BY id",
            {"project": writer.project_id, **wanted},
        )

    def read(self, excluded: Container[int]) -> None:
        rows = self._rows.all() if self._rows else ()
        live = {note_key: number for number, note_key, is_live in reversed(rows) if is_live}
        over = {note_key: number for number, note_key, is_live in rows if not is_live}
        places: dict[int, int] = {}
        for place, key in self._compared.items():
            if place in excluded:
                continue
            if key in live:
                self.known[place] = live[key]
            elif key in places:
                self.first[place] = places[key]
            else:
                places[key] = place
                if key in over:
                    self.ended[place] = over[key]


def count_sighting(transaction: Transaction, writer: Writer, number: int, entry: Prepared) -> bool:
    """Count a repeated entry, unless it was delivered to its writer."""
    from satchel.keep.deliveries import windows_of  # imported here: a new note does not need it

    where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
    delivered = transaction.one(
        f"SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id "
        f"WHERE {where} AND d.kind = :kind AND d.item_id = :item",
        {**values, "kind": Kind.ENTRY.number, "item": number},
    )
    if delivered is not None:
        return False
    transaction.add(
        "sightings",
        {
            "project_id": writer.project_id,
            "entry_id": number,
            "run_id": writer.run,
            "agent_id": writer.agent,
            "session_id": writer.session,
            "task_id": entry.task_id,
            "loop_id": entry.loop_id,
            "created_at": writer.now,
        },
    )
    transaction.run("UPDATE context SET seen = COALESCE(seen, 1) + 1 WHERE id = :id", {"id": number})
    return True


_KIND = Kind.ENTRY.number
# Number of notes without bands at which theirs are recorded: exactly at it, so that few of several writers do.
_LOT = 8

# Share of all words, as they are written, from which a note without bands is compared.
_LEAST_SHARE = 0.25

# Number of newest notes looked up per band, and number of best ones compared.
#
# Of change log lines, .220 find their commit among 14,000 this way, .229 with all notes, .200 with the newest 16.
_OF_BAND, _COMPARED = 4, 6

# Maximum number of notes, the newest, that get bands at once.
_CAUGHT_UP = 500


# the last note with recorded bands is marked
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
    """Near-duplicates, each with its run, and the bands of notes that have none recorded."""

    project_id: int = 0
    near: tuple[tuple[int, str], ...] = ()
    late: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def notes(self, run: int) -> tuple[str, ...]:
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
    words, fresh = _plain_words(entry.content), {}
    runs: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, content, run, is_like, is_fresh in transaction.all(_candidates(recorded), values):
        if is_fresh:
            fresh[number] = content
        if is_like and (not is_fresh or _may_be_similar(words, _plain_words(content))):
            runs[number], texts[number] = run, content
    if entry.supersedes is not None:
        texts.pop(entry.supersedes, None)
    alike = near.most_similar(entry.content, texts.items(), near.share_of_both)
    is_due = len(fresh) >= 2 * _LOT or len(fresh) == _LOT
    late = {number: _bands(project_id, content).recorded for number, content in fresh.items()} if is_due else {}
    return Matches(project_id, tuple((runs[one.item], one.note(Kind.ENTRY)) for one in alike), late)


@lru_cache(maxsize=64)
def _plain_words(text: str) -> frozenset[str]:
    return frozenset(text.lower().split()) if text.isascii() else frozenset()


def _may_be_similar(one: frozenset[str], other: frozenset[str]) -> bool:
    # far below the least similarity of near-duplicates: words with punctuation count as others here
    return not one or not other or len(one & other) >= _LEAST_SHARE * len(one | other)


def ask_reached(transaction: Transaction, project_id: int, matches: Matches) -> Rows | None:
    """Query up to which note bands are recorded, if some are due; otherwise return None."""
    if not matches.late:
        return None
    return transaction.ask(_REACHED, _reached(project_id))


def _reached(project_id: int) -> dict[str, object]:
    return {"project": project_id, "mark": likeness.mark("reached", project_id), "kind": _KIND}


def record_bands(transaction: Transaction, project_id: int, matches: Matches, rows_reached: Rows | None) -> None:
    """Record the bands of notes that have none, once there are enough."""
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


def forget_bands(transaction: Transaction, project_id: int, number: int) -> None:
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

"""Sightings: a note that repeats a live one is counted with it instead of being stored again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep.entries.records import COMPARED_TYPES, ERROR, Entry, Prepared, Writer
from satchel.store.transaction import Transaction, set_of

_LEAST_WORDS = 3
"""Shorter texts, such as ``done``, are not compared: they repeat by chance."""


def key_of(
    type: int,  # noqa: A002 -- the field's own name
    content: str,
    file: str | None,
    line: int | None,
    loop_id: str | None,
    agent: int | None,
) -> int | None:
    """Return the key shared by notes with the same text and place; None for types that are not compared.

    An error's key includes its agent and loop: elsewhere it was a new occurrence.
    """
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
    """Existing equivalents of several new notes; :meth:`read` finds them. Keys are places of the new notes.

    Attributes:
        keys: the result of :func:`key_of`.
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
        self._found = wanted and transaction.ask(
            "SELECT id, said, superseded_by IS NULL FROM context "
            f"WHERE project_id = :project AND said IN (:{', :'.join(wanted)}) ORDER BY id",
            {"project": writer.project_id, **wanted},
        )

    def read(self, excluded: Container[int]) -> None:
        """Find the equivalents, except for the notes at the given places."""
        rows = self._found.all() if self._found else ()
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


def record(transaction: Transaction, writer: Writer, number: int, entry: Prepared) -> bool:
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


def with_names(transaction: Transaction, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries, repeated ones with their authors in order."""
    entries = tuple(entries)
    often = [entry.id for entry in entries if entry.seen is not None]
    if not often:
        return entries
    rows = transaction.all(
        f"""
        SELECT s.entry_id, a.name FROM sightings s JOIN agents a ON a.id = s.agent_id
        WHERE s.entry_id IN {set_of(often)} ORDER BY s.id
        """
    )
    names = {entry.id: [entry.agent] if entry.agent else [] for entry in entries}
    for number, name in rows:
        names[number] += [name] if name not in names[number] else []
    return tuple(one if one.seen is None else replace(one, seen_by=tuple(names[one.id])) for one in entries)


def seen_with(
    transaction: Transaction, project_id: int, column: str, values: Sequence[object]
) -> tuple[str, dict[str, object]]:
    """Return SQL for the numbers of entries seen with one of some values in a column, and its parameters."""
    parameters = {f"seen_{column}{place}": value for place, value in enumerate(values)}
    bound = ", ".join(f":{name}" for name in parameters)
    sql = f"SELECT entry_id FROM sightings WHERE project_id = :project AND {column} IN ({bound})"
    if transaction.one(f"{sql} LIMIT 1", {"project": project_id, **parameters}) is None:
        return "", {}
    return sql, parameters

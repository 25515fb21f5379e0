"""Sightings: a note that says what a live one says already is counted with that one, not written again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep.entries.records import COMPARED_TYPES, ERROR, Entry, Prepared, Writer
from satchel.store.transaction import Transaction, set_of

_LEAST_WORDS = 3
"""A text of fewer words, such as ``done``, says too little to be the same thing twice."""


def key_of(
    type: int,  # noqa: A002 -- the field's own name
    content: str,
    file: str | None,
    line: int | None,
    loop_id: str | None,
    agent: int | None,
) -> int | None:
    """Return what notes have in common that say the same of the same place; None for what is never compared.

    An error is the same only for its own agent and loop: elsewhere it was met again.

    Args:
        type: the number of its type.
        agent: who writes it.
    """
    if type not in COMPARED_TYPES:
        return None
    words = content.casefold().split()
    if len(words) < _LEAST_WORDS:
        return None
    said = f"{type}\0{' '.join(words)}\0{file or ''}\0{line or ''}"
    if type == ERROR:
        said += f"\0{agent or ''}\0{loop_id or ''}"
    from hashlib import blake2b  # 3 ms of a start: it loads OpenSSL

    digest = blake2b(said.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Sightings:
    """What of several new notes is kept already; :meth:`read` finds it.

    Attributes:
        keys: of each new note, by its place, what :func:`key_of` gives.
        known: by the places of new notes the live one that says the same.
        first: by the places of new notes the place of the note among them that says the same.
        ended: by the places of new notes the newest that said the same, and holds no more.
    """

    def __init__(self, transaction: Transaction, writer: Writer, entries: Sequence[Prepared]) -> None:
        """Look for them, with one statement.

        Args:
            entries: new notes; what replaces another is never taken for it.
        """
        self.keys = [key_of(one.type, one.content, one.file, one.line, one.loop_id, writer.agent) for one in entries]
        self.known: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self._compared = {
            place: key
            for place, (key, one) in enumerate(zip(self.keys, entries, strict=True))
            if key is not None and one.supersedes is None
        }
        # bound, so that the statement of a single note is prepared once: that takes five times as long as the look
        wanted = {f"said{place}": key for place, key in enumerate({*self._compared.values()})}
        self._found = wanted and transaction.ask(
            "SELECT id, said, superseded_by IS NULL FROM context "
            f"WHERE project_id = :project AND said IN (:{', :'.join(wanted)}) ORDER BY id",
            {"project": writer.project_id, **wanted},
        )

    def read(self, kept: Container[int]) -> None:
        """Find what is kept already.

        Args:
            kept: the places of those that are kept for another reason.
        """
        rows = self._found.all() if self._found else ()
        live = {said: number for number, said, is_live in reversed(rows) if is_live}
        over = {said: number for number, said, is_live in rows if not is_live}
        places: dict[int, int] = {}
        for place, key in self._compared.items():
            if place in kept:
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
    """Count that an entry was written once more, unless it was delivered to who writes it.

    Returns:
        Whether it was counted; the entry's seq stays.
    """
    from satchel.keep.deliveries import windows_of  # a note that is new needs none of it

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
    """Return entries, those that were seen more than once with the names of who wrote them, the first first."""
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
    """Return SQL for the numbers of the entries that were seen with one of some values, and its parameters.

    Args:
        column: run_id, agent_id, task_id or loop_id.

    Returns:
        An empty text where none was seen, so that nothing need be asked.
    """
    given = {f"seen_{column}{place}": value for place, value in enumerate(values)}
    bound = ", ".join(f":{name}" for name in given)
    sql = f"SELECT entry_id FROM sightings WHERE project_id = :project AND {column} IN ({bound})"
    if transaction.one(f"{sql} LIMIT 1", {"project": project_id, **given}) is None:
        return "", {}
    return sql, given

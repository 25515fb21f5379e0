"""Pins: items that a person wants in every briefing; they rank as critical."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.base.paging import DEFAULT_LIMIT, Page, check_page
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events, projects
from satchel.keep.entries.records import ENTRY_TYPES, STRUCTURED_TYPES
from satchel.keep.names import check_agent
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting, record_passage, require_person
from satchel.store.transaction import Asking, Transaction, answering, grouped, set_of

if TYPE_CHECKING:
    from typing import Unpack

    from satchel.keep.common_filters import CommonFilters

_STRUCTURED = ", ".join(str(ENTRY_TYPES.index(name) + 1) for name in STRUCTURED_TYPES)

PINNED = frozenset(kind.name.lower() for kind in Kind if kind.live)  # the names of the kinds that can be pinned


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned or unpinned item.

    Attributes:
        pinned_at: milliseconds UTC; None if it is not pinned any more.
        already: whether nothing had to be changed.
    """

    ref: str
    kind: str
    text: str
    by: str | None
    pinned_at: int | None
    already: bool = False


class Pins(Service):
    """Pins of a project."""

    def pin(self, ref: str, *, agent: str | None = None) -> Pin:
        """Pin a note, decision, rule, strategy or package to every briefing; its replacement inherits the pin.

        Args:
            ref: its short id.
            agent: who pins it; None takes the default.

        Raises:
            Refused: the caller is not a person.
            InvalidInput: the id is invalid, or its kind cannot be pinned.
            NotFound: the project has no such item.
            Conflict: it was replaced or retracted.
        """
        return self._set(ref, agent, pinned=True)

    def unpin(self, ref: str, *, agent: str | None = None) -> Pin:
        """Unpin an item; arguments and errors are those of :meth:`pin`."""
        return self._set(ref, agent, pinned=False)

    def list(self, *, limit: int = DEFAULT_LIMIT, offset: int = 0, **filters: Unpack[CommonFilters]) -> Page[Pin]:
        """Return the live pinned items, newest pin first.

        Args:
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.
            filters: those of every list.
        """
        from satchel.keep.common_filters import check_common

        check_page(limit, offset)
        with projects.reading(self._workplace) as (transaction, project):
            rows = transaction.all(
                "SELECT p.kind, p.item_id, a.name, p.created_at FROM pins p LEFT JOIN agents a ON a.id = p.agent_id "
                "WHERE p.project_id = :project ORDER BY p.created_at DESC, p.kind, p.item_id DESC",
                {"project": project.id},
            )
            pinned = load_pinned(transaction, project.id)
            common = check_common(filters, self._workplace.clock())
            rows = [row for row in rows if row[1] in pinned.get(row[0], ()) and common.keeps(row[3])]
            pins = tuple(
                Pin(KIND_OF[kind].ref(number), *_kind_and_text(transaction, KIND_OF[kind], number), by, at)
                for kind, number, by, at in rows[offset : offset + limit]
            )
        return Page(pins, len(rows), offset, limit)

    def _set(self, ref: str, agent: str | None, *, pinned: bool) -> Pin:
        from satchel.keep.kinds import read_ref

        work = self._workplace
        kind, number = read_ref(ref)
        if kind.live is None:
            raise InvalidInput(
                f"{ref} cannot be pinned", "Notes (e), decisions (d), rules (c) and strategies (s) can be"
            )
        agent = check_agent(work, agent)
        require_person(work, f"{'pin' if pinned else 'unpin'} items", agent=agent)
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now)
            _check(transaction, project.id, kind, number, pinned=pinned)
            values = {"project": project.id, "kind": kind.number, "item": number}
            this = "p.project_id = :project AND p.kind = :kind AND p.item_id = :item"
            row = transaction.one(
                f"SELECT a.name, p.created_at FROM pins p LEFT JOIN agents a ON a.id = p.agent_id WHERE {this}", values
            )
            texts = _kind_and_text(transaction, kind, number)
            if (row is not None) == pinned:
                by, at = row or (None, None)
                return Pin(kind.ref(number), *texts, by, at, already=True)
            if pinned:
                transaction.run(
                    "INSERT INTO pins (project_id, kind, item_id, agent_id, created_at) "
                    "VALUES (:project, :kind, :item, :agent, :now)",
                    {**values, "agent": actor.number, "now": now},
                )
            else:
                transaction.run(f"DELETE FROM pins AS p WHERE {this}", values)
            event = events.PINNED if pinned else events.UNPINNED
            item = (kind, number)
            events.record(transaction, project.id, event, now, by=actor, item=item)
            record_passage(
                transaction, work, project.id, f"{'pinned' if pinned else 'unpinned'} {kind.ref(number)}", now
            )
        return Pin(kind.ref(number), *texts, actor.name, now if pinned else None)


def ask_pinned(transaction: Transaction, project_id: int) -> Asking[dict[int, frozenset[int]]]:
    """Return the numbers of the live pinned items by number of kind."""
    pinned = transaction.ask("SELECT kind, item_id FROM pins WHERE project_id = :project", {"project": project_id})
    yield pinned
    numbers: dict[int, list[int]] = grouped(pinned.all())
    queries = {
        kind.number: transaction.ask(
            f"SELECT i.id FROM {kind.table} i "
            f"WHERE i.id IN {set_of(numbers[kind.number])} AND +i.project_id = :project AND {kind.live}",
            {"project": project_id},
        )
        for kind in Kind
        if kind.number in numbers
    }
    yield from list(queries.values())[-1:]
    live = {kind_number: frozenset(item for (item,) in rows.all()) for kind_number, rows in queries.items()}
    return {kind_number: items for kind_number, items in live.items() if items}


load_pinned = answering(ask_pinned)


def notes_of(transaction: Transaction, project_id: int, kind: Kind, number: int) -> tuple[str, ...]:
    row = transaction.one(
        "SELECT a.name FROM pins p LEFT JOIN agents a ON a.id = p.agent_id "
        "WHERE p.project_id = :project AND p.kind = :kind AND p.item_id = :item",
        {"project": project_id, "kind": kind.number, "item": number},
    )
    return () if row is None else (f"pinned by {row[0] or 'somebody unnamed'}",)


def forget(transaction: Transaction, project_id: int, kind: Kind, number: int) -> None:
    transaction.run(
        "DELETE FROM pins WHERE project_id = :project AND kind = :kind AND item_id = :item",
        {"project": project_id, "kind": kind.number, "item": number},
    )


def _check(transaction: Transaction, project_id: int, kind: Kind, number: int, *, pinned: bool) -> None:
    # items that were replaced or retracted can be unpinned, but not pinned
    row = transaction.one(
        f"SELECT {kind.live}{f', i.type IN ({_STRUCTURED})' if kind is Kind.ENTRY else ', 0'} "
        f"FROM {kind.table} i WHERE i.project_id = :project AND i.id = :item",
        {"project": project_id, "item": number},
    )
    ref, name = kind.ref(number), kind.noun
    if row is None:
        raise NotFound(f"there is no {name} {ref} in this project", "Lists and searches show the ids")
    if pinned and not row[0]:
        raise Conflict(f"{ref} is no longer valid", "Pin its replacement; opening it shows the id")
    if pinned and row[1]:
        raise InvalidInput(
            f"{ref} is a progress report or review, which soon becomes outdated", "Write what should stay as a note"
        )


def _kind_and_text(transaction: Transaction, kind: Kind, number: int) -> tuple[str, str]:
    from satchel.keep import kept
    from satchel.keep.kinds import KINDS

    thing = KINDS[kind]
    return thing.name, shortened(kept.display_texts(thing, transaction, [number]).get(number, ""))

"""What memory is worth: the tokens put into windows, what came of it, and the briefing that an agent would get now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.shares import ROLES
from satchel.brief.room.memory_records import SPENT_BY, Spending
from satchel.brief.room.preview import MOMENTS
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.formatting import date
from satchel.interfaces.http.room.plots import Series, bars

_DAYS = (14, 30, 90)
_MOST_AGENTS = 200
_LISTS = {
    "helped": ("What helped", "Nobody has confirmed anything or reported that it helped."),
    "unused": ("What never did", "Nothing was delivered again and again in vain."),
    "stale": ("What may be stale", "No file that a note cites was edited after the note."),
    "delivered": ("Delivered most often", "Nothing was delivered yet."),
    "sighted": ("Written more than once", "Nothing was written twice."),
}


def memory(asked: Asked) -> Page:
    """Return what memory is worth."""
    days, by = asked.number("days", _DAYS[0]), asked.given.get("by") or SPENT_BY[0]
    found = asked.looking.room.memory(days, by)
    context = {
        "memory": found,
        "lists": _LISTS,
        "days": days,
        "day_choices": _DAYS,
        "by_choices": SPENT_BY,
        "plot": _plot(found.spending),
        "form": _form(asked),
    }
    return Page(f"Memory of {asked.place.name}", "memory.html", context, found, asked.place)


def briefing(asked: Asked) -> Page:
    """Return the briefing that an agent would get now."""
    given = {name: text for name, text in asked.given.items() if text.strip()}
    found = asked.looking.room.preview(
        given.get("agent", "").strip() or None,
        given.get("moment", MOMENTS[0]),
        role=given.get("role"),
        task_id=given.get("task_id"),
        query=given.get("query"),
        budget=asked.number("budget") if "budget" in given else None,
    )
    name = found.agent or "an agent without a name"
    context = {"preview": found, "name": name, "form": _form(asked), "sections": SECTIONS}
    return Page(f"Briefing of {name} in {asked.place.name}", "briefing.html", context, found, asked.place)


PAGES: Mapping[str, View] = {"/memory": memory, "/memory/briefing": briefing}


def _form(asked: Asked) -> dict[str, Any]:
    """Return what the form for a briefing offers, and what was chosen in it."""
    agents = [agent.name for agent in asked.looking.agents.list()]
    return {
        "given": asked.given,
        "agents": agents[-_MOST_AGENTS:],
        "roles": ROLES,
        "moments": MOMENTS,
    }


def _plot(spending: Spending) -> object:
    labels = [date(day.began_at) for day in spending.days]
    series = [
        Series(one.name, [day.tokens[place] for day in spending.days]) for place, one in enumerate(spending.names)
    ]
    highest = max(spending.days, key=lambda day: sum(day.tokens))
    said = (
        f"Tokens put into windows on each of {len(labels)} days: {spending.tokens:,} in all, most on "
        f"{date(highest.began_at)} with {sum(highest.tokens):,}; {', '.join(_share(spending))}"
        if spending.tokens
        else f"Nothing was put into windows in {len(labels)} days"
    )
    return bars(f"Tokens put into windows, by {spending.by}", "tokens per day, UTC", labels, series, said)


def _share(spending: Spending) -> list[str]:
    return [f"{one.name} {one.tokens / spending.tokens:.0%}" for one in spending.names]

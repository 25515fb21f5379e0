"""The health of a project: store, backups, clients and hooks, tokens, and the tokens added to context by day."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from satchel.brief.room.memory import Spending
from satchel.interfaces.web.rendering import date
from satchel.interfaces.web.request import Page, PageRequest, page
from satchel.keep.sessions.team import TeamSession

_HEIGHT = 60


@page("/health")
def health(request: PageRequest) -> Page:
    """Return the state of the store, its backups, the clients with their hooks, tokens and token spending."""
    satchel, room = request.reader, request.satchel.room
    spending, needs = room.spending(), room.needs()
    clients: dict[str, TeamSession] = {}
    for one in satchel.sessions.team(all=True).sessions:
        key = one.client or "without a client"
        clients[key] = max(clients.get(key, one), one, key=lambda session: session.seen_at)
    # a login by a token sees nothing of the machine
    is_here = request.login.token is None
    backups = request.projects.backups(request.project) if is_here else []
    tokens = request.projects.tokens(request.project) if is_here else []
    logins = request.projects.logins() if is_here else []
    data = {
        "version": version("satchel"),
        "statistics": satchel.housekeeping.statistics(),
        "backups": backups,
        "hooks": [one for one in needs.items if one.kind == "hook"],
        "clients": list(clients.values()),
        "tokens": tokens,
        "logins": logins,
        "spending": spending,
    }
    store = request.project.store
    context = {"is_here": is_here, "store": store, "is_file": isinstance(store, Path), "bars": _bars(spending)}
    return Page(f"Health of {request.project.name}", "health.html", data | context, data, "/health")


def _bars(spending: Spending) -> list[tuple[float, float, str]]:
    highest, step = max(1, *(day.tokens for day in spending.days)), 100 / len(spending.days)
    return [
        (round(place * step, 2), round(day.tokens * _HEIGHT / highest, 1), f"{date(day.began_at)}: {day.tokens:,}")
        for place, day in enumerate(spending.days)
    ]

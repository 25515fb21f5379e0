"""What others have changed since the person last looked, grouped by agent and task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlencode

from satchel.base.errors import NotFound
from satchel.base.records import NamedTuple, replace
from satchel.brief.room.records import Changed
from satchel.interfaces.text.parts import counted
from satchel.interfaces.web.pages.memory import title_of
from satchel.interfaces.web.request import Page, PageRequest, page
from satchel.interfaces.web.rows import CHANGE_NAMES
from satchel.keep.items import MAX_ITEMS
from satchel.keep.kinds import is_ref
from satchel.keep.sessions.team import TeamSession

_MOST_SHOWN, _MOST_GROUPS = 6, 25


class Group(NamedTuple):
    """The changes of one agent at one task, the latest first, with its session if that is still known."""

    agent: str
    session: TeamSession | None
    changes: list[Changed]


@page("/activity")
def activity(request: PageRequest) -> Page:
    room = request.satchel.room
    since, where = room.since(), request.reader.room.where()
    kind, agent = request.values.get("kind", ""), request.values.get("agent", "")
    by_time = request.values.get("by") == "time"
    items = _named(request, [*since.items, *since.own])
    items = [one for one in items if kind in ("", one.kind) and agent in ("", one.agent or "")]
    if by_time:
        items.sort(key=lambda one: -one.changed_at)
    began = {day.uid: day.spans[0].began_at for day in where.timeline if day.spans}
    sessions: dict[str | None, list[tuple[int, TeamSession]]] = {}
    for one in where.team.sessions if not by_time else ():
        sessions.setdefault(next(iter(one.agents), None), []).append((began.get(one.uid, 0), one))
    groups: dict[tuple[str, str | None], Group] = {}
    for change in items:
        # the latest that had begun by then
        own = [(at <= change.changed_at, at, one) for at, one in sessions.get(change.agent, ())] if change.agent else ()
        session, author = max(own, key=lambda of: of[:2])[2] if own else None, "" if by_time else change.agent or ""
        key = (author, None if session is None else session.task_id)
        groups.setdefault(key, Group(author, session, [])).changes.append(change)
    shown = [*groups.values()][:_MOST_GROUPS]

    def at(**changes: str) -> str:
        values = {"kind": kind, "agent": agent, "by": request.values.get("by", "")} | changes
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{request.here}/activity" + (f"?{query}" if query else "")

    total, every = sum(count for _, count in since.totals), (*since.items, *since.own)
    unread = total + since.own_total - len(every)
    context = {
        "since": since,
        "groups": shown,
        "most": len(items) if by_time else _MOST_SHOWN,
        "kinds": [("All", total, at(kind=""), not kind)]
        + [(CHANGE_NAMES[name][1], count, at(kind=name), name == kind) for name, count in since.totals if count],
        "names": {name: word for name, (word, _) in CHANGE_NAMES.items()},
        "sentence": _sentence(since.items, total, has_looked=since.looked_at is not None),
        "agents": sorted({one.agent or "" for one in every} - {""}),
        "agent": agent,
        "kind": kind,
        "by_time": by_time,
        "hidden": unread + len(items) - sum(len(one.changes) for one in shown),
    }
    return Page(f"Activity in {request.project.name}", "activity.html", context, since, "/activity")


def _named(request: PageRequest, items: Sequence[Changed]) -> list[Changed]:
    refs = {one.ref: one.text.rpartition(" ")[2] for one in items if one.kind == "action" and " " in one.text}
    wanted = [*dict.fromkeys(filter(is_ref, refs.values()))]
    titles: dict[str, str] = {}
    for first in range(0, len(wanted), MAX_ITEMS):
        with suppress(NotFound):
            opened = request.reader.items.read(wanted[first : first + MAX_ITEMS]).items
            titles |= {one.ref: title_of(one.record) for one in opened}
    undone = [replace(one, text=f"{one.text}, undone") if one.action == "undone" else one for one in items]
    return [
        replace(one, item=ref, text=f"{one.text}: {titles[ref]}") if (ref := refs.get(one.ref, "")) in titles else one
        for one in undone
    ]


def _sentence(items: tuple[Changed, ...], total: int, *, has_looked: bool) -> str:
    since = "since your last visit" if has_looked else "since this project began"
    if not total:
        return f"No changes by others {since}."
    counts = Counter((one.kind, one.action) for one in items)
    parts = [
        f"{count} {text if count == 1 else several}"
        for key, text, several in (
            (("decision", "changed"), "decision changed", "decisions changed"),
            (("decision", "set"), "new decision", "new decisions"),
            (("rule", "added"), "new rule", "new rules"),
            (("fix", "solved"), "error solved", "errors solved"),
            (("fix", "refuted"), "fix refuted", "fixes refuted"),
        )
        if (count := counts[key])
    ]
    changes = f"{counted(total, 'change')} by others {since}"
    return f"{changes}: {', '.join(parts)}." if parts else f"{changes}."

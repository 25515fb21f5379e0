"""The list of projects, and the overview of one: needs, conflicts, agents and a timeline, with the actions on them."""

from __future__ import annotations

from satchel.base.errors import Conflict
from satchel.brief.room.marks import everything_ref
from satchel.brief.room.records import Since
from satchel.interfaces.web import rows, timeline
from satchel.interfaces.web.projects import Project
from satchel.interfaces.web.request import Done, Page, PageRequest, action, page

_MOST_SENT = 3
_NO_CLAIM = ("the form names no claim", "Reload the page and submit again")


def start(request: PageRequest) -> Page:
    projects = [(one.address, one.name, _store(request, one)) for one in request.projects.of(request.login)]
    named = [
        {"address": address, "name": name} | ({"store": store} if store else {}) for address, name, store in projects
    ]
    return Page("Projects", "start.html", {"projects": projects}, {"projects": named})


def _store(request: PageRequest, project: Project) -> str:
    return str(project.store) if request.login.token is None else ""  # a token shows nothing of the machine


@page("/")
def overview(request: PageRequest) -> Page:
    project, room = request.project, request.satchel.room
    needs, since, where, conflicts = room.needs(), room.since(), room.where(), room.conflicts()
    team = where.team
    urgent, rest, rest_names = rows.need_rows(needs)
    active = [one for one in rows.in_order(team.sessions) if one.state.name != "ended"]
    data = {
        "project": project.name,
        "person": request.login.author,
        "cursor": room.reached().cursor,
        "needs": needs,
        "since": since,
        "where": where,
        "conflicts": conflicts,
        "sent": room.sent(limit=_MOST_SENT),
    }
    context = data | {
        "is_new": not (team.total or team.earlier or team.claims or needs.total),
        "store": _store(request, project),
        "changes": rows.changes_in_words(since.totals),
        "backups": request.projects.backups(project) if request.login.token is None else [],
        "urgent": urgent,
        "rest": rest,
        "rest_names": rest_names,
        "agent_parts": rows.agent_parts(team.sessions),
        "need_parts": rows.need_parts([*urgent, *rest], rows.count_needs(needs), conflicts.files),
        "active": active,
        "steps": rows.last_steps(where),
        "ended": team.total - len(active),
        "timeline": timeline.of_team(where, timeline.chosen_hours(request.values)),
    }
    return Page(project.name, "overview.html", context, data, "/")


def new_count(since: Since) -> int:
    """Return the number of changes that the person has not seen."""
    return sum(count for _, count in since.totals)


@action("/claims/release", "The claim has ended, and its holder got a message", "/claims/restore")
def release(request: PageRequest) -> Done:
    """End the claim of a session, and tell its holder."""
    session, path = (request.text(name, *_NO_CLAIM) for name in ("session", "path"))
    released = request.satchel.room.release(session, path, request.number("expires_at"))
    return Done(undo={"ending": released.ending})


@action("/claims/release-own", "Released")
def release_own(request: PageRequest) -> Done:
    path = request.text("path", *_NO_CLAIM)
    if not request.satchel.files.release([path]).released:
        remedy = "Reload the page, or run `satchel file release` in the worktree where you claimed it"
        raise Conflict(f"you hold no claim on {path} in the main worktree", remedy)
    return Done()


@action("/claims/restore", "The claim is its holder's again")
def restore(request: PageRequest) -> Done:
    request.satchel.room.restore_claim(request.number("ending"))
    return Done()


@action("/seen", "Marked as read", "/seen/undo")
def see(request: PageRequest) -> Done:
    """Mark changes as read: those of the form, one a line, or all up to the last one on the page."""
    refs = request.values.get("ref")
    # a need has no sequence number
    seq = request.number("seq") if refs is None or "seq" in request.values else None
    marked = request.satchel.room.see(None if refs is None else refs.split("\n"), up_to=seq)
    return Done(undo={"things": refs or everything_ref(marked.seq)})


@action("/seen/undo", "Shown again")
def unsee(request: PageRequest) -> Done:
    """Show changes again that were marked as read."""
    room, things = request.satchel.room, request.values.get("things", "").split("\n")
    if True not in [room.unsee(one) for one in things]:
        raise Conflict("this was marked as read again, or more than 10 minutes ago", "Nothing was changed")
    return Done()

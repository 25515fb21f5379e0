"""The agents of a project, and the page of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from satchel.base.errors import NotFound
from satchel.interfaces.web import rows, timeline
from satchel.interfaces.web.pages.memory import title_of
from satchel.interfaces.web.request import Page, PageRequest, View
from satchel.keep.names import shown_name
from satchel.keep.sessions.team import TeamSession

_ATTEMPTS, _MESSAGES, _BRIEFINGS = 8, 8, 8


_MOMENTS = {
    "briefing": "Asked for it",
    "start": "Session start",
    "resume": "Session resumed",
    "compaction": "After compaction",
    "clear": "After clearing",
    "edit": "At an edit",
    "prompt": "With a prompt",
    "command": "At a command",
    "subagent": "Subagent",
    "plan": "At a plan",
}


def agents(request: PageRequest) -> Page:
    """Return all agents seen lately, with a timeline of the last day."""
    where = request.reader.room.where()
    team = where.team
    states = Counter(one.state.name for one in team.sessions)
    context = {
        "sessions": rows.in_order(team.sessions),
        "states": [(states[one], one) for one in ("working", "stuck", "waiting", "silent", "ended") if states[one]],
        "earlier": team.earlier,
        "timeline": timeline.of_team(where, timeline.chosen_hours(request.values)),
        "now": team.asked_at,
    }
    return Page(f"Agents of {request.project.name}", "agents.html", context, where, request.project, "/agents")


def agent(request: PageRequest) -> Page:
    """Return one agent in its session: state, attempts, messages and claims."""
    uid, reader = request.path["session"], request.reader
    where = reader.room.where()
    one = next((session for session in where.team.sessions if session.uid == uid), None)
    if one is None:
        raise NotFound("this session is not there, or too old", "Open one from the list of agents")
    name = one.agents[0] if one.agents else None
    attempts = reader.entries.read(types=["scratchpad"], author=name, run_id="*", limit=_ATTEMPTS) if name else None
    threads = reader.room.threads(agent=name, limit=_MESSAGES) if name else None
    messages = [entry.message for thread in threads.items for entry in thread.messages] if threads else []
    messages.sort(key=lambda message: -message.created_at)
    briefings, trees = reader.room.briefings(uid, limit=_BRIEFINGS), reader.room.worktrees()
    shown = shown_name(name or one.client or "No name yet")
    context = {
        "one": one,
        "name": name,
        "sentence": _sentence(shown, one.state.name, one.state.reason),
        "attempts": attempts.items if attempts else (),
        "moments": _MOMENTS,
        "titles": {pad.ref: title_of(pad) for pad in attempts.items} if attempts else {},
        "waiting": _waiting(request, one),
        "briefings": briefings.items,
        "uncommitted": next((tree for tree in trees.items if tree.worktree == one.worktree), None),
        "messages": messages[:_MESSAGES],
        "timeline": timeline.of_session(where, one, timeline.chosen_hours(request.values)),
        "now": where.team.asked_at,
    }
    data = {
        "session": one,
        "briefings": briefings,
        "worktrees": trees,
        "attempts": attempts,
        "messages": messages[:_MESSAGES],
    }
    return Page(shown, "agent.html", context, data, request.project, "/agents")


def _waiting(request: PageRequest, session: TeamSession) -> dict[str, list[str]]:
    """Return who waits for each claim of a session, or was refused it."""
    needs = [one for one in request.satchel.room.needs().items if one.holder_session == session.uid and one.agent]
    return {
        claim.path: [one.agent for one in needs if one.held_path == claim.path and one.agent]
        for claim in session.claims
    }


def _sentence(name: str, state: str, reason: str | None) -> str:
    if state == "stuck":
        return f"{name} has made 3 attempts without progress"
    if state == "waiting":
        return f"{name} is waiting: {reason}" if reason else f"{name} is waiting"
    return {"silent": f"{name} is silent", "ended": f"{name} has ended"}.get(state, f"{name} is working")


PAGES: Mapping[str, View] = {"/agents": agents, "/agents/{session}": agent}

"""The agents of a project, and the page of one."""

from __future__ import annotations

from collections.abc import Iterable

from satchel.base.clock import DAY_MS
from satchel.base.errors import NotFound
from satchel.base.records import NamedTuple
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.web import rows, timeline
from satchel.interfaces.web.pages.memory import title_of
from satchel.interfaces.web.rendering import date, reason_for
from satchel.interfaces.web.request import Page, PageRequest, page
from satchel.keep.housekeeping.usage import DAYS, AgentDay
from satchel.keep.names import shown_name
from satchel.keep.sessions.team import TeamSession

_ATTEMPTS, _MESSAGES, _BRIEFINGS = 8, 8, 8
_HEIGHT = 20
_SORTS = {
    "writes": "Writes",
    "changes": "File changes",
    "messages": "Messages",
    "claims": "Claims",
    "solutions": "Errors solved",
}

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


class AgentWeek(NamedTuple):
    """What an agent did in the last days: by sort, and a bar for each day, with its left edge, height and title."""

    agent: str | None
    counts: tuple[int, ...]
    bars: tuple[tuple[int, float, str], ...]

    @property
    def is_satchel(self) -> bool:
        """Whether these are Satchel's own messages: what is done without a name is more than that."""
        return self.agent is None and sum(self.counts) == self.counts[list(_SORTS).index("messages")]


@page("/agents")
def agents(request: PageRequest) -> Page:
    """Return all agents seen lately, with a timeline of the last day and what each did by day."""
    where, activity = request.reader.room.where(), request.reader.housekeeping.activity()
    team = where.team
    context = {
        "team": team,
        "sessions": rows.in_order(team.sessions),
        "parts": rows.agent_parts(team.sessions),
        "steps": rows.last_steps(where),
        "timeline": timeline.of_team(where, timeline.chosen_hours(request.values)),
        "sorts": _SORTS.values(),
        "weeks": _weeks(activity.days, team.asked_at),
    }
    title = f"Agents of {request.project.name}"
    # fields of a long timeline take longer to make than the page
    return Page(title, "agents.html", context, lambda: {**fields_of(where), "days": activity.days}, "/agents")


def _weeks(days: Iterable[AgentDay], now: int) -> list[AgentWeek]:
    today, found = now // DAY_MS, [*days]
    of = {(one.agent, one.began_at // DAY_MS): [getattr(one, name) for name in _SORTS] for one in found}
    highest = max(map(sum, of.values()), default=0)
    weeks = []
    for agent in {one.agent: None for one in found}:
        by_day = [(day, of.get((agent, day), [0] * len(_SORTS))) for day in range(today - DAYS + 1, today + 1)]
        bars = (
            (place * 16, round(sum(counts) * _HEIGHT / highest, 1), f"{date(day * DAY_MS)}: {_in_words(counts)}")
            for place, (day, counts) in enumerate(by_day)
            if sum(counts)
        )
        totals = tuple(map(sum, zip(*(counts for _, counts in by_day), strict=True)))
        weeks.append(AgentWeek(agent, totals, tuple(bars)))
    return sorted((one for one in weeks if one.bars), key=lambda one: -sum(one.counts))


def _in_words(counts: Iterable[int]) -> str:
    return ", ".join(f"{word.lower()} {count:,}" for count, word in zip(counts, _SORTS.values(), strict=True) if count)


@page("/agents/{session}")
def agent(request: PageRequest) -> Page:
    """Return one agent in its session: state, attempts, messages and claims."""
    uid, reader = request.path["session"], request.reader
    where = reader.room.where()
    one = next((session for session in where.team.sessions if session.uid == uid), None)
    if one is None:
        raise NotFound("this session is not there, or too old", "Open one from the list of agents")
    name = one.name
    attempts = reader.entries.read(types=["scratchpad"], author=name, run_id="*", limit=_ATTEMPTS) if name else None
    lists = [reader.messages.inbox(agent=name, sender=by, limit=_MESSAGES) for by in (None, name)] if name else []
    messages = sorted((one for some in lists for one in some.items), key=lambda one: -one.created_at)
    briefings, trees = reader.room.briefings(uid, limit=_BRIEFINGS), reader.room.worktrees()
    shown = shown_name(name or one.client or "No name yet")
    data = {
        "session": one,
        "briefings": briefings,
        "worktrees": trees,
        "attempts": attempts,
        "messages": messages[:_MESSAGES],
    }
    context = data | {
        "one": one,
        "name": name,
        "sentence": _sentence(shown, one.state.name, reason_for(request.login.author, one.state.reason or "")),
        "moments": _MOMENTS,
        "titles": {pad.ref: title_of(pad) for pad in attempts or ()},
        "waiting": _waiting(request, one),
        "uncommitted": next((tree for tree in trees.items if tree.worktree == one.worktree), None),
        "timeline": timeline.of_session(where, one, timeline.chosen_hours(request.values)),
    }
    return Page(shown, "agent.html", context, data, "/agents")


def _waiting(request: PageRequest, session: TeamSession) -> dict[str, list[str]]:
    needs = [one for one in request.satchel.room.needs().items if one.holder_session == session.uid and one.agent]
    return {
        claim.path: [one.agent for one in needs if one.held_path == claim.path and one.agent]
        for claim in session.claims
    }


def _sentence(name: str, state: str, reason: str) -> str:
    if state == "stuck":
        return f"{name} has made 3 attempts without progress"
    if state == "waiting" and reason:
        return f"{name} is waiting{' for' if reason.startswith('an answer') else ':'} {reason}"
    words = {"waiting": "is waiting", "idle": "is at its prompt", "silent": "is silent", "ended": "has ended"}
    return f"{name} {words.get(state, 'is working')}"

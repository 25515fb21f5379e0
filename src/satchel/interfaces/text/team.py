"""Sessions as text for agents and as a table for people.

A session's line has its agent, ``client:``, ``worktree:`` if that is not the main one, ``branch:``, ``run:``,
``task:``, ``with:`` each other agent of the session, ``continues:`` the session before it, and its state. Its
claims and its last scratchpad follow below.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from satchel.base.clock import span_in_words
from satchel.base.invisible import revealed
from satchel.base.text import shortened
from satchel.interfaces.text.lists import local_time, note_lines, show_table
from satchel.interfaces.text.parts import quoted, value_text
from satchel.keep.names import shown_name
from satchel.keep.sessions.team import LastChange, LastScratchpad, Team, TeamClaim, TeamSession
from satchel.store.transaction import grouped

_MAX_CHARS = 1_000
# Fields of a session that need not be named where all have the reader's.
_PLACE = ("client", "worktree", "branch")

_UID_CHARS = 8
_REASON_CHARS = 40

# The state of the claims of an ended session: they do not keep others out.
FREE = "free to claim"


def team_text(team: Team) -> str:
    lines = [_head(team, "all=true", "No agent sessions yet: one that only reads is not listed")]
    shared = {name for name in _PLACE if len({getattr(one, name) for one in team.sessions}) == 1}
    shared -= set() if any(one.own for one in team.sessions) else {*_PLACE}
    for one in team.sessions:
        lines.append(_line(one, team.asked_at, shared))
        if one.doing is not None and not (one.own or _is_done(one)):
            lines.append(f" about to: {quoted(one.doing)}")
        if one.claims:
            lines.append(f" {_claims(one, team.asked_at)}")
        if one.last_change is not None and not one.own:
            lines.append(f" {_last_change(one.last_change, team.asked_at)}")
        if one.scratchpad is not None:
            lines.append(f" {_scratchpad(one.scratchpad, one.agents[:1], team.asked_at)}")
    for agent, claims in grouped((claim.agent or "", claim) for claim in team.claims).items():
        lines.append(f"{value_text(agent)} claims {_held(claims, team.asked_at)}")
    return "\n".join([*lines, *note_lines(team.notes)])


def show_team(team: Team) -> None:
    """Print the sessions of a project as a table, and to stderr how many there are."""
    import click

    def until(claim: TeamClaim) -> str:
        day, time = local_time(claim.expires_at).split()
        return f"{claim.path} until {time if local_time(team.asked_at).startswith(day) else f'{day} {time}'}"

    def cells(one: TeamSession) -> tuple[object, ...]:
        more = one.claims_total - len(one.claims)
        claims = [f"{claim.path} {FREE}" if one.state.name == "ended" else until(claim) for claim in one.claims]
        claims += [f"and {more} more"] if more else []
        return (
            ", ".join(one.agents) + (" (you)" if one.own else ""),
            " ".join(part for part in (one.client, one.version) if part is not None),
            one.worktree,
            " ".join(part for part in (one.branch, one.commit) if part is not None),
            one.run_id,
            one.task_id,
            one.doing,
            state(one),
            local_time(one.seen_at),
            "\n".join(claims),
            None if one.scratchpad is None else _left_off(one.scratchpad),
            _predecessor(one),
        )

    def state(one: TeamSession) -> str:
        reason = f"\n{shortened(one.state.reason, _REASON_CHARS)}" if one.state.reason else ""
        return f"{_named_state(one, team.asked_at)}{reason}"

    headings = "agents, client, worktree, branch, run, task, about to, state, seen, claims, left off, continues".split(
        ", "
    )
    if team.sessions:
        show_table(headings, [cells(one) for one in team.sessions])
    for claim in team.claims:
        click.echo(f"{revealed(shown_name(claim.agent or ''))} holds {revealed(until(claim))}")
    click.echo(_head(team, "--all", "No agent sessions yet. Start a client in this folder"), err=True)


def _head(team: Team, option: str, empty: str) -> str:
    persons = f"{team.persons} {'person has' if team.persons == 1 else 'persons have'} written here"
    visible = len(team.sessions)
    if not visible and not team.earlier:
        return f"{empty}. {persons}." if team.persons else f"{empty}."
    count = f"{visible} of {team.total}" if visible < team.total else f"{visible}"
    head = f"{count} session{'s' * (team.total != 1)}"
    if visible and team.sessions[0].own:
        head += ", yours first" if team.total > 1 else " (yours; agents that never call Satchel are not listed)"
    head += f"; {team.earlier} more ended over 8 hours ago ({option})" if team.earlier else ""
    return head + (f"; {persons}" if team.persons else "")


def _line(one: TeamSession, now: int, shared: Collection[str]) -> str:
    marked = (
        *((name, getattr(one, name)) for name in _PLACE if name not in shared),
        ("run", one.run_id),
        ("task", one.task_id),
        *(("with", name) for name in one.agents[1:]),
        ("continues", _predecessor(one)),
    )
    name = value_text(one.name)
    parts = [f"{mark}:{value_text(value)}" for mark, value in marked if value is not None]
    state = [] if one.own and one.state.name in {"working", "waiting"} else [state_text(one, now)]
    return " ".join([f"{name} (your session)" if one.own else name, *parts, *state])


def state_text(one: TeamSession, now: int) -> str:
    """Return the state of a session in words, as in ``waiting for 3 min: "an answer from ann to m7"``."""
    reason = f": {quoted(shortened(one.state.reason, _MAX_CHARS))}" if one.state.reason else ""
    return f"{_named_state(one, now)}{reason}"


def _named_state(one: TeamSession, now: int) -> str:
    is_working = one.state.name == "working"
    name = "done" if is_working and _is_done(one) else one.state.name
    return f"{name}{',' * is_working} {state_time(one, now)}"


def state_time(one: TeamSession, now: int) -> str:
    """Return how long a session has been in a state; if it ended or works, how long ago it was last seen."""
    if one.state.name == "working":
        return f"seen {_ago(one.seen_at, now)}"
    since = one.state.since_at
    return _ago(since, now) if one.state.name == "ended" else f"for {span_in_words(now - since)}"


def _is_done(one: TeamSession) -> bool:
    return one.scratchpad is not None and bool(one.scratchpad.done) and not one.claims


def _claims(one: TeamSession, now: int) -> str:
    more = one.claims_total - len(one.claims)
    rest = f"; and {more} more" if more else ""
    if one.state.name == "ended":
        return f"had claimed {', '.join(value_text(claim.path) for claim in one.claims)}{rest}: {FREE}"
    return f"claims {_held(one.claims, now, is_own=one.own)}{rest}"


def _held(claims: Sequence[TeamClaim], now: int, *, is_own: bool = False) -> str:
    held = grouped((_terms(claim, now, is_own=is_own), value_text(claim.path)) for claim in claims)
    return "; ".join(f"{', '.join(paths)} ({terms})" for terms, paths in held.items())


def _terms(claim: TeamClaim, now: int, *, is_own: bool) -> str:
    why = "" if claim.reason is None or is_own else f", {quoted(claim.reason)}"
    how = f"{'' if claim.exclusive else 'shared, '}{'automatic, ' if claim.automatic else ''}"
    return f"{how}{span_in_words(claim.expires_at - now)} left{why}"


def _last_change(change: LastChange, now: int) -> str:
    more = f" and {change.others} more" if change.others else ""
    what = f": {quoted(shortened(change.description, _MAX_CHARS))}" if change.description else ""
    return f"last change {change.ref} of {value_text(change.file)}{more}, {_ago(change.created_at, now)}{what}"


def _scratchpad(pad: LastScratchpad, owner: tuple[str, ...], now: int) -> str:
    by = "" if pad.agent is None or pad.agent in owner else f" by {value_text(pad.agent)}"
    progress = _left_off(pad)
    return f"last scratchpad {pad.ref}{by}, {_ago(pad.created_at, now)}{f': {progress}' if progress else ''}"


def _left_off(pad: LastScratchpad) -> str:
    parts = [] if pad.done is None else ["done" if pad.done else "not done"]
    parts += [] if not pad.next_step else [f"next: {quoted(shortened(pad.next_step, _MAX_CHARS))}"]
    parts += [f"blocked by: {quoted(shortened('; '.join(pad.blockers), _MAX_CHARS))}"] if pad.blockers else []
    return ", ".join(parts)


def _predecessor(one: TeamSession) -> str | None:
    if one.predecessor is None:
        return None
    return one.predecessor_agent or one.predecessor[:_UID_CHARS]


def _ago(moment: int, now: int) -> str:
    return f"{span_in_words(now - moment)} ago"

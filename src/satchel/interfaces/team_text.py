"""Who is at work, for agents as compact text, for people as a table.

A session's line is the agent whose it is, then ``client:``, ``worktree:`` where that is not the main one, ``branch:``,
``run:`` and ``task:``, ``with:`` each other agent that spoke in it, ``after:``
whose session it goes on from, and when it was last seen. Below stand its claims, and its last scratchpad.
"""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.base.grouping import grouped
from satchel.base.text import shortened
from satchel.interfaces.ledger.compact_lines import note_lines
from satchel.interfaces.text_parts import quoted, value_text
from satchel.keep.sessions.team import LastScratchpad, Team, TeamClaim, TeamSession

_SILENT_MS = 10 * 60_000
"""A session that was not seen for so long is silent."""

_MAX_CHARS = 160
"""So much is shown of the next step, and of the blockers."""

_UID_CHARS = 8


def team_text(team: Team) -> str:
    """Render the sessions of a project for an agent."""
    lines = [_head(team, "all=true")]
    here = {one.worktree for one in team.sessions if one.own}
    are_apart = {one.worktree for one in team.sessions} != here
    for one in team.sessions:
        lines.append(_line(one, team.asked_at, are_apart=are_apart))
        if one.doing is not None:
            lines.append(f" about to: {quoted(one.doing)}")
        if one.claims:
            lines.append(f" claims {_claims(one, team.asked_at)}")
        if one.scratchpad is not None:
            lines.append(f" {_scratchpad(one.scratchpad, one.agents[:1], team.asked_at)}")
    return "\n".join([*lines, *note_lines(team.notes)])


def show_team(team: Team) -> None:
    """Print the sessions of a project as a table, and to stderr how many there are."""
    import click

    from satchel.interfaces.cli.tables import local_time, show_table

    def until(claim: TeamClaim) -> str:
        day, time = local_time(claim.expires_at).split()
        return f"{claim.path} until {time if local_time(team.asked_at).startswith(day) else f'{day} {time}'}"

    def cells(one: TeamSession) -> tuple[object, ...]:
        more = one.claims_total - len(one.claims)
        return (
            ", ".join(one.agents) + (" (you)" if one.own else ""),
            " ".join(part for part in (one.client, one.version) if part is not None),
            one.worktree,
            " ".join(part for part in (one.branch, one.commit) if part is not None),
            one.run_id,
            one.task_id,
            one.doing,
            "gone" if one.gone else "silent" if _is_silent(one, team.asked_at) else "active",
            local_time(one.seen_at),
            "\n".join([*map(until, one.claims), *([f"and {more} more"] if more else [])]),
            None if one.scratchpad is None else _left_off(one.scratchpad),
            _predecessor(one),
        )

    headings = (
        "agents",
        "client",
        "worktree",
        "branch",
        "run",
        "task",
        "about to",
        "state",
        "seen",
        "claims",
        "left off",
        "after",
    )
    if team.sessions:
        show_table(headings, [cells(one) for one in team.sessions])
    click.echo(_head(team, "--all"), err=True)


def _head(team: Team, option: str) -> str:
    """Say how many sessions there are.

    Args:
        option: what asks for the earlier ones.
    """
    shown = len(team.sessions)
    count = f"{shown} of {team.total}" if shown < team.total else f"{shown}"
    head = f"{count} session{'s' * (team.total != 1)}"
    if shown:
        head += (", yours first" if team.total > 1 else ", yours: who calls nothing here is not seen") * team.sessions[
            0
        ].own
    elif not team.earlier:
        head += ": nobody has written here yet; who only reads is not seen by others"
    return head + (f"; {team.earlier} more ended over 8 hours ago ({option})" if team.earlier else "")


def _line(one: TeamSession, now: int, *, are_apart: bool) -> str:
    """Say who works where, on what, and when that was seen last.

    Args:
        are_apart: whether somebody works in another worktree than the reader, so that each says in which.
    """
    marked = (
        ("client", one.client),
        ("worktree", one.worktree if are_apart else None),
        ("branch", one.branch),
        ("run", one.run_id),
        ("task", one.task_id),
        *(("with", name) for name in one.agents[1:]),
        ("after", _predecessor(one)),
    )
    name = value_text(one.agents[0] if one.agents else None)
    parts = [f"{mark}:{value_text(value)}" for mark, value in marked if value is not None]
    return " ".join([f"{name} (your session)" if one.own else name, *parts, *([] if one.own else [_seen(one, now)])])


def _seen(one: TeamSession, now: int) -> str:
    if one.ended_at is not None:
        return f"gone, ended {_ago(one.ended_at, now)}"
    if one.gone:
        return f"gone, seen {_ago(one.seen_at, now)}"
    return f"silent {span_in_words(now - one.seen_at)}" if _is_silent(one, now) else f"seen {_ago(one.seen_at, now)}"


def _is_silent(one: TeamSession, now: int) -> bool:
    return not one.own and now - one.seen_at >= _SILENT_MS


def _claims(one: TeamSession, now: int) -> str:
    held = grouped((_terms(claim, now), value_text(claim.path)) for claim in one.claims)
    said = [f"{', '.join(paths)} ({terms})" for terms, paths in held.items()]
    more = one.claims_total - len(one.claims)
    return "; ".join([*said, *([f"and {more} more"] if more else [])])


def _terms(claim: TeamClaim, now: int) -> str:
    why = "" if claim.reason is None else f", {quoted(claim.reason)}"
    how = f"{'' if claim.exclusive else 'shared, '}{'automatic, ' if claim.automatic else ''}"
    return f"{how}{span_in_words(claim.expires_at - now)} left{why}"


def _scratchpad(pad: LastScratchpad, owner: tuple[str, ...], now: int) -> str:
    by = "" if pad.agent is None or pad.agent in owner else f" by {value_text(pad.agent)}"
    said = _left_off(pad)
    return f"last scratchpad {pad.ref}{by}, {_ago(pad.created_at, now)}{f': {said}' if said else ''}"


def _left_off(pad: LastScratchpad) -> str:
    """Say what a scratchpad says of where its writer is, on one line."""
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

"""The records of sessions: who calls, and who acts."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.base.processes import Process


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of one client, as it is kept.

    Attributes:
        id: the store's number, and ``uid`` what names it in every store, in hexadecimal.
        client: ours for its client, such as ``claude``; None where that is unknown.
        agent: whose it is: the agent that was chosen for it, else the one that spoke first; None for nobody yet.
        run_id: the run that it is bound to, if any.
        task_id: the task that it named last.
        predecessor: the number of the session that it goes on from.
        worktree: the linked worktree it works in; None is the main one.
        process: the client's.
        window: the number of its context window.
        seen_at: when it last did something, in milliseconds UTC, up to a minute late.
        ended_at: when its client said that it is over.
    """

    id: int
    uid: str
    client: str | None
    version: str | None
    agent: str | None
    run_id: str | None
    task_id: str | None
    predecessor: int | None
    worktree: str | None
    branch: str | None
    commit: str | None
    machine: str | None
    process: Process | None
    window: int
    seen_at: int
    ended_at: int | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts in a call.

    Attributes:
        number, name: of the agent; None for nobody, and the number is -1 for a name that no agent has yet, and for
            who calls in a session without a name before its first write.
        session: the number of its session; None without one.
        is_named: whether it was chosen, by the call or for all calls; those who give no name are told apart by nothing.
        window: the number of the session's window.
        task_id: unused here
    """

    number: int | None = None
    name: str | None = None
    session: int | None = None
    is_named: bool = False
    window: int = 0

"""Whose files are, and what happened to them lately."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from satchel.base.records import replace
from satchel.keep import paths, projects
from satchel.keep.files import changes, claims
from satchel.keep.files.places import OnDisk, Place, as_on_disk, is_remote, look_at, tree_of
from satchel.keep.files.records import Claimed, FileCheck, FilesChecked, Lately
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import reading
from satchel.keep.sessions.presence import GONE_MS
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction

MAX_RECENT = 5
"""How many recent changes of a file are named at most."""

NO_DISK = "the server does not see your disk: an edit that nobody recorded is not told"
"""What is said beside the answer to a request over HTTP."""

_AHEAD_MS = 60_000
"""The disk's clock may be that of another machine; a file from further ahead says nothing about the window."""


def check(work: Workplace, wanted: Sequence[Place] | None, window: int, agent: str | None) -> FilesChecked:
    """Say whose some places are; None is all that the agent has claimed.

    Args:
        window: how recent a change counts, in milliseconds.
    """
    with work.engine.read() as transaction:
        now = work.clock()
        project = projects.find(transaction, work)
        # where nothing was written yet, no project has this number
        number = 0 if project is None else project.id
        actor = Actor(name=agent) if project is None else reading(transaction, work, number, agent)
        notes: tuple[str, ...] = ()
        if wanted is None:
            held = claims.held_by(transaction, number, actor, now)
            wanted = list(dict.fromkeys(one.place for one in held))
            notes = () if wanted else ("you have claimed nothing",)
        else:
            wanted = as_on_disk(transaction, number, work.files_root, wanted)
        if is_remote(work) and not all(place.is_key for place in wanted):
            notes += (NO_DISK,)
        some = tuple(_check_one(transaction, work, number, actor, place, window, now) for place in wanted)
    return FilesChecked(actor.name or agent, now, some, notes, work.worktree)


_OF_ONE_CLONE = "this holds in your clone: who works in another is told of it, and not stopped"
_ELSEWHERE = """
    SELECT 1 FROM sessions
    WHERE project_id = :project AND seen_at > :since AND ended_at IS NULL AND worktree <> :worktree LIMIT 1
"""


def with_lately(
    work: Workplace, claimed: Claimed, wanted: Mapping[Place, OnDisk], window: int, agent: str | None
) -> Claimed:
    """Return what was claimed just now with what happened lately to it, but for what was renewed.

    Where somebody works in another clone a note says that a claim of files holds in one alone.

    Args:
        wanted: each with how it stood on disk.
        window: how recent a change counts, in milliseconds.
        agent: who claimed, as it was named.
    """
    with work.engine.read() as transaction:
        now = claimed.claimed_at
        project = projects.find(transaction, work)
        if project is None:
            return claimed
        elsewhere = transaction.ask(
            _ELSEWHERE, {"project": project.id, "since": now - GONE_MS, "worktree": work.worktree or ""}
        )
        actor = reading(transaction, work, project.id, agent)
        spelled = as_on_disk(transaction, project.id, work.files_root, list(wanted))
        found = [
            _lately(transaction, project.id, actor, place, seen, window, now)
            for place, seen in zip(spelled, wanted.values(), strict=True)
            if place.path not in claimed.renewed
        ]
        is_of_one = _is_clone(work.worktree) and any(claim.exclusive for claim in claimed.claims)
        notes = (_OF_ONE_CLONE,) if is_of_one and elsewhere.one() is not None else ()
    lately = tuple(one for one in found if one.recent or one.unrecorded_at is not None)
    return replace(claimed, lately=lately, notes=(*claimed.notes, *notes))


def _is_clone(worktree: str | None) -> bool:
    """Whether a worktree lies on another machine than the store: that machine's name stands before its path."""
    return worktree is not None and not os.path.isabs(worktree)  # noqa: PTH117 -- a text


def _lately(
    transaction: Transaction, project_id: int, actor: Actor, place: Place, on_disk: OnDisk, window: int, now: int
) -> Lately:
    """Return what others did to a file, or in a folder, and when it was changed on disk without being recorded."""
    if place.is_key or not window:
        return Lately(place.path, place.worktree)
    after = now - window
    recent = changes.by_others(transaction, project_id, actor.number, place.path, after, now, MAX_RECENT)
    modified = on_disk.modified_at
    if modified is not None and after < modified <= now + _AHEAD_MS:
        row = transaction.one("SELECT created_at FROM projects WHERE id = :id", {"id": project_id})
        recorded = changes.last_recorded(transaction, project_id, place.path, place.worktree)
        # what was there before the project was kept here, as a fresh clone is, was nobody's to record
        if row is None or modified <= row[0] or (recorded is not None and recorded >= modified):
            modified = None
    else:
        modified = None
    return Lately(place.path, place.worktree, recent, modified)


def _check_one(
    transaction: Transaction, work: Workplace, project_id: int, actor: Actor, place: Place, window: int, now: int
) -> FileCheck:
    seen = claims.look(transaction, project_id, actor, [place], now, exclusive=False)
    own = [held.claim for held in seen.mine if held.place.clashes(place)]
    others = [held.claim for held in seen.here]
    ends = [claim.expires_at for claim in others if claim.exclusive]
    has_all = any(paths.covers(claim.path, place.path) or place.is_key for claim in own)
    state = "held" if ends else "yours" if has_all else "free"
    lately = _lately(transaction, project_id, actor, place, look_at(tree_of(work), place), window, now)
    return FileCheck(
        file=place.path,
        worktree=work.worktree if place.is_key else place.worktree,
        state=state,
        until=max(ends or [claim.expires_at for claim in own], default=None) if state != "free" else None,
        claims=tuple(others),
        elsewhere=tuple(held.claim for held in seen.elsewhere),
        own=tuple(own),
        recent=lately.recent,
        # what its claimant changes is recorded when it is released
        unrecorded_at=None if state == "yours" else lately.unrecorded_at,
    )

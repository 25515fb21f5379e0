"""Checks of files before an edit or a commit: who holds them, and who changed them recently."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence

from satchel.base.machine import caller_elsewhere
from satchel.base.records import replace
from satchel.keep import paths, projects
from satchel.keep.files import changes, claims
from satchel.keep.files.claims import Claimant
from satchel.keep.files.places import OnDisk, Place, is_remote, look_at, tree_of
from satchel.keep.files.records import Claim, Claimed, CommitCheck, FileCheck, FilesChecked, RecentActivity
from satchel.keep.presence import GONE_MS, is_anything_claimed
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import reading
from satchel.store.transaction import grouped

# Maximum number of recent changes listed per file.
MAX_RECENT = 5

# Note for callers over HTTP.
NO_DISK = "the server cannot see your disk, so unrecorded edits are not reported"

# Tolerance for a disk whose clock runs ahead, as on another machine.
_AHEAD_MS = 60_000


def check(work: Workplace, wanted: Sequence[Place] | None, window: int, agent: str | None) -> FilesChecked:
    """Return the state of files and keys; ``wanted`` None checks the agent's own claims."""
    with projects.reading(work) as (transaction, project):
        now = work.clock()
        number = project.id
        actor = reading(transaction, work, number, agent)
        by = Claimant(transaction, number, actor, now)
        notes: tuple[str, ...] = ()
        is_unseen = is_remote(work) or (wanted is None and caller_elsewhere() is not None)
        if wanted is None:
            lease = claims.leases_of(by)
            wanted = list(dict.fromkeys(one.place for one in lease))
            notes = () if wanted else ("you have claimed nothing",)
        if is_unseen and not all(place.is_key for place in wanted):
            notes += (NO_DISK,)
        some = tuple(_check_one(by, work, place, window) for place in wanted)
    return FilesChecked(actor.name or agent, now, some, notes, work.worktree)


_OF_ONE_CLONE = "this claim holds in your clone; agents in other clones are told about it, not stopped"
_ELSEWHERE = """
    SELECT 1 FROM sessions
    WHERE project_id = :project AND seen_at > :since AND ended_at IS NULL AND worktree <> :worktree LIMIT 1
"""


def add_recent_activity(
    work: Workplace, claimed: Claimed, wanted: Mapping[Place, OnDisk], window: int, agent: str | None
) -> Claimed:
    """Return a new claim with recent activity on its files, except renewed ones.

    If others work in another clone, a note says that file claims hold in one clone only.
    """
    with work.engine.read() as transaction:
        now = claimed.claimed_at
        project = projects.find(transaction, work)
        elsewhere = transaction.ask(
            _ELSEWHERE, {"project": project.id, "since": now - GONE_MS, "worktree": work.worktree or ""}
        )
        by = Claimant(transaction, project.id, reading(transaction, work, project.id, agent), now)
        activity = [
            _recent_activity(by, place, on_disk, window)
            for place, on_disk in wanted.items()
            if place.path not in claimed.renewed
        ]
        is_of_one = _is_clone(work.worktree) and any(claim.exclusive for claim in claimed.claims)
        notes = (_OF_ONE_CLONE,) if is_of_one and elsewhere.one() is not None else ()
    lately = tuple(one for one in activity if one.recent or one.unrecorded_at is not None)
    return replace(claimed, lately=lately, notes=(*claimed.notes, *notes))


def _is_clone(worktree: str | None) -> bool:
    # a worktree on another machine than the store is stored as HOST:PATH
    return worktree is not None and not os.path.isabs(worktree)  # noqa: PTH117 -- a text


def _recent_activity(by: Claimant, place: Place, on_disk: OnDisk, window: int) -> RecentActivity:
    if place.is_key or not window:
        return RecentActivity(place.path, place.worktree)
    transaction, project_id, actor, now = by
    after = now - window
    recent = changes.by_others(transaction, project_id, actor.number, place.path, after, now, MAX_RECENT)
    modified = on_disk.modified_at
    if modified is not None and after < modified <= now + _AHEAD_MS:
        row = transaction.one("SELECT created_at FROM projects WHERE id = :id", {"id": project_id})
        recorded = changes.last_recorded(transaction, project_id, place.path, place.worktree)
        # older files, as in a fresh clone, could not be recorded
        if row is None or modified <= row[0] or (recorded is not None and recorded >= modified):
            modified = None
    else:
        modified = None
    return RecentActivity(place.path, place.worktree, recent, modified)


def _check_one(by: Claimant, work: Workplace, place: Place, window: int) -> FileCheck:
    overlaps = claims.find_overlaps(by, [place], [place])
    own = [lease.claim for lease in overlaps.mine if lease.place.clashes(place)]
    others = [lease.claim for lease in overlaps.here]
    ends = [claim.expires_at for claim in others if claim.exclusive]
    has_all = any(paths.covers(claim.path, place.path) or place.is_key for claim in own)
    state = "held" if ends else "yours" if has_all else "free"
    expired = None if own else claims.expired_of(by, [place]).get(place)
    lately = _recent_activity(by, place, look_at(tree_of(work), place), window)
    return FileCheck(
        file=place.path,
        worktree=work.worktree if place.is_key else place.worktree,
        state=state,
        until=max(ends or [claim.expires_at for claim in own], default=None) if state != "free" else None,
        claims=tuple(others),
        elsewhere=tuple(lease.claim for lease in overlaps.elsewhere),
        own=tuple(own),
        recent=lately.recent,
        # the holder's own edits are recorded on release
        unrecorded_at=None if state == "yours" else lately.unrecorded_at,
        expired_at=None if expired is None else expired.claim.expires_at,
    )


def check_commit(work: Workplace, names: Sequence[str], *, denies: bool) -> CommitCheck:
    """Return the claims of others on a commit's files; see :meth:`satchel.keep.files.service.Files.check_commit`."""
    with projects.reading(work) as (transaction, project):
        now = work.clock()
        if not is_anything_claimed(transaction, project.id, now):
            return CommitCheck((), (), False, now)
        actor = reading(transaction, work, project.id, work.agent)
        others = claims.others_in_worktree(Claimant(transaction, project.id, actor, now), work.worktree)
    by_path = grouped((lease.claim.path, lease.claim) for lease in others)
    explicit: list[tuple[str, Claim]] = []
    hinted: list[tuple[str, Claim]] = []
    for name in sorted(names):
        # stored paths are in NFC
        covering = [
            claim for path in paths.all_covering(unicodedata.normalize("NFC", name)) for claim in by_path.get(path, ())
        ]
        if covering:
            claim = min(covering, key=lambda one: (one.automatic or not one.exclusive, one.created_at, one.id))
            is_explicit = claim.exclusive and not claim.automatic
            (explicit if is_explicit else hinted).append((name, claim))
    is_stopped = denies and bool(explicit) and actor.session is not None
    return CommitCheck(tuple(explicit), tuple(hinted), is_stopped, now)

"""Service for file changes and claims."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from satchel.base.clock import span_in_words
from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.base.paging import DEFAULT_LIMIT, KeptPage, check_page, check_whole
from satchel.base.records import replace
from satchel.keep import expiry, names, projects
from satchel.keep.files import changes, claiming, claims
from satchel.keep.files.places import (
    OnDisk,
    Place,
    check_place,
    check_worktree_file,
    is_remote,
    look_at,
    tree_of,
)
from satchel.keep.files.records import (
    Claim,
    Claimed,
    CommitCheck,
    FileChange,
    FilesChecked,
    PendingClaim,
    Released,
)
from satchel.keep.presence import is_anyone_refused, is_anyone_waiting
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import acting, acting_named, find_authors
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content
from satchel.store.transaction import Transaction

# Maximum number of paths claimed, released or checked by one call.
MAX_PATHS = 100

MAX_WINDOW_SECONDS = 86_400
# Default age of changes that are reported.
WINDOW_SECONDS = 3_600

if TYPE_CHECKING:
    from satchel.keep.common_filters import CommonFilters
    from satchel.keep.files.claims import Lease
    from satchel.keep.files.kind import ChangeFilters


# Runs after described changes of a project are recorded, in their transaction, and returns notes for their author.
AfterChanges = Callable[[Transaction, int, Actor, Sequence[FileChange]], tuple[str, ...]]


class Files(Service):
    """File changes and claims of a project."""

    def __init__(self, workplace: Workplace, after_changes: AfterChanges | None = None) -> None:
        super().__init__(workplace)
        self._after_changes = after_changes
        self._seats = threading.Semaphore(projects.WAIT_SEATS)

    def record(
        self,
        file: str,
        change: str,
        *,
        description: str | None = None,
        layer: str | None = None,
        agent: str | None = None,
    ) -> FileChange:
        """Record an edit durably; it expires after ``retention.file_changes_hours``.

        Args:
            file: inside the project, relative to its root or absolute.
            change: created, modified or deleted.
            description: what was done and why; at most ``context.max_content_kib``.
            layer: its layer of the architecture.
            agent: its author; None takes the default, which may be nobody.

        Returns:
            The stored edit; ``notes`` tells what was cleaned or redacted.

        Raises:
            InvalidInput, TooLarge: an argument is invalid; nothing was written.
        """
        work = self._workplace
        place = check_worktree_file(work, file)
        changes.change_number(change)
        text = None if description is None else check_content(description, "description", work.max_content_bytes)
        layer = None if layer is None else names.check_identifier(layer, "layer")
        agent = names.check_agent(work, agent)
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now)
            layer_row = None if layer is None else names.ensure_layer(transaction, work, project.id, layer, now)
            content = None if text is None else text.text
            made = changes.record(transaction, work, project.id, actor, place, change, content, now, layer_row)
            notes = self._follow(transaction, project.id, actor, [made])
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return made if text is None else replace(made, notes=(*text.notes, *notes))

    def check_commit(self, names: Sequence[str], *, denies: bool) -> CommitCheck:
        """Return which files of a commit others have claimed in its worktree; claims of ended sessions do not count.

        Args:
            names: any number of files, relative to the worktree's root.
            denies: whether an explicit claim stops a commit from a known session.
        """
        from satchel.keep.files import checking

        return checking.check_commit(self._workplace, names, denies=denies)

    def _follow(
        self, transaction: Transaction, project_id: int, actor: Actor, made: Sequence[FileChange]
    ) -> tuple[str, ...]:
        described = [one for one in made if one.description is not None]
        if self._after_changes is None or not described:
            return ()
        return self._after_changes(transaction, project_id, actor, described)

    def changes(self, **filters: Unpack[ChangeFilters]) -> KeptPage[FileChange]:
        """List unexpired edits of all worktrees, newest first.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.files.kind import LISTING

        return lists.find(self._workplace, LISTING, KeptPage, filters)

    def claim(
        self,
        paths: Sequence[str] = (),
        *,
        shared: Sequence[str] = (),
        minutes: int | None = None,
        reason: str | None = None,
        wait_seconds: int = 0,
        agent: str | None = None,
    ) -> Claimed:
        """Claim files, folders and keys, or renew the agent's claims on them: all of them or none.

        Args:
            paths: files; folders with their content, such as ``src/auth/`` or ``src/auth/**``; ``.`` or ``**`` for the
                whole project; or keys for anything else, such as ``issue:311``. Nobody else may claim what they cover.
            shared: others that everyone may claim who claims them shared too; 1 to 100 with ``paths``.
            minutes: duration, 1 to 10,080; None takes ``claims.minutes``.
            reason: one line of at most 300 characters; None keeps the reason of a renewed claim.
            wait_seconds: how long to wait for claims of others, 0 to 45; waiting calls are served in order. At most 4
                calls of an opened store wait at once.
            agent: the claimant; None takes the default.

        Returns:
            The claims; claims of others on the same paths in other worktrees, which do not conflict; and changes of the
            last hour to newly claimed files.

        Raises:
            Conflict: another agent holds some of it in this worktree; the error says who, since when, until when and
                why. Nothing was claimed. A later answer notifies the agent when it is free.
            InvalidInput: there is no agent, or an argument is invalid.
            Interrupted: the call was cancelled while it waited.
        """
        work = self._workplace
        if not shared and paths in ([], ()):
            raise InvalidInput("nothing to claim was named", "Give paths, shared, or both")
        in_common = self._check_places(shared, "shared") if shared else []
        wanted = [*(() if paths in ([], ()) else self._check_places(paths, "paths")), *in_common]
        if len(wanted) != len(set(wanted)):
            twice = next(place.path for place in in_common if wanted.count(place) > 1)
            raise InvalidInput(f"{twice} is in paths and in shared", "Name it in one of them")
        check_whole("wait_seconds", wait_seconds, projects.MAX_WAIT_SECONDS)
        minutes = work.claim_minutes if minutes is None else claiming.check_minutes(minutes)
        reason, notes = (None, ()) if reason is None else claiming.check_reason(reason, work.max_content_bytes)
        name = names.needed_agent(work, agent, claiming.DOING)
        # imported before the write, so that a failing import cannot make a successful claim look failed
        from satchel.keep.files import checking

        on_disk = {place: look_at(tree_of(work), place) for place in wanted}
        request = claiming.ClaimRequest(
            name,
            {place: one.exists for place, one in on_disk.items()},
            claims.Terms(minutes, reason),
            frozenset(in_common),
        )
        try:
            if wait_seconds:
                claimed = claiming.wait_for_claim(work, self._seats, request, wait_seconds)
            else:
                with work.engine.write() as transaction:
                    claimed = claiming.try_claim(transaction, work, request)
        except claims.ClaimRefused as refused:
            ahead = claiming.record_refusal(work, request, refused)
            queue = f" behind {ahead} other{'s' * (ahead != 1)}" if ahead else ""
            wait = "" if wait_seconds else f"wait for it{queue} with wait_seconds (1 to {projects.MAX_WAIT_SECONDS}), "
            remedy = (
                f"You can {wait}{refused.remedy}; a later answer tells you when it is free, and the first to claim it "
                "gets it"
            )
            raise claims.ClaimRefused(refused.problem, remedy, refused.places, refused.holders) from None
        notes = (*notes, *_folder_warnings(on_disk))
        claimed = replace(claimed, new=tuple(place.path for place, one in on_disk.items() if one.exists is False))
        with suppress(SatchelError, OSError):  # the claim is already stored
            claimed = checking.add_recent_activity(work, claimed, on_disk, WINDOW_SECONDS * 1_000, name)
        return replace(claimed, notes=(*notes, *claimed.notes))

    def release(
        self,
        paths: Sequence[str] | None = None,
        *,
        description: str | None = None,
        descriptions: Mapping[str, str] | None = None,
        agent: str | None = None,
    ) -> Released:
        """Release the agent's own claims.

        Args:
            paths: 1 to 100, as they were claimed; None releases all in this worktree, and all keys.
            description: what was done to these files: each is recorded as an edit, as by :meth:`record`, also if the
                claim has expired.
            descriptions: what was done to single files instead, by path.
            agent: the holder; None takes the default.

        Returns:
            The released paths, who waits for them, was refused them or still holds them, and the edits of both sides.

        Raises:
            InvalidInput: there is no agent, or a path is invalid.
        """
        work = self._workplace
        wanted = None if paths is None else self._check_places(paths, "paths")
        text = None if description is None else check_content(description, "description", work.max_content_bytes)
        each = {
            check_place(work, path, "descriptions"): check_content(one, "descriptions", work.max_content_bytes)
            for path, one in (descriptions or {}).items()
        }
        done = [one for one in (text, *each.values()) if one is not None]
        name = names.needed_agent(work, agent, "releasing files")
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            requested = tuple(self._display_path(place) for place in wanted or ())
            if not project.id:
                return Released(name or "", (), requested)
            now = work.clock()
            # a new name may be a subagent's, whose session holds its claims
            if name is not None and work.caller is None and names.find_agent(transaction, project.id, name) == -1:
                return Released(name, (), requested)
            holder, _, _ = acting_named(transaction, work, project.id, name, now, "releasing files")
            by = claims.Claimant(transaction, project.id, holder, now)
            released = claims.release(by, wanted, work.worktree)
            freed = {lease.place: lease for lease in released}
            missing = [place for place in wanted or () if place not in freed]
            expired = claims.expired_of(by, missing) if missing else {}
            leases = {**freed, **expired}
            states = {place: look_at(tree_of(work), place) for place in leases} if done else {}
            # one description of several files is of those that were edited, if any was
            edited = {place for place, state in states.items() if _is_edited(state, leases[place])} or set(states)
            since = {place.path: one.claim.created_at for place, one in leases.items() if not place.is_key}
            by_others = changes.unseen_of(transaction, project.id, holder, since, now) if since else ()
            still = claims.claims_of_others(by, list(since))
            recorded = []
            for place, state in states.items():
                one = each.get(place, text if place in edited else None)
                change = self._change(place, leases[place], state)
                if one is not None and change is not None:
                    # all of one time, which tells that they were recorded together
                    made = changes.record(transaction, work, project.id, holder, place, change, one.text, now)
                    recorded.append(made)
            followed = self._follow(transaction, project.id, holder, recorded)
            claims.forget(transaction, expired.values())
            pending: tuple[PendingClaim, ...] = ()
            if is_anyone_waiting(transaction, project.id) or is_anyone_refused(transaction, project.id):
                from satchel.keep.files import refusals

                pending = refusals.pending_claims(by, list(freed))
        notes = tuple(dict.fromkeys(note for some in (*(one.notes for one in done), followed) for note in some))
        notes += tuple(
            f"your claim on {self._display_path(place)} had expired {span_in_words(now - one.claim.expires_at)} ago"
            for place, one in expired.items()
        )
        of_others = [place for place in each if place not in leases]
        unedited = [place for place in states if states[place].exists and text and place not in {*edited, *each}]
        for why, unrecorded in (("not yours", of_others), ("not edited since it was claimed", unedited)):
            if unrecorded:
                notes += (f"no change was recorded of {', '.join(map(self._display_path, unrecorded))}: {why}",)
        if done and not recorded:
            files = ", ".join(self._display_path(place) for place in freed if not (place.is_key or place.is_folder))
            why = f"not there, now or when claimed: {files}" if files else "no file was released"
            notes = (*notes, f"no change was recorded: {why}")
        return Released(
            holder.name or "",
            tuple(map(self._display_path, freed)),
            tuple(self._display_path(place) for place in missing if place not in expired),
            pending,
            tuple(recorded),
            notes,
            by_others,
            tuple(one for one in still if one.worktree == work.worktree),
        )

    def _change(self, place: Place, lease: Lease, state: OnDisk) -> str | None:
        # whether a file existed when claimed and exists now tells the kind of change
        is_now = state.exists
        is_unseen = is_remote(self._workplace) or caller_elsewhere() is not None
        if is_now is None and is_unseen and not (place.is_key or place.is_folder):
            is_now = True  # the caller reported an edit, and did not say how the file is
        if is_now is None or (not is_now and lease.existed is False):
            return None
        return "deleted" if not is_now else "created" if lease.existed is False else "modified"

    def _display_path(self, place: Place) -> str:
        work = self._workplace
        if place.is_key or place.worktree == work.worktree:
            return place.path
        return f"{place.worktree or work.root}/{place.path}"

    def claims(
        self,
        *,
        author: str | None = None,
        path: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        **filters: Unpack[CommonFilters],
    ) -> KeptPage[Claim]:
        """Return the live claims of all worktrees, newest first.

        Args:
            author: only claims of this agent or of this client's agents; ``me`` is the caller.
            path: only claims on this key, or that overlap this file or folder.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.
            filters: those of every list.

        Raises:
            InvalidInput: a filter is invalid or out of range.
        """
        from satchel.keep.common_filters import check_common

        work = self._workplace
        author = None if author is None else names.check_identifier(author, "author")
        place = None if path is None else check_place(work, path, "path")
        check_page(limit, offset)
        with projects.reading(work) as (transaction, project):
            if not project.id:
                return KeptPage((), 0, offset, limit, notes=(projects.NOTHING_YET,))
            holders = None if author is None else find_authors(transaction, work, project.id, author)
            if author is not None and not holders:
                note = names.unknown_agent(transaction, project.id, author)
                return KeptPage((), 0, offset, limit, project.seq, notes=(note,))
            now = work.clock()
            return claims.page_of(transaction, project, holders, place, limit, offset, now, check_common(filters, now))

    def check(
        self, files: Sequence[str] | None = None, *, window_seconds: int = WINDOW_SECONDS, agent: str | None = None
    ) -> FilesChecked:
        """Return whether files are free, the caller's or held by others, and their recent changes; writes nothing.

        Args:
            files: 1 to 100 files, keys, or folders such as ``src/auth/``; None checks all that the agent or its session
                has claimed.
            window_seconds: maximum age of reported changes, 0 to 86,400; 0 reports only claims.
            agent: the caller; None takes the default.

        Raises:
            InvalidInput: a path or the window is invalid, or neither files nor an agent are given.
        """
        from satchel.keep.files import checking

        work = self._workplace
        wanted = None if files is None else self._check_places(files, "files")
        check_whole("window_seconds", window_seconds, MAX_WINDOW_SECONDS)
        agent = names.check_agent(work, agent)
        if wanted is None and agent is None and work.caller is None:
            raise names.no_agent("checking all that you have claimed")
        return checking.check(work, wanted, window_seconds * 1_000, agent)

    def _check_places(self, paths: object, field: str) -> list[Place]:
        if isinstance(paths, str) or not isinstance(paths, Sequence):
            raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src/app.py", "src/auth/"]')
        if not 1 <= len(paths) <= MAX_PATHS:
            raise InvalidInput(
                f"{field} has {len(paths):,} paths",
                f"Give 1 to {MAX_PATHS}; one folder such as src/auth/ covers what is in it",
            )
        work = self._workplace
        return list(dict.fromkeys(check_place(work, path, f"{field}[{n}]") for n, path in enumerate(paths)))


def _is_edited(state: OnDisk, lease: Lease) -> bool:
    if not state.exists or not lease.existed:
        return bool(state.exists) != bool(lease.existed)
    # the times of files are up to 10 ms behind the clock
    return state.modified_at is None or state.modified_at + 10 >= lease.claim.created_at


def _folder_warnings(wanted: Mapping[Place, OnDisk]) -> tuple[str, ...]:
    # a folder claimed without its slash does not protect the files in it
    return tuple(
        f"{place.path} is a folder: only its name is claimed; claim {place.path}/ for the files in it"
        for place, one in wanted.items()
        if one.is_folder
    )

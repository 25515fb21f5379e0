"""The files of a project: what was edited, and who is about to edit what."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.paging import DEFAULT_LIMIT, KeptPage, check_page, check_whole
from satchel.base.records import replace
from satchel.keep import expiry, names, projects, waits
from satchel.keep.files import changes, claiming, claims
from satchel.keep.files.places import (
    OnDisk,
    Place,
    as_on_disk,
    check_place,
    check_worktree_file,
    folder_notes,
    is_remote,
    is_there,
    look_at,
    tree_of,
)
from satchel.keep.files.presence import is_anyone_refused, is_anyone_waiting
from satchel.keep.files.records import (
    Claim,
    Claimed,
    CommitCheck,
    FileChange,
    FileChangePage,
    FilesChecked,
    Released,
    Wish,
)
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import acting, acting_named, find_authors
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content
from satchel.store.transaction import Transaction

MAX_PATHS = 100
"""How many paths one call claims, releases or checks at most."""

MAX_MINUTES = 7 * 24 * 60
AUTOMATIC_MINUTES = 5
MAX_WINDOW_SECONDS = 86_400
WINDOW_SECONDS = 3_600
"""How recent a change is told unless the caller says otherwise: in a trial the other's was 14 minutes old."""

MAX_REASON_CHARS = 300

if TYPE_CHECKING:
    from satchel.keep.common_filters import CommonFilters
    from satchel.keep.files.claims import Held
    from satchel.keep.files.queries import ChangeFilters


class Files(Service):
    """Recorded edits, and claims that announce them."""

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        self._seats = threading.Semaphore(waits.SEATS)

    def record(
        self,
        file: str,
        change: str,
        *,
        description: str | None = None,
        layer: str | None = None,
        agent: str | None = None,
    ) -> FileChange:
        """Record an edit; it is durable when this returns, and gone after ``retention.file_changes_hours``.

        Args:
            file: inside the project, relative to its root or absolute.
            change: created, modified or deleted.
            description: what was done and why; at most ``context.max_content_kib``.
            layer: the layer of the architecture that it belongs to.
            agent: who made it; None takes the default, which may be nobody.

        Returns:
            The edit as it was kept; ``notes`` says what was cleaned or redacted.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
        """
        work = self._workplace
        place = check_worktree_file(work, file)
        changes.change_number(change)
        text = None if description is None else check_content(description, "description", work.max_content_bytes)
        layer = None if layer is None else names.check_identifier(layer, "layer")
        agent = names.check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            actor = acting(transaction, work, project.id, agent, now)
            known = None if layer is None else names.ensure_layer(transaction, work, project.id, layer, now)
            described = None if text is None else text.text
            made = self._insert(transaction, project.id, actor, place, change, described, known)
            expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
        return made if text is None else replace(made, notes=text.notes)

    def check_commit(self, names: Sequence[str], *, denies: bool) -> CommitCheck:
        """Say which files of a commit others have claimed in its worktree.

        Args:
            names: the files, relative to the worktree's root; however many.
            denies: whether an explicit claim stops a commit of a session that is known.

        Returns:
            What stands against it; claims of sessions that are over do not.
        """
        from satchel.keep.files import committing

        return committing.check(self._workplace, names, denies=denies)

    def _insert(
        self,
        transaction: Transaction,
        project_id: int,
        actor: Actor,
        place: Place,
        change: str,
        description: str | None,
        layer: tuple[int, str] | None = None,
    ) -> FileChange:
        work = self._workplace
        now = work.clock()
        new = changes.NewChange(
            project_id,
            place.path,
            changes.change_number(change),
            actor.number,
            place.worktree,
            None if layer is None else layer[0],
            description,
            now,
            work.retention.expires_at(now, work.retention.file_changes_hours),
            session_id=actor.session,
        )
        item, uid, seq = changes.insert(transaction, new)
        return FileChange(
            item,
            uid.hex(),
            seq,
            place.path,
            change,
            actor.name,
            place.worktree,
            None if layer is None else layer[1],
            description,
            now,
            new.expires_at,
        )

    def changes(self, **filters: Unpack[ChangeFilters]) -> FileChangePage:
        """List recorded edits that have not expired, of every worktree, the newest first.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range.
        """
        # a caller that only writes leaves the lists alone
        from satchel.keep import lists
        from satchel.keep.files.queries import LISTING

        return lists.find(self._workplace, LISTING, FileChangePage, filters)

    def claim(
        self,
        paths: Sequence[str],
        *,
        exclusive: bool = True,
        minutes: int | None = None,
        reason: str | None = None,
        wait_seconds: int = 0,
        automatic: bool = False,
        agent: str | None = None,
    ) -> Claimed:
        """Claim files, folders and keys, or renew the agent's own claims on them: all of them or none.

        Args:
            paths: 1 to 100 files; folders as ``src/auth/`` or ``src/auth/**`` with everything in them, ``.`` or ``**``
                for the whole project; or keys of anything else, as ``issue:311``: a word, a colon, and more.
            exclusive: whether nobody else may claim what they cover; shared claims allow other shared ones.
            minutes: how long from now, 1 to 10,080; None takes ``claims.minutes``, for automatic claims 5.
            reason: what for, in one line of at most 300 characters; None keeps that of a claim that is renewed.
            wait_seconds: how long to wait for what others hold, 0 to 45, in the order in which waiters asked. At most
                4 calls of one opened store wait at once.
            automatic: it is claimed by a program that watches the agent at work. It is renewed at most once a minute,
                and leaves an explicit claim of the agent as it is.
            agent: who claims; None takes the default.

        Returns:
            The claims, what others claim of the same in other worktrees, which is no conflict, and unless it is
            automatic what happened in the last hour to what was not the agent's before.

        Raises:
            Conflict: another agent holds something of it in this worktree; the error says who, since and until when,
                and why. Nothing was claimed. One of the agent's next answers says when it is free.
            InvalidInput: there is no agent, or something is not acceptable.
            Interrupted: the call was cancelled while it waited.
        """
        work = self._workplace
        wanted = self._check_places(paths, "paths")
        check_whole("wait_seconds", wait_seconds, waits.MAX_SECONDS)
        for field, value in (("exclusive", exclusive), ("automatic", automatic)):
            if not isinstance(value, bool):
                raise InvalidInput(f"{field} {value!r} is neither true nor false", "Give true or false")
        usual = AUTOMATIC_MINUTES if automatic else work.claim_minutes
        minutes = usual if minutes is None else _check_minutes(minutes)
        reason, notes = (None, ()) if reason is None else _check_reason(reason, work.max_content_bytes)
        name = names.needed_agent(work, agent, claiming.DOING)
        # loaded before anything is written: what is claimed is not reported as failed because this could not be
        from satchel.keep.files import checking

        on_disk = {place: look_at(tree_of(work), place) for place in wanted}
        in_folders = () if automatic else folder_notes(work, wanted)
        ask = claiming.Ask(
            name,
            {place: one.exists for place, one in on_disk.items()},
            claims.Terms(exclusive, minutes, reason, automatic),
        )
        claimed = claiming.renewed_just_now(work, ask) if automatic else None
        if claimed is not None:
            return claimed
        try:
            if wait_seconds:
                # claims that do not wait are spared what waiting loads
                from satchel.keep.files import waiting

                claimed = waiting.claim(work, self._seats, ask, wait_seconds)
            else:
                with work.engine.write() as transaction:
                    claimed = claiming.attempt(transaction, work, ask)
        except claims.ClaimRefused as refused:
            claiming.record_refusal(work, ask, refused)
            wait = "" if wait_seconds else f"wait for it with wait_seconds (1 to {waits.MAX_SECONDS}), "
            remedy = (
                f"You can {wait}{refused.remedy}; one of your next answers says when it is free, and the first to "
                "claim it gets it"
            )
            raise claims.ClaimRefused(refused.problem, remedy, refused.places) from None
        notes = (*notes, *_folders_named_as_files(on_disk))
        if automatic:
            return replace(claimed, notes=(*notes, *claimed.notes))
        with suppress(SatchelError, OSError):  # what was claimed is claimed
            claimed = checking.with_lately(work, claimed, on_disk, WINDOW_SECONDS * 1_000, name)
        return replace(claimed, notes=(*notes, *in_folders, *claimed.notes))

    def release(
        self, paths: Sequence[str] | None = None, *, description: str | None = None, agent: str | None = None
    ) -> Released:
        """End claims of one's own; those of others are left alone.

        Args:
            paths: 1 to 100, as they were claimed; None ends all of the agent's in this worktree, and those of keys.
            description: what was done to the files among them: each is recorded as changed, as by :meth:`record`.
            agent: whose claims; None takes the default.

        Returns:
            What is free now, who waits for it or was refused it, and the changes that were recorded.

        Raises:
            InvalidInput: there is no agent, or a path is not acceptable.
        """
        work = self._workplace
        wanted = None if paths is None else self._check_places(paths, "paths")
        text = None if description is None else check_content(description, "description", work.max_content_bytes)
        name = names.needed_agent(work, agent, "releasing files")
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            named = tuple(self._shown(place) for place in wanted or ())
            if project is None:
                return Released(name or "", (), named)
            now = work.clock()
            # a new name may be that of a subagent, for which its session holds
            if name is not None and work.caller is None and names.find_agent(transaction, project.id, name) == -1:
                return Released(name, (), named)
            holder, _, _ = acting_named(transaction, work, project.id, name, now, "releasing files")
            if wanted is not None:
                wanted = as_on_disk(transaction, project.id, work.files_root, wanted)
            ended = claims.release(transaction, project.id, holder, wanted, work.worktree, now)
            freed = {one.place: one for one in ended}
            recorded = () if text is None else self._record_ended(transaction, project.id, holder, freed, text.text)
            wished: tuple[Wish, ...] = ()
            if is_anyone_waiting(transaction, project.id) or is_anyone_refused(transaction, project.id):
                from satchel.keep.files import refusals

                wished = refusals.wishes(transaction, project.id, holder, list(freed), now)
        notes = () if text is None else text.notes
        if text is not None and not recorded:
            files = ", ".join(self._shown(place) for place in freed if not (place.is_key or place.is_folder))
            why = f"not there, now or when claimed: {files}" if files else "no file is among what was released"
            notes = (*notes, f"no change was recorded: {why}")
        return Released(
            holder.name or "",
            tuple(map(self._shown, freed)),
            tuple(self._shown(place) for place in wanted or () if place not in freed),
            wished,
            recorded,
            notes,
        )

    def _record_ended(
        self, transaction: Transaction, project_id: int, holder: Actor, freed: Mapping[Place, Held], description: str
    ) -> tuple[FileChange, ...]:
        """Record a change of each file that was claimed: it tells by what was there then and is now."""
        made = []
        for place, held in freed.items():
            is_now = is_there(self._workplace, place)
            if is_now is None and is_remote(self._workplace) and not (place.is_key or place.is_folder):
                is_now = True  # that it was edited is all that its caller said
            if is_now is None or (not is_now and held.existed is False):
                continue
            change = "deleted" if not is_now else "created" if held.existed is False else "modified"
            made.append(self._insert(transaction, project_id, holder, place, change, description))
        return tuple(made)

    def _shown(self, place: Place) -> str:
        """Return how a place is named to the caller: one in another worktree by its whole path."""
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
        """Return the claims that hold now, in every worktree, the newest first.

        Args:
            author: only this agent's, or those of all agents of this client; ``me`` is who asks.
            path: only those that cover this file, or anything in this folder, or are of this key.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.
            filters: those of every list.

        Raises:
            InvalidInput: a filter is not acceptable, or out of range.
        """
        from satchel.keep.common_filters import check_common

        work = self._workplace
        author = None if author is None else names.check_identifier(author, "author")
        place = None if path is None else check_place(work, path, "path")
        check_page(limit, offset)
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            if project is None:
                return KeptPage((), 0, offset, limit, notes=(projects.NOTHING_YET,))
            holders = None if author is None else find_authors(transaction, work, project.id, author)
            if author is not None and not holders:
                note = names.unknown_agent(transaction, project.id, author)
                return KeptPage((), 0, offset, limit, project.seq, notes=(note,))
            now = work.clock()
            return claims.listed(transaction, project, holders, place, limit, offset, now, check_common(filters, now))

    def check(
        self, files: Sequence[str] | None = None, *, window_seconds: int = WINDOW_SECONDS, agent: str | None = None
    ) -> FilesChecked:
        """Say whose files are: free, the caller's, or another's. Nothing is written, and nobody is registered.

        Args:
            files: 1 to 100 files, keys, or folders as ``src/auth/`` for anything in them; None is all that the agent,
                or its session, has claimed.
            window_seconds: how recent a change by others, or on disk, is told, 0 to 86,400; with 0 only claims are.
            agent: who asks, whose own claims and changes are no others'; None takes the default.

        Raises:
            InvalidInput: a path or the window is not acceptable, or nobody is named and no file either.
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
        """Return what is named, each once, in the order given."""
        if isinstance(paths, str) or not isinstance(paths, Sequence):
            raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src/app.py", "src/auth/"]')
        if not 1 <= len(paths) <= MAX_PATHS:
            raise InvalidInput(
                f"{field} has {len(paths):,} paths",
                f"Give 1 to {MAX_PATHS}; one folder such as src/auth/ covers what is in it",
            )
        work = self._workplace
        return list(dict.fromkeys(check_place(work, path, f"{field}[{n}]") for n, path in enumerate(paths)))


def _folders_named_as_files(wanted: Mapping[Place, OnDisk]) -> tuple[str, ...]:
    """Point out folders that were claimed without their slash: such a claim keeps nobody off the files in them."""
    return tuple(
        f"{place.path} is a folder: only its name is claimed; claim {place.path}/ for the files in it"
        for place, one in wanted.items()
        if one.is_folder
    )


def _check_minutes(minutes: int) -> int:
    if minutes == 0 and not isinstance(minutes, (bool, float)):
        raise InvalidInput("minutes 0 would end the claim at once", f"Give 1 to {MAX_MINUTES}; releasing ends a claim")
    check_whole("minutes", minutes, MAX_MINUTES, smallest=1)
    return minutes


def _check_reason(reason: object, limit: int) -> tuple[str, tuple[str, ...]]:
    kept = check_content(reason, "reason", limit)
    line = " ".join(kept.text.split())
    if len(line) > MAX_REASON_CHARS:
        raise InvalidInput(f"reason has {len(line)} characters", f"At most {MAX_REASON_CHARS} are allowed")
    return line, kept.notes

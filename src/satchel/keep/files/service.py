"""The files of a project: what was edited, and who is about to edit what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import Conflict, InvalidInput, SatchelError
from satchel.base.paging import DEFAULT_LIMIT, KeptPage, check_page, check_whole
from satchel.keep import events, expiry, names, projects
from satchel.keep.files import changes, claims
from satchel.keep.files.records import CHANGES, Claim, Claimed, FileChange, FileChangePage, FileLock, Released
from satchel.keep.paths import check_path, is_folder
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import UNKNOWN, acting, acting_named, reading
from satchel.keep.texts import check_content

MAX_PATHS = 100
"""How many paths one call claims or releases at most."""

MAX_MINUTES = 7 * 24 * 60
MAX_WINDOW_SECONDS = 86_400
MAX_REASON_CHARS = 300
MAX_RECENT = 20
"""How many recent changes the answer about a lock names at most."""

if TYPE_CHECKING:
    from satchel.keep.files.queries import ChangeFilters


class Files(Service):
    """Recorded edits, and claims that announce them."""

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
        path = names.check_file(file, work.files_root)
        number = changes.change_number(change)
        text = None if description is None else check_content(description, "description", work.max_content_bytes)
        layer = None if layer is None else names.check_identifier(layer, "layer")
        agent = names.check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            actor = acting(transaction, work, project.id, agent, now)
            layer_id, layer_name = (
                (None, None) if layer is None else names.ensure_layer(transaction, work, project.id, layer, now)
            )
            new = changes.NewChange(
                project.id,
                path,
                number,
                actor.number,
                work.worktree,
                layer_id,
                None if text is None else text.text,
                now,
                work.retention.expires_at(now, work.retention.file_changes_hours),
            )
            item, uid, seq = changes.insert(transaction, new)
            expiry.sweep_now_and_then(work.engine, transaction, now)
        return FileChange(
            item,
            uid.hex(),
            seq,
            path,
            CHANGES[number - 1],
            actor.name,
            work.worktree,
            layer_name,
            new.description,
            now,
            new.expires_at,
            notes=() if text is None else text.notes,
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
        agent: str | None = None,
    ) -> Claimed:
        """Claim files and folders, or renew the agent's own claims on them: all of them or none.

        Args:
            paths: 1 to 100 files, or folders as ``src/auth/`` or ``src/auth/**`` with everything in them; ``.`` or
                ``**`` is the whole project.
            exclusive: whether nobody else may claim what they cover; shared claims allow other shared ones.
            minutes: how long from now, 1 to 10,080; None takes ``claims.minutes``.
            reason: what for, in one line of at most 300 characters; None keeps that of a claim that is renewed.
            agent: who claims; None takes the default.

        Returns:
            The claims, and what others claim of the same in other worktrees, which is no conflict.

        Raises:
            Conflict: another agent holds something of it in this worktree; the error says who, since and until when,
                and why. Nothing was claimed.
            InvalidInput: there is no agent, or something is not acceptable.
        """
        work = self._workplace
        wanted = self._check_paths(paths)
        if not isinstance(exclusive, bool):
            raise InvalidInput(f"exclusive {exclusive!r} is neither true nor false", "Give true or false")
        minutes = work.claim_minutes if minutes is None else _check_minutes(minutes)
        reason, notes = (None, ()) if reason is None else _check_reason(reason, work.max_content_bytes)
        name = names.needed_agent(work, agent, "claiming files")
        try:
            with work.engine.write() as transaction:
                now = work.clock()
                project = projects.ensure(transaction, work, now)
                actor, _, _ = acting_named(transaction, work, project.id, name, now, "claiming files")
                claimed = claims.grant(
                    transaction,
                    project.id,
                    actor,
                    work.worktree,
                    wanted,
                    reason,
                    now,
                    now + minutes * 60_000,
                    exclusive=exclusive,
                )
                expiry.sweep_now_and_then(work.engine, transaction, now)
        except Conflict:
            self._record_refusal(name, wanted)
            raise
        return replace(claimed, notes=(*notes, *self._folders_named_as_files(wanted), *claimed.notes))

    def _record_refusal(self, agent: str | None, wanted: Sequence[str]) -> None:
        """Record who was refused what; where that fails, the refusal stands without it."""
        work = self._workplace
        with suppress(SatchelError), work.engine.write() as transaction:
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            # who is refused is not registered for it
            actor = reading(transaction, work, project.id, agent)
            known = None if actor.number == UNKNOWN else actor.number
            details = {"paths": list(wanted), "worktree": work.worktree}
            events.record(
                transaction, project.id, events.REFUSAL, now, session=actor.session, agent=known, details=details
            )

    def release(self, paths: Sequence[str] | None = None, *, agent: str | None = None) -> Released:
        """End claims of one's own in this worktree; those of others are left alone.

        Args:
            paths: 1 to 100, as they were claimed; None ends all of the agent's.
            agent: whose claims; None takes the default.

        Raises:
            InvalidInput: there is no agent, or a path is not acceptable.
        """
        work = self._workplace
        wanted = None if paths is None else self._check_paths(paths)
        name = names.needed_agent(work, agent, "releasing files")
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            if project is None:
                return Released(name or "", (), wanted or ())
            now = work.clock()
            # a new name may be that of a subagent, for which its session holds
            if name is not None and work.caller is None and names.find_agent(transaction, project.id, name) == -1:
                return Released(name, (), wanted or ())
            holder, _, _ = acting_named(transaction, work, project.id, name, now, "releasing files")
            return claims.release(transaction, project.id, holder, work.worktree, wanted, now)

    def claims(
        self, *, author: str | None = None, path: str | None = None, limit: int = DEFAULT_LIMIT, offset: int = 0
    ) -> KeptPage[Claim]:
        """Return the claims that hold now, in every worktree, the newest first.

        Args:
            author: only this agent's.
            path: only those that cover this file, or anything in this folder.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.

        Raises:
            InvalidInput: a filter is not acceptable, or out of range.
        """
        work = self._workplace
        author = None if author is None else names.check_identifier(author, "author")
        path = None if path is None else check_path(path, work.files_root)
        check_page(limit, offset)
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            if project is None:
                return KeptPage((), 0, offset, limit, notes=(projects.NOTHING_YET,))
            number = names.find_agent(transaction, project.id, author)
            if number == -1:
                note = names.unknown_agent(transaction, project.id, author or "")
                return KeptPage((), 0, offset, limit, project.seq, notes=(note,))
            return claims.listed(transaction, project, number, path, limit, offset, work.clock())

    def check_lock(self, file: str, *, window_seconds: int = 300, agent: str | None = None) -> FileLock:
        """Say whether a file is another's to edit. Nothing is written, and nobody is registered.

        Args:
            file: a file, or a folder as ``src/auth/`` for anything in it.
            window_seconds: for how long a change by another locks it, 0 to 86,400; with 0 only claims count.
            agent: who asks, whose own claims and changes do not count; None takes the default. Without either nobody
                is exempt.

        Returns:
            The lock; of the recent changes the newest 20.

        Raises:
            InvalidInput: the path or the window is not acceptable.
        """
        work = self._workplace
        path = check_path(file, work.files_root, "file")
        check_whole("window_seconds", window_seconds, MAX_WINDOW_SECONDS)
        agent = names.check_agent(work, agent)
        window = window_seconds * 1_000
        with work.engine.read() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            if project is None:
                return FileLock(path, agent, False, None, (), (), (), ())
            actor = reading(transaction, work, project.id, agent)
            held = claims.overlapping(transaction, project.id, [path], now)
            recent: tuple[FileChange, ...] = ()
            last = None
            if window:
                recent, last = changes.by_others(
                    transaction, project.id, actor.number, path, work.worktree, now - window, now, MAX_RECENT
                )
        others = [one.claim for one in held if not one.is_of(actor)]
        here = tuple(claim for claim in others if claim.worktree == work.worktree)
        ends = [claim.expires_at for claim in here if claim.exclusive]
        if last is not None:
            ends.append(last + window)
        return FileLock(
            path,
            actor.name or agent,
            locked=bool(ends),
            until=max(ends, default=None),
            claims=here,
            elsewhere=tuple(claim for claim in others if claim.worktree != work.worktree),
            own=tuple(one.claim for one in held if one.is_of(actor)),
            recent=recent,
        )

    def _check_paths(self, paths: object) -> tuple[str, ...]:
        """Return canonical paths, each once, in the order given."""
        if isinstance(paths, str) or not isinstance(paths, Sequence):
            raise InvalidInput("paths is no list of paths", 'Give paths as ["src/app.py", "src/auth/"]')
        if not 1 <= len(paths) <= MAX_PATHS:
            raise InvalidInput(
                f"paths has {len(paths)} paths",
                f"Give 1 to {MAX_PATHS}; one folder such as src/auth/ covers what is in it",
            )
        root = self._workplace.files_root
        return tuple(dict.fromkeys(check_path(path, root, f"paths[{place}]") for place, path in enumerate(paths)))

    def _folders_named_as_files(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Point out folders that were claimed without their slash: such a claim keeps nobody off the files in them."""
        root = self._workplace.files_root
        return tuple(
            f"{path} is a folder: only its name is claimed; claim {path}/ for the files in it"
            for path in wanted
            if root is not None and not is_folder(path) and os.path.isdir(f"{root}/{path}")  # noqa: PTH112 -- one stat
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

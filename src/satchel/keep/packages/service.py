"""Service for the packages of a project's runs: save, find and read them, and set their priority."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import check_whole
from satchel.base.records import replace
from satchel.base.vocabulary import PRIORITIES, priority_number
from satchel.find.kind import Kind
from satchel.keep import kept, projects, replacing, runs
from satchel.keep.names import check_agent
from satchel.keep.packages import contents, kind
from satchel.keep.packages.kind import LISTING, PACKAGE, PackageFilters
from satchel.keep.packages.records import (
    DEFAULT_PRIORITY,
    DEFAULT_TYPE,
    EVENTS,
    Package,
    PackageContent,
    PackagePage,
    priority_after,
)
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting, persons_gate

MAX_READ = 100
"""Maximum number of packages read by one call."""


class Packages(Service):
    """Files and texts that agents hand to each other."""

    def save(
        self,
        summary: str,
        *,
        path: str | None = None,
        content: str | None = None,
        type: str = DEFAULT_TYPE,  # noqa: A002 -- the field's own name
        priority: str = DEFAULT_PRIORITY,
        task_id: str | None = None,
        consumers: Sequence[str] = (),
        supersedes: str | int | None = None,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Package:
        """Save one package; it is durable when this returns.

        Args:
            path: a file of the project; it is read each time. Either this or ``content``.
            task_id: the task it belongs to; None is the whole run.
            consumers: the roles it is meant for, at most 50; none is any role.
            supersedes: the short id of a live package of the same run that this one replaces.
            run_id: the run; None takes the default, else ``main``.

        Raises:
            InvalidInput, TooLarge: an argument is invalid; nothing was written.
            Refused: a link leads from the path out of the project, or a person wrote the replaced package.
            NotFound: there is no such run, or no package of the id in ``supersedes``.
            Conflict: that package belongs to another run or was superseded already.
        """
        work = self._workplace
        kind.check_form(path, content)
        new = kept.check(
            PACKAGE,
            work,
            summary=summary,
            type=type,
            priority=priority,
            task_id=task_id,
            consumers=consumers,
            content=content,
            path=path,
        )
        old = None if supersedes is None else Kind.PACKAGE.number_of(supersedes)
        run_id = None if run_id is None else runs.check_run_id(run_id)
        agent = check_agent(work, agent)
        with projects.writing(work) as (transaction, project, now):
            run = runs.choose_for_writing(transaction, work, project.id, run_id, now)
            if old is not None:
                passes = persons_gate(transaction, work, project.id, agent, now)
                kind.check_superseded(transaction, project.id, run, old, passes)
            author = acting(transaction, work, project.id, agent, now).number
            notes = (*new.notes, *run.notes)
            package = kept.insert(*(PACKAGE, transaction, work, project.id, new, now, author, notes), run_id=run.id)
            if old is not None:
                replacing.mark(transaction, project.id, Kind.PACKAGE, [old], package.id, now)
            return package

    def find(self, **filters: Unpack[PackageFilters]) -> PackagePage:
        """List packages of the project or of one run, without content, most urgent first.

        A query searches summaries and stored texts, not files.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists

        return lists.find(self._workplace, LISTING, PackagePage, filters)

    def read(self, ref: str | int, max_bytes: int | None = None) -> PackageContent:
        """Return a package's stored text, or that of its file as it is now with secrets redacted, or why it is missing.

        ``max_bytes`` is the largest package to read, 1 byte to 64 MiB; None is ``context.max_content_kib``.
        """
        number = Kind.PACKAGE.number_of(ref)
        (content,) = self.read_many([number], max_bytes)
        if content.package is None:
            raise kind.not_there(number)
        return content

    def read_many(self, refs: Sequence[str | int], max_bytes: int | None = None) -> tuple[PackageContent, ...]:
        """Return the contents of 1 to 100 packages as :meth:`read` does; missing packages have a reason too."""
        work = self._workplace
        numbers = _check_refs(refs)
        if max_bytes is None:
            max_bytes = work.max_content_bytes
        check_whole("max_bytes", max_bytes, contents.MAX_BYTES, smallest=1)
        with projects.reading(work) as (transaction, project):
            packages = [(number, kind.load_with_content(transaction, project.id, number)) for number in numbers]
            consumed = kind.consumptions(transaction, project.id, numbers)
        # files are read outside the transaction, so that a slow disk delays nobody
        return tuple(
            PackageContent(Kind.PACKAGE.ref(number), None, None, kind.not_there(number).problem)
            if package is None
            else replace(_content(*package, work.files_root, max_bytes), consumed=consumed.get(number, ()))
            for number, package in packages
        )

    def set_priority(self, ref: str | int, priority: str) -> Package:
        """Set a package's priority; ``notes`` tell if nothing changed.

        Raises:
            NotFound: the project has no such package.
            Conflict: it was superseded.
            Refused: a person wrote it, and an agent calls.
        """
        wanted = priority_number(priority)
        return self._change_priority(ref, lambda _: wanted, "", is_free=False)

    def react(self, ref: str | int, event: str) -> Package:
        """Change a package's priority by rule: error and blocker make it critical, finding high, others low.

        Raises:
            NotFound: the project has no such package.
            Conflict: it was superseded.
        """
        if event not in EVENTS:
            raise unknown_name("event", event, EVENTS)
        return self._change_priority(
            ref, lambda before: priority_after(event, before), f"; {event} does not change that"
        )

    def _change_priority(
        self, ref: str | int, rule: Callable[[int], int], otherwise: str, *, is_free: bool = True
    ) -> Package:
        work = self._workplace
        number = Kind.PACKAGE.number_of(ref)
        with work.engine.write() as transaction:
            project = projects.find(transaction, work)
            before = kept.load(PACKAGE, transaction, project.id, number)
            if before is None:
                raise kind.not_there(number)
            if before.superseded_by is not None:
                raise kind.superseded_already(before)
            wanted = rule(priority_number(before.priority))
            if PRIORITIES[wanted - 1] == before.priority:
                return replace(before, notes=(f"{before.ref} is {before.priority} already{otherwise}",))
            now = work.clock()
            if not is_free:
                kind.check_author(before, persons_gate(transaction, work, project.id, work.agent, now))
            kind.set_priority(transaction, project.id, number, wanted, now)
            package = kept.load(PACKAGE, transaction, project.id, number)
        assert package is not None
        return package


def _check_refs(refs: object) -> list[int]:
    if not isinstance(refs, (list, tuple)) or not 1 <= len(refs) <= MAX_READ:
        raise InvalidInput("refs is not a list of ids", f'Give 1 to {MAX_READ}, as in ["p7", "p9"]')
    return list(dict.fromkeys(map(Kind.PACKAGE.number_of, refs)))


def _content(package: Package, text: str | None, root: str | None, max_bytes: int) -> PackageContent:
    if package.path is not None:
        file = contents.read_file(package.path, root, max_bytes)
        return PackageContent(package.ref, package, file.text, file.reason, file.notes)
    if package.content_bytes is not None and package.content_bytes > max_bytes:
        reason = f"{package.ref} {contents.too_large(package.content_bytes, max_bytes)}"
        return PackageContent(package.ref, package, None, reason)
    return PackageContent(package.ref, package, text, None)

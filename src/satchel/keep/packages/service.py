"""Packages: their declaration, list and rules, and the service that saves, finds and reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused, unknown_name
from satchel.base.paging import check_whole
from satchel.base.records import replace
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import PRIORITIES, priority_number
from satchel.find import documents
from satchel.find.kind import LIVE, Kind
from satchel.keep import fields, kept, names, projects, replacing, runs
from satchel.keep import listing as filters
from satchel.keep.fields import Checking, Codec, Field
from satchel.keep.kind import ItemKind, Part
from satchel.keep.listing import Filter, Order, RunFilters, View
from satchel.keep.packages import contents
from satchel.keep.packages.records import (
    DEFAULT_PRIORITY,
    DEFAULT_TYPE,
    EVENTS,
    MAX_SUMMARY_CHARS,
    STATUSES,
    TYPES,
    Consumption,
    Package,
    PackageContent,
    PackagePage,
    priority_after,
    type_number,
)
from satchel.keep.projects import Service
from satchel.keep.runs import RunChoice
from satchel.keep.sessions.actors import acting, persons_gate
from satchel.store.transaction import Transaction, grouped, set_of, update_row

_MOST_CONSUMED = 20


def _package_path(value: Any, context: Checking, name: str) -> str:
    root = context.workplace.files_root
    path = names.check_file(value, root, name)
    context.notes += contents.check_saved(path, root, context.workplace.max_content_bytes)
    return path


def check_form(path: object, content: object) -> None:
    if (path is None) == (content is None):
        raise InvalidInput("a package is either a file or a text", "Give path or content, one of them")


PACKAGE = ItemKind(
    "a file or text handed to other agents",
    (
        fields.CREATED,
        Field("type", fields.one_of(TYPES, "package type"), required=True),
        Field("priority", fields.one_of(PRIORITIES), required=True),
        Field("summary", fields.short(MAX_SUMMARY_CHARS, one_line=True), required=True),
        Field("path", Codec("a path inside the project", None, _package_path, check=_package_path), "content_path"),
        Field("content", fields.TEXT, attribute="content_bytes", selected="octet_length(i.content)"),
        fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", required=True, attribute="run_id"),
        fields.TASK,
        fields.name_field("agent", fields.AGENT, "agents", "producer_id", merge=fields.FILL),
        fields.link_field("superseded_by", "context_packages", merge=fields.SOFT, is_own=True),
        Field("updated_at", fields.TIME, required=True, merge=fields.SOFT),
    ),
    (
        Part(
            "consumers",
            "package_consumers",
            "package_id",
            (Field("role", fields.FOLDED, required=True),),
            is_own=True,
            order="i.role",
        ),
    ),
    documents=Kind.PACKAGE,
    derive=lambda _, row: check_form(row["content_path"], row["content"]),
    rank=("superseded_by", "updated_at"),
    record=Package,
    types=TYPES,
    statuses=STATUSES,
    text=("summary", "content"),  # a file may change at any time, so its text is not indexed
    document={
        "run_id": "run_id",
        "type": "type",
        "agent_id": "producer_id",
        "task_id": "task_id",
        "file": "content_path",
    },
)


class PackageFilters(RunFilters, total=False):
    """Filters for packages.

    Keys:
        types: only these types; at least one.
        priority: only this one or a higher one.
        task_id: only packages of this task or of the whole run.
        role: only packages for this role or for any role.
        author: only packages of this agent.
        status: live, superseded or all.
    """

    types: Sequence[str] | None
    priority: str | None
    task_id: str | None
    role: str | None
    author: str | None
    status: str


def _for_role(view: View, role: str) -> None:
    consumers = "SELECT 1 FROM package_consumers k WHERE k.package_id = i.id"
    view.where(f"(EXISTS ({consumers} AND k.role = {{}}) OR NOT EXISTS ({consumers}))", role)


def _count_by_priority(view: View, where: str) -> None:
    rows = view.transaction.all(
        f"SELECT i.priority, count(*) FROM context_packages i WHERE {where} GROUP BY i.priority ORDER BY 1 DESC",
        view.values,
    )
    view.fields["by_priority"] = tuple((PRIORITIES[number - 1], count) for number, count in rows)


LISTING = kept.listing(
    PACKAGE,
    (
        filters.types("i.type", Kind.PACKAGE, "package", "research", type_number),
        filters.least_priority("i.priority"),
        filters.compared("task_id", "(i.task_id = {} OR i.task_id IS NULL)"),
        Filter("role", lambda value, _: fold(check_name(value, "role")), _for_role),
        filters.author("i.producer_id"),
        filters.liveness("i.superseded_by"),
    ),
    Order("priority", "i.priority DESC, i.created_at DESC, i.id DESC"),
    in_run=True,
    finish=_count_by_priority,
)


def check_superseded(
    transaction: Transaction, project_id: int, run: RunChoice, number: int, passes: Callable[[str], bool]
) -> None:
    ref = Kind.PACKAGE.ref(number)
    old = kept.load(PACKAGE, transaction, project_id, number)
    if old is None:
        raise not_there(number)
    if old.run_id != run.run_id:
        raise Conflict(
            f"{ref} belongs to run {old.run_id}, and this is {run.run_id}",
            f"A package is superseded in its own run: name it with run_id={old.run_id}, or leave supersedes out",
        )
    if old.superseded_by is not None:
        raise superseded_already(old)
    check_author(old, passes)


def check_author(package: Package, passes: Callable[[str], bool]) -> None:
    if names.is_persons(package.agent) and not passes(package.ref):
        raise Refused(
            f"{package.ref} was written by a person: only a person can change it", "Save a package of your own"
        )


def superseded_already(package: Package) -> Conflict:
    heir = Kind.PACKAGE.ref(package.superseded_by or 0)
    return Conflict(f"{package.ref} was superseded by {heir} already", f"Name {heir} instead")


def not_there(number: int) -> NotFound:
    return NotFound(
        f"there is no package {Kind.PACKAGE.ref(number)} in this project", "Listing packages shows their ids"
    )


def set_priority(transaction: Transaction, project_id: int, number: int, priority: int, now: int) -> None:
    seq = transaction.next_seq(project_id)
    update_row(transaction, PACKAGE.table, number, priority=priority, seq=seq, updated_at=now)
    documents.set_status(transaction, Kind.PACKAGE, [(number, seq)], LIVE)


def react_for_task(
    transaction: Transaction, project_id: int, run: int, task_id: str, types: Sequence[str], event: str, now: int
) -> list[int]:
    """Change the priority of a task's live packages by rule, after an event of the task; return their numbers."""
    listed = ", ".join(str(type_number(name)) for name in types)
    rows = transaction.all(
        f"""
        SELECT id, priority FROM context_packages
        WHERE project_id = :project AND run_id = :run AND task_id = :task AND superseded_by IS NULL
            AND type IN ({listed})
        ORDER BY id
        """,
        {"project": project_id, "run": run, "task": task_id},
    )
    changed = [
        (number, priority_after(event, before)) for number, before in rows if priority_after(event, before) != before
    ]
    for number, priority in changed:
        set_priority(transaction, project_id, number, priority, now)
    return [number for number, _ in changed]


def load_with_content(transaction: Transaction, project_id: int, number: int) -> tuple[Package, str | None] | None:
    package = kept.load(PACKAGE, transaction, project_id, number)
    row = transaction.one("SELECT content FROM context_packages WHERE id = :id", {"id": number})
    return None if package is None or row is None else (package, row[0])


def consumptions(
    transaction: Transaction, project_id: int, numbers: Sequence[int]
) -> dict[int, tuple[Consumption, ...]]:
    rows = transaction.all(
        f"""
        SELECT d.item_id, a.name, w.role, w.task_id, w.iteration, d.created_at
        FROM windows w JOIN deliveries d ON d.window_id = w.id LEFT JOIN agents a ON a.id = w.agent_id
        WHERE w.project_id = :project AND d.kind = {Kind.PACKAGE.number} AND d.item_id IN {set_of(numbers)}
        ORDER BY d.created_at DESC, w.id DESC
        """,
        {"project": project_id},
    )
    by_package = grouped(
        (number, Consumption(agent, role or None, task or None, iteration, at))
        for number, agent, role, task, iteration, at in rows
    )
    return {number: tuple(every[:_MOST_CONSUMED]) for number, every in by_package.items()}


# Maximum number of packages read by one call.
MAX_READ = 100


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
        check_form(path, content)
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
        agent = names.check_agent(work, agent)
        with projects.writing(work) as (transaction, project, now):
            run = runs.choose_for_writing(transaction, work, project.id, run_id, now)
            if old is not None:
                passes = persons_gate(transaction, work, project.id, agent, now)
                check_superseded(transaction, project.id, run, old, passes)
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
            raise not_there(number)
        return content

    def read_many(self, refs: Sequence[str | int], max_bytes: int | None = None) -> tuple[PackageContent, ...]:
        """Return the contents of 1 to 100 packages as :meth:`read` does; missing packages have a reason too."""
        work = self._workplace
        numbers = _check_refs(refs)
        if max_bytes is None:
            max_bytes = work.max_content_bytes
        check_whole("max_bytes", max_bytes, contents.MAX_BYTES, smallest=1)
        with projects.reading(work) as (transaction, project):
            packages = [(number, load_with_content(transaction, project.id, number)) for number in numbers]
            consumed = consumptions(transaction, project.id, numbers)
        # files are read outside the transaction, so that a slow disk delays nobody
        return tuple(
            PackageContent(Kind.PACKAGE.ref(number), None, None, not_there(number).problem)
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
                raise not_there(number)
            if before.superseded_by is not None:
                raise superseded_already(before)
            wanted = rule(priority_number(before.priority))
            if PRIORITIES[wanted - 1] == before.priority:
                return replace(before, notes=(f"{before.ref} is {before.priority} already{otherwise}",))
            now = work.clock()
            if not is_free:
                check_author(before, persons_gate(transaction, work, project.id, work.agent, now))
            set_priority(transaction, project.id, number, wanted, now)
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

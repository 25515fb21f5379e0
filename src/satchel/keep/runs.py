"""Runs: pieces of work by one or more agents, and the rules that choose a call's run.

Every project has the run ``main``, which never ends and takes writes without a choice; reads without one span the
project.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, InvalidInput, NotFound, nearest, unknown_name
from satchel.base.paging import Page, check_page
from satchel.base.records import dataclass, replace
from satchel.base.vocabulary import ALL_RUNS, MAIN_RUN, number_of
from satchel.keep import events, projects
from satchel.keep.names import check_identifier
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import acting, is_by_person
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import storable
from satchel.store.transaction import Asking, Row, Transaction, add_item, answering

if TYPE_CHECKING:
    from typing import Unpack

    from satchel.keep.common_filters import CheckedFilters, CommonFilters

STATUSES = ("active", "completed", "failed")  # the statuses of a run, stored by their position, from 1

_NOT_MADE = 0  # the number of an unused `main`; no run has it

MAX_TITLE_CHARS = 300
_COLUMNS = "id, run_id, title, spec_path, effort, status, created_at, ended_at"


@dataclass(frozen=True, slots=True)
class Run:
    """A run. ``run_id`` is the caller's name for it, ``id`` the store's number."""

    id: int
    run_id: str
    title: str | None
    spec_path: str | None
    effort: str | None
    status: str
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class RunChoice:
    """The run of a call.

    Attributes:
        reasons: why it was chosen, if that is news.
    """

    id: int
    run_id: str
    status: str
    reasons: tuple[str, ...] = ()

    @property
    def is_made(self) -> bool:
        """Return whether the run is stored: ``main`` is not before its first use."""
        return self.id != _NOT_MADE

    @property
    def notes(self) -> tuple[str, ...]:
        """Return remarks for a writer: the run has ended, or why it was chosen."""
        return self.reasons if self.status == "active" else (*self.reasons, f"run {self.run_id} is {self.status}")


class Runs(Service):
    """Runs of a project."""

    def start(
        self,
        run_id: str | None = None,
        *,
        title: str | None = None,
        spec_path: str | None = None,
        effort: str | None = None,
    ) -> Run:
        """Start a run and bind the current session to it, if any.

        Args:
            run_id: the caller's name for it; None names it by the day and a number.
            title: its subject, at most 300 characters.
            spec_path: the specification it works from, a path inside the project.
            effort: such as low, medium or high; free text.

        Raises:
            Conflict: a run of that name exists, as ``main`` does in every project.
            InvalidInput: a name that is not a name, or a path outside the project.
        """
        work = self._workplace
        name = None if run_id is None else check_run_id(run_id)
        effort = None if effort is None else check_identifier(effort, "effort")
        spec_path = None if spec_path is None else _check_spec_path(spec_path, work)
        title = None if title is None else _check_title(title)
        if name == MAIN_RUN:
            raise Conflict(
                f"every project has the run {MAIN_RUN!r}, and it is always active",
                "What is written without a choice of run goes there; start a run of another name",
            )
        with work.engine.write() as transaction:
            transaction.forget()
            now = work.clock()
            project = projects.ensure(transaction, work, now)
            if name is not None:
                existing = _find(transaction, project.id, name)
                if existing is not None:
                    raise Conflict(
                        f"run {name!r} exists already and is {existing.status}",
                        f"Work in it with --run {name}, or start one of another name",
                    )
            name = name or _free_run_id(transaction, project.id, now)
            number = _insert(
                transaction, project.id, name, now, {"title": title, "spec_path": spec_path, "effort": effort}
            )
            if work.caller is not None:
                work.caller.bind(transaction, work, project.id, number, now)
            return load(transaction, number)

    def end(self, run_id: str | None = None, status: str = "completed") -> Run:
        """End a run.

        Args:
            run_id: the run; None takes the default.
            status: completed or failed.

        Raises:
            NotFound: there is no such run.
            Conflict: it has ended already, or it is ``main``, which never ends.
        """
        if status not in STATUSES[1:]:
            raise unknown_name("status", status, STATUSES[1:])
        work = self._workplace
        with work.engine.write() as transaction:
            transaction.forget()
            project = projects.find(transaction, work)
            choice = choose_one(transaction, work, project.id, run_id)
            if choice.run_id == MAIN_RUN:
                raise Conflict(
                    f"the run {MAIN_RUN!r} never ends",
                    "Name the run to end: `satchel run list --status active` shows them. "
                    "To remove old notes of a run use `satchel clear --notes`",
                )
            if choice.status != "active":
                raise Conflict(f"run {choice.run_id!r} is {choice.status} already", "Nothing was changed")
            now = work.clock()
            is_named = work.agent is not None or is_by_person(work, None)
            # ending a run does not name an unnamed agent
            actor = acting(transaction, work, project.id, work.agent, now) if is_named else Actor()
            details = {"run": choice.run_id, "status": status}
            events.record(transaction, project.id, events.RUN_ENDED, now, by=actor, details=details)
            [row] = transaction.all(
                f"""
                UPDATE runs SET status = :status, ended_at = :now, seq = :seq WHERE id = :id
                RETURNING {_COLUMNS}
                """,
                {
                    "status": STATUSES.index(status) + 1,
                    "now": now,
                    "seq": transaction.next_seq(project.id),
                    "id": choice.id,
                },
            )
        return _run(row)

    def list(
        self, status: str | None = None, *, limit: int = 20, offset: int = 0, **filters: Unpack[CommonFilters]
    ) -> Page[Run]:
        """Return runs, newest first.

        Args:
            status: active, completed or failed; None for all.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.
            filters: those of every list.
        """
        from satchel.keep.common_filters import check_common

        number = None if status is None else number_of("status", status, STATUSES)
        check_page(limit, offset)
        with projects.reading(self._workplace) as (transaction, project):
            common = check_common(filters, self._workplace.clock())
            return page_of(transaction, project, number, limit, offset, common)

    def get(self, run_id: str | None = None) -> Run | None:
        """Return a run; None takes the default, else ``main``, which is None before its first use.

        Raises:
            NotFound: a run was named that does not exist.
        """
        with projects.reading(self._workplace) as (transaction, project):
            choice = choose_one(transaction, self._workplace, project.id, run_id)
            return load(transaction, choice.id) if choice.is_made else None


def check_run_id(run_id: object) -> str:
    name = check_identifier(run_id, "run_id")
    if name == ALL_RUNS:
        raise InvalidInput(
            f"run_id {ALL_RUNS!r} means all runs, which only lists and searches accept",
            "Name one run, or leave run_id out",
        )
    return name


def choosing(
    transaction: Transaction, workplace: Workplace, project_id: int, run_id: str | None
) -> Asking[RunChoice | None]:
    """Return the run chosen for reading: the named one, the default, or the session's; None reads the whole project."""
    run_name = run_id if run_id is not None else workplace.run_id
    if run_name is None:
        bound = _bound(transaction, workplace, project_id)
        return bound if bound is not None and bound.status == STATUSES[0] else None
    if run_name == ALL_RUNS:
        return None
    name = check_identifier(run_name, "run_id")
    run = yield from _finding(transaction, project_id, name)
    if run is None and name != MAIN_RUN:
        raise _unknown_run(transaction, project_id, name)
    return run or _MAIN_NOT_MADE


choose = answering(choosing)


def choose_one(transaction: Transaction, workplace: Workplace, project_id: int, run_id: str | None) -> RunChoice:
    """Return the run of a call about a single run: the named one, else the default, else ``main``."""
    if run_id is not None:
        check_run_id(run_id)
    return choose(transaction, workplace, project_id, run_id) or find_main(transaction, project_id)


def choose_for_writing(
    transaction: Transaction, workplace: Workplace, project_id: int, run_id: str | None, now: int
) -> RunChoice:
    """Return the run of a write; ``main`` is created on first use, and a session leaves a run that ended."""
    run_name = run_id if run_id is not None else workplace.run_id
    bound = None if run_name is not None else _bound(transaction, workplace, project_id)
    if bound is not None and bound.status == STATUSES[0]:
        return bound
    if bound is not None and workplace.caller is not None:
        workplace.caller.bind(transaction, workplace, project_id, None, now)
        note = f"run {bound.run_id} is {bound.status}: from here on this session works in {MAIN_RUN}"
        return replace(make_main(transaction, project_id, now), reasons=(note,))
    key = ("run", project_id, run_name)
    choice: RunChoice | None = transaction.memo.get(key)
    if choice is not None:
        return choice
    choice = choose_one(transaction, workplace, project_id, run_id)
    if not choice.is_made:
        return make_main(transaction, project_id, now)
    transaction.memo[key] = choice
    return choice


def _bound(transaction: Transaction, workplace: Workplace, project_id: int) -> RunChoice | None:
    # the session's run may have ended
    if workplace.caller is None:
        return None
    session = workplace.caller.find(transaction, project_id)
    if session is None or session.run is None:
        return None
    row = transaction.one("SELECT id, run_id, status FROM runs WHERE id = :id", {"id": session.run})
    return None if row is None else _choice(row)


def find_main(transaction: Transaction, project_id: int) -> RunChoice:
    return _find(transaction, project_id, MAIN_RUN) or _MAIN_NOT_MADE


def make_main(transaction: Transaction, project_id: int, now: int) -> RunChoice:
    transaction.forget()
    choice = find_main(transaction, project_id)
    if choice.is_made:
        return choice
    return RunChoice(_insert(transaction, project_id, MAIN_RUN, now, {}), MAIN_RUN, STATUSES[0])


def make_past(transaction: Transaction, project_id: int, name: str, at: int) -> int:
    transaction.forget()
    return _insert(transaction, project_id, name, at, {"status": STATUSES.index("completed") + 1, "ended_at": at})


def _insert(transaction: Transaction, project_id: int, name: str, now: int, columns: dict[str, object]) -> int:
    return add_item(transaction, "runs", project_id, run_id=name, created_at=now, **columns)


def page_of(
    transaction: Transaction,
    project: projects.Project,
    status: int | None,
    limit: int,
    offset: int,
    common: CheckedFilters | None = None,
) -> Page[Run]:
    """Return runs, newest first; ``status`` None returns all."""
    where = "project_id = :project AND (CAST(:status AS INTEGER) IS NULL OR status = :status)"
    values = {"project": project.id, "status": status}
    if common is not None:
        where += common.where("created_at", "ended_at")
        values |= common.values
    counted = transaction.ask(f"SELECT count(*) FROM runs WHERE {where}", values)
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset",
        {**values, "limit": limit, "offset": offset},
    )
    ((total,),) = counted.all()
    return Page(tuple(map(_run, rows)), total, offset, limit)


def latest_ended(transaction: Transaction, project_id: int) -> Run | None:
    row = transaction.one(
        f"SELECT {_COLUMNS} FROM runs WHERE project_id = :project AND status <> 1 "
        "ORDER BY ended_at DESC NULLS LAST, id DESC LIMIT 1",
        {"project": project_id},
    )
    return None if row is None else _run(row)


def load(transaction: Transaction, number: int) -> Run:
    [row] = transaction.all(f"SELECT {_COLUMNS} FROM runs WHERE id = :id", {"id": number})
    return _run(row)


def _finding(transaction: Transaction, project_id: int, name: str) -> Asking[RunChoice | None]:
    rows = transaction.ask(
        "SELECT id, run_id, status FROM runs WHERE project_id = :project AND run_id = :name",
        {"project": project_id, "name": name},
    )
    yield rows
    row = rows.one()
    return None if row is None else _choice(row)


_find = answering(_finding)


def _unknown_run(transaction: Transaction, project_id: int, name: str) -> NotFound:
    names = [
        row[0]
        for row in transaction.all(
            "SELECT run_id FROM runs WHERE project_id = :project ORDER BY id DESC LIMIT 200", {"project": project_id}
        )
    ]
    close = nearest(name, names)
    if close:
        return NotFound(f"there is no run {name!r}", f"Did you mean {close!r}?")
    hint = f"The newest are {', '.join(names[:5])}" if names else "No run was started yet"
    return NotFound(f"there is no run {name!r}", f"{hint}; `satchel run start {name}` starts it")


def _free_run_id(transaction: Transaction, project_id: int, now: int) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(now // 1_000))
    rows = transaction.all(
        "SELECT run_id FROM runs WHERE project_id = :project AND run_id >= :first AND run_id < :last",
        {"project": project_id, "first": f"{day}-", "last": f"{day}."},
    )
    names = {row[0] for row in rows}
    number = len(names) + 1
    while f"{day}-{number}" in names:
        number += 1
    return f"{day}-{number}"


def _check_spec_path(path: str, workplace: Workplace) -> str:
    from satchel.base.project_paths import canonical_path

    return check_identifier(canonical_path(path, workplace.files_root, "spec_path"), "spec_path")


def _check_title(title: str) -> str:
    text = storable(title).text.strip().replace("\n", " ")
    if not text or len(text) > MAX_TITLE_CHARS:
        raise InvalidInput(f"title has {len(text)} characters", f"Give 1 to {MAX_TITLE_CHARS}, or leave it out")
    return text


_MAIN_NOT_MADE = RunChoice(_NOT_MADE, MAIN_RUN, STATUSES[0])


def _choice(row: Row) -> RunChoice:
    return RunChoice(row[0], row[1], STATUSES[row[2] - 1])


def _run(row: Row) -> Run:
    return Run(row[0], row[1], row[2], row[3], row[4], STATUSES[row[5] - 1], row[6], row[7])

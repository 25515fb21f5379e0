"""What an engine has looked up is forgotten when another engine changes it, and only then."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy

import pytest

from conftest import ManualClock
from satchel.base.clock import DAY_MS
from satchel.base.records import replace
from satchel.keep import projects
from satchel.keep.projects import Project, Workplace
from satchel.keep.runs import Runs, choose_for_writing, make_past
from satchel.keep.sessions.caller import SERVER, Caller
from satchel.keep.sessions.service import Sessions
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.notes import write_note
from store.postgres.places import Place


class Process:
    """What one process has: an engine of its own, bound to a project.

    Args:
        caller: in whose session it works.
    """

    def __init__(self, engine: PostgresEngine, clock: ManualClock, caller: Caller) -> None:
        self.engine = engine
        name = engine.project
        assert name is not None
        self.work = Workplace(engine, clock, name, name, None, None, None, "alice", 1 << 20, None, caller=caller)

    def look_up(self) -> Project:
        """Write, so that the project, the run and the session are remembered."""
        with self.engine.write() as transaction:
            project = projects.ensure(transaction, self.work, self.work.clock())
            choose_for_writing(transaction, self.work, project.id, None, self.work.clock())
            assert self.work.caller is not None
            self.work.caller.ensure(transaction, self.work, project.id, self.work.clock())
            return project

    def remembers(self) -> set[Hashable]:
        """Return what kinds of things are remembered when a write begins."""
        with self.engine.write() as transaction:
            return {key[0] for key in transaction.memo}


@pytest.fixture
def processes(place: Place, clock: ManualClock) -> tuple[Process, Process]:
    """Two processes that work in one project and session, the first of which remembers it."""
    name = place.new_project()
    caller = Caller(SERVER, {"CLAUDECODE": "1"})
    first, second = (Process(place.engine().of_project(name), clock, caller) for _ in range(2))
    first.look_up()
    first.look_up()  # what is made is not remembered, but what is found
    assert {"project", "run", "session"} <= first.remembers()
    return first, second


def _start_run(process: Process) -> None:
    Runs(process.work).start("another")


def _past_run(process: Process) -> None:
    with process.engine.write() as transaction:
        project = projects.ensure(transaction, process.work, 0)
        make_past(transaction, project.id, "past", 1)


def _end_run(process: Process) -> None:
    Runs(process.work).start("ends")
    Runs(process.work).end("ends")


def _bind(process: Process) -> None:
    """Let the session work in a run."""
    project, caller = process.look_up(), process.work.caller
    assert caller is not None
    with process.engine.write() as transaction:
        row = transaction.one("SELECT id FROM runs WHERE project_id = :id", {"id": project.id})
        assert row is not None
        caller.bind(transaction, process.work, project.id, row[0], process.work.clock())


def _open_window(process: Process) -> None:
    Sessions(process.work).enter(opens_window=True)


def _remove_session(process: Process) -> None:
    """Begin a session so much later that the one before is forgotten."""
    later = process.work.clock() + 91 * DAY_MS
    other = Caller(SERVER, {"CLAUDECODE": "1"})
    Sessions(replace(process.work, clock=lambda: later, caller=other)).enter()


def _make_anew(process: Process) -> None:
    """Put another project in the place of one, as restoring does."""
    with process.engine.write() as transaction:
        values = {"name": process.engine.project, "uid": b"u" * 16}
        transaction.run("UPDATE projects SET name = 'before' WHERE name = :name", values)
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)", values)


def _write_whole_store(process: Process) -> None:
    whole = copy(process.engine)
    whole.project = None
    with whole.write() as transaction:
        transaction.run("UPDATE projects SET created_at = created_at")


@pytest.mark.parametrize(
    "change",
    [
        _start_run,
        _end_run,
        _past_run,
        _bind,
        _open_window,
        _remove_session,
        _make_anew,
        _write_whole_store,
    ],
)
def test_a_change_by_another_engine_is_seen(
    processes: tuple[Process, Process], change: Callable[[Process], None]
) -> None:
    first, second = processes
    change(second)
    assert first.remembers() == set()


def test_what_was_looked_up_outlives_the_writes_of_others(processes: tuple[Process, Process]) -> None:
    first, second = processes
    write_note(second.engine, "a note")
    assert {"project", "run", "session"} <= first.remembers()


def test_a_write_that_changes_what_was_looked_up_remembers_it_as_it_is_now(processes: tuple[Process, Process]) -> None:
    first, _ = processes
    with first.engine.write() as transaction:
        transaction.forget()
        transaction.memo["kept",] = 1
    with first.engine.write() as transaction:
        assert transaction.memo == {("kept",): 1}


def test_nothing_is_remembered_of_a_write_that_was_rolled_back(processes: tuple[Process, Process]) -> None:
    first, _ = processes

    def fail() -> None:
        with first.engine.write() as transaction:
            transaction.memo["lost",] = 1
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 -- it is the test's own
        fail()
    assert first.remembers() == set()

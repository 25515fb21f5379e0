from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents
from satchel import Conflict, Entry, InvalidInput, NotFound, Satchel
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
FIRST_DAY = "2026-11-18"


def test_every_field_of_a_run_comes_back(satchel: Satchel, clock: ManualClock) -> None:
    started = satchel.runs.start("r1", title="Sessions", spec_path="./docs/../docs/spec.md", effort="high")
    assert satchel.runs.get("r1") == started
    assert (started.run_id, started.title, started.spec_path, started.effort, started.status) == (
        "r1",
        "Sessions",
        "docs/spec.md",
        "high",
        "active",
    )
    assert (started.created_at, started.ended_at) == (clock.now, None)


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_an_ended_run_has_its_status_and_time(satchel: Satchel, clock: ManualClock, status: str) -> None:
    started = satchel.runs.start("r1")
    ended = satchel.runs.end("r1", status)
    assert (ended.status, ended.ended_at, ended.id) == (status, clock.now, started.id)
    assert satchel.runs.get("r1") == ended


def test_a_run_without_a_name_is_named_by_its_day_and_number(satchel: Satchel, clock: ManualClock) -> None:
    names = [satchel.runs.start().run_id, satchel.runs.start().run_id]
    clock.advance(DAY)
    names.append(satchel.runs.start().run_id)
    assert names == [f"{FIRST_DAY}-1", f"{FIRST_DAY}-2", "2026-11-19-1"]


def test_an_automatic_name_avoids_one_that_is_taken(satchel: Satchel) -> None:
    satchel.runs.start(f"{FIRST_DAY}-2")
    assert satchel.runs.start().run_id == f"{FIRST_DAY}-3"


def test_starting_a_run_that_exists_is_a_conflict_that_says_its_status(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.runs.end("r1", "failed")
    with pytest.raises(Conflict, match="'r1' exists already and is failed"):
        satchel.runs.start("r1")


def test_ending_a_run_twice_is_a_conflict(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.runs.end("r1")
    with pytest.raises(Conflict, match="completed already"):
        satchel.runs.end("r1", "failed")


@pytest.mark.parametrize("status", ["active", "done"])
def test_a_run_ends_as_completed_or_failed_only(satchel: Satchel, status: str) -> None:
    satchel.runs.start("r1")
    with pytest.raises(InvalidInput, match="Valid: completed, failed"):
        satchel.runs.end("r1", status)


@pytest.mark.parametrize("run_id", [None, "main"])
@pytest.mark.parametrize("is_used", [False, True])
def test_the_run_main_never_ends(satchel: Satchel, run_id: str | None, is_used: bool) -> None:
    if is_used:
        satchel.entries.write("discovery", "x")
    satchel.runs.start("r1")
    with pytest.raises(Conflict, match=r"'main' never ends.*Name the run to end.*`satchel clear --notes`"):
        satchel.runs.end(run_id)
    assert {run.status for run in satchel.runs.list()} == {"active"}


def test_ending_before_anything_was_written_makes_nothing(satchel: Satchel) -> None:
    with pytest.raises(Conflict, match="'main' never ends"):
        satchel.runs.end()
    assert satchel.runs.list().total == 0


def test_the_default_run_is_the_one_that_ends_without_a_choice(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="default")
    satchel.runs.start("default")
    satchel.runs.start("other")
    assert satchel.runs.end().run_id == "default"


@pytest.mark.parametrize("is_used", [False, True])
def test_the_run_main_is_never_started(satchel: Satchel, is_used: bool) -> None:
    if is_used:
        satchel.entries.write("discovery", "x")
    with pytest.raises(Conflict, match="every project has the run 'main'"):
        satchel.runs.start("main")
    assert satchel.runs.list().total == int(is_used)


def test_a_title_is_cleaned_and_its_secrets_redacted(satchel: Satchel) -> None:
    title = satchel.runs.start("r1", title="rotate\npassword=hunter2hunter2XyZ9\x00").title
    assert title is not None
    assert "hunter2" not in title
    assert "\n" not in title


@pytest.mark.parametrize("title", ["", "  ", "x" * 301])
def test_a_title_has_1_to_300_characters(satchel: Satchel, title: str) -> None:
    with pytest.raises(InvalidInput, match="title has"):
        satchel.runs.start("r1", title=title)


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@in_one_test("field", ["run_id", "effort", "spec_path"])
def test_a_secret_in_a_name_of_a_run_is_refused(satchel: Satchel, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} looks like a secret"):
        satchel.runs.start(**{field: f"docs/{SECRET}"})


@in_one_test("run_id", ["", "a\0", "{{runId}}", "\ud800"])
def test_a_run_id_that_is_no_name_is_refused(satchel: Satchel, run_id: str) -> None:
    with pytest.raises(InvalidInput, match=r"^run_id "):
        satchel.runs.start(run_id)


def test_runs_are_listed_newest_first_even_when_the_clock_stands_still(satchel: Satchel) -> None:
    for name in ("a", "b", "c"):
        satchel.runs.start(name)
    assert [run.run_id for run in satchel.runs.list()] == ["c", "b", "a"]


def test_the_list_of_runs_can_be_limited_to_a_status(satchel: Satchel) -> None:
    for name in ("a", "b", "c"):
        satchel.runs.start(name)
    satchel.runs.end("b", "failed")
    assert [run.run_id for run in satchel.runs.list("active")] == ["c", "a"]
    assert [run.run_id for run in satchel.runs.list("failed")] == ["b"]
    assert satchel.runs.list("completed").total == 0
    with pytest.raises(InvalidInput, match="Did you mean 'active'"):
        satchel.runs.list("activ")


def test_paging_covers_every_run_once(satchel: Satchel) -> None:
    for number in range(5):
        satchel.runs.start(f"r{number}")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = satchel.runs.list(limit=2, offset=offset)
        assert page.total == 5
        seen += [run.run_id for run in page]
        offset = page.next_offset
    assert seen == ["r4", "r3", "r2", "r1", "r0"]


def test_a_run_that_was_named_comes_before_the_default(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="default")
    satchel.runs.start("default")
    satchel.runs.start("other")
    assert satchel.entries.write("discovery", "x", run_id="other").run_id == "other"
    assert satchel.entries.read(run_id="other").total == 1
    assert satchel.entries.read().total == 0


def test_the_default_comes_before_what_is_active(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="default")
    satchel.runs.start("default")
    satchel.runs.end("default")
    satchel.runs.start("active")
    assert satchel.entries.write("discovery", "x").run_id == "default"
    assert satchel.entries.read().run_id == "default"


def test_the_environment_names_the_default(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project).runs.start("theirs")
    assert open_in(project, environ={"SATCHEL_RUN": "theirs"}).entries.write("error", "x").run_id == "theirs"


@pytest.mark.parametrize("started", [(), ("r1",), ("r1", "r2")])
def test_a_write_without_a_choice_goes_to_main_whatever_is_active(satchel: Satchel, started: tuple[str, ...]) -> None:
    for name in started:
        satchel.runs.start(name)
    written = satchel.entries.write("discovery", "x")
    assert (written.run_id, written.notes) == ("main", ())
    assert satchel.packages.save("s", content="c").run_id == "main"
    assert {run.run_id for run in satchel.runs.list("active")} == {"main", *started}
    run = satchel.runs.get()
    assert run is not None
    assert (run.run_id, run.status) == ("main", "active")


def test_reading_without_a_choice_spans_the_project(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "in main")
    for name in ("r1", "r2"):
        satchel.runs.start(name)
        satchel.entries.write("discovery", f"in {name}", run_id=name)
    satchel.runs.end("r1")
    page = satchel.entries.read()
    assert [(one.run_id, one.content) for one in page] == [("r2", "in r2"), ("r1", "in r1"), ("main", "in main")]
    assert (page.total, page.run_id, page.notes) == (3, None, ())
    assert satchel.entries.read(limit=0).total == 3
    assert {one.run_id for one in satchel.entries.read(query="in")} == {"main", "r1", "r2"}
    assert satchel.entries.read(run_id="main").total == 1


def test_a_star_lists_all_runs_where_a_default_is_set(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="r1")
    satchel.runs.start("r1")
    satchel.entries.write("discovery", "in r1")
    satchel.entries.write("discovery", "in main", run_id="main")
    satchel.packages.save("s", content="c")
    satchel.packages.save("s", content="c", run_id="main")
    assert [(page.total, page.run_id) for page in (satchel.entries.read(), satchel.entries.read(run_id="*"))] == [
        (1, "r1"),
        (2, None),
    ]
    assert [(page.total, page.run_id) for page in (satchel.packages.find(), satchel.packages.find(run_id="*"))] == [
        (1, "r1"),
        (2, None),
    ]
    assert [one.total for one in (satchel.finding.search("in"), satchel.finding.search("in", run_id="*"))] == [2, 2]
    assert [len(one.discoveries) for one in (satchel.entries.load_state(), satchel.entries.load_state("*"))] == [1, 2]


@pytest.mark.parametrize("call", ["write", "save", "report", "prune", "start", "end", "get", "strategies"])
def test_a_star_names_no_run(satchel: Satchel, call: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: satchel.entries.write("discovery", "x", run_id="*"),
        "save": lambda: satchel.packages.save("s", content="c", run_id="*"),
        "report": lambda: satchel.patterns.report("E", "m", loop_id="L1", run_id="*"),
        "prune": lambda: satchel.entries.prune(run_id="*"),
        "start": lambda: satchel.runs.start("*"),
        "end": lambda: satchel.runs.end("*"),
        "get": lambda: satchel.runs.get("*"),
        "strategies": lambda: satchel.learning.strategies("*"),
    }
    with pytest.raises(InvalidInput, match=r"run_id '\*' means all runs"):
        calls[call]()
    assert satchel.runs.list().total == satchel.housekeeping.statistics().total_entries == 0


@pytest.mark.parametrize("options", [{"run": "*"}, {"environ": {"SATCHEL_RUN": "*"}}])
def test_a_star_is_no_default_run(open_in: Callable[..., Satchel], project: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"the default run '\*' means all runs"):
        open_in(project, **options)


@pytest.mark.no_store
def test_main_can_be_named_before_its_first_use(satchel: Satchel, project: Path) -> None:
    assert satchel.entries.read(run_id="main").total == satchel.packages.find(run_id="main").total == 0
    assert satchel.runs.get("main") is None
    state = satchel.entries.load_state("main")
    assert (state.run_id, state.run, state.discoveries) == ("main", None, ())
    assert satchel.entries.prune(run_id="main", dry_run=True).total == 0
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()
    assert satchel.entries.write("discovery", "x", run_id="main").run_id == "main"


def test_an_ended_default_run_is_still_written_and_read(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="old")
    satchel.runs.start("old")
    satchel.runs.end("old")
    assert satchel.entries.write("discovery", "x").notes == ("run old is completed",)
    assert satchel.entries.read().total == 1


def test_the_first_write_makes_main_and_nothing_else(satchel: Satchel) -> None:
    assert satchel.entries.write("discovery", "x").notes == ()
    assert satchel.entries.write("discovery", "y").notes == ()
    assert [run.run_id for run in satchel.runs.list()] == ["main"]


@pytest.mark.no_store
def test_reading_before_the_first_write_says_so_and_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.entries.read()
    assert (page.entries, page.total, page.run_id, page.seq) == ((), 0, None, 0)
    assert page.notes == ("nothing was written for this project yet",)
    assert satchel.runs.list().total == 0
    assert satchel.runs.get() is None
    assert agents(satchel) == ()
    assert satchel.housekeeping.statistics().project is None
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_an_unknown_run_is_answered_with_the_nearest(satchel: Satchel) -> None:
    satchel.runs.start("sessions-refactor")
    with pytest.raises(NotFound, match="Did you mean 'sessions-refactor'"):
        satchel.entries.write("discovery", "x", run_id="session-refactor")
    with pytest.raises(NotFound, match=r"newest are sessions-refactor; `satchel run start zzz` starts it"):
        satchel.entries.read(run_id="zzz")


@pytest.mark.no_store
def test_an_unknown_run_before_the_first_write_is_an_error_too(satchel: Satchel, project: Path) -> None:
    with pytest.raises(NotFound, match="No run was started yet"):
        satchel.entries.read(run_id="r1")
    assert not satchel.workplace.engine.exists()
    assert not (project / ".satchel").exists()


def test_an_ended_run_can_be_read_and_written_by_name_and_the_writer_is_told(satchel: Satchel) -> None:
    satchel.runs.start("old")
    satchel.runs.end("old", "failed")
    written = satchel.entries.write("discovery", "late insight", run_id="old")
    assert written.notes == ("run old is failed",)
    assert [entry.content for entry in satchel.entries.read(run_id="old")] == ["late insight"]


@pytest.mark.migrates
def test_threads_that_write_first_at_once_make_one_run(open_in: Callable[..., Satchel], project: Path) -> None:
    barrier = threading.Barrier(8)
    shared = open_in(project)
    written: list[Entry] = []

    def write(satchel: Satchel) -> None:
        barrier.wait()
        written.append(satchel.entries.write("discovery", "x"))

    threads = [threading.Thread(target=write, args=(one,)) for one in [shared] * 4 + [open_in(project)] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({entry.id for entry in written}) == 8
    assert len({entry.run_id for entry in written}) == 1
    assert shared.runs.list().total == 1


WRITER = """
import sys
from satchel import open_satchel

at = sys.argv[2] if len(sys.argv) > 2 else None
with open_satchel(at, cwd=sys.argv[1], environ={}, settings={"store.durability": "relaxed"}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    satchel.entries.write("discovery", "x")
"""


@pytest.mark.no_store
def test_processes_that_write_first_at_once_make_one_run(satchel: Satchel, project: Path) -> None:
    engine = satchel.workplace.engine
    place = [str(project), *([engine.location] if engine.folder is None else [])]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, *place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert satchel.runs.list().total == 1
    assert satchel.entries.read().total == 4

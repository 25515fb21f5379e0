from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Conflict, Entry, InvalidInput, NotFound, Satchel

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


def test_ending_without_an_active_run_is_said(satchel: Satchel) -> None:
    with pytest.raises(NotFound, match="no run is active"):
        satchel.runs.end()


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


@pytest.mark.parametrize("field", ["run_id", "effort", "spec_path"])
def test_a_secret_in_a_name_of_a_run_is_refused(satchel: Satchel, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} looks like a secret"):
        satchel.runs.start(**{field: f"docs/{SECRET}"})


@pytest.mark.parametrize("run_id", ["", "a\0", "{{runId}}", "\ud800"])
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


def test_the_default_comes_before_the_only_active_run(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, run="default")
    satchel.runs.start("default")
    satchel.runs.end("default")
    satchel.runs.start("active")
    assert satchel.entries.write("discovery", "x").run_id == "default"
    assert satchel.entries.read().run_id == "default"


def test_the_environment_names_the_default(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project).runs.start("theirs")
    assert open_in(project, environ={"SATCHEL_RUN": "theirs"}).entries.write("error", "x").run_id == "theirs"


def test_the_only_active_run_is_taken_without_a_choice(satchel: Satchel) -> None:
    satchel.runs.start("ended")
    satchel.runs.end("ended")
    satchel.runs.start("active")
    written = satchel.entries.write("discovery", "x")
    assert (written.run_id, written.notes) == ("active", ())
    assert satchel.entries.read().run_id == "active"
    run = satchel.runs.get()
    assert run is not None
    assert run.run_id == "active"


def test_the_first_write_starts_a_run_and_says_so(satchel: Satchel) -> None:
    written = satchel.entries.write("discovery", "x")
    assert written.run_id == f"{FIRST_DAY}-1"
    assert written.notes == (f"run {FIRST_DAY}-1 was started, since none was active",)
    assert satchel.entries.write("discovery", "y").notes == ()
    assert satchel.runs.list().total == 1


def test_after_the_last_run_ended_a_write_starts_the_next(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    satchel.runs.end()
    assert satchel.entries.write("discovery", "y").run_id == f"{FIRST_DAY}-2"


def test_reading_before_the_first_write_says_so_and_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.entries.read()
    assert (page.entries, page.total, page.run_id, page.seq) == ((), 0, None, 0)
    assert "No run yet" in page.notes[0]
    assert satchel.runs.list().total == 0
    assert satchel.runs.get() is None
    assert satchel.agents.list() == ()
    assert satchel.housekeeping.statistics().project is None
    assert not (project / ".satchel").exists()


def test_reading_without_an_active_run_names_the_newest(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.runs.end("r1")
    seq = satchel.housekeeping.statistics().seq
    page = satchel.entries.read()
    assert page.run_id is None
    assert "The newest is r1 (completed)" in page.notes[0]
    assert satchel.housekeeping.statistics().seq == seq


@pytest.mark.parametrize("call", ["write", "read", "prune", "load_state", "end", "get"])
def test_two_active_runs_and_no_choice_is_an_error_that_lists_both(satchel: Satchel, call: str) -> None:
    satchel.runs.start("one")
    satchel.runs.start("two")
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: satchel.entries.write("discovery", "x"),
        "read": satchel.entries.read,
        "prune": satchel.entries.prune,
        "load_state": satchel.entries.load_state,
        "end": satchel.runs.end,
        "get": satchel.runs.get,
    }
    with pytest.raises(Conflict, match=r"several runs are active \(two, one\)"):
        calls[call]()
    assert satchel.housekeeping.statistics().total_entries == 0


def test_a_long_list_of_active_runs_is_cut_short_and_says_so(satchel: Satchel) -> None:
    for number in range(7):
        satchel.runs.start(f"r{number}")
    with pytest.raises(Conflict, match=r"\(r6, r5, r4, r3, r2, \.\.\.\)"):
        satchel.entries.read()


def test_an_unknown_run_is_answered_with_the_nearest(satchel: Satchel) -> None:
    satchel.runs.start("sessions-refactor")
    with pytest.raises(NotFound, match="Did you mean 'sessions-refactor'"):
        satchel.entries.write("discovery", "x", run_id="session-refactor")
    with pytest.raises(NotFound, match=r"newest are sessions-refactor; `satchel run start zzz` starts it"):
        satchel.entries.read(run_id="zzz")


def test_an_unknown_run_before_the_first_write_is_an_error_too(satchel: Satchel, project: Path) -> None:
    with pytest.raises(NotFound, match="No run was started yet"):
        satchel.entries.read(run_id="r1")
    assert not (project / ".satchel").exists()


def test_an_ended_run_can_be_read_and_written_by_name_and_the_writer_is_told(satchel: Satchel) -> None:
    satchel.runs.start("old")
    satchel.runs.end("old", "failed")
    written = satchel.entries.write("discovery", "late insight", run_id="old")
    assert written.notes == ("run old is failed",)
    assert [entry.content for entry in satchel.entries.read(run_id="old")] == ["late insight"]


def test_threads_that_write_first_at_once_start_one_run(open_in: Callable[..., Satchel], project: Path) -> None:
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
    assert sum("was started" in note for entry in written for note in entry.notes) == 1
    assert shared.runs.list().total == 1


WRITER = """
import sys
from satchel import open_satchel

with open_satchel(cwd=sys.argv[1], environ={}, settings={"store.durability": "relaxed"}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    satchel.entries.write("discovery", "x")
"""


def test_processes_that_write_first_at_once_start_one_run(open_in: Callable[..., Satchel], project: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
    satchel = open_in(project)
    assert satchel.runs.list().total == 1
    assert satchel.entries.read().total == 4

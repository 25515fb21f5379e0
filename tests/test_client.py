from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents_here import register
from satchel import Interrupted, InvalidInput, ReadOnly, Refused, Satchel, open_satchel
from satchel.base.clock import system_clock
from satchel.base.retention import Retention

if TYPE_CHECKING:
    from conftest import ManualClock


def test_opening_makes_nothing(satchel: Satchel, project: Path) -> None:
    assert satchel.place.file == project / ".satchel" / "satchel.db"
    assert [path.name for path in project.iterdir()] == [".git"]


def test_the_first_write_makes_a_private_store_that_git_ignores(satchel: Satchel, project: Path) -> None:
    satchel.entries.write("discovery", "x")
    folder = project / ".satchel"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "satchel.db").stat().st_mode & 0o777 == 0o600
    assert "*" in (folder / ".gitignore").read_text().splitlines()


def test_the_store_of_the_current_folder_and_environment_is_the_default(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    for name in ("SATCHEL_DB", "SATCHEL_PROJECT", "SATCHEL_RUN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SATCHEL_AGENT", "me")
    with open_satchel() as satchel:
        before = system_clock()
        written = satchel.entries.write("discovery", "x", file="src/a.py")
    assert satchel.place.file == project / ".satchel" / "satchel.db"
    assert written.agent == "me"
    assert before <= written.created_at <= system_clock()


def test_two_satchels_of_one_project_see_each_other(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project), open_in(project)
    one.entries.write("discovery", "x")
    other.entries.write("discovery", "y")
    assert one.entries.read().total == other.entries.read().total == 2


def test_a_satchel_can_be_used_again_after_it_was_closed(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "x")
    satchel.close()
    satchel.close()
    assert satchel.entries.read().total == 1


def test_a_read_only_satchel_writes_nothing_and_makes_nothing(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, read_only=True)
    calls: list[Callable[[], object]] = [
        lambda: satchel.entries.write("discovery", "x"),
        satchel.runs.start,
        lambda: register(satchel, "dev"),
        satchel.housekeeping.initialise,
    ]
    for call in calls:
        with pytest.raises(ReadOnly):
            call()
    assert not (project / ".satchel").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"run": ""}, "^run_id is empty"),
        ({"agent": "{{agent}}"}, "^agent .*placeholder"),
        ({"project": "a\0"}, "^project "),
        ({"environ": {"SATCHEL_RUN": " "}}, "^run_id is empty"),
        ({"environ": {"SATCHEL_AGENT": "\x1b"}}, "^agent "),
    ],
)
def test_a_default_that_is_no_name_is_refused_at_once(
    open_in: Callable[..., Satchel], project: Path, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        open_in(project, **options)


def test_an_empty_variable_counts_as_none(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, environ={"SATCHEL_RUN": "", "SATCHEL_AGENT": "", "SATCHEL_PROJECT": ""})
    assert satchel.entries.write("discovery", "x").agent is None
    assert satchel.housekeeping.statistics().project == "project"


def test_outside_a_project_opening_is_refused_and_here_makes_one(
    open_in: Callable[..., Satchel], tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="not inside a project"):
        open_in(tmp_path)
    open_in(tmp_path, here=True).housekeeping.initialise()
    assert open_in(tmp_path).housekeeping.statistics().project == tmp_path.name


def test_the_configuration_beside_the_store_counts(open_in: Callable[..., Satchel], project: Path) -> None:
    (project / ".satchel").mkdir()
    (project / ".satchel" / "config.toml").write_text("[context]\nmax_content_kib = 1\nnonsense = 3\n")
    satchel = open_in(project)
    assert satchel.workplace.max_content_bytes == 1024
    assert any("nonsense" in warning for warning in satchel.config.warnings)


def test_without_configuration_the_rooms_work_with_its_defaults(satchel: Satchel) -> None:
    work = satchel.workplace
    assert (work.open_layers, work.claim_minutes, work.retention) == (False, 30, Retention())


def test_the_configuration_of_layers_claims_and_retention_reaches_the_rooms(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    settings = {
        "layers.open": True,
        "claims.minutes": 5,
        "retention.messages_hours": 1,
        "retention.unread_messages_hours": 2,
        "retention.file_changes_hours": 3,
        "retention.conversations_days": 4,
        "retention.skip_weekends": True,
        "retention.zone": "Europe/Berlin",
    }
    work = open_in(project, settings=settings).workplace
    assert (work.open_layers, work.claim_minutes) == (True, 5)
    assert work.retention == Retention(1, 2, 3, 4, skip_weekends=True, zone="Europe/Berlin")


def test_rooms_are_made_once(satchel: Satchel) -> None:
    assert satchel.entries is satchel.entries
    assert satchel.runs is satchel.runs
    assert satchel.entries is satchel.entries
    assert satchel.housekeeping is satchel.housekeeping


def test_an_interrupted_write_is_rolled_back(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "before")
    interrupt = satchel.interrupter()
    settled: int = clock.now

    def interrupted_clock() -> int:
        # the clock is read first thing inside the write transaction
        thread = threading.Thread(target=interrupt)
        thread.start()
        thread.join()
        return settled

    object.__setattr__(satchel.workplace, "clock", interrupted_clock)
    with pytest.raises(Interrupted):
        satchel.entries.write("discovery", "during")
    object.__setattr__(satchel.workplace, "clock", clock)
    assert [entry.content for entry in satchel.entries.read()] == ["before"]


def test_an_interruption_outside_a_call_has_no_effect(satchel: Satchel) -> None:
    satchel.interrupter()()
    assert satchel.entries.write("discovery", "x").content == "x"


def test_a_folder_whose_name_holds_what_no_name_may_is_a_project(
    open_in: Callable[..., Satchel], tmp_path: Path
) -> None:
    folder = tmp_path / "❤\ufe0f cafe\u0301"
    (folder / ".git").mkdir(parents=True)
    satchel = open_in(folder)
    satchel.entries.write("discovery", "x")
    assert satchel.housekeeping.statistics().project == "❤ café"


def test_a_folder_whose_name_is_not_utf8_is_refused(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    (folder / ".git").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        open_in(folder)

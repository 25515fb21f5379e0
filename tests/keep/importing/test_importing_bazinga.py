"""Importing a bazinga database: its sessions, the choice of a project, previews, and the foreign file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bazinga_databases import Made, sample
from keep.importing.bazinga_kept import the_pattern
from keep.importing.results import SECOND, Take
from satchel import Conflict, Satchel
from satchel.keep.moving import service as moving_service


@pytest.mark.usefixtures("report")
def test_a_session_becomes_a_run_that_has_ended(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.title, run.status) == ("Build the shop", "completed")
    assert (run.created_at, run.ended_at) == ((now - 60) * SECOND, (now - 30) * SECOND)


def test_a_failed_session_stays_failed(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(status="failed")
    bring(database)
    assert satchel.runs.list("failed").total == 1


def test_an_active_session_stays_active_and_notes_go_to_none_of_them(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    for name in ("s1", "s2"):
        database.session(name, status="active", end_time=None)
    result = bring(database)
    assert {run.run_id for run in satchel.runs.list("active").items} == {"s1", "s2"}
    assert satchel.entries.write("discovery", "x").run_id not in {"s1", "s2"}
    assert any("active there, and stay active: 2" in note for note in result.notes)


def test_a_long_requirement_becomes_a_title_of_one_short_line(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(original_requirements="build\nthe " + "very " * 20_000 + "big shop")
    result = bring(database)
    run = satchel.runs.get("s1")
    assert run is not None
    assert run.title is not None
    assert (len(run.title), run.title[:9]) == (300, "build the")
    assert {one.left_out for one in result.troubles} == {False}


def test_imported_things_are_found(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    for words, ref in (("failed", "p1"), ("redis", "x1"), ("replay", "s1")):
        assert [found.ref for found in satchel.finding.search(words).results] == [ref]


def test_the_store_is_sound_afterwards(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    assert [check.name for check in satchel.housekeeping.doctor() if check.status != "ok"] == ["backups"]


@pytest.mark.no_store
def test_a_preview_writes_nothing_and_says_what_would_come(
    satchel: Satchel, bring: Take, bazinga: Made, now: int
) -> None:
    database = bazinga()
    database.session()
    database.package(1)
    database.package(2, supersedes_id=1)
    for number in (1, 2):
        database.pattern(f"h{number}")
        database.strategy(f"t{number}")
        database.delivery(f"c{number}", agent_type="Developer")
    file = database.close()
    foreseen = bring(file, dry_run=True)
    assert not satchel.workplace.engine.exists()
    assert not foreseen.done
    done = bring(file)
    assert (foreseen.kinds, foreseen.notes, foreseen.troubles) == (done.kinds, done.notes, done.troubles)


def test_one_project_of_several_is_taken(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.pattern("h1")
    database.pattern("h1", "blog is down", project_id="blog")
    file = database.close()
    with pytest.raises(Conflict, match="blog, shop"):
        bring(file)
    assert bring(file, source_project="blog").source_project == "blog"
    assert the_pattern(satchel).message == "blog is down"
    bring(file, source_project="shop")
    assert satchel.patterns.find().total == 2


def test_a_folder_is_taken_for_the_database_in_it(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    file = sample(tmp_path / "there" / "bazinga" / "bazinga.db", "19", now)
    assert bring(tmp_path / "there").source == file


def test_the_foreign_file_is_not_changed_and_nothing_is_left_beside_it(bring: Take, tmp_path: Path, now: int) -> None:
    file = sample(tmp_path / "foreign" / "b.db", "19", now)
    before = file.read_bytes()
    bring(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_it_is_written_in_transactions_of_some_hundred_changes(
    satchel: Satchel, bazinga: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving_service, "PER_TRANSACTION", 6)
    database = bazinga()
    for number in range(8):
        database.package(number)
        database.pattern(f"h{number}", solution=f"fix {number}")
    told: list[tuple[int, int]] = []
    satchel.moving.import_from("bazinga", database.close(), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 9) for done in (6, 9)]


def test_reasoning_and_success_criteria_come_as_notes(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session()
    for phase in ("understanding", "decisions", "approach", "blockers", None):
        database.add("orchestration_logs", session_id="s1", reasoning_phase=phase, content=f"what was {phase}")
    database.add(
        "orchestration_logs",
        session_id="s1",
        reasoning_phase="decisions",
        content="take the queue",
        references_json='["a.py", "b.py"]',
        confidence_level="high",
    )
    database.add("success_criteria", session_id="s1", criterion="tests pass", status="met", actual="120 of 120")
    result = bring(database)
    entries = satchel.entries.read(run_id="s1", order="asc").items
    assert [(entry.type, entry.agent) for entry in entries] == [
        ("discovery", "developer"),
        ("decision", "developer"),
        ("scratchpad", "developer"),
        ("scratchpad", "developer"),
        ("decision", "developer"),
        ("decision", None),
    ]
    assert entries[1].content == "what was decisions"
    assert entries[-2].content == "take the queue\nReferences: a.py, b.py\nConfidence: high"
    assert entries[-1].content == "Success criterion, met: tests pass\nActual: 120 of 120"
    assert result.not_taken == (("orchestration_logs of interactions and events", 1),)

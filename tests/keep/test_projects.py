from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents_here import agents
from satchel import Conflict, InvalidInput, NotFound, Satchel
from satchel.base.vocabulary import CATEGORIES, LAYERS, TAGS
from satchel.keep import projects

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def pair(open_in: Callable[..., Satchel], project: Path) -> tuple[Satchel, Satchel]:
    """Two projects in one database, each with a run of the same name, an agent and three entries of its own."""
    one, other = (open_in(project, project=name, agent="dev", run="r1") for name in ("one", "other"))
    for satchel, word in ((one, "alpha"), (other, "omega")):
        satchel.runs.start("r1", title=word)
        for number in range(3):
            satchel.entries.write(
                "scratchpad", {"iteration": number, "note": word}, task_id="t", loop_id="l", file="a.py"
            )
    return one, other


def test_reading_stays_in_the_project(pair: tuple[Satchel, Satchel]) -> None:
    for satchel, mine in zip(pair, ("alpha", "omega"), strict=True):
        pages = [
            satchel.entries.read(),
            satchel.entries.read(status="all", order="asc"),
            satchel.entries.read(after_seq=0),
            satchel.entries.read(
                run_id="r1", types=["scratchpad"], task_id="t", loop_id="l", file="a.py", author="dev"
            ),
            satchel.entries.read(query="alpha omega note"),
            satchel.entries.read(query="alpha omega", order="asc"),
        ]
        for page in pages:
            assert page.total == 3
            assert all(mine in entry.content for entry in page)


def test_runs_agents_and_counts_stay_in_the_project(pair: tuple[Satchel, Satchel]) -> None:
    for satchel, title in zip(pair, ("alpha", "omega"), strict=True):
        assert [run.title for run in satchel.runs.list()] == [title]
        assert len(agents(satchel)) == 1
        counted = satchel.housekeeping.statistics()
        assert (counted.total_entries, counted.runs, counted.agents, counted.other_projects) == (3, 1, 1, 1)


def test_a_project_that_nothing_was_written_for_is_read_as_empty(
    open_in: Callable[..., Satchel], project: Path, pair: tuple[Satchel, Satchel]
) -> None:
    third = open_in(project, project="third")
    with projects.reading(third.workplace) as (_, none_yet):
        assert (none_yet.id, none_yet.name, none_yet.seq) == (0, "third", 0)
    assert third.runs.list().total == third.pins.list().total == third.room.needs().total == 0
    assert agents(third) == ()
    assert third.entries.load_state().discoveries == ()
    with pytest.raises(NotFound):
        third.patterns.outcome("x1", True)
    assert third.messages.mark_read(["m1"], agent="ann").unknown == ("m1",)
    with projects.reading(third.workplace) as (_, none_yet):
        assert none_yet.id == 0


def test_a_run_of_another_project_does_not_exist(pair: tuple[Satchel, Satchel]) -> None:
    one, other = pair
    one.runs.start("mine")
    with pytest.raises(NotFound):
        other.entries.read(run_id="mine")
    with pytest.raises(NotFound):
        other.entries.write("discovery", "x", run_id="mine")
    with pytest.raises(NotFound):
        other.runs.end("mine")


def test_pruning_stays_in_the_project(pair: tuple[Satchel, Satchel]) -> None:
    one, other = pair
    assert one.entries.prune(keep=1).total == 2
    assert (one.entries.read().total, other.entries.read().total) == (1, 3)


def test_forgetting_an_entry_of_another_project_finds_nothing(pair: tuple[Satchel, Satchel]) -> None:
    one, other = pair
    theirs = other.entries.read().entries[0]
    with pytest.raises(NotFound, match=f"no note {theirs.ref} in this project"):
        one.housekeeping.forget(theirs.ref)
    assert other.entries.read().total == 3


def test_the_state_of_a_run_stays_in_the_project(pair: tuple[Satchel, Satchel]) -> None:
    for satchel, word in zip(pair, ("alpha", "omega"), strict=True):
        satchel.entries.write("discovery", word)
        state = satchel.entries.load_state("r1")
        assert state.run is not None
        assert state.run.title == word
        assert [note.content for note in state.discoveries] == [word]


def test_superseding_stays_in_the_project(pair: tuple[Satchel, Satchel]) -> None:
    for satchel in pair:
        satchel.entries.write("codebase_analysis", {"summary": "s"})
        satchel.entries.write("review_verdict", {"passed": True, "summary": "s"})
    for satchel in pair:
        assert satchel.entries.read(status="superseded").total == 0


def test_each_project_counts_its_changes_by_itself(pair: tuple[Satchel, Satchel]) -> None:
    one, other = pair
    before = other.housekeeping.statistics().seq
    one.entries.write("discovery", "x")
    assert other.housekeeping.statistics().seq == before


def test_a_project_is_told_from_others_by_its_root(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    db = tmp_path / "shared.db"
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
        open_in(folder, db=db).entries.write("discovery", folder.name)
    for folder in folders:
        assert [entry.content for entry in open_in(folder, db=db).entries.read()] == [folder.name]


def test_a_name_taken_by_another_root_is_refused_with_the_way_out(
    open_in: Callable[..., Satchel], tmp_path: Path
) -> None:
    db = tmp_path / "shared.db"
    for parent in ("a", "b"):
        (tmp_path / parent / "app" / ".git").mkdir(parents=True)
    open_in(tmp_path / "a" / "app", db=db).entries.write("discovery", "first")
    second = open_in(tmp_path / "b" / "app", db=db)
    for use in (second.entries.read, lambda: second.entries.write("discovery", "second")):
        with pytest.raises(Conflict, match=r"project 'app' of another folder .*--project app or SATCHEL_PROJECT=app"):
            use()
    named = open_in(tmp_path / "b" / "app", db=db, environ={"SATCHEL_PROJECT": "app-b"})
    named.entries.write("discovery", "second")
    assert [entry.content for entry in named.entries.read()] == ["second"]


def test_a_project_whose_folder_was_moved_is_found_again(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (old / ".git").mkdir(parents=True)
    with open_in(old) as satchel:
        satchel.entries.write("discovery", "before the move")
    shutil.move(old, new)
    moved = open_in(new)
    assert [entry.content for entry in moved.entries.read()] == ["before the move"]
    moved.entries.write("discovery", "after")
    (old / ".git").mkdir(parents=True)
    assert open_in(new).entries.read().total == 2
    assert open_in(new).housekeeping.statistics().project == "old"


def test_another_folder_does_not_inherit_a_project_whose_folder_was_deleted(
    open_in: Callable[..., Satchel], tmp_path: Path
) -> None:
    db = tmp_path / "shared.db"
    for name in ("one", "two", "three"):
        (tmp_path / name / ".git").mkdir(parents=True)
        satchel = open_in(tmp_path / name, db=db)
        assert satchel.entries.read().total == 0
        satchel.entries.write("discovery", name)
        assert satchel.housekeeping.statistics().project == name
        shutil.rmtree(tmp_path / name)


def test_a_folder_moved_beside_a_shared_store_is_known_by_its_name(
    open_in: Callable[..., Satchel], tmp_path: Path
) -> None:
    db = tmp_path / "shared.db"
    old, new = tmp_path / "a" / "app", tmp_path / "b" / "app"
    (old / ".git").mkdir(parents=True)
    open_in(old, db=db).entries.write("discovery", "x")
    new.parent.mkdir()
    shutil.move(old, new)
    assert open_in(new, db=db).entries.read().total == 1


def test_an_explicit_name_finds_the_project_from_any_folder(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    db = tmp_path / "shared.db"
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    open_in(tmp_path / "one", db=db, project="team").entries.write("discovery", "x")
    assert open_in(tmp_path / "two", db=db, project="team").entries.read().total == 1
    assert open_in(tmp_path / "two", db=db).entries.read().total == 0


def test_the_argument_comes_before_the_environment_and_that_before_the_configuration(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    configured = {"project.name": "configured"}
    for options, name in (
        ({}, "project"),
        ({"project": "given", "environ": {"SATCHEL_PROJECT": "environment"}, "settings": configured}, "given"),
        ({"environ": {"SATCHEL_PROJECT": "environment"}, "settings": configured}, "environment"),
        ({"settings": configured}, "configured"),
    ):
        satchel = open_in(project, **options)
        satchel.housekeeping.initialise()
        assert satchel.housekeeping.statistics().project == name


@pytest.mark.parametrize("name", ["", " ", "a\0b", "{{project}}"])
def test_a_project_that_is_no_name_is_refused(open_in: Callable[..., Satchel], project: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^project "):
        open_in(project, project=name)


def names_of(satchel: Satchel, table: str, project: int) -> list[tuple[str, str, int, int]]:
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all(
            f"SELECT name, folded, seq, created_at FROM {table} WHERE project_id = :project ORDER BY id",
            {"project": project},
        )
    return [(name, folded, seq, created) for name, folded, seq, created in rows]


@pytest.mark.parametrize(
    ("table", "names"), [("layers", LAYERS), ("tags", TAGS), ("categories", CATEGORIES), ("scopes", ())]
)
def test_every_new_project_begins_with_the_same_names(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock, table: str, names: tuple[str, ...]
) -> None:
    for number, name in enumerate(("one", "other"), 1):
        satchel = open_in(project, project=name)
        for _ in range(2):
            satchel.housekeeping.initialise()
        assert names_of(satchel, table, number) == [(given, given, 0, clock.now) for given in names]
        clock.advance(1_000)


def test_the_names_that_a_project_begins_with_are_no_changes(satchel: Satchel) -> None:
    satchel.housekeeping.initialise()
    assert satchel.housekeeping.statistics().seq == 0

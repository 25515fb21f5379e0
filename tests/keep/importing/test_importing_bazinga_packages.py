"""The packages of a bazinga database, and to whom they were delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from bazinga_databases import SECRET, Made, sample, stamp
from keep.importing.bazinga_kept import counts
from keep.importing.results import SECOND, Take
from satchel import Satchel
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.deliveries import Window


@pytest.mark.usefixtures("report")
def test_a_package_comes_with_everything(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    result = bring(sample(tmp_path / "b.db", "19", now))
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.type, package.priority, package.summary) == ("failures", "high", "what failed in 1")
    assert (package.path, package.task_id, package.run_id) == ("bazinga/artifacts/s1/1.md", "g1", "s1")
    assert (package.consumers, package.agent) == (("developer", "qa_expert"), "tech_lead")
    assert package.created_at == package.updated_at == (now - 60) * SECOND
    assert satchel.packages.read(package.ref).text == "the gateway timed out"
    assert "context_packages" not in {one.table for one in result.troubles}


def test_a_package_whose_file_is_not_here_is_taken_and_said(
    satchel: Satchel, bring: Take, tmp_path: Path, now: int
) -> None:
    result = bring(sample(tmp_path / "b.db", "19", now))
    assert satchel.packages.find(run_id="s1").total == 1
    (trouble,) = [one for one in result.troubles if one.table == "context_packages"]
    assert (trouble.row, trouble.left_out) == ("id 1", False)
    assert "is not there" in trouble.reason


@pytest.mark.usefixtures("report")
def test_an_early_package_is_called_by_its_file(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "6", now))
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.summary, package.priority) == ("no summary stored for 1.md", "medium")


@pytest.mark.usefixtures("report")
def test_a_package_of_the_data_model_is_research_of_the_run_it_names(
    satchel: Satchel, bring: Take, tmp_path: Path, now: int
) -> None:
    bring(sample(tmp_path / "b.db", "documented", now))
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.type, package.priority, package.agent) == ("research", "high", None)


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("package_type", "gossip", ("research", "high")),
        ("priority", "urgent", ("failures", "medium")),
        ("priority", "HIGH", ("failures", "high")),
    ],
)
def test_a_type_or_priority_that_is_none_here_is_the_usual_one(
    satchel: Satchel, bring: Take, bazinga: Made, column: str, value: str, shown: tuple[str, str]
) -> None:
    database = bazinga()
    database.package(**{column: value})
    result = bring(database)
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.type, package.priority) == shown
    assert [one.left_out for one in result.troubles] == [False] * (value != "HIGH")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secrets.txt", "names no file of the project"),
        ("/etc/hosts", "is outside the project"),
        ("link/hosts", "leads out of the project through a link"),
        ("src", "is a folder"),
        (f"bazinga/{SECRET}.md", "looks like a secret"),
        ("{{path}}", "unresolved placeholder"),
    ],
)
def test_a_path_that_may_not_be_kept_costs_its_package_alone(
    satchel: Satchel, bring: Take, bazinga: Made, project: Path, path: str, reason: str
) -> None:
    (project / "link").symlink_to("/etc")
    (project / "src").mkdir()
    database = bazinga()
    database.package(1, file_path=path)
    database.package(2)
    database.delivery()
    result = bring(database)
    assert [one.path for one in satchel.packages.find(run_id="s1").items] == ["bazinga/artifacts/s1/2.md"]
    left_out = [(one.table, one.row) for one in result.troubles if one.left_out]
    assert left_out == [("context_packages", "id 1"), ("consumption_scope", "scope_id c1")]
    assert any(reason in one.reason for one in result.troubles)
    assert all(SECRET not in one.reason for one in result.troubles)


def test_an_absolute_path_inside_the_project_becomes_relative(
    satchel: Satchel, bring: Take, bazinga: Made, project: Path
) -> None:
    database = bazinga()
    database.package(file_path=str(project / "notes" / "a.md"))
    bring(database)
    assert satchel.packages.find(run_id="s1").items[0].path == "notes/a.md"


def test_one_package_supersedes_another(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    database = bazinga()
    database.package(1, created_at=stamp(now - 90))
    database.package(2, supersedes_id=1)
    bring(database)
    (live,) = satchel.packages.find(run_id="s1").items
    (old,) = satchel.packages.find(run_id="s1", status="superseded").items
    assert (live.path, old.path) == ("bazinga/artifacts/s1/2.md", "bazinga/artifacts/s1/1.md")
    assert (old.superseded_by, old.updated_at) == (live.id, (now - 60) * SECOND)


def test_a_package_that_came_since_supersedes_one_that_was_imported(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    for name, numbers in (("a.db", (1,)), ("b.db", (1, 2))):
        database = bazinga(name)
        for number in numbers:
            database.package(number, supersedes_id=1 if number == 2 else None)
        bring(database)
    assert satchel.packages.find(run_id="s1").total == 1


def test_two_packages_that_supersede_each_other_leave_one_alive(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package(1, supersedes_id=2)
    database.package(2, supersedes_id=1)
    bring(database)
    assert satchel.packages.find(run_id="s1").total == 1


@pytest.mark.parametrize("replaced", [9, 1, "other"])
def test_a_package_supersedes_none_but_another_of_its_session(
    satchel: Satchel, bring: Take, bazinga: Made, replaced: object
) -> None:
    database = bazinga()
    database.package(1, supersedes_id=2 if replaced == "other" else replaced)
    database.package(2, session_id="s2")
    result = bring(database)
    assert satchel.packages.find(run_id="s1").total == 1
    assert satchel.packages.find(run_id="s2").total == 1
    assert any("which is not an earlier package of its session" in one.reason for one in result.troubles)


def delivered(satchel: Satchel, role: str = "developer", iteration: int = 0, task: str | None = "g1") -> dict[int, int]:
    with satchel.workplace.engine.read() as transaction:
        run = transaction.one("SELECT id FROM runs WHERE run_id = 's1'")
        assert run is not None
        window = Window(1, None, 0, None, iteration, run[0], task, role)
        return deliveries.delivered(transaction, window).get(Kind.PACKAGE.number, {})


def test_what_was_consumed_was_delivered_as_it_stands(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    (package,) = satchel.packages.find(run_id="s1").items
    assert delivered(satchel) == {package.id: package.seq}
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT created_at FROM deliveries") == [((now - 50) * SECOND,)]


def test_deliveries_are_kept_apart_by_role_iteration_and_task(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package()
    database.delivery("c1", agent_type="QA_Expert", iteration=1)
    database.delivery("c2", agent_type="qa_expert", iteration=1)
    database.delivery("c3", group_id="global", agent_type="qa_expert", iteration=1)
    result = bring(database)
    assert counts(result)["delivery"] == (2, 0, 0, 0, 0)
    assert [
        len(delivered(satchel, *place)) for place in (("qa_expert", 1), ("qa_expert", 1, None), ("qa_expert", 0))
    ] == [
        1,
        1,
        0,
    ]


def test_a_delivery_of_no_package_or_another_sessions_is_left_out(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session()
    database.package(1, session_id="s2")
    database.delivery("c1", package_id=1)
    database.delivery("c2", package_id=7)
    result = bring(database)
    assert [one.table for one in result.troubles if one.left_out] == ["consumption_scope"] * 2
    assert [one.row for one in result.troubles if one.table == "consumption_scope"] == ["scope_id c1", "scope_id c2"]
    assert satchel.housekeeping.statistics().deliveries == 0

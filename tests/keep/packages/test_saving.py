"""What a saved package is, and what is refused without a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kept_bytes import kept_bytes
from satchel import InvalidInput, NotFound, Package, ReadOnly, Refused, Satchel, TooLarge
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.packages.records import TYPES
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

SECRET = "ghp_" + "a1B2" * 9


def say_nothing(done: int, total: int) -> None:
    """Nobody watches the progress."""


def reread(satchel: Satchel, package: Package) -> Package:
    (found,) = [one for one in satchel.packages.find(status="all", run_id=package.run_id) if one.id == package.id]
    return found


def everything(satchel: Satchel) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that a refused call could have left behind."""
    tables = ("projects", "runs", "agents", "context_packages", "package_consumers", "documents")
    with satchel.workplace.engine.read() as transaction:
        return {table: transaction.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


def test_every_field_comes_back_as_it_was_given(satchel: Satchel, clock: ManualClock) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save(
        "How tokens are refreshed",
        content="The gateway refreshes them, tschüss.",
        type="investigation",
        priority="high",
        task_id="T1",
        consumers=["qa_expert", "developer"],
        run_id="r1",
        agent="Ann",
    )
    assert (saved.summary, saved.path) == ("How tokens are refreshed", None)
    assert saved.content_bytes == len("The gateway refreshes them, tschüss.".encode())
    assert (saved.type, saved.priority, saved.task_id) == ("investigation", "high", "T1")
    assert (saved.consumers, saved.agent, saved.run_id) == (("developer", "qa_expert"), "Ann", "r1")
    assert (saved.superseded_by, saved.status) == (None, "live")
    assert (saved.created_at, saved.updated_at, saved.notes) == (clock.now, clock.now, ())
    assert (saved.ref, len(bytes.fromhex(saved.uid))) == (f"p{saved.id}", 16)
    assert saved.seq == satchel.packages.find().seq
    assert reread(satchel, saved) == saved
    content = satchel.packages.read(saved.ref)
    assert (content.text, content.reason, content.package) == ("The gateway refreshes them, tschüss.", None, saved)


def test_what_is_left_out_takes_its_default(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save("x", content="y")
    assert (saved.type, saved.priority, saved.task_id) == ("research", "medium", None)
    assert (saved.consumers, saved.agent, saved.run_id, saved.notes) == ((), None, "main", ())


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_round_trips(satchel: Satchel, kind: str) -> None:
    assert reread(satchel, satchel.packages.save("x", content="y", type=kind)).type == kind


@pytest.mark.parametrize("priority", PRIORITIES)
def test_every_priority_round_trips(satchel: Satchel, priority: str) -> None:
    assert reread(satchel, satchel.packages.save("x", content="y", priority=priority)).priority == priority


def test_the_default_agent_and_run_count_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner", run="r2")
    for run in ("r1", "r2"):
        satchel.runs.start(run)
    assert (satchel.packages.save("x", content="y").agent, satchel.packages.find().run_id) == ("planner", "r2")
    other = satchel.packages.save("x", content="y", agent="qa", run_id="r1")
    assert (other.agent, other.run_id) == ("qa", "r1")


def test_saving_in_a_run_that_has_ended_says_so(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.runs.end("r1")
    assert satchel.packages.save("x", content="y", run_id="r1").notes == ("run r1 is completed",)


def test_roles_are_kept_in_lower_case_and_each_once(satchel: Satchel) -> None:
    saved = satchel.packages.save("x", content="y", consumers=[" QA_Expert", "developer", "Developer "])
    assert saved.consumers == reread(satchel, saved).consumers == ("developer", "qa_expert")


def test_a_summary_of_two_hundred_characters_is_kept_whole(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save("ä" * 200, content="y")
    assert (saved.summary, saved.notes) == ("ä" * 200, ())


def test_a_longer_summary_is_shortened_and_that_is_said(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save("ä" * 201, content="y")
    assert (saved.summary, saved.notes) == (
        "ä" * 199 + "…",
        ("the summary was shortened from 201 to 200 characters",),
    )
    assert reread(satchel, saved).summary == saved.summary


@pytest.mark.parametrize("between", ["\n", "\r\n", "\r", " \n\n  ", "\u2028", "\x0b"])
def test_a_summary_is_one_line(satchel: Satchel, between: str) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save(f"one{between}two\n", content="y")
    assert (saved.summary, saved.notes) == ("one two", ("the summary was put on one line",))


def test_secrets_are_redacted_in_summary_and_content_and_that_is_said(satchel: Satchel) -> None:
    saved = satchel.packages.save(f"uses {SECRET}", content=f"the token is {SECRET}\x00")
    assert "a secret was redacted (github-token)" in saved.notes
    assert "1 control character removed" in saved.notes
    assert saved.summary == "uses [redacted:github-token]"
    assert satchel.packages.read(saved.ref).text == "the token is [redacted:github-token]"


def test_a_secret_that_the_end_of_a_summary_would_cut_is_redacted(satchel: Satchel) -> None:
    saved = satchel.packages.save("x" * 180 + f" {SECRET}", content="y")
    assert "ghp_" not in saved.summary


def test_a_secret_is_in_no_byte_of_the_store(satchel: Satchel) -> None:
    satchel.packages.save(f"uses {SECRET}", content=f"password: {SECRET}", task_id="T1")
    assert SECRET[:12].encode() not in kept_bytes(satchel)


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "neither path nor content": ({"content": None}, InvalidInput, "either a file or a text"),
    "path and content": ({"path": "a.md"}, InvalidInput, "either a file or a text"),
    "empty summary": ({"summary": " \n"}, InvalidInput, "summary is empty"),
    "summary of another type": ({"summary": 5}, InvalidInput, "summary must be text"),
    "huge summary": ({"summary": "x" * 2_000}, TooLarge, "summary has"),
    "empty content": ({"content": " "}, InvalidInput, "content is empty"),
    "content of another type": ({"content": {"a": 1}}, InvalidInput, "content must be text"),
    "huge content": ({"content": "x" * 1_025}, TooLarge, "content has"),
    "unknown type": ({"type": "reserch"}, InvalidInput, "unknown package type 'reserch'. Did you mean 'research'"),
    "type as a number": ({"type": 1}, InvalidInput, "unknown package type 1"),
    "unknown priority": ({"priority": "urgent"}, InvalidInput, "unknown priority 'urgent'"),
    "no priority": ({"priority": None}, InvalidInput, "unknown priority None"),
    "blank task": ({"task_id": ""}, InvalidInput, "task_id is empty"),
    "secret as a task": ({"task_id": SECRET}, InvalidInput, "task_id looks like a secret"),
    "consumers as one text": ({"consumers": "developer"}, InvalidInput, "consumers is no list"),
    "no consumers": ({"consumers": None}, InvalidInput, "consumers is no list"),
    "blank consumer": ({"consumers": ["qa", " "]}, InvalidInput, r"consumers\[1\] is empty"),
    "secret as a consumer": ({"consumers": [SECRET]}, InvalidInput, r"consumers\[0\] looks like a secret"),
    "placeholder as a run": ({"run_id": "{{run}}"}, InvalidInput, "run_id .* placeholder"),
    "unknown run": ({"run_id": "r9"}, NotFound, "there is no run 'r9'"),
    "secret as agent": ({"agent": SECRET}, InvalidInput, "agent looks like a secret"),
    "supersedes no id": ({"supersedes": "e1"}, InvalidInput, "is no id of a package"),
    "supersedes what is not there": ({"supersedes": "p9"}, NotFound, "there is no package p9"),
    "path outside": ({"content": None, "path": "../a.md"}, InvalidInput, "names no file of the project"),
    "absolute path outside": ({"content": None, "path": "/etc/hostname"}, InvalidInput, "is outside the project"),
    "secret as a path": ({"content": None, "path": f"{SECRET}.md"}, InvalidInput, "path looks like a secret"),
    "path to the root": ({"content": None, "path": "."}, InvalidInput, "names no file"),
    "path to a folder": ({"content": None, "path": "docs/"}, InvalidInput, "is a folder"),
    "path through a link": ({"content": None, "path": "out/a.md"}, Refused, "leads out of the project"),
    "path that is a link": ({"content": None, "path": "out.md"}, Refused, "leads out of the project"),
    "a link to nothing outside": ({"content": None, "path": "nowhere.md"}, Refused, "leads out of the project"),
    "a folder beside that begins alike": ({"content": None, "path": "alike.md"}, Refused, "leads out of the project"),
}


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_not_acceptable_is_refused_and_leaves_nothing(
    open_in: Callable[..., Satchel], project: Path, begun: bool
) -> None:
    outside = project.parent / "project-outside"
    outside.mkdir()
    (outside / "a.md").write_text("outside")
    (project / "docs").mkdir()
    (project / "out").symlink_to(outside)
    (project / "out.md").symlink_to(outside / "a.md")
    (project / "alike.md").symlink_to(project.parent / "project-outside" / "a.md")
    (project / "nowhere.md").symlink_to(outside / "gone.md")
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    satchel.housekeeping.initialise()
    if begun:
        satchel.packages.save("there already", content="z")
    before = everything(satchel)

    @in_one_test("case", REFUSED)
    def check(case: str) -> None:
        given, error, problem = REFUSED[case]
        with pytest.raises(error, match=problem):
            satchel.packages.save(**{"summary": "x", "content": "y", "consumers": ["new"], "agent": "new", **given})
        assert everything(satchel) == before

    check()


def test_content_of_the_configured_size_is_kept(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    assert satchel.packages.save("x", content="ä" * 512).content_bytes == 1_024


def test_a_reader_cannot_save(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(ReadOnly):
        open_in(project, read_only=True).packages.save("x", content="y")


def test_a_package_is_found_by_its_summary_and_its_stored_text(satchel: Satchel) -> None:
    saved = satchel.packages.save("about heliotropes", content="a text on marmosets", type="handoff", agent="ann")
    for word in ("heliotrope", "marmoset"):
        (found,) = satchel.finding.search(word, kinds=["package"], types=["handoff"]).results
        assert (found.ref, found.kind, found.type, found.status, found.agent) == (
            saved.ref,
            "package",
            "handoff",
            "live",
            "ann",
        )


def test_a_package_of_a_file_is_found_by_its_summary_and_path_but_not_by_the_file(
    satchel: Satchel, project: Path
) -> None:
    (project / "a.md").write_text("marmosets")
    saved = satchel.packages.save("about heliotropes", path="a.md", task_id="T1")
    assert satchel.finding.search("marmosets").total == 0
    found = satchel.finding.search("heliotropes", file="a.md", task_id="T1").results
    assert [one.ref for one in found] == [saved.ref]


def test_the_index_can_be_made_anew(satchel: Satchel, project: Path) -> None:
    (project / "a.md").write_text("text")
    first = satchel.packages.save("about heliotropes", path="a.md", task_id="T1", agent="ann")
    satchel.packages.save("more on heliotropes", content="marmosets", supersedes=first.ref)
    before = satchel.finding.search("heliotropes marmosets")
    satchel.finding.rebuild(say_nothing)
    assert satchel.finding.search("heliotropes marmosets") == before
    assert [check.status for check in satchel.housekeeping.doctor() if check.name == "index"] == ["ok"]

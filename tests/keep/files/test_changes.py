from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import FileChange, FileChangePage, Found, InvalidInput, Satchel, StoreDamaged, TooLarge
from satchel.base.clock import iso
from satchel.keep.files import changes as file_changes
from satchel.keep.files.records import CHANGES

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def numbers(page: FileChangePage) -> list[int]:
    return [change.id for change in page.changes]


def test_every_field_of_a_change_comes_back(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> None:
    satchel = open_in(project, settings={"retention.file_changes_hours": 5})
    kept = satchel.files.record(
        f"{project}/src/./a.py", "deleted", description="moved to b.py", layer="Business", agent="Ann"
    )
    assert satchel.files.changes().changes == (kept,)
    assert kept == FileChange(
        id=kept.id,
        uid=kept.uid,
        seq=satchel.housekeeping.statistics().seq,
        file="src/a.py",
        change="deleted",
        agent="Ann",
        worktree=None,
        layer="business",
        description="moved to b.py",
        created_at=clock.now,
        expires_at=clock.now + 5 * HOUR,
    )
    assert (kept.ref, len(bytes.fromhex(kept.uid))) == (f"f{kept.id}", 16)


def test_a_change_needs_no_more_than_a_file_and_what_happened(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "created")
    assert satchel.files.changes().changes == (kept,)
    assert (kept.agent, kept.layer, kept.description, kept.worktree) == (None, None, None, None)


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_comes_back_as_it_was_given(satchel: Satchel, change: str) -> None:
    assert satchel.files.record("a.py", change).change == change
    assert [one.change for one in satchel.files.changes(change=change)] == [change]


def test_the_default_agent_made_a_change_that_names_none(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="ann")
    assert satchel.files.record("a.py", "created").agent == "ann"
    assert satchel.files.record("a.py", "created", agent="bob").agent == "bob"


def test_two_edits_of_one_file_are_two_changes_of_the_same_file(satchel: Satchel) -> None:
    first, second = (satchel.files.record(file, "modified") for file in ("src/a.py", "./src/a.py"))
    assert numbers(satchel.files.changes(file="src/a.py")) == [second.id, first.id]
    assert second.seq > first.seq
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT path FROM files") == [("src/a.py",)]


def test_a_secret_in_a_description_is_redacted_and_said(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "modified", description=f"rotated {SECRET}\x07")
    assert SECRET not in str(kept.description)
    assert len(kept.notes) == 2
    assert [one.description for one in satchel.files.changes()] == [kept.description]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"file": "../x"}, "names no file of the project"),
        ({"file": "/etc/passwd"}, "outside the project"),
        ({"file": "x" * 10_000}, "file has 10000 characters"),
        ({"file": f"keys/{SECRET}"}, "file looks like a secret"),
        ({"file": ""}, "file is empty"),
        ({"file": None}, "file must be text"),
        ({"change": "modify"}, "unknown change 'modify'. Did you mean 'modified'"),
        ({"change": None}, "Valid: created, modified, deleted"),
        ({"change": ["created"]}, "Valid: created, modified, deleted"),
        ({"layer": "busines"}, "Did you mean 'business'"),
        ({"layer": " "}, "layer is empty"),
        ({"agent": "{{agent}}"}, "unresolved placeholder"),
        ({"agent": ""}, "agent is empty"),
        ({"description": " "}, "description is empty"),
        ({"description": 5}, "description must be text"),
    ],
)
def test_a_change_that_is_not_acceptable_is_refused_and_nothing_is_written(
    satchel: Satchel, arguments: dict[str, Any], problem: str
) -> None:
    satchel.files.record("known.py", "created")
    before = satchel.housekeeping.statistics()
    with pytest.raises(InvalidInput) as refused:
        satchel.files.record(**{"file": "a.py", "change": "created", "agent": "new", **arguments})
    assert problem in str(refused.value)
    assert satchel.housekeeping.statistics() == before
    assert satchel.files.changes().total == 1


def test_a_description_above_the_limit_is_refused(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    with pytest.raises(TooLarge, match=r"^description has"):
        satchel.files.record("a.py", "created", description="x" * 1_100)


def test_a_new_layer_is_recorded_only_where_layers_are_open(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"layers.open": True})
    assert satchel.files.record("a.py", "created", layer="Edge").layer == "Edge"
    assert satchel.files.changes(layer="edge").total == 1


# Each filter lets exactly one of two values of its field through, so that in the grid below, which holds every
# combination, a filter that is ignored doubles the result.
FILTERS: dict[str, Any] = {
    "file": "./src/a.py",
    "change": "created",
    "agent": "ANN",
    "layer": "DATA",
    "search": "needle",
}
SUBSETS = [set(chosen) for size in range(len(FILTERS) + 1) for chosen in itertools.combinations(FILTERS, size)]


@pytest.fixture
def grid(satchel: Satchel) -> Satchel:
    """32 changes: each combination of two files, changes, agents, layers and words."""
    for file, change, agent, layer, word in itertools.product(
        ("src/a.py", "src/b.py"), ("created", "deleted"), ("Ann", "Bob"), ("data", "business"), ("needle", "hay")
    ):
        satchel.files.record(file, change, agent=agent, layer=layer, description=f"a {word} here")
    return satchel


@pytest.mark.parametrize("chosen", SUBSETS, ids=lambda chosen: "+".join(sorted(chosen)) or "none")
def test_every_filter_counts_alone_and_with_every_other(grid: Satchel, chosen: set[str]) -> None:
    page = grid.files.changes(**{name: FILTERS[name] for name in chosen}, limit=500)
    assert page.total == len(page.changes) == 32 // 2 ** len(chosen)
    for change in page:
        assert "file" not in chosen or change.file == "src/a.py"
        assert "change" not in chosen or change.change == "created"
        assert "agent" not in chosen or change.agent == "Ann"
        assert "layer" not in chosen or change.layer == "data"
        assert "search" not in chosen or "needle" in str(change.description)
        assert (change.score is not None) == ("search" in chosen)


@pytest.mark.parametrize("search", [None, "note"])
@pytest.mark.parametrize("folder", ["src/auth/", "src/auth/**", "./src/auth/"])
def test_a_folder_stands_for_everything_below_it_and_nothing_beside(
    satchel: Satchel, folder: str, search: str | None
) -> None:
    for file in (
        "src/auth/a.py",
        "src/auth/x/y/b.py",
        "src/auth.py",
        "src/auth2/c.py",
        "src/authz",
        "src/aut",
        "auth/d.py",
    ):
        satchel.files.record(file, "created", description="note")
    found = satchel.files.changes(file=folder, search=search, order="asc")
    assert [change.file for change in found] == ["src/auth/a.py", "src/auth/x/y/b.py"]
    assert satchel.files.changes(file=".", search=search).total == 7


def test_percent_and_underscore_in_a_folder_mean_themselves(satchel: Satchel) -> None:
    for file in ("a_b/x", "axb/x", "100%/x", "1000/x"):
        satchel.files.record(file, "created")
    assert [change.file for change in satchel.files.changes(file="a_b/")] == ["a_b/x"]
    assert [change.file for change in satchel.files.changes(file="100%/")] == ["100%/x"]


@pytest.mark.parametrize("search", [None, "note"])
def test_changes_since_a_time_include_that_very_moment(
    satchel: Satchel, clock: ManualClock, search: str | None
) -> None:
    for _ in range(3):
        satchel.files.record("a.py", "modified", description="note")
        clock.advance(60_000)
    middle = clock.now - 120_000
    for since in (middle, iso(middle), "2m"):
        assert satchel.files.changes(since=since, search=search).total == 2
    assert satchel.files.changes(since=middle + 1, search=search).total == 1


@pytest.mark.parametrize("search", [None, "note"])
def test_newest_first_even_when_the_clock_stands_still_or_goes_back(
    satchel: Satchel, clock: ManualClock, search: str | None
) -> None:
    made = []
    for step in (0, 0, -5, 10):
        clock.advance(step)
        made.append(satchel.files.record("a.py", "modified", description="note").id)
    newest_first = [made[3], made[1], made[0], made[2]]
    assert numbers(satchel.files.changes(order="desc", search=search)) == newest_first
    assert numbers(satchel.files.changes(order="asc", search=search)) == newest_first[::-1]
    if search is None:
        assert numbers(satchel.files.changes()) == newest_first


@pytest.mark.parametrize("search", [None, "note"])
def test_paging_covers_every_change_once(satchel: Satchel, search: str | None) -> None:
    for number in range(5):
        satchel.files.record("a.py", "modified", description="note " * (number + 1))
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = satchel.files.changes(limit=2, offset=offset, search=search)
        assert page.total == 5
        seen += numbers(page)
        offset = page.next_offset
    assert sorted(seen) == sorted(set(seen))
    assert len(seen) == 5


@pytest.mark.parametrize("search", [None, "note"])
def test_a_limit_of_0_gives_the_total_alone(satchel: Satchel, search: str | None) -> None:
    satchel.files.record("a.py", "modified", description="note")
    page = satchel.files.changes(limit=0, search=search)
    assert (page.changes, page.total, page.limit) == ((), 1, 0)


def test_a_cursor_reads_what_came_after_it_and_loses_nothing(satchel: Satchel) -> None:
    cursor = satchel.files.changes().cursor
    made = [satchel.files.record(f"{number}.py", "created").id for number in range(5)]
    seen = []
    while page := satchel.files.changes(after_seq=cursor, limit=2):
        assert page.order == "seq"
        assert page.after_seq == cursor
        seen += numbers(page)
        cursor = page.cursor
    assert seen == made


@pytest.mark.parametrize(
    ("arguments", "order"),
    [({}, "newest"), ({"order": "asc"}, "oldest"), ({"search": "x"}, "relevance"), ({"after_seq": 0}, "seq")],
)
def test_a_page_says_how_it_is_ordered(satchel: Satchel, arguments: dict[str, Any], order: str) -> None:
    assert satchel.files.changes(**arguments).order == order
    satchel.files.record("a.py", "created")
    assert satchel.files.changes(**arguments).order == order


def test_the_best_match_comes_first_in_a_search_without_order(satchel: Satchel) -> None:
    best = satchel.files.record("session.py", "created", description="session session")
    satchel.files.record("b.py", "created", description="something longer about a session and other things")
    assert numbers(satchel.files.changes(search="session"))[0] == best.id


@pytest.mark.parametrize("word", ["src", "auth", "login", "form", "py", "authLogin", "login_form.py", "rotates"])
def test_a_change_is_found_by_the_parts_of_its_path_and_the_words_about_it(satchel: Satchel, word: str) -> None:
    kept = satchel.files.record("src/authLogin/login_form.py", "created", description="rotates the token")
    assert numbers(satchel.files.changes(search=word)) == [kept.id]
    found = satchel.finding.search(word).results
    assert [(one.ref, one.kind, one.type, one.file) for one in found] == [
        (kept.ref, "file_change", "created", "src/authLogin/login_form.py")
    ]


def test_a_search_without_a_word_says_so(satchel: Satchel) -> None:
    satchel.files.record("a.py", "created")
    page = satchel.files.changes(search="!?")
    assert (page.total, page.notes) == (0, ("'!?' holds no word to search for",))


def test_an_expired_change_is_hidden_at_once_from_every_way_of_reading(satchel: Satchel, clock: ManualClock) -> None:
    old = satchel.files.record("a.py", "modified", description="note")
    clock.advance(1_000)
    new = satchel.files.record("a.py", "modified", description="note")
    clock.now = old.expires_at - 1
    assert satchel.files.changes().total == 2
    clock.now = old.expires_at
    for filters in ({}, {"search": "note"}, {"file": "a.py"}, {"file": "."}, {"after_seq": 0}, {"change": "modified"}):
        assert numbers(satchel.files.changes(**filters)) == [new.id]
    assert [one.ref for one in satchel.finding.search("note").results] == [new.ref]


def test_what_has_expired_leaves_the_store_when_something_is_recorded(satchel: Satchel, clock: ManualClock) -> None:
    old = satchel.files.record("a.py", "modified")
    clock.now = old.expires_at
    new = satchel.files.record("b.py", "modified")
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT id FROM file_changes") == [(new.id,)]
        assert transaction.all("SELECT item_id FROM documents") == [(new.id,)]


def test_weekends_are_passed_over_where_that_is_configured(open_in: Callable[..., Satchel], project: Path) -> None:
    friday_noon = 1_795_176_000_000  # 2026-11-20T12:00Z
    satchel = open_in(
        project,
        clock=lambda: friday_noon,
        settings={"retention.skip_weekends": True, "retention.file_changes_hours": 24},
    )
    kept = satchel.files.record("a.py", "created")
    assert iso(kept.expires_at) == "2026-11-23T12:00:00.000Z"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"file": "../x"}, "names no file"),
        ({"file": "src/*.py"}, "is a pattern"),
        ({"file": ""}, "file is empty"),
        ({"change": "delete"}, "Did you mean 'deleted'"),
        ({"agent": ""}, "agent is empty"),
        ({"layer": "dta"}, "Did you mean 'data'"),
        ({"layer": ""}, "layer is empty"),
        ({"since": "yesterday"}, "is not a time"),
        ({"after_seq": -1}, "after_seq -1 is out of range"),
        ({"after_seq": 1, "order": "asc"}, "after_seq reads changes in their order"),
        ({"after_seq": 1, "search": "x"}, "after_seq reads changes in their order"),
        ({"search": " "}, "search is empty"),
        ({"order": "up"}, "unknown order"),
        ({"limit": 501}, "limit 501 is out of range"),
        ({"limit": True}, "limit True is not a whole number"),
        ({"offset": -1}, "offset -1 is out of range"),
    ],
)
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_filter_that_is_not_acceptable_is_refused(
    satchel: Satchel, arguments: dict[str, Any], problem: str, is_empty: bool
) -> None:
    if not is_empty:
        satchel.files.record("a.py", "created")
    with pytest.raises(InvalidInput) as refused:
        satchel.files.changes(**arguments)
    assert problem in str(refused.value)


def test_an_agent_that_nobody_is_makes_the_page_empty_and_is_said(satchel: Satchel) -> None:
    satchel.files.record("a.py", "created", agent="ann")
    page = satchel.files.changes(agent="anna")
    assert (page.total, page.notes) == (0, ("no agent is called 'anna' here",))


def test_reading_before_the_first_write_makes_nothing(satchel: Satchel, project: Path) -> None:
    page = satchel.files.changes(layer="data", agent="ann")
    assert (page.total, page.seq, page.notes) == (0, 0, ("nothing was written for this project yet",))
    assert not (project / ".satchel").exists()


def test_another_project_in_the_store_sees_nothing_of_it(open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project, project="one").files.record("src/a.py", "created", agent="ann", description="note")
    other = open_in(project, project="two")
    other.files.record("src/a.py", "deleted", agent="ann", description="note")
    several: list[dict[str, Any]] = [{}, {"search": "note"}, {"file": "src/a.py"}, {"file": "src/"}, {"agent": "ann"}]
    for filters in several:
        assert [change.change for change in other.files.changes(**filters)] == ["deleted"]


def unscored(satchel: Satchel) -> list[Found]:
    return [replace(one, score=0) for one in satchel.finding.search("note").results]


def test_the_index_of_changes_can_be_made_anew(satchel: Satchel, clock: ManualClock) -> None:
    expiring = satchel.files.record("src/a.py", "created", description="note", agent="ann")
    clock.advance(1_000)
    other = satchel.files.record("src/b.py", "deleted", description="note")
    before = unscored(satchel)
    with satchel.workplace.engine.write() as transaction:
        transaction.execute("DELETE FROM documents")
        transaction.execute("INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')")
    assert satchel.finding.search("note").total == 0
    satchel.finding.rebuild(lambda done, total: None)  # noqa: ARG005 -- nobody watches
    assert unscored(satchel) == before
    assert numbers(satchel.files.changes(search="note", agent="ann", change="created", file="src/a.py")) == [
        expiring.id
    ]
    clock.now = expiring.expires_at
    assert [one.ref for one in satchel.finding.search("note").results] == [other.ref]


def test_deleted_changes_leave_the_index_too(satchel: Satchel) -> None:
    gone, kept = (satchel.files.record("a.py", "modified", description="note") for _ in range(2))
    with satchel.workplace.engine.write() as transaction:
        file_changes.delete(transaction, 1, [gone.id])
        assert file_changes.searchable_texts(transaction, [gone.id, kept.id]) == {kept.id: "a.py\nnote"}
    assert numbers(satchel.files.changes()) == numbers(satchel.files.changes(search="note")) == [kept.id]
    checks = {check.name: check.status for check in satchel.housekeeping.doctor()}
    assert (checks["file"], checks["index"]) == ("ok", "ok")


def test_a_search_that_finds_what_is_not_kept_is_reported_as_damage(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "modified", description="note")
    with satchel.workplace.engine.write() as transaction:
        transaction.execute("DELETE FROM file_changes WHERE id = :id", {"id": kept.id})
    with pytest.raises(StoreDamaged, match="satchel rebuild"):
        satchel.files.changes(search="note")

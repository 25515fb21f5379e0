"""An import as written makes the same project of an export, in any database, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from keep.moving.stores import ACTIONS, HOUR, PERSONS, Line, dump, export, fill, whole_dump
from keep.moving.test_round_trip import folder
from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, StoreDamaged
from satchel.find.kind import Kind
from satchel.store.transaction import insert_rows
from store.postgres.places import new_place

if TYPE_CHECKING:
    from conftest import ManualClock

Open = Callable[..., Satchel]
_STEP = st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 20), st.integers(0, 20))
_EVERYTHING = [(action, first, second) for first, second in ((1, 2), (4, 5), (2, 3)) for action in range(len(ACTIONS))]
_ENGINES = ("sqlite", "postgresql")


@pytest.fixture
def open_on(open_in: Open, tmp_path: Path) -> Iterator[Open]:
    """Open an empty store in a database that is named."""
    places = []

    def open_one(database: str) -> Satchel:
        if database == "sqlite":
            return open_in(folder(tmp_path, "p"))
        places.append(new_place())
        return open_in(folder(tmp_path, "p"), db=places[-1].__enter__().address, project="p")

    yield open_one
    for place in places:
        place.__exit__(None, None, None)


def lines(satchel: Satchel) -> list[Line]:
    """Return the lines of a store that are moved as written."""
    return [line for line in whole_dump(satchel) if line["kind"] != "delivery"]


def check_move(one: Satchel, other: Satchel, file: Path) -> None:
    """Move a store into an empty one, and compare."""
    moved = other.moving.import_as_written(export(one, file))
    assert (moved.differing, moved.troubles) == ((), ())
    assert moved.kinds == moved.exported
    assert lines(other) == lines(one)
    assert [check for check in other.housekeeping.doctor() if check.status == "failed"] == []


def share(satchel: Satchel) -> None:
    """Record what was decided about texts of the repository."""
    with satchel.workplace.engine.write() as transaction:
        ((project, uid),) = transaction.all("SELECT project_id, uid FROM decisions ORDER BY id LIMIT 1")
        item = {"project_id": project, "uid": uid}
        text = {**item, "kind": "decision", "in_step": b"a", "waiting": b"b", "why": 2, "stood": 5, "merged": 1}
        insert_rows(transaction, "shared_texts", [text])
        insert_rows(transaction, "shared_seen", [{**item, "digest": digest} for digest in (b"c", b"a")])
        ((number, seq, agent),) = transaction.all("SELECT id, seq, agent_id FROM decisions ORDER BY id LIMIT 1")
        place = {"project_id": project, "path": "AGENTS.md", "line": 3, "agent_id": agent, "created_at": 5}
        item = {"digest": bytes(16), "clients": " codex ", "kind": Kind.DECISION.number, "item_id": number, "seq": seq}
        rejected = {"digest": bytes(range(16)), "clients": None, "kind": 0, "item_id": 0, "seq": 0}
        insert_rows(transaction, "document_texts", [{**place, **item}, {**place, **rejected}])


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(_STEP, max_size=25))
def test_any_store_is_the_same_afterwards(
    open_in: Open, clock: ManualClock, tmp_path: Path, choices: list[tuple[int, int, int]]
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    fill(one, clock, choices)
    if one.housekeeping.statistics().project:
        check_move(one, other, tmp_path / "lines.jsonl")


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(_STEP, max_size=80))
def test_any_large_store_is_the_same_afterwards(
    open_in: Open, clock: ManualClock, tmp_path: Path, choices: list[tuple[int, int, int]]
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    fill(one, clock, choices)
    if one.housekeeping.statistics().project:
        check_move(one, other, tmp_path / "lines.jsonl")


@pytest.mark.parametrize("target", _ENGINES)
@pytest.mark.parametrize("source", _ENGINES)
def test_a_store_with_some_of_everything_is_the_same_in_another_database(
    open_on: Open, clock: ManualClock, tmp_path: Path, source: str, target: str
) -> None:
    one, other = open_on(source), open_on(target)
    fill(one, clock, _EVERYTHING)
    share(one)
    one.pins.pin(one.entries.write("discovery", "retries live in the gateway", agent="Ben").ref, agent=PERSONS[1])
    assert {"seen", "shared_text", "document_text"} < {line["kind"] for line in lines(one)}
    check_move(one, other, tmp_path / "lines.jsonl")
    assert len(one.pins.list().items) > 1
    assert [(pin.text, pin.by) for pin in other.pins.list().items] == [
        (pin.text, pin.by) for pin in one.pins.list().items
    ]
    assert other.room.since(PERSONS[0]).totals == (("action", 1), *one.room.since(PERSONS[0]).totals)
    # a later change is one that nobody has seen
    seen = one.workplace.clock() and other.room.see(person=PERSONS[0])
    assert seen
    other.decisions.set("later", 1, agent="claude-3f2a")
    assert dict(other.room.since(PERSONS[0]).totals)["decision"] == 1


def test_what_has_expired_since_it_was_marked_as_seen_makes_no_difference(
    open_in: Open, clock: ManualClock, tmp_path: Path
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    one.messages.send("hello", agent="Ben")
    one.entries.write("discovery", "it stays", agent="Ben")
    one.room.see(["m1", "e1"], person=PERSONS[0])
    clock.advance(HOUR * 24 * 400)
    check_move(one, other, tmp_path / "lines.jsonl")
    assert [line["of"] for line in lines(other) if line["kind"] == "seen"] == ["entry"]


def test_a_plain_import_trusts_neither_pins_nor_marks_nor_decisions_about_texts(
    open_in: Open, clock: ManualClock, tmp_path: Path
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    fill(one, clock, _EVERYTHING)
    share(one)
    result = other.moving.import_file(export(one, tmp_path / "lines.jsonl"))
    assert not result.is_incomplete
    (there, here) = ([(line["kind"], line["uid"]) for line in dump(store)] for store in (one, other))
    named = {"agent", "delivery"}  # whose names are claims
    assert {line for line in there if line[0] not in named} == {line for line in here if line[0] not in named}
    assert other.pins.list().total == 0
    with other.workplace.engine.read() as transaction:
        for table in ("seen", "shared_texts", "shared_seen", "document_texts"):
            assert transaction.all(f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.parametrize("target", _ENGINES)
def test_a_cut_export_changes_nothing(open_on: Open, clock: ManualClock, tmp_path: Path, target: str) -> None:
    one, other = open_on("sqlite"), open_on(target)
    fill(one, clock, _EVERYTHING)
    whole = export(one, tmp_path / "lines.jsonl").read_bytes()
    cut = whole[: whole.rindex(b'{"kind":"end"')]
    with pytest.raises(StoreDamaged, match="is cut"):
        other.moving.import_as_written(Path("a pipe"), stream=BytesIO(cut))
    assert other.housekeeping.statistics().project is None
    assert other.moving.import_as_written(Path("a pipe"), stream=BytesIO(whole)).differing == ()


def test_a_project_that_holds_something_and_a_part_of_an_export_are_refused(open_in: Open, tmp_path: Path) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    one.decisions.set("store", "redis", agent="ann")
    part = BytesIO()
    one.moving.export(part, kinds=["decision"])
    with pytest.raises(InvalidInput, match="no export of a whole project"):
        other.moving.import_as_written(Path("part"), stream=BytesIO(part.getvalue()))
    file = export(one, tmp_path / "lines.jsonl")
    other.entries.write("discovery", "mine", agent="ann")
    before = lines(other)
    with pytest.raises(Conflict, match="is not empty"):
        other.moving.import_as_written(file)
    assert lines(other) == before


def test_a_line_that_differs_is_named_with_its_kind(open_in: Open, tmp_path: Path) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    one.decisions.set("store", "redis", agent="ann")
    one.entries.write("discovery", "it is small", agent="ann")
    text = export(one, tmp_path / "lines.jsonl").read_bytes().replace(b'"type":"discovery"', b'"type":"dreams"')
    moved = other.moving.import_as_written(Path("a pipe"), stream=BytesIO(text))
    assert moved.differing == ("entry",)
    assert [(trouble.table, trouble.left_out) for trouble in moved.troubles] == [("entry", True)]


def test_several_projects_move_into_one_store(open_in: Open, tmp_path: Path) -> None:
    file = tmp_path / "there.db"
    for name in ("a", "b"):
        one = open_in(folder(tmp_path, name))
        one.decisions.set("store", name, agent=f"agent-{name}")
        check_move(one, open_in(folder(tmp_path, name), db=file, project=name), tmp_path / "lines.jsonl")


@pytest.mark.parametrize("target", _ENGINES)
def test_an_import_that_is_stopped_changes_nothing(
    open_on: Open, clock: ManualClock, tmp_path: Path, target: str
) -> None:
    one, other = open_on("sqlite"), open_on(target)
    fill(one, clock, _EVERYTHING)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other.moving.import_as_written(export(one, tmp_path / "lines.jsonl"), progress=stop)
    assert other.housekeeping.statistics().project is None
    check_move(one, other, tmp_path / "lines.jsonl")

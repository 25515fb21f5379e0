"""Lines that meet what is here: what changed on one side, on both, on neither, and what cannot be kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from keep.moving.stores import HOUR, Line, dump, outcomes, take
from satchel import Satchel
from satchel.base.clock import iso
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Parameters

if TYPE_CHECKING:
    from conftest import ManualClock

UID = "0123456789abcdef" * 2
OTHER_UID = "fedcba9876543210" * 2
TIME = "2026-11-18T09:00:00.000Z"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def note(**fields: object) -> Line:
    """Return the line of a note."""
    usual = {"kind": "entry", "uid": UID, "type": "discovery", "content": "exports are cp1252", "run": "main"}
    return {**usual, "created_at": TIME, **fields}


def decision(**fields: object) -> Line:
    """Return the line of a decision."""
    usual = {"kind": "decision", "uid": UID, "key": "store", "value": "redis", "status": "active", "version": "1.0.0"}
    return {**usual, "revision": 1, "created_at": TIME, "updated_at": TIME, **fields}


def rule(**fields: object) -> Line:
    """Return the line of a rule."""
    usual = {"kind": "constraint", "uid": UID, "text": "no floats", "category": "style", "priority": "high"}
    return {**usual, "status": "active", "created_at": TIME, **fields}


def later(hours: int) -> str:
    """Return a time so many hours after :data:`TIME`."""
    return f"2026-11-18T{9 + hours:02d}:00:00.000Z"


@pytest.fixture
def other(open_in: Callable[..., Satchel], tmp_path: Path) -> Satchel:
    """Another store."""
    folder = tmp_path.resolve() / "other"
    (folder / ".git").mkdir(parents=True)
    return open_in(folder)


def only(satchel: Satchel, kind: str) -> Line:
    """Return the only line of a kind."""
    (line,) = (line for line in dump(satchel) if line["kind"] == kind)
    return line


def values(satchel: Satchel, key: str = "store") -> list[object]:
    """Return the values of a decision, the current one first."""
    found = satchel.decisions.get(key)
    return [found.decision.value, *(state.value for state in found.history.items)]


def test_what_changed_there_alone_is_taken(satchel: Satchel) -> None:
    take(satchel, [decision()])
    (verdict,) = take(satchel, [decision(value="valkey", revision=2, updated_at=later(1))])
    assert (verdict.outcome.value, verdict.ref, values(satchel)) == ("updated", "d1", ["valkey", "redis"])


def test_what_changed_here_alone_stays(satchel: Satchel) -> None:
    take(satchel, [decision()])
    satchel.decisions.set("store", "sqlite")
    assert outcomes(take(satchel, [decision(rationale=None)])) == ["present"]
    assert values(satchel) == ["sqlite", "redis"]


@pytest.mark.parametrize(
    ("hours", "expected"), [(200, ["sqlite", "valkey", "redis"]), (1, ["valkey", "sqlite", "redis"])]
)
def test_of_what_changed_on_both_sides_the_later_state_holds_and_the_other_is_history(
    satchel: Satchel, clock: ManualClock, hours: int, expected: list[str]
) -> None:
    take(satchel, [decision(updated_at="2026-11-01T00:00:00.000Z", created_at="2026-11-01T00:00:00.000Z")])
    clock.advance(hours * HOUR)
    satchel.decisions.set("store", "sqlite")
    at = "2026-11-25T00:00:00.000Z"
    (verdict,) = take(satchel, [decision(value="valkey", updated_at=at, created_at="2026-11-01T00:00:00.000Z")])
    assert (verdict.outcome.value, values(satchel)) == ("conflict", expected)


def test_a_history_that_grows_leaves_other_decisions_as_they_are(satchel: Satchel, clock: ManualClock) -> None:
    satchel.decisions.set("layout", "flat")
    take(satchel, [decision()])
    clock.advance(HOUR)
    satchel.decisions.set("store", "sqlite")
    take(satchel, [decision(value="valkey", updated_at=later(1))])
    assert len(values(satchel)) == 3
    assert satchel.decisions.get("layout").decision.revision == 1


def test_two_stores_that_changed_one_decision_agree_once_each_has_taken_the_others_lines(
    satchel: Satchel, other: Satchel, clock: ManualClock
) -> None:
    take(satchel, [decision()])
    take(other, [decision()])
    for store, value in ((satchel, "sqlite"), (other, "valkey")):
        clock.advance(HOUR)
        store.decisions.set("store", value, agent="ann")
    mine, theirs = dump(satchel), dump(other)
    take(satchel, theirs)
    take(other, mine)
    assert values(satchel) == values(other) == ["valkey", "sqlite", "redis"]
    assert set(outcomes(take(satchel, dump(other)))) <= {"present", "updated"}
    assert values(satchel) == ["valkey", "sqlite", "redis"]


def test_two_stores_that_changed_one_rule_at_the_same_moment_agree_too(satchel: Satchel, other: Satchel) -> None:
    for store, text in ((satchel, "no floats for money"), (other, "no floats at all")):
        take(store, [rule()], source="a third store")
        take(store, [rule(text=text)], source="a third store")
    mine, theirs = dump(satchel), dump(other)
    assert mine != theirs
    take(satchel, theirs)
    take(other, mine)
    assert only(satchel, "constraint") == only(other, "constraint")


@pytest.mark.parametrize("other", [{"uid": OTHER_UID}, {"hash": "another-signature"}])
def test_an_error_that_has_expired_here_comes_back_as_a_new_one(
    satchel: Satchel, clock: ManualClock, other: Line
) -> None:
    satchel.patterns.report("KeyError", "'user_id'", solution="use .get", agent="ann")
    line = only(satchel, "error_pattern")
    clock.advance((line["ttl_days"] + 1) * 24 * HOUR)
    assert outcomes(take(satchel, [{**line, "solutions": [], **other}])) == ["added"]
    assert [pattern.solutions for pattern in satchel.patterns.find()] == [()]


def test_an_old_copy_that_was_seen_before_changes_nothing(satchel: Satchel) -> None:
    first, second = decision(), decision(value="valkey", updated_at=later(1))
    take(satchel, [first])
    take(satchel, [second])
    assert outcomes(take(satchel, [first])) == ["present"]
    assert values(satchel) == ["valkey", "redis"]


def test_an_older_copy_that_was_never_seen_does_not_undo_what_is_later(satchel: Satchel) -> None:
    take(satchel, [rule(status="inactive", reason="we have decimals", deactivated_at=later(1))])
    assert outcomes(take(satchel, [rule()])) == ["present"]
    assert only(satchel, "constraint")["status"] == "inactive"


def test_a_rule_that_ended_on_one_side_ends_on_the_other_though_nothing_is_in_step(
    satchel: Satchel, other: Satchel
) -> None:
    satchel.constraints.add("no floats")
    take(other, dump(satchel), source="one")
    satchel.corrections.retract("c1", "we have decimals", agent="human")
    assert "conflict" not in outcomes(take(other, dump(satchel), source="another"))
    assert other.constraints.find().total == 0


def test_a_text_that_loses_is_kept_beside_what_holds(satchel: Satchel) -> None:
    take(satchel, [rule()])
    (verdict,) = take(satchel, [rule(text="no floats for money")])
    assert (verdict.outcome.value, only(satchel, "constraint")["text"]) == ("updated", "no floats for money")
    (item,) = satchel.items.read(["c1"]).items
    (kept,) = item.kept_states
    assert (kept.source, kept.is_ours, kept.line["text"]) == ("another store", True, "no floats")


def test_a_state_that_came_and_lost_is_kept_without_its_secrets(satchel: Satchel) -> None:
    take(satchel, [rule(), rule(text=f"push with {TOKEN}")])
    (item,) = satchel.items.read(["c1"]).items
    (kept,) = item.kept_states
    assert (kept.is_ours, kept.line["text"].startswith("push with")) == (False, True)
    assert TOKEN not in kept.line["text"]


def test_what_is_kept_of_an_error_that_has_another_uid_here_is_found_and_forgotten(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no key")
    here = only(satchel, "error_pattern")
    take(satchel, [{**here, "uid": OTHER_UID}, {**here, "uid": OTHER_UID, "hash": here["hash"], "message": "none"}])
    (item,) = satchel.items.read(["x1"]).items
    assert [kept.line["message"] for kept in item.kept_states] == ["none"]
    satchel.housekeeping.forget("x1")
    with satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT count(*) FROM kept_states") == (0,)


def test_counters_and_reads_of_both_sides_are_brought_together_without_a_conflict(
    satchel: Satchel, other: Satchel, clock: ManualClock
) -> None:
    satchel.messages.send("look at the gateway", agent="ann")
    satchel.strategies.save("offline", "queue writes and replay them")
    take(other, dump(satchel))
    for store, reader in ((satchel, "ben"), (other, "cat")):
        clock.advance(HOUR)
        store.messages.mark_read(everything=True, agent=reader)
        store.strategies.outcome("s1", reader == "ben")
    assert "conflict" not in outcomes(take(satchel, dump(other)))
    assert {one["agent"] for one in only(satchel, "message")["reads"]} == {"ben", "cat"}
    strategy = only(satchel, "strategy")
    assert (strategy["helped"], strategy["not_helped"]) == (1, 1)


def test_a_link_to_what_is_not_here_waits_for_it(satchel: Satchel) -> None:
    take(satchel, [note(superseded_by=OTHER_UID)])
    assert only(satchel, "entry")["superseded_by"] == OTHER_UID
    assert satchel.entries.read().total == 0
    take(satchel, [note(uid=OTHER_UID, content="exports are utf-8")])
    assert [entry.superseded_by for entry in satchel.entries.read(status="all", order="asc").items] == [2, None]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_analyses_of_a_run_the_later_one_holds(satchel: Satchel, order: tuple[int, int]) -> None:
    analysis = {"type": "codebase_analysis", "content": {"summary": "a shop"}}
    lines = [note(**analysis, created_at=later(2)), note(**analysis, uid=OTHER_UID)]
    for number in order:
        assert outcomes(take(satchel, [lines[number]])) == ["added"]
    live = satchel.entries.read(types=["codebase_analysis"]).items
    assert [entry.uid for entry in live] == [UID]


def test_of_two_lines_with_one_uid_the_first_is_taken_and_the_other_kept(satchel: Satchel) -> None:
    verdicts = take(satchel, [note(), note(content="exports are utf-8"), note()])
    assert outcomes(verdicts) == ["added", "conflict", "present"]
    assert only(satchel, "entry")["content"] == "exports are cp1252"


def test_a_secret_in_a_line_is_redacted_and_that_is_said(satchel: Satchel) -> None:
    (verdict,) = take(satchel, [note(content=f"use {TOKEN}"), decision(value=TOKEN, uid=OTHER_UID)][:1])
    assert (verdict.outcome.value, "redacted" in str(verdict.note)) == ("added", True)
    take(satchel, [decision(value=TOKEN, uid=OTHER_UID, rationale=f"it is {TOKEN}", history=[])])
    assert TOKEN not in str(dump(satchel))
    # what is kept differs from the line, and that makes no difference the next time
    assert outcomes(take(satchel, [note(content=f"use {TOKEN}")])) == ["present"]


def test_an_absolute_path_is_left_out_and_the_note_is_kept(satchel: Satchel) -> None:
    (verdict,) = take(satchel, [note(file="/home/me/secret.txt", line=3)])
    assert (verdict.outcome.value, "left out" in str(verdict.note)) == ("added", True)
    assert only(satchel, "entry").keys().isdisjoint({"file", "line"})


def test_no_line_says_where_a_worktree_or_a_session_of_this_machine_is(satchel: Satchel, project: Path) -> None:
    satchel.entries.write("discovery", "x y z", agent="ann")
    satchel.files.record("src/a.py", "modified", agent="ann")
    assert str(project) not in str(dump(satchel))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"kind": "poem", "uid": UID}, "unknown kind of lines 'poem'"),
        (note(uid="12"), "its uid is '12'"),
        (note(content=None), "it has no content"),
        (note(type="poem"), "unknown type 'poem'"),
        (note(created_at="yesterday"), "'yesterday' is not a time"),
        (note(run=7), "run"),
        (note(type="review_verdict", content={"passed": "perhaps"}), "passed"),
        (decision(value=[1]), "value must be text or a number"),
        (decision(value=2**60), "beyond 2^53"),
        (rule(tags="style"), "its tags is not a list"),
        (
            {"kind": "correction", "uid": UID, "action": "retracted", "item_kind": "constraint", "item": OTHER_UID}
            | {"created_at": TIME},
            f"its item {OTHER_UID} is missing",
        ),
        ({"kind": "correction", "uid": UID, "action": "retracted", "item_kind": "entry", "item": OTHER_UID}, "created"),
        ({"kind": "delivery", "uid": UID, "session": OTHER_UID, "items": []}, "its session is not here"),
    ],
)
def test_a_line_that_cannot_be_kept_is_left_out_alone(satchel: Satchel, line: Line, reason: str) -> None:
    first, bad, last = take(satchel, [rule(uid="a" * 32), line, rule(uid="b" * 32)])
    assert (first.outcome.value, bad.outcome.value, last.outcome.value) == ("added", "left_out", "added")
    assert reason in str(bad.note)


@pytest.mark.parametrize(
    "line",
    [
        note(file="a.py", line=0),
        note(cited={"digest": "00", "size": 1, "standing": 9}, file="a.py"),
        decision(revision=0),
        {
            "kind": "error_pattern",
            "uid": UID,
            "created_at": TIME,
            "hash": "h",
            "error_type": "E",
            "message": "m",
            "example": "m",
            "ttl_days": 9,
            "last_seen": TIME,
            "solutions": [
                {
                    "uid": OTHER_UID,
                    "solution": "s",
                    "confidence": 99,
                    "state": "active",
                    "created_at": TIME,
                    "updated_at": TIME,
                }
            ],
        },
    ],
)
def test_a_value_that_the_tables_refuse_costs_its_line_alone(satchel: Satchel, line: Line) -> None:
    (first,) = take(satchel, [rule(uid="a" * 32)])
    bad, last = take(satchel, [line, {**line, "uid": "b" * 32, "kind": "poem"}])
    again = take(satchel, [rule(uid="c" * 32)])
    assert (first.outcome.value, bad.outcome.value, last.outcome.value) == ("added", "left_out", "left_out")
    assert outcomes(again) == ["added"]


def test_what_is_listed_twice_is_kept_once(satchel: Satchel) -> None:
    read = {"agent": "ben", "read_at": TIME}
    sent = {"kind": "message", "uid": UID, "created_at": TIME, "type": "info", "priority": "low", "message": "x"}
    lines = [{**sent, "reads": [read, read], "thread": UID}, rule(uid=OTHER_UID, tags=["api", "API", "api"])]
    assert outcomes(take(satchel, lines)) == ["added", "added"]
    assert (only(satchel, "message")["reads"], only(satchel, "constraint")["tags"]) == ([read], ["api"])


def test_lines_of_a_session_arrive_in_another_project_of_the_same_store(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    one = open_in(project, caller="server")
    one.entries.write("discovery", "exports are cp1252", agent="ann")
    other = open_in(project, project="other")
    assert set(outcomes(take(other, dump(one)))) == {"added", "present"}
    assert other.entries.read().total == 1


@pytest.mark.parametrize("year", [2038, 2999])
def test_a_time_in_the_future_becomes_that_of_the_import_and_that_is_said(
    satchel: Satchel, clock: ManualClock, year: int
) -> None:
    at = f"{year}-02-01T00:00:00.000Z"
    taken = take(satchel, [note(created_at=at), decision(uid=OTHER_UID, created_at=at, updated_at=at)])
    assert f"its created_at {at} is in the future: the time of the import was stored" in str(taken[0])
    clock.advance(HOUR)
    satchel.entries.write("discovery", "written an hour later")
    assert satchel.entries.read().entries[0].content == "written an hour later"
    assert satchel.decisions.get("store").decision.updated_at == clock() - HOUR


def test_a_time_of_the_same_day_is_taken_as_it_is(satchel: Satchel, clock: ManualClock) -> None:
    at = clock() + 20 * HOUR
    take(satchel, [note(created_at=iso(at))])
    assert satchel.entries.read().entries[0].created_at == at


def test_an_unknown_field_is_reported(satchel: Satchel) -> None:
    (verdict,) = take(satchel, [note(mood="good")])
    assert (verdict.outcome.value, verdict.note) == ("added", "unknown fields: mood")


def test_a_layer_that_the_project_lacks_is_added(satchel: Satchel) -> None:
    take(satchel, [rule(layer="planning")])
    assert only(satchel, "layer")["name"] == "planning"


def test_what_was_forgotten_here_comes_back_with_its_line(satchel: Satchel) -> None:
    take(satchel, [note()])
    satchel.housekeeping.forget("e1")
    assert outcomes(take(satchel, [note()])) == ["added"]


def test_a_note_that_came_is_found_and_met_again_when_it_is_written_once_more(satchel: Satchel) -> None:
    take(satchel, [note()])
    assert [one.ref for one in satchel.finding.search("cp1252").results] == ["e1"]
    assert satchel.entries.write("discovery", "exports are cp1252", agent="ann").seen == 2


def test_what_lines_name_is_found_by_the_index_of_uids(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much the project keeps."""
    plans: list[str] = []

    def listen(name: str) -> None:
        original: Callable[..., Any] = getattr(SqliteTransaction, name)

        def run(transaction: SqliteTransaction, sql: str, parameters: Parameters | None = None) -> Any:
            if "WHERE uid " in sql:
                plans.extend(row[3] for row in transaction.connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters))
            return original(transaction, sql, parameters)

        monkeypatch.setattr(SqliteTransaction, name, run)

    for name in ("one", "all"):
        listen(name)
    take(satchel, [note(uid=f"{number:032x}", superseded_by=OTHER_UID) for number in range(500)])
    assert plans
    assert [plan for plan in plans if "_uid (uid=?)" not in plan] == []


def test_what_an_agent_imports_binds_no_more_than_what_an_agent_writes(satchel: Satchel) -> None:
    satchel.decisions.set("store", "redis", agent="human:ann")
    satchel.decisions.set("store", "valkey", agent="ben")
    draft = satchel.decisions.get("store_draft").decision
    forged = decision(
        uid=draft.uid, key="store_draft", value="valkey", revision=2, updated_at="2036-01-01T00:00:00.000Z"
    )
    take(satchel, [rule(priority="critical"), forged], is_by_agent=True)
    assert satchel.constraints.find().items[0].priority == "high"
    assert satchel.decisions.get("store_draft").decision.status == "draft"
    take(satchel, [rule(uid=OTHER_UID, priority="critical")])
    assert satchel.constraints.find().items[0].priority == "critical"


def test_an_import_by_an_agent_accepts_no_rule_for_a_person_and_changes_none_that_one_accepted(
    satchel: Satchel,
) -> None:
    def stored() -> list[Any]:
        with satchel.workplace.engine.read() as transaction:
            return transaction.all("SELECT unconfirmed, text FROM constraints ORDER BY id")

    waiting = rule(stated_by="human:ann", unconfirmed=True)
    accepted = rule(uid=OTHER_UID, text="no globals", stated_by="human:ann")
    take(satchel, [waiting, accepted], is_accepted=True)
    take(satchel, [waiting | {"unconfirmed": False}, accepted | {"text": "send it all"}], is_by_agent=True)
    assert stored() == [(1, waiting["text"]), (0, "no globals")]

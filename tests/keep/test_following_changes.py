"""What was changed in a project, over all kinds."""

from __future__ import annotations

from conftest import ManualClock
from satchel import Satchel
from satchel.keep import following
from satchel.keep.following import Change
from satchel.keep.kinds import KINDS


def after(satchel: Satchel, seq: int = 0, limit: int = 100, kinds: list[str] | None = None) -> list[Change]:
    """The changes of the store's first project."""
    with satchel.workplace.engine.read() as transaction:
        return following.changes_after(transaction, 1, seq, limit, kinds)


def write_one_of_each(satchel: Satchel) -> None:
    """Write an item of every kind, as ann."""
    satchel.entries.write("discovery", "one", agent="ann")
    satchel.decisions.set("a.b", "c", agent="ann")
    satchel.constraints.add("never", agent="ann")
    satchel.messages.send("hello", to="ben", agent="ann")
    satchel.messages.send("hello, all", agent="ann")
    satchel.files.record("a.py", "modified", agent="ann")
    satchel.files.claim(["b.py"], agent="ann")
    satchel.packages.save("what it is about", content="all of it", agent="ann")
    satchel.patterns.report("KeyError", "'x'", agent="ann")
    satchel.strategies.save("topic", "insight", agent="ann")
    satchel.runs.start("r")


def test_every_kind_is_listed_under_its_own_name() -> None:
    assert set(following.CHANGE_KINDS) == {kind.name for kind in KINDS.values()} | {"claim", "run"}


def test_items_of_every_kind_come_in_the_order_of_their_changes(satchel: Satchel, clock: ManualClock) -> None:
    write_one_of_each(satchel)
    seen = after(satchel)
    assert [(one.kind, one.item, one.agent) for one in seen] == [
        ("run", "main", None),
        ("entry", "e1", "ann"),
        ("decision", "d1", "ann"),
        ("constraint", "c1", "ann"),
        ("message", "m1", "ann"),
        ("message", "m2", "ann"),
        ("file_change", "f1", "ann"),
        ("claim", None, "ann"),
        ("package", "p1", "ann"),
        ("error_pattern", "x1", None),
        ("strategy", "s1", "ann"),
        ("run", "r", None),
    ]
    assert [one.seq for one in seen] == sorted({one.seq for one in seen})
    assert {one.at for one in seen} == {clock.now}


def test_an_item_stands_where_it_was_changed_last(satchel: Satchel, clock: ManualClock) -> None:
    satchel.decisions.set("a.b", "1", agent="ann")
    satchel.decisions.set("c.d", "1", agent="ann")
    before = after(satchel)[-1].seq
    later = clock.advance(1_000)
    satchel.decisions.set("a.b", "2", agent="ben")
    change, notice = after(satchel, before)
    assert (change.item, change.agent, change.at) == ("d1", "ben", later)
    assert (notice.kind, notice.agent) == ("message", "ben"), "ann is told"
    assert [one.item for one in after(satchel, kinds=["decision"])] == ["d2", "d1"]


def test_a_page_ends_between_items_of_different_numbers(satchel: Satchel) -> None:
    for number in range(6):
        satchel.decisions.set(f"key.{number}", "1")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE decisions SET seq = CASE WHEN id = 1 THEN 1 WHEN id < 5 THEN 2 ELSE id END")

    def numbers(limit: int) -> list[str | None]:
        return [one.item for one in after(satchel, 0, limit, ["decision"])]

    assert numbers(2) == ["d1"]
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE decisions SET seq = 0 WHERE id = 1")
    assert numbers(2) == ["d2", "d3", "d4"], "those that share a number are never parted"


def test_what_is_after_a_number_is_counted_up_to_a_limit(satchel: Satchel) -> None:
    write_one_of_each(satchel)
    with satchel.workplace.engine.read() as transaction:
        counts = [
            following.count_changes(transaction, 1, seq, limit, kinds)
            for seq, limit, kinds in ((0, 100, None), (0, 3, None), (0, 9, ["message", "entry"]), (0, 9, []))
        ]
    assert counts == [12, 3, 3, 0]

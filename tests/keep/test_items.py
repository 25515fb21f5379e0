"""Items by their ids: of every kind, whole, in the order asked, and never what its reader may not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock
from satchel import InvalidInput, Message, NotFound, Satchel
from satchel.keep.items import MAX_ITEMS, FileView, OpenedItems

DAY = 86_400_000


@pytest.fixture
def store(satchel: Satchel) -> Satchel:
    """Something of every kind, by ann."""
    satchel.runs.start("night")
    satchel.entries.write("discovery", "sessions live in src/auth.py", agent="ann", run_id="night")
    satchel.decisions.set("session_ttl", 300, rationale="matches the gateway", agent="ann")
    satchel.constraints.add("never log a token", priority="critical", agent="ann")
    satchel.messages.send("rebase first", to="ben", agent="ann")
    satchel.messages.send("the build is red", agent="ann")
    satchel.files.record("src/auth.py", "modified", description="reads the key once", agent="ann")
    satchel.packages.save("why it failed", content="all of it", agent="ann")
    satchel.patterns.report("KeyError", "no key", solution="give a default", agent="ann")
    satchel.strategies.save("tokens", "refresh them early", agent="ann")
    return satchel


def refs(opened: OpenedItems) -> list[str]:
    return [item.ref for item in opened.items]


def opened(store: Satchel, ref: str, **given: Any) -> Any:
    (item,) = store.items.read([ref], **given).items
    return item.record


def test_items_of_every_kind_are_opened_in_the_order_asked(store: Satchel) -> None:
    asked = ["y1", "s1", "x1", "p1", "f1", "m1", "c1", "d1", "e1"]
    found = store.items.read(asked, agent="ben")
    assert (refs(found), found.notes, found.reader) == (asked, (), "ben")
    assert [item.kind for item in found.items] == [
        "solution",
        "strategy",
        "error_pattern",
        "package",
        "file_change",
        "message",
        "constraint",
        "decision",
        "entry",
    ]


def test_a_draft_names_the_decision_that_it_would_change(store: Satchel) -> None:
    ref = store.decisions.set("currency", "EUR", rationale="we sell in Berlin only", agent="human:Ida Berg").ref
    draft = store.decisions.set("currency", "USD", rationale="US customers asked", agent="ann")
    (item,) = store.items.read([draft.ref]).items
    assert item.notes == (
        f'proposes a change of {ref} currency, which Ida Berg decided as "EUR", because: we sell in Berlin only',
    )
    store.decisions.set("currency", status="deprecated", agent="ann")
    assert store.items.read([draft.ref]).items[0].notes[0].startswith(f"proposes the end of {ref} currency, which")
    store.decisions.set(draft.key, status="deprecated", agent="human:Ida Berg")
    assert store.items.read([draft.ref]).items[0].notes == ()


def test_each_is_what_its_own_service_returns(store: Satchel) -> None:
    store.corrections.retract("c1", "over", agent="ben")
    assert opened(store, "e1") == store.entries.read().entries[0]
    assert opened(store, "d1") == store.decisions.get("d1").decision
    assert opened(store, "c1") == store.constraints.find(status="all").items[0]
    inbox = store.messages.inbox(agent="ben").items
    assert opened(store, "m1", agent="ben") == inbox[1]
    assert opened(store, "f1") == store.files.changes().items[0]
    assert opened(store, "p1") == store.packages.read("p1")
    assert opened(store, "x1") == store.patterns.get("x1", status="all")
    assert opened(store, "y1") == store.patterns.get("x1").solutions[0]
    assert opened(store, "s1") == store.strategies.find().items[0]


def test_an_error_comes_with_every_solution_also_one_that_is_only_observed(store: Satchel) -> None:
    for judge in ("ann", "ben", "cid"):
        store.patterns.outcome("y1", helped=False, agent=judge)
    assert store.patterns.get("x1").solutions == ()
    assert [solution.ref for solution in opened(store, "x1").solutions] == ["y1"]


def test_an_entry_of_any_run_is_opened_with_its_run(store: Satchel) -> None:
    store.runs.start("day")
    store.entries.write("discovery", "another", run_id="day")
    assert (opened(store, "e1").run_id, opened(store, "e2").run_id) == ("night", "day")


def test_ids_are_taken_in_any_case_and_each_item_is_shown_once(store: Satchel) -> None:
    assert refs(store.items.read([" E1 ", "d1", "e01", "e1", "Y1"])) == ["e1", "d1", "y1"]


def test_ids_that_are_unknown_or_none_are_named(store: Satchel) -> None:
    found = store.items.read(["e9", "e1", "zebra", "12", "y7"])
    assert (refs(found), found.notes) == (["e1"], ("the project has no 'e9', 'zebra', '12', 'y7'",))


@pytest.mark.parametrize("asked", [["e9"], ["zebra", "q1"], ["p9"], ["e" + "9" * 30], [""]])
def test_it_is_an_error_where_there_is_none_of_them(store: Satchel, asked: list[str]) -> None:
    with pytest.raises(NotFound, match="the project has no"):
        store.items.read(asked)


@pytest.mark.parametrize("asked", [[], "e1", ["e1"] * (MAX_ITEMS + 1), None, 1])
def test_one_to_twenty_ids_are_taken(store: Satchel, asked: Any) -> None:
    with pytest.raises(InvalidInput, match="no list of ids"):
        store.items.read(asked)


def test_without_a_project_nothing_is_known(open_in: Callable[..., Satchel], project: Path) -> None:
    with pytest.raises(NotFound):
        open_in(project).items.read(["e1", "p1"])


def test_what_belongs_to_another_project_is_unknown(
    open_in: Callable[..., Satchel], project: Path, store: Satchel
) -> None:
    other = open_in(project, project="other")
    other.runs.start("night")
    for ref in ("e1", "d1", "c1", "m2", "f1", "p1", "x1", "y1", "s1"):
        with pytest.raises(NotFound):
            other.items.read([ref], agent="ben")


class TestMessages:
    @pytest.mark.parametrize("reader", ["ann", "ben", "eve", None])
    def test_they_are_open_to_all_as_a_search_finds_them(self, store: Satchel, reader: str | None) -> None:
        assert refs(store.items.read(["m1", "m2"], agent=reader)) == ["m1", "m2"]

    def test_what_its_reader_opens_is_read_from_then_on(self, store: Satchel) -> None:
        opened = store.items.read(["m1", "m2"], agent="ben")
        assert [item.record.read_at for item in opened.items if isinstance(item.record, Message)] == [None, None]
        assert store.messages.inbox(agent="ben").unread == 0

    def test_what_its_sender_opens_stays_unread(self, store: Satchel) -> None:
        store.items.read(["m2"], agent="ann")
        assert store.messages.inbox(agent="ben").unread == 2

    def test_an_expired_one_is_unknown(self, store: Satchel, clock: ManualClock) -> None:
        clock.advance(30 * DAY)
        with pytest.raises(NotFound):
            store.items.read(["m1"], agent="ben")


@pytest.mark.parametrize("ref", ["x1", "y1", "f1"])
def test_what_has_expired_is_unknown(store: Satchel, clock: ManualClock, ref: str) -> None:
    clock.advance(200 * DAY)
    with pytest.raises(NotFound):
        store.items.read([ref])


def test_a_package_whose_file_is_gone_says_why(store: Satchel, project: Path) -> None:
    (project / "spike.md").write_text("what it found")
    store.packages.save("a spike", path="spike.md")
    assert opened(store, "p2").text == "what it found"
    (project / "spike.md").unlink()
    assert (opened(store, "p2").text, opened(store, "p2").reason) == (None, "spike.md is not there")


def test_a_file_shows_the_decisions_that_are_proposed_for_it(satchel: Satchel) -> None:
    satchel.decisions.set("order", "get before pop", status="draft", paths=["src/*.py"], agent="ann")
    satchel.decisions.set("names", "short", status="draft", agent="ann")
    opened = satchel.items.read(["file:src/a.py"]).items[0].record
    assert isinstance(opened, FileView)
    assert (opened.drafts, opened.bound) == (("d1 order",), 0)

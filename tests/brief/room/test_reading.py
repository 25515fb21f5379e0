"""What a person looks up: threads, what became of items and of fixes, runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


def test_before_anything_is_written_there_is_nothing(satchel: Satchel) -> None:
    assert (satchel.room.threads().items, satchel.room.runs().total) == ((), 0)


def test_an_error_has_what_agents_reported_about_its_solutions(satchel: Satchel, clock: ManualClock) -> None:
    met = satchel.patterns.report("KeyError", "'a'", solution="look before", agent="a")
    assert met.recorded is not None
    for agent in ("b", "c"):
        clock.advance(60_000)
        satchel.patterns.outcome(met.recorded.ref, True, agent=agent)
    words = satchel.room.error(met.pattern.ref).words
    assert [(one.agent, one.helped, one.confidence) for one in words] == [("c", True, 7), ("b", True, 6)]


def test_threads_are_paged_by_their_latest_message(satchel: Satchel) -> None:
    first, second, third = (satchel.messages.send(f"number {one}", to="b", agent="a") for one in range(3))
    satchel.messages.send("an answer", reply_to=first.ref, agent="b")
    page = satchel.room.threads(limit=2)
    assert [one.thread for one in page.items] == [first.ref, third.ref]
    assert [one.total for one in page.items] == [2, 1]
    page = satchel.room.threads(limit=2, before=page.before)
    assert ([one.thread for one in page.items], page.before) == ([second.ref], None)
    assert satchel.room.threads(agent="nobody").items == ()


def test_answers_stand_behind_what_they_answer(satchel: Satchel) -> None:
    asked = satchel.messages.send("?", to="b", agent="a")
    first = satchel.messages.send("one", reply_to=asked.ref, agent="b")
    second = satchel.messages.send("two", reply_to=asked.ref, agent="b")
    below = satchel.messages.send("of one", reply_to=first.ref, agent="a")
    thread = satchel.room.thread(second.ref)
    assert [(one.depth, one.message.ref) for one in thread.messages] == [
        (0, asked.ref),
        (1, first.ref),
        (2, below.ref),
        (1, second.ref),
    ]


def test_runs_say_how_much_was_noted(satchel: Satchel, clock: ManualClock) -> None:
    satchel.runs.start("login")
    clock.advance(5)
    satchel.entries.write("discovery", "x", run_id="login", agent="a")
    noted = {one.run.run_id: (one.notes, one.noted_at) for one in satchel.room.runs()}
    assert noted["login"] == (1, clock.now)


def test_a_package_names_what_it_replaces(satchel: Satchel) -> None:
    old = satchel.packages.save("old", content="x", agent="a")
    new = satchel.packages.save("new", content="y", supersedes=old.ref, agent="a")
    assert satchel.room.history(old.ref).replaced_by == new.ref
    assert satchel.room.history(new.ref).replaces == (old.ref,)

"""What a briefing delivered to an agent is not kept once more because the agent repeats it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Entry, NewEntry, Satchel
from satchel.brief import after_write
from satchel.find.kind import Kind
from satchel.keep import deliveries, names, projects, runs
from satchel.keep.deliveries import Window

if TYPE_CHECKING:
    from conftest import ManualClock

TOLD = "Auth middleware lives in src/auth.py and checks the token before every route"
NEARLY = "The auth middleware lives in src/auth.py: it checks the token before every single route"
OTHER = "The database migrations are started by hand, in the order of their numbers"


@pytest.fixture
def dev(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel whose agent is dev, in the run night, to which the discovery e1 of Ann was delivered."""
    satchel = open_in(project, agent="dev")
    satchel.runs.start("night")
    satchel.entries.write("discovery", TOLD, task_id="T", file="src/auth.py", line=3, agent="Ann")
    deliver(satchel, Kind.ENTRY)
    return satchel


def deliver(satchel: Satchel, kind: Kind, item: int = 1, *, agent: str | None = "dev", run: str | None = None) -> None:
    """Record that an item was delivered to an agent."""
    work = satchel.workplace
    with work.engine.write() as transaction:
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        chosen = runs.choose_for_writing(transaction, work, project.id, run, now)
        number = None if agent is None else names.ensure_agent(transaction, project.id, agent, now)[0]
        window = Window(project.id, None, 0, number, 0, chosen.id, None, "developer")
        deliveries.record(transaction, window, [(kind.number, item, 1)], now)


def repeat(satchel: Satchel, text: str = TOLD, **more: Any) -> Entry:
    return satchel.entries.write(more.pop("type", "discovery"), text, **more)


class TestTheSameOnceMore:
    @pytest.mark.parametrize(
        "text",
        [
            TOLD,
            f"  {TOLD.upper()}\n",
            TOLD.replace(" ", "\n\n"),
            "Auth middleware lives in src/auth.py and checks the…",
            "AUTH middleware lives in src/auth.py and checks the ...",
        ],
    )
    def test_is_not_written(self, dev: Satchel, text: str) -> None:
        before = dev.entries.read()
        again = repeat(dev, text)
        assert (again.ref, again.content, again.agent, again.line) == ("e1", TOLD, "Ann", 3)
        assert again.notes == ("e1 already says this and was delivered to you: nothing was written",)
        assert dev.entries.read() == before

    def test_that_it_belongs_to_another_task_or_loop_is_nothing_new(self, dev: Satchel) -> None:
        assert repeat(dev, task_id="U", loop_id="L").ref == "e1"

    def test_in_a_batch_the_rest_is_written_in_its_order(self, dev: Satchel) -> None:
        batch = [NewEntry("discovery", text) for text in (OTHER, TOLD, "short")]
        written = dev.entries.write_many(batch)
        assert [(entry.ref, entry.content) for entry in written] == [("e2", OTHER), ("e1", TOLD), ("e3", "short")]
        assert [len(entry.notes) for entry in written] == [0, 1, 0]
        assert dev.entries.read().total == 3

    def test_of_a_batch_of_it_alone_nothing_is_written(self, dev: Satchel) -> None:
        written = dev.entries.write_many([NewEntry("discovery", TOLD)] * 2)
        assert [entry.ref for entry in written] == ["e1", "e1"]
        assert dev.entries.read().total == 1

    @pytest.mark.usefixtures("dev")
    def test_it_is_there_even_where_a_limit_removes_it_then(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        strict = open_in(project, agent="dev", settings={"context.max_per_loop": 1})
        written = strict.entries.write_many([NewEntry("discovery", TOLD), NewEntry("discovery", OTHER)])
        assert [entry.content for entry in written] == [TOLD, OTHER]

    @pytest.mark.usefixtures("dev")
    def test_an_agent_without_a_name_repeats_nothing_that_nobody_was_told(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        nobody = open_in(project)
        assert repeat(nobody).ref == "e2"
        deliver(nobody, Kind.ENTRY, agent=None)
        assert repeat(nobody).ref == "e1"


class TestNewsAboutTheSame:
    """The same words are written where they say more than they did."""

    @pytest.mark.parametrize("given", [{"file": "src/other.py"}, {"file": "src/auth.py"}, {"type": "decision"}])
    def test_another_place_or_type(self, dev: Satchel, given: dict[str, Any]) -> None:
        entry = repeat(dev, **given)
        assert (entry.ref, entry.notes[-1]) == ("e2", "e1 says the same and was delivered to you")

    def test_the_same_place_is_none(self, dev: Satchel) -> None:
        assert repeat(dev, file="src/auth.py", line=3).ref == "e1"

    @pytest.mark.parametrize(("loop", "is_news"), [("L", False), (None, False), ("M", True)])
    def test_an_error_in_another_loop(self, dev: Satchel, loop: str | None, is_news: bool) -> None:
        text = "ModuleNotFoundError: No module named 'a_module_of_a_long_name'"
        dev.entries.write("error", text, loop_id="L", agent="Ann")
        deliver(dev, Kind.ENTRY, 2)
        assert (repeat(dev, text, type="error", loop_id=loop).ref == "e3") == is_news

    def test_a_superseded_entry_says_nothing_any_more(self, dev: Satchel) -> None:
        dev.entries.write("discovery", OTHER)
        with dev.workplace.engine.write() as transaction:
            transaction.run("UPDATE context SET superseded_by = 2 WHERE id = 1")
        assert repeat(dev).ref == "e3"

    def test_an_entry_that_is_gone_says_nothing(self, dev: Satchel) -> None:
        dev.entries.write("discovery", OTHER, agent="Ann")
        deliver(dev, Kind.ENTRY, 2)
        dev.housekeeping.forget("e1")
        assert repeat(dev).notes == ()


class TestNearlyTheSame:
    def test_is_written_and_pointed_to_what_it_resembles(self, dev: Satchel) -> None:
        entry = repeat(dev, NEARLY)
        assert (entry.ref, entry.content) == ("e2", NEARLY)
        assert entry.notes == ("e1, which was delivered to you, says nearly the same (95 % alike)",)

    @pytest.mark.parametrize(
        "text",
        [
            TOLD.replace("checks", "does not check"),
            TOLD.replace("before", "after"),
            TOLD.replace("the token", "no token"),
            TOLD[:-6],
            f"{TOLD} but the health check",
        ],
    )
    def test_a_correction_of_what_was_delivered_is_written(self, dev: Satchel, text: str) -> None:
        assert repeat(dev, text).content == text

    def test_the_most_alike_is_named(self, dev: Satchel) -> None:
        dev.entries.write("discovery", NEARLY, agent="Ann")
        deliver(dev, Kind.ENTRY, 2)
        (note,) = repeat(dev, f"{NEARLY}!").notes
        assert note.startswith("e2, which")

    def test_less_than_that_is_not(self, dev: Satchel) -> None:
        assert repeat(dev, "Auth middleware logs each refusal with its time, user and host").notes == ()


class TestOtherKinds:
    """What another kind says is written, and pointed to."""

    @pytest.mark.parametrize(
        ("kind", "make", "ref"),
        [
            (Kind.DECISION, lambda satchel: satchel.decisions.set("auth", TOLD), "d1"),
            (Kind.DECISION, lambda satchel: satchel.decisions.set("auth", 5, rationale=TOLD), "d1"),
            (Kind.CONSTRAINT, lambda satchel: satchel.constraints.add(TOLD, category="security"), "c1"),
            (Kind.MESSAGE, lambda satchel: satchel.messages.send(TOLD, to="dev", agent="Ann"), "m1"),
            (Kind.STRATEGY, lambda satchel: satchel.strategies.save("auth", TOLD), "s1"),
            (Kind.ERROR_PATTERN, lambda satchel: satchel.patterns.report("E", "boom", solution=TOLD), "x1"),
        ],
    )
    @pytest.mark.parametrize(("text", "said"), [(TOLD, "says the same"), (NEARLY, "says nearly the same")])
    def test_it_is_named(
        self,
        open_in: Callable[..., Satchel],
        project: Path,
        kind: Kind,
        make: Callable[[Satchel], object],
        ref: str,
        text: str,
        said: str,
    ) -> None:
        satchel = open_in(project, agent="dev")
        make(satchel)
        deliver(satchel, kind)
        entry = repeat(satchel, text)
        (note,) = entry.notes
        assert entry.ref == "e1"
        assert note.startswith(ref)
        assert said in note

    def test_a_package_is_not_compared(self, dev: Satchel) -> None:
        dev.packages.save(TOLD, content=OTHER)
        deliver(dev, Kind.PACKAGE)
        assert repeat(dev, OTHER).notes == ()


class TestWhatIsNotCompared:
    def test_another_agent_may_find_the_same(self, dev: Satchel) -> None:
        assert (repeat(dev, agent="Bob").ref, dev.entries.read().total) == ("e2", 2)

    def test_another_run_is_told_anew(self, dev: Satchel) -> None:
        dev.runs.start("day")
        entry = repeat(dev, run_id="day")
        assert (entry.ref, entry.notes) == ("e2", ())

    def test_what_was_delivered_from_another_run_is_pointed_to_only(self, dev: Satchel) -> None:
        dev.runs.start("day")
        deliver(dev, Kind.ENTRY, run="day")
        entry = repeat(dev, run_id="day")
        assert (entry.ref, entry.notes) == ("e2", ("e1 says the same and was delivered to you",))

    def test_a_short_text(self, dev: Satchel) -> None:
        text = TOLD[:39]
        dev.entries.write("discovery", text, agent="Ann")
        deliver(dev, Kind.ENTRY, 2)
        assert (repeat(dev, text).ref, dev.entries.read().total) == ("e2", 2)
        assert (repeat(dev, f"{text[:30]}…").ref in {"e1", "e2"}, dev.entries.read().total) == (False, 3)

    def test_a_long_text(self, dev: Satchel) -> None:
        for number, size in ((2, 4_000), (3, 4_001)):
            dev.entries.write("discovery", "ab " * (size // 3) + "c" * (size % 3 or 3), agent="Ann")
            deliver(dev, Kind.ENTRY, number)
        texts = [entry.content for entry in dev.entries.read(order="asc", author="Ann")][1:]
        assert [len(text) for text in texts] == [4_000, 4_001]
        assert [repeat(dev, text).ref for text in texts] == ["e2", "e3"]

    def test_a_text_as_long_as_what_is_read_of_a_longer_one(self, dev: Satchel) -> None:
        dev.entries.write("discovery", "x" * 4_500, agent="Ann")
        deliver(dev, Kind.ENTRY, 2)
        assert repeat(dev, "x" * 4_000).ref == "e3"

    def test_a_structured_entry(self, dev: Satchel) -> None:
        for _ in range(2):
            last = dev.entries.write("review_issue", {"description": TOLD})
            deliver(dev, Kind.ENTRY, last.id)
        assert (last.ref, last.notes) == ("e3", ())

    def test_what_was_delivered_long_ago(self, dev: Satchel, clock: ManualClock) -> None:
        clock.advance(1_000)
        for number in range(after_write.MAX_DELIVERED - 1):
            deliver(dev, Kind.PACKAGE, number + 1)
        assert (repeat(dev).ref, dev.entries.read().total) == ("e1", 1)
        deliver(dev, Kind.PACKAGE, 1_000)
        assert (repeat(dev).ref != "e1", dev.entries.read().total) == (True, 2)

    @pytest.mark.usefixtures("dev")
    def test_another_project(self, open_in: Callable[..., Satchel], project: Path) -> None:
        other = open_in(project, project="other", agent="dev")
        deliver(other, Kind.ENTRY)
        assert repeat(other).notes == ()

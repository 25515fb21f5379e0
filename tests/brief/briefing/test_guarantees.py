"""What holds for every briefing: its budget, what is critical, what is left out, and what is new to whom.

A few stores are seeded once and asked for previews, which change nothing; novelty is tried on small stores that grow.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from briefing_parts import NOW
from examples import examples
from satchel import Satchel, open_satchel
from satchel.base.vocabulary import PRIORITIES, ROLES
from satchel.brief.briefing.records import ZONES, zone_of

pytestmark = pytest.mark.slow

DAY = 86_400_000
WORDS = (
    "kafka token refresh gateway clock skew session cache lock retry budget parseConfig src/auth.py:42 naïve 日本語 "
    "über 🙂 `code` don't C++ 0xdeadbeef"
).split()


@dataclass
class Clock:
    """A clock that stands still until it is moved, for stores that outlive a test."""

    now: int = NOW

    def __call__(self) -> int:
        return self.now


def open_at(folder: Path, clock: Clock) -> Satchel:
    (folder / ".git").mkdir(parents=True)
    return open_satchel(cwd=folder, environ={}, clock=clock, settings={"store.durability": "relaxed"})


def fill(store: Satchel, seed: int, size: int, clock: Clock) -> None:
    """Write so many things of every kind, with texts from three words to three hundred."""
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.choice([3, 8, 20, 60, 300]))) + f" {rng.random()}"

    def task() -> str | None:
        return rng.choice([None, "T1", "T2"])

    for name in ("night", "day"):
        store.runs.start(name)
    for place in range(size):
        run, agent = rng.choice(["night", "night", "day"]), rng.choice(["ann", "ben"])
        priority = rng.choices(PRIORITIES, [3, 4, 2, 1])[0]
        clock.now += rng.randrange(2 * DAY)
        store.entries.write(rng.choice(["discovery", "error"]), text(), task_id=task(), run_id=run, agent=agent)
        store.constraints.add(text(), priority=priority, agent=agent)
        store.decisions.set(f"key_{place % max(1, size - 2)}", text()[:200], agent=agent)
        store.messages.send(text(), to=rng.choice([None, "ann"]), priority=priority, agent="ben")
        store.packages.save(
            text()[:180],
            content=text(),
            priority=priority,
            consumers=rng.choice([(), ("developer",)]),
            task_id=task(),
            run_id=run,
        )
        store.patterns.report("KeyError", f"{rng.choice(WORDS)} {place}x{rng.choice(WORDS)}", solution=text()[:900])
        store.strategies.save(f"topic-{place}", text()[:490])
        pad = {"iteration": place, "attempted": [text()], "blockers": [rng.choice(WORDS)]}
        store.entries.write("scratchpad", pad, loop_id=rng.choice(["L1", "L2"]), run_id=run, agent="ann")
        issue = {"description": text(), "suggestion": text()}
        store.entries.write("review_issue", issue, task_id=rng.choice(["T1", "T2"]), run_id=run)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Satchel]]:
    """Three stores: of a run and nothing else, of a few things, and of some dozens of each kind."""
    with ExitStack() as opened:
        made = []
        for seed, size in enumerate((0, 3, 24)):
            clock = Clock()
            store = opened.enter_context(open_at(tmp_path_factory.mktemp("stores") / str(seed), clock))
            fill(store, seed, size, clock)
            made.append(store)
        yield made


budgets = st.one_of(st.integers(0, 200), st.integers(0, 3_000), st.integers(0, 50_000))
requests = st.fixed_dictionaries(
    {
        "role": st.sampled_from([None, *ROLES, "gardener"]),
        "task_id": st.sampled_from([None, "T1", "none"]),
        "loop_id": st.sampled_from([None, "L1", "none"]),
        "agent": st.sampled_from([None, "ann", "ben", "new"]),
        "query": st.sampled_from([None, "kafka token", "where is the session cache?", "日本語", "zebra", "?"]),
        "run_id": st.sampled_from(["night", "day"]),
    }
)
windows = st.sampled_from([None, 0.3, *(zone.begins for zone in ZONES)])


@settings(max_examples=examples(250), deadline=None)
@given(which=st.integers(0, 2), asked=requests, budget=budgets, window_used=windows)
def test_the_budget_holds_and_nothing_critical_is_dropped_silently(
    stores: Sequence[Satchel], which: int, asked: dict[str, Any], budget: int, window_used: float | None
) -> None:
    store = stores[which]
    briefing = store.brief(**asked, budget=budget, window_used=window_used, dry_run=True)
    assert store.briefings.counter.exact
    assert store.briefings.counter.count(briefing.text) == briefing.tokens <= budget
    nothing = store.brief(**asked, budget=0, dry_run=True)
    assert (nothing.text, nothing.items) == ("", ())
    # everything is left out where there is no budget: that is all there is, whatever the limit
    critical = [item for item in briefing.items if item.priority == "critical"]
    assert sum(left.critical for left in briefing.left_out) + len(critical) == _sum(nothing, "critical")
    shown_or_left = _sum(briefing, "count") + sum(1 + len(item.stands_for) for item in briefing.items)
    assert shown_or_left >= _sum(nothing, "count")
    if asked["query"] is None:
        assert shown_or_left == _sum(nothing, "count")
    for item in briefing.items:
        assert any(
            line.startswith((f"{item.ref} ", f"{item.ref}*", f"{item.ref}:")) for line in briefing.text.splitlines()
        )
        assert PRIORITIES.index(item.priority) + 1 >= zone_of(window_used).least_priority


def _sum(briefing: Any, what: str) -> int:
    return sum(getattr(left, what) for left in briefing.left_out)


@settings(max_examples=examples(40), deadline=None)
@given(which=st.integers(0, 2), asked=requests, budget=budgets, window_used=windows)
def test_the_same_question_gets_the_same_answer(
    stores: Sequence[Satchel], which: int, asked: dict[str, Any], budget: int, window_used: float | None
) -> None:
    request = {**asked, "budget": budget, "window_used": window_used, "dry_run": True}
    assert stores[which].brief(**request) == stores[which].brief(**request)


@pytest.mark.parametrize("run", ["night", "day"])
def test_what_is_counted_is_what_each_list_counts(stores: Sequence[Satchel], run: str) -> None:
    store = stores[2]
    entries = store.entries.read(types=["discovery", "error"], limit=0).total
    lately = store.workplace.clock() - 14 * DAY
    pads = store.entries.read(run_id=run, types=["scratchpad"], loop_id="L1", since=lately, limit=0).total
    issues = store.entries.read(run_id=run, types=["review_issue"], task_id="T1", limit=0).total
    expected = {
        "entries": (entries, 0),
        "scratchpads": (pads, 0),
        "review issues": (issues, 0),
        "packages": (
            store.packages.find(limit=0).total,
            store.packages.find(priority="critical", limit=0).total,
        ),
        "rules": (
            store.constraints.find(limit=0).total,
            store.constraints.find(priority="critical", limit=0).total,
        ),
        "decisions": (sum(store.decisions.find(status=one, limit=0).total for one in ("active", "draft")), 0),
        "messages": (
            store.messages.inbox(agent="ann", limit=0).total,
            store.messages.inbox(agent="ann", priority="critical", limit=0).total,
        ),
        "error patterns": (store.patterns.find(limit=0).total, 0),
        "strategies": (store.strategies.find(limit=0).total, 0),
    }
    left = store.brief(run_id=run, task_id="T1", loop_id="L1", agent="ann", budget=0).left_out
    assert {one.kind: (one.count, one.critical) for one in left} == {
        kind: counts for kind, counts in expected.items() if counts[0]
    }


@dataclass
class Model:
    """What is kept, each with how often it changed, and what each receiver got of it."""

    kept: dict[str, int] = field(default_factory=dict)
    got: dict[tuple[Any, ...], dict[str, int]] = field(default_factory=dict)


receivers = st.fixed_dictionaries(
    {
        "role": st.sampled_from([None, "developer", "qa_expert"]),
        "agent": st.sampled_from([None, "ann", "ben"]),
        "iteration": st.integers(0, 1),
        "task_id": st.sampled_from([None, "T1"]),
    }
)
steps = st.one_of(
    st.tuples(st.sampled_from(["constraint", "decision", "entry", "package"]), st.integers(0, 1)),
    st.tuples(st.sampled_from(["pack", "pack", "pack", "again", "dry_run", "query"]), receivers),
)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(steps, min_size=3, max_size=14))
def test_nothing_is_repeated_to_a_receiver_until_it_changes_and_nothing_is_kept_from_another(
    some: list[tuple[str, Any]],
) -> None:
    model, clock = Model(), Clock()
    with tempfile.TemporaryDirectory() as folder, open_at(Path(folder) / "project", clock) as store:
        store.runs.start("night")
        for place, (what, how) in enumerate(some):
            clock.now += 1
            if what in {"constraint", "decision", "entry", "package"}:
                _write(store, model, what, how, place)
                continue
            key = tuple(how[name] for name in ("role", "agent", "iteration", "task_id"))
            got = model.got.get(key, {})
            query = "kafka" if what == "query" else None
            briefing = store.brief(**how, query=query, again=what == "again", dry_run=what == "dry_run", budget=20_000)
            new = {ref for ref, change in model.kept.items() if got.get(ref) != change or what == "again"}
            assert {item.ref for item in briefing.items} == new
            assert briefing.left_out == ()
            if what != "dry_run" and how["agent"] is not None:  # who gives no name gets all of it again
                model.got[key] = got | {ref: model.kept[ref] for ref in new}


def _write(store: Satchel, model: Model, what: str, which: int, place: int) -> None:
    if what == "constraint":
        ref = store.constraints.add(f"rule {place} on kafka").ref
    elif what == "decision":
        ref = store.decisions.set(f"key_{which}", place).ref
    elif what == "entry":
        ref = store.entries.write("discovery", f"note {place} on kafka").ref
    else:
        live = [one for one in model.kept if one.startswith("p")]
        if len(live) < 3:
            ref = store.packages.save(f"spike {place}", content="x", priority="low").ref
        else:
            before = store.packages.find().items[0]
            priority = "high" if before.priority != "high" else "low"
            ref = store.packages.set_priority(before.ref, priority).ref
    model.kept[ref] = place

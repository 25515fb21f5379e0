"""The briefing that an agent would get now: it is the one that it then gets, with why, and nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from every_table import every_row
from satchel import InvalidInput, Satchel
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import CLEAR, RESUME, START, Moment
from satchel.keep.entries import NewEntry
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock


def everything(satchel: Satchel) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables."""
    with satchel.workplace.engine.read() as transaction:
        return every_row(transaction)


@pytest.fixture
def busy(satchel: Satchel) -> Satchel:
    """A project in which every kind is that a briefing draws on."""
    satchel.constraints.add("never log a password", priority="critical", agent="ann")
    satchel.constraints.add("all times are in UTC", agent="ann")
    satchel.decisions.set("session_ttl", 300, agent="ann")
    satchel.entries.write("discovery", "the gateway's clock is 30 s ahead", agent="ann", task_id="T1")
    satchel.entries.write_many(
        [NewEntry("discovery", f"worker {number} reads the queue of the gateway") for number in range(40)], agent="bob"
    )
    satchel.entries.write("scratchpad", {"done": False, "attempted": ["a retry"], "next_step": "ask"}, agent="cleo",
                          task_id="T1")  # fmt: skip
    satchel.messages.send("please look at the queue", to="cleo", agent="bob")
    satchel.patterns.report("KeyError", "no such session", solution="ask for a new one", agent="ann")
    return satchel


@pytest.fixture
def hook(busy: Satchel, open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A session of a client, as its hooks see it, that has begun."""
    return open_in(project, caller=Caller.of_hook({}, "claude", "s1", begins=False))


def put_in(hook: Satchel, moment: Moment) -> str:
    made = hook.moments.make(moment, Deadline(60_000))
    hook.moments.record(moment, made)
    return made.text


ASKED: list[dict[str, Any]] = [
    {},
    {"query": "the clock of the gateway"},
    {"query": "queue", "budget": 300},
    {"role": "developer", "task_id": "T1", "budget": 1_200},
    {"budget": 60},
]


@pytest.mark.parametrize("agent", ["cleo", "somebody new"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_it_is_the_briefing_that_the_agent_then_gets(busy: Satchel, agent: str, asked: dict[str, Any]) -> None:
    for _ in range(2):
        shown = busy.room.preview(agent, **asked)
        got = busy.brief(agent=agent, **asked)
        assert (shown.text, shown.tokens) == (got.text, got.tokens)
        assert [one.ref for one in shown.items] == [one.ref for one in got.items]


def test_it_is_that_of_the_window_in_which_the_agent_works(busy: Satchel, hook: Satchel, clock: ManualClock) -> None:
    put_in(hook, START)
    name = hook.sessions.team().sessions[0].agents[0]
    for _ in range(2):
        clock.advance(1_000)
        shown = busy.room.preview(name, query="queue")
        assert (shown.session, shown.window) == (hook.sessions.team().sessions[0].uid, 1)
        assert shown.text == hook.brief(agent=name, query="queue").text


@pytest.mark.parametrize("moment", [CLEAR, RESUME], ids=lambda moment: moment.name)
def test_it_is_what_a_hook_then_puts_in(busy: Satchel, hook: Satchel, clock: ManualClock, moment: Moment) -> None:
    put_in(hook, START)
    name = hook.sessions.team().sessions[0].agents[0]
    clock.advance(60_000)
    busy.decisions.set("retries", 3, agent="ann")
    shown = busy.room.preview(name, moment.name)
    assert "retries" in shown.text
    assert shown.text == put_in(hook, moment)


def test_it_is_what_a_hook_then_puts_in_at_a_prompt(busy: Satchel, hook: Satchel) -> None:
    put_in(hook, CLEAR)
    busy.entries.write("discovery", "the parser drops comments of unknown keys", agent="ann")
    name = hook.sessions.team().sessions[0].agents[0]
    prompt = "why does the parser drop comments of unknown keys?"
    shown = busy.room.preview(name, "prompt", query=prompt)
    assert "drops comments" in shown.text
    said = hook.working.prompt(prompt, lambda: False)
    assert (shown.text, len(shown.items)) == (said.text, 1)
    hook.working.record(said)
    assert busy.room.preview(name, "prompt", query=prompt).text == ""


@pytest.mark.parametrize("moment", ["briefing", "clear", "resume", "compaction", "subagent", "prompt"])
def test_nothing_is_recorded(busy: Satchel, hook: Satchel, moment: str) -> None:
    put_in(hook, START)
    before = everything(busy)
    name = hook.sessions.team().sessions[0].agents[0]
    for agent in (name, "cleo", "somebody new", None):
        shown = busy.room.preview(agent, moment, query="the queue of the gateway")
        assert all(one.why and all(one.why) for one in shown.items)
    assert everything(busy) == before


def test_each_item_says_why_it_is_there(busy: Satchel) -> None:
    busy.pins.pin("e1")
    shown = busy.room.preview("cleo", query="clock of the gateway", task_id="T1", budget=1_000)
    whys = {one.ref: "; ".join(one.why) for one in shown.items}
    assert "critical: before everything else" in whys["c1"]
    assert "pinned by a person" in whys["e1"]
    assert "matches the query" in whys["e1"]
    assert "own task" in whys["e42"]
    assert "an unread message" in whys["m1"]
    assert all(" points: priority " in why for why in whys.values())


def test_what_is_left_out_says_why(busy: Satchel) -> None:
    busy.entries.write("scratchpad", {"done": False, "attempted": ["b"]}, agent="cleo", task_id="T1")
    shown = busy.room.preview("cleo", task_id="T1", budget=300)
    missing = {one.reason: one for one in shown.missing}
    assert missing["said"].refs == ("e42",)
    assert sum(missing[reason].total for reason in ("room", "rank") if reason in missing) >= 20
    got = busy.brief(agent="cleo", task_id="T1", budget=300)
    fresh = [one for one in got.items if one.priority != "critical"]
    again = {one.reason: one for one in busy.room.preview("cleo", task_id="T1", budget=300).missing}
    assert again["delivered"].total >= len(fresh) > 0


def test_other_moments_and_arguments_are_refused(busy: Satchel) -> None:
    for wrong in ({"moment": "lunch"}, {"moment": "prompt"}, {"budget": -1}, {"agent": " "}, {"query": " "}):
        with pytest.raises(InvalidInput):
            busy.room.preview(**wrong)


def test_a_project_without_anything_has_an_empty_briefing(satchel: Satchel) -> None:
    shown = satchel.room.preview("ann")
    assert (shown.items, shown.missing, shown.session) == ((), (), None)
    assert shown.text == satchel.brief(agent="ann", dry_run=True).text

"""What a store holds comes whole to another one, item by item, and comes once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bazinga_databases import sample as bazinga_sample
from examples import examples
from keep.moving.stores import ACTIONS, HOUR, dump, export, fill, outcomes, take
from satchel import Satchel
from satchel.keep.sessions.caller import SERVER
from sqlew_databases import sample as sqlew_sample

if TYPE_CHECKING:
    from conftest import ManualClock

Open = Callable[..., Satchel]
_STEP = st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 20), st.integers(0, 20))
_EVERYTHING = [(action, first, second) for first, second in ((1, 2), (4, 5), (2, 3)) for action in range(len(ACTIONS))]


def folder(within: Path, name: str) -> Path:
    """Make a project's folder of its own for one example."""
    made = Path(tempfile.mkdtemp(dir=within)) / name
    (made / ".git").mkdir(parents=True)
    return made


def check_round_trip(
    open_in: Open, clock: ManualClock, within: Path, choices: list[tuple[int, int, int]], caller: str | None = None
) -> None:
    """Fill a store, take its lines into another one, and compare."""
    one, other = open_in(folder(within, "one"), caller=caller), open_in(folder(within, "other"))
    fill(one, clock, choices)
    if not one.housekeeping.statistics().project:
        return
    clock.advance(HOUR)
    lines = dump(one)
    taken = outcomes(take(other, lines, is_accepted=True))
    assert set(taken) <= {"added"}
    assert dump(other) == lines
    assert set(outcomes(take(other, lines, is_accepted=True))) <= {"present"}
    assert dump(other) == lines
    assert [check for check in other.housekeeping.doctor() if check.status == "failed"] == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(_STEP, max_size=25))
def test_any_store_comes_whole_and_once(
    open_in: Open, clock: ManualClock, tmp_path: Path, choices: list[tuple[int, int, int]]
) -> None:
    check_round_trip(open_in, clock, tmp_path, choices)


@pytest.mark.parametrize("caller", [None, SERVER], ids=["without-sessions", "in-a-session"])
def test_a_store_with_some_of_everything_comes_whole_and_once(
    open_in: Open, clock: ManualClock, tmp_path: Path, caller: str | None
) -> None:
    check_round_trip(open_in, clock, tmp_path, _EVERYTHING, caller)


def test_the_sessions_of_decisions_and_messages_come_along(open_in: Open, tmp_path: Path) -> None:
    one, other = open_in(folder(tmp_path, "one"), caller=SERVER), open_in(folder(tmp_path, "other"))
    one.decisions.set("ttl", "1", agent="ann")
    one.messages.send("look at ttl", to="ben", agent="ann")
    take(other, dump(one))
    lines = {str(line["kind"]): line for line in dump(other)}
    assert {lines[kind].get("session") for kind in ("decision", "message")} == {lines["session"]["uid"]}


def test_who_confirmed_a_solution_comes_along_and_is_counted_once(
    open_in: Open, clock: ManualClock, tmp_path: Path
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    one.patterns.report("ValueError", "cannot read it", solution="open it as cp1252", agent="ann")
    for agent, helped in (("ben", True), ("cy", False)):
        one.patterns.outcome("y1", helped, agent=agent)
    take(other, dump(one))
    (pattern,) = (line for line in dump(other) if line["kind"] == "error_pattern")
    assert sorted((part["agent"], part.get("helped", False)) for part in pattern["solutions"][0]["confirmations"]) == [
        ("ben", True),
        ("cy", False),
    ]


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(_STEP, max_size=80))
def test_any_large_store_comes_whole_and_once(
    open_in: Open, clock: ManualClock, tmp_path: Path, choices: list[tuple[int, int, int]]
) -> None:
    check_round_trip(open_in, clock, tmp_path, choices)


@pytest.mark.parametrize(("tool", "release"), [("sqlew", "3.6"), ("sqlew", "5"), ("bazinga", "19")])
def test_what_came_from_another_tool_goes_on_to_another_store(
    open_in: Open, clock: ManualClock, tmp_path: Path, tool: str, release: str
) -> None:
    one, other = open_in(folder(tmp_path, "one")), open_in(folder(tmp_path, "other"))
    sample = sqlew_sample if tool == "sqlew" else bazinga_sample
    file = sample(tmp_path / "there.db", release, clock.now // 1_000)
    one.moving.import_from(tool, file)
    other.moving.import_file(export(one, tmp_path / "lines.jsonl"))
    assert dump(other) == dump(one)
    # its ids are those that the tool gave: the same thing, from whatever side
    again = other.moving.import_from(tool, file)
    assert {kind.kind: kind.added for kind in again.kinds if kind.added} == {}

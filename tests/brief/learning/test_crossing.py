"""Several agents in loops and tasks of the same names: nothing crosses agents but in a shared loop and task.

The model is a list of what was written, and a plain function that says whether two things belong together.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import open_satchel

MINUTE = 60_000
DAYS = 14 * 24 * 60
ERRORS = ("OSError", "KeyError")
APPROACHES = ("clear every cache", "lock the table", "retry with backoff", "pin the version")


class Place(NamedTuple):
    """By whom something was written, and what it names."""

    agent: str | None
    task: str | None
    loop: str | None


class Step(NamedTuple):
    """One write: an error that is reported (0, 1), or a scratchpad that failed (2 to 5), or one that succeeded (6)."""

    place: Place
    what: int
    minutes: int


def belong_together(one: Place, other: Place) -> bool:
    """Whether two things belong to one loop, as section 3 of the specification has it."""
    if one.loop is not None and one.task is not None and one[1:] == other[1:]:
        return True
    pairs = [(one.loop, other.loop), (one.task, other.task)]
    contradict = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    share = any(pair[0] is not None and pair[0] == pair[1] for pair in pairs)
    names_nothing = pairs == [(None, None), (None, None)]
    return one.agent == other.agent and not contradict and (share or names_nothing)


places = st.builds(
    Place, st.sampled_from([None, "ann", "ben"]), st.sampled_from([None, "T", "U"]), st.sampled_from([None, "L", "M"])
)
steps = st.builds(Step, places, st.integers(0, 6), st.sampled_from([1, 1, 1, 60, DAYS - 30, DAYS + 1]))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(steps, min_size=1, max_size=12), places)
def test_nothing_crosses_agents_but_in_a_shared_loop_and_task(history: list[Step], asking: Place) -> None:
    now = 1_795_000_000_000
    with (
        tempfile.TemporaryDirectory() as folder,
        open_satchel(
            Path(folder, "s.db"),
            "p",
            cwd=folder,
            environ={},
            clock=lambda: now,
            settings={"store.durability": "relaxed"},
        ) as satchel,
    ):
        satchel.runs.start("night")
        written: list[tuple[str, int, Step]] = []
        fixes: dict[str, set[str]] = {error: set() for error in ERRORS}
        waiting: list[tuple[str, int, Place]] = []
        for number, step in enumerate(history):
            now += step.minutes * MINUTE
            agent, task, loop = step.place
            if step.what < 2:
                error = ERRORS[step.what]
                satchel.patterns.report(error, "it broke", task_id=task, loop_id=loop, agent=agent)
                waiting = [one for one in waiting if (one[0], one[2]) != (error, step.place)]
                waiting.append((error, now, step.place))
                continue
            succeeds = step.what == 6
            said = f"fix{number} of {' and '.join(ERRORS)}" if succeeds else APPROACHES[step.what - 2]
            content = {"iteration": number, "attempted": [said], "test_status": "passing" if succeeds else "failing"}
            entry = satchel.entries.write("scratchpad", content, task_id=task, loop_id=loop, agent=agent)
            mine = [one for one in written if belong_together(step.place, one[2].place)]
            if succeeds:
                since = max([at for _, at, one in mine if one.what == 6], default=0)
                since = max(since, now - DAYS * MINUTE)
                fixed = [one for one in waiting if one[1] > since and belong_together(step.place, one[2])]
                told = {error for error, _, _ in fixed}
                assert {error for error in ERRORS if f" {error}: " in " ".join(entry.notes)} == told
                for error in told:
                    fixes[error].add(said)
                waiting = [one for one in waiting if not (one[0] in told and belong_together(step.place, one[2]))]
            written.append((entry.ref, now, step))
        for pattern in satchel.patterns.find(status="all"):
            assert {one.text for one in pattern.solutions} == fixes[pattern.error_type]
        mine = [one for one in written if belong_together(asking, one[2].place) and one[1] >= now - DAYS * MINUTE]
        last = max([place for place, one in enumerate(mine) if one[2].what == 6], default=-1)
        counted = mine[last + 1 :]
        briefing = satchel.brief(
            task_id=asking.task, loop_id=asking.loop, agent=asking.agent, budget=20_000, dry_run=True
        )
        shown = [item for item in briefing.items if item.section == "attempts"]
        # of each author the newest stands for the others; where the loop has succeeded, the last says so
        seen = counted or mine[-1:]
        newest = {step.place.agent: ref for ref, _, step in seen}
        assert {item.ref for item in shown} == set(newest.values())
        assert {ref for item in shown for ref in (item.ref, *item.stands_for)} == {ref for ref, _, _ in seen}
        approaches = [one.what for _, _, one in counted]
        is_stuck = len(approaches) >= 3 and len(set(approaches[-3:])) == 3
        assert briefing.is_stuck == is_stuck or len(set(approaches)) < len(approaches)
        for agent, ref in newest.items():
            (line,) = [line for line in briefing.text.splitlines() if line.startswith(f"{ref} ")]
            named = "" if agent == asking.agent else f" by {agent or 'an unnamed agent'}"
            assert (" by " in line, named in line) == (bool(named), True)

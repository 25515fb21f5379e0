"""The write that leaves a loop stuck says so, whatever form its scratchpads have."""

from __future__ import annotations

import pytest

from satchel import Satchel

TRIED = ("rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network")
STUCK = "STUCK: 3 iterations without progress"


@pytest.mark.parametrize("is_plain", [True, False])
def test_the_third_attempt_of_a_loop_says_that_it_is_stuck(satchel: Satchel, is_plain: bool) -> None:
    told = []
    for text in TRIED:
        content = text if is_plain else {"attempted": [text], "next_step": "try again"}
        entry = satchel.entries.write("scratchpad", content, loop_id="L1", agent="dev")
        told.append(any(note.startswith(STUCK) for note in entry.notes))
    assert told == [False, False, True]
    assert STUCK in satchel.brief(loop_id="L1", agent="dev").text


@pytest.mark.parametrize(
    "content",
    [
        {"attempted": TRIED, "done": False},
        '["rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network"]',
    ],
)
def test_three_approaches_in_one_scratchpad_are_stuck(satchel: Satchel, content: object) -> None:
    entry = satchel.entries.write("scratchpad", content, loop_id="L1", agent="dev")  # type: ignore[arg-type] # both forms
    assert any(note.startswith("STUCK: 3 attempts without progress") for note in entry.notes)


def test_plain_notes_that_are_about_no_loop_and_no_task_are_no_attempts(satchel: Satchel) -> None:
    notes = [note for text in TRIED for note in satchel.entries.write("scratchpad", text, agent="dev").notes]
    assert not any("STUCK" in note for note in notes)

"""A folder with as many files as one turn may look at, and with one more."""

from __future__ import annotations

from pathlib import Path

import pytest

from consulting import COUNTER
from satchel import TooLarge
from satchel.consult.gathering import MAX_FILES, gather
from satchel.consult.planning import plan_turn
from satchel.consult.reading import read_content
from satchel.consult.records import ConversationState, TurnRequest, Window

pytestmark = pytest.mark.slow


def test_a_folder_at_the_limit_is_planned_and_one_above_it_is_refused(project: Path) -> None:
    for number in range(MAX_FILES):
        folder = project / "src" / f"part_{number // 200}"
        if number % 200 == 0:
            folder.mkdir(parents=True)
        (folder / f"{number}.py").write_bytes(b"x = 1\n")
    found = gather(["src"], [str(project)], base=str(project))
    plan = plan_turn(
        ConversationState(),
        found,
        read_content,
        COUNTER,
        Window(500_000, 1_000),
        TurnRequest("s", "Why?", 0),
        read_old=lambda _: None,
        is_gone=lambda _: False,
    )
    assert len(plan.files) == len(found.files) == 20_000
    assert plan.has_overflowed
    (project / "src" / "one_more.py").touch()
    with pytest.raises(TooLarge, match="more than 20,000 files") as refused:
        gather(["src"], [str(project)], base=str(project))
    assert "Name fewer folders" in (refused.value.remedy or "")

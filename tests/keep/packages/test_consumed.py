"""Who consumed a package, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import Satchel
from satchel.interfaces.text.packages import content_notes

if TYPE_CHECKING:
    from conftest import ManualClock


def test_each_briefing_that_shows_a_package_consumes_it(satchel: Satchel, clock: ManualClock) -> None:
    saved = satchel.packages.save("why the login fails", content="the cookie is lost")
    satchel.packages.save("nobody was briefed with this", content="x", consumers=["gardener"])
    satchel.brief(role="developer", task_id="t1", agent="ann")
    clock.advance(60_000)
    satchel.brief(role="qa_expert", agent="ben")
    content, other = satchel.packages.read_many([saved.ref, "p2"])
    assert [(one.agent, one.role, one.task_id, one.at) for one in content.consumed] == [
        ("ben", "qa_expert", None, clock.now),
        ("ann", "developer", "t1", clock.now - 60_000),
    ]
    assert other.consumed == ()
    (note,) = content_notes([content, other])
    assert note.startswith("p1: briefed to ben as qa_expert on ")
    assert "ann as developer for t1 on " in note

"""What of a bazinga database may not be kept as it is: secrets, and names that are none."""

from __future__ import annotations

import pytest

from bazinga_databases import SECRET, Made
from keep.importing.bazinga_kept import counts
from keep.importing.results import Take
from kept_bytes import kept_bytes
from satchel import Satchel


def test_every_text_is_redacted_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(original_requirements=f"build with {SECRET}")
    database.package(summary=f"it said {SECRET}")
    database.pattern(message=f"bad token {SECRET}", solution=f"use {SECRET}")
    database.strategy(topic="tokens", insight=f"try {SECRET}")
    result = bring(database)
    assert SECRET.encode() not in kept_bytes(satchel)
    redacted = {one.table for one in result.troubles if "redacted" in one.reason and not one.left_out}
    assert redacted == {"sessions", "context_packages", "error_patterns", "strategies"}


@pytest.mark.parametrize(
    ("add", "left_out"), [("session", 1), ("package", 0), ("pattern", 1), ("strategy", 1), ("delivery", 0)]
)
def test_a_secret_in_a_name_is_not_kept_and_not_repeated(
    satchel: Satchel, bring: Take, bazinga: Made, add: str, left_out: int
) -> None:
    columns: dict[str, dict[str, object]] = {
        "session": {"session_id": SECRET},
        "package": {"group_id": SECRET},
        "pattern": {"signature_json": f'{{"error_type": "{SECRET}", "message_pattern": "m"}}'},
        "strategy": {"topic": SECRET},
        "delivery": {"agent_type": SECRET},
    }
    database = bazinga()
    if add == "delivery":
        database.package()
    getattr(database, add)(**columns[add])
    result = bring(database)
    assert [one.left_out for one in result.troubles].count(True) == left_out
    assert result.troubles
    assert all(SECRET not in f"{one.row} {one.reason}" for one in result.troubles)


def test_names_that_matter_little_are_left_out_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package(producer_agent="{{agent}}")
    database.add("context_package_consumers", package_id=1, agent_type="x" * 300)
    database.strategy(framework="${framework}")
    result = bring(database)
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.agent, package.consumers) == (None, ())
    assert satchel.strategies.find().items[0].framework is None
    assert sum(one.reason.count("left out") for one in result.troubles) == 3


def test_what_belongs_to_a_session_that_cannot_be_read_comes_under_its_name(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    database.session("s1", start_time="soon")
    database.package()
    database.delivery()
    result = bring(database)
    assert [(one.table, one.row) for one in result.troubles if one.left_out] == [("sessions", "session_id s1")]
    assert {kind: counted[0] for kind, counted in counts(result).items()} == {"package": 1, "delivery": 1}
    run = satchel.runs.get("s1")
    assert run is not None
    assert run.status == "completed"

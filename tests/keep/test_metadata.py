"""Metadata of decisions and rules: bounded, filtered by key or value, in the history, exported, merged and shared."""

from __future__ import annotations

import pytest

from keep.moving.stores import dump, take
from satchel import Satchel
from satchel.base.errors import InvalidInput, TooLarge
from satchel.keep.shared import items, markdown
from satchel.keep.texts import metadata_parts
from tables import in_one_test

FIELDS: dict[str, str | float] = {"ticket": "OPS-7", "risk": 3, "signed": True, "note": 'say "risk":4, then'}


def test_it_comes_back_and_stays_until_it_is_replaced(satchel: Satchel) -> None:
    assert satchel.decisions.set("cache", "redis", metadata=FIELDS).metadata == FIELDS
    assert satchel.decisions.set("cache", "valkey").metadata == FIELDS
    changed = satchel.decisions.set("cache", metadata={"risk": 1})
    assert (changed.metadata, changed.revision) == ({"risk": 1}, 3)
    assert satchel.decisions.get("cache").history.items[0].metadata == FIELDS
    assert satchel.decisions.set("cache", metadata={"risk": True}).revision == 4
    assert satchel.decisions.set("cache", metadata={"risk": True}).revision == 4
    assert satchel.decisions.set("cache", metadata=None).metadata == {}
    assert satchel.constraints.add("no floats", metadata=FIELDS).metadata == FIELDS


@pytest.fixture
def described(satchel: Satchel) -> Satchel:
    satchel.decisions.set("cache", "redis", metadata=FIELDS)
    satchel.decisions.set("queue", "redis")
    satchel.constraints.add("no floats", metadata=FIELDS)
    return satchel


@in_one_test(
    ("wanted", "is_met"),
    [
        *((one, True) for one in ("risk", "risk=3", "ticket=OPS-7", "signed=true", 'note=say "risk":4, then')),
        *((one, False) for one in ("RISK", "ris", "risk=4", "risk=30", "ticket=OPS", "signed=1", "OPS-7")),
    ],
)
def test_a_key_or_a_key_and_its_value_selects(described: Satchel, wanted: str, is_met: bool) -> None:
    assert described.decisions.find(metadata=wanted).total == is_met
    assert described.decisions.find(metadata=wanted, query="redis").total == is_met
    assert described.constraints.find(metadata=wanted).total == is_met


@in_one_test(
    "value", [[1], "text", {"a b": 1}, {'a"': 1}, {"a": [1]}, {"a": {"b": 1}}, {"a": None}, {"a": float("nan")}]
)
def test_what_is_no_flat_object_is_refused(satchel: Satchel, value: object) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        satchel.decisions.set("cache", "redis", metadata=value)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="metadata"):
        satchel.constraints.add("no floats", metadata=value)  # type: ignore[arg-type]
    assert satchel.housekeeping.statistics().project is None


def test_more_than_2_kb_are_refused(satchel: Satchel) -> None:
    with pytest.raises(TooLarge, match="2,048 bytes"):
        satchel.constraints.add("no floats", metadata={"a": "x" * 2_048})


def test_a_secret_in_it_is_redacted(satchel: Satchel) -> None:
    assert satchel.decisions.set("cache", "redis", metadata={"password": "hunter2-of-prod"}).metadata == {
        "password": "[redacted:password]"
    }


def test_a_filter_that_names_no_key_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no key"):
        metadata_parts("a b=1")


def test_lines_of_an_export_and_shared_texts_hold_it(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis", metadata=FIELDS)
    satchel.constraints.add("no floats", metadata=FIELDS)
    lines = [line for line in dump(satchel) if line["kind"] in {"decision", "constraint"}]
    assert [line["metadata"] for line in lines] == [dict(sorted(FIELDS.items()))] * 2
    for line in lines:
        text = markdown.parse(markdown.render(items.text_of(line, str)))
        assert items.line_from(text, None)["metadata"] == FIELDS
    take(satchel, [line | {"metadata": {"risk": 9}, "updated_at": "2026-12-31T00:00:00.000Z"} for line in lines[:1]])
    assert satchel.decisions.get("cache").decision.metadata == {"risk": 9}


def test_the_end_of_a_rule_or_decision_is_briefed_with_it_and_stays_until_it_is_cleared(satchel: Satchel) -> None:
    satchel.constraints.add("no floats", metadata={"risk": 1}, until="2027-01-31", paths=["src/*.py"])
    satchel.decisions.set("cache", "redis", metadata={"risk": 1}, until="the gateway is replaced")
    changed = satchel.decisions.set("cache", "valkey")
    text = satchel.briefings.brief(agent="ben").text
    assert "no floats (for src/*.py) (until 2027-01-31)" in text
    assert "cache: valkey (until the gateway is replaced)" in text
    (bound,) = satchel.constraints.binding("src/a.py").bindings
    assert bound.text == "no floats (until 2027-01-31)"
    assert changed.metadata == {"risk": 1, "until": "the gateway is replaced"}
    assert satchel.decisions.set("cache", until=None).metadata == {"risk": 1}
    assert satchel.decisions.get("cache").history.items[0].metadata == changed.metadata


@in_one_test("until", ["x" * 201, "two\nlines", 3])
def test_an_end_that_is_no_short_line_is_refused(satchel: Satchel, until: object) -> None:
    with pytest.raises((InvalidInput, TooLarge), match="until"):
        satchel.constraints.add("no floats", until=until)  # type: ignore[arg-type]
    with pytest.raises((InvalidInput, TooLarge), match="until"):
        satchel.decisions.set("cache", "redis", until=until)  # type: ignore[arg-type]

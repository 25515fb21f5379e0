"""Records as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.client import Satchel
from satchel.interfaces.text.json import fields_of


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Satchel]:
    (tmp_path / ".git").mkdir()
    with open_satchel(cwd=tmp_path, environ={}) as satchel:
        yield satchel


def test_an_entry_leaves_out_what_is_not_set(opened: Satchel) -> None:
    kept = opened.entries.write("discovery", "x")
    assert fields_of(kept).keys() == {"id", "uid", "seq", "run_id", "type", "content", "created_at"}


def test_structured_content_is_an_object(opened: Satchel) -> None:
    assert fields_of(opened.entries.write("scratchpad", '{"iteration": 1}'))["content"] == {"iteration": 1}


def test_json_written_as_plain_text_stays_text(opened: Satchel) -> None:
    assert fields_of(opened.entries.write("discovery", '{"iteration": 1}'))["content"] == '{"iteration": 1}'


def test_what_was_superseded_names_its_successor(opened: Satchel) -> None:
    opened.entries.write("codebase_analysis", {"summary": "old"})
    opened.entries.write("codebase_analysis", {"summary": "new"})
    (old,) = opened.entries.read(status="superseded").entries
    assert fields_of(old)["superseded_by"] == "e2"


def test_a_search_shows_its_scores(opened: Satchel) -> None:
    opened.entries.write("discovery", "salt")
    (found,) = opened.entries.read(query="salt").entries
    assert fields_of(found)["score"] == found.score is not None


def test_a_page_says_what_comes_next(opened: Satchel) -> None:
    for text in ("one", "two"):
        opened.entries.write("discovery", text)
    fields = fields_of(opened.entries.read(limit=1), "entries")
    assert (fields["total"], fields["next_offset"], fields["notes"]) == (2, 1, [])


def test_times_are_iso_and_missing_ones_null(opened: Satchel) -> None:
    fields = fields_of(opened.runs.start("r1"))
    assert isinstance(fields, dict)
    assert str(fields["created_at"]).endswith("Z")
    assert fields["ended_at"] is None


def test_counts_by_name_become_members(opened: Satchel) -> None:
    opened.entries.write("discovery", "x")
    fields = fields_of(opened.housekeeping.statistics())
    assert isinstance(fields, dict)
    assert fields["entries"] == {"discovery": 1}


def test_every_record_can_be_written_as_json(opened: Satchel) -> None:
    opened.entries.write("review_verdict", {"passed": True})
    for record in (
        opened.entries.load_state(),
        opened.housekeeping.statistics(),
        opened.runs.list().items,
        opened.entries.prune(dry_run=True),
        list(opened.housekeeping.doctor()),
        opened.housekeeping.backup(),
    ):
        json.dumps(fields_of(record), allow_nan=False)

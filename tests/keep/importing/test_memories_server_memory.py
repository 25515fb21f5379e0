"""Importing the file of the official memory server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base.errors import NotFound, StoreForeign

_GRAPH = [
    {
        "type": "entity",
        "name": "gateway",
        "entityType": "service",
        "observations": ["allows 40 calls a second", "runs on port 8080"],
    },
    {"type": "entity", "name": "shop", "entityType": "service", "observations": []},
    {"type": "relation", "from": "shop", "to": "gateway", "relationType": "calls"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A memory of two entities and a relation, as the server writes it."""
    made = tmp_path / "memory.jsonl"
    made.write_text("\n".join(map(json.dumps, _GRAPH)))
    return made


def test_observations_and_relations_become_notes(satchel: Satchel, file: Path) -> None:
    result = satchel.moving.import_from("server-memory", file)
    assert [entry.content for entry in satchel.entries.read(order="asc").items] == [
        "gateway (service): allows 40 calls a second",
        "gateway (service): runs on port 8080",
        "shop (service): it has no observations",
        "shop calls gateway",
    ]
    assert not result.is_incomplete


def test_a_second_import_adds_what_came_since(satchel: Satchel, file: Path) -> None:
    satchel.moving.import_from("server-memory", file)
    later = {"type": "entity", "name": "shop", "entityType": "service", "observations": ["sells shoes"]}
    file.write_text(file.read_text() + "\n" + json.dumps(later))
    result = satchel.moving.import_from("server-memory", file)
    assert [(kind.added, kind.updated) for kind in result.kinds] == [(1, 0)]


def test_a_line_that_is_none_costs_itself_alone(satchel: Satchel, file: Path) -> None:
    file.write_bytes(file.read_bytes() + b'\n{"type": "entity"}\n\xff\n{"type": "poem", "name": "x"}')
    result = satchel.moving.import_from("server-memory", file)
    assert [one.row for one in result.troubles if one.left_out] == ["line 4", "line 5", "line 6"]
    assert satchel.entries.read().total == 4


def test_another_file_is_refused(satchel: Satchel, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("not a memory")
    with pytest.raises(StoreForeign, match="not a file of the memory server"):
        satchel.moving.import_from("server-memory", tmp_path / "x.txt")
    with pytest.raises(NotFound):
        satchel.moving.import_from("server-memory", tmp_path / "nowhere")


def test_a_bom_two_objects_on_a_line_and_observations_as_a_text_lose_nothing(satchel: Satchel, file: Path) -> None:
    one = {"type": "entity", "name": "shop", "entityType": "service", "observations": "sells shoes"}
    other = {"type": "entity", "name": "till", "entityType": "service", "observations": ["takes cards"]}
    file.write_text(f"\ufeff{json.dumps(one)}{json.dumps(other)}\n", encoding="utf-8")
    result = satchel.moving.import_from("server-memory", file)
    assert [entry.content for entry in satchel.entries.read(order="asc").items] == [
        "shop (service): sells shoes",
        "till (service): takes cards",
    ]
    assert not result.is_incomplete

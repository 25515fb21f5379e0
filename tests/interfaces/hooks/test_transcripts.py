"""How a command ended, from the record that Codex keeps of its session."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from satchel.interfaces.hooks.tools import exit_status


def ran(call: str, **item: Any) -> str:
    """Return a line as Codex 0.169.0 writes it."""
    ran = {"type": "CommandExecution", "id": call, "aggregated_output": "", **item}
    return json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": ran}}) + "\n"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


def test_the_status_is_that_of_the_call(record: Path) -> None:
    record.write_text(ran("c1", exit_code=1) + ran("c2", exit_code=0) + ran("c3", exit_code=7))
    assert [exit_status(str(record), call) for call in ("c1", "c2", "c3")] == [1, 0, 7]


def test_a_command_that_prints_such_a_line_does_not_deceive(record: Path) -> None:
    printed = ran("c1", exit_code=0)
    record.write_text(
        ran("c1", exit_code=3, aggregated_output=printed) + ran("c2", exit_code=0, aggregated_output="c1")
    )
    assert exit_status(str(record), "c1") == 3


def test_of_a_long_record_the_end_is_read(record: Path) -> None:
    record.write_text("x" * 10_000_000 + "\n" + ran("c1", exit_code=9, aggregated_output="y" * 60_000))
    assert exit_status(str(record), "c1") == 9


@pytest.mark.parametrize(
    "content",
    [
        "",
        ran("c1"),
        ran("c1", exit_code=None),
        ran("c1", exit_code=True),
        '{"payload": ["c1", "exit_code"]}',
        '"exit_code" c1',
    ],
)
def test_what_does_not_say_it_gives_none(record: Path, content: str) -> None:
    record.write_text(content)
    assert exit_status(str(record), "c1") is None


def test_what_is_no_file_gives_none(record: Path, tmp_path: Path) -> None:
    os.mkfifo(record)
    (tmp_path / "link").symlink_to(record)
    paths = (record, tmp_path, tmp_path / "none", tmp_path / "link")
    assert [exit_status(str(path), "c1") for path in paths] == [None] * len(paths)

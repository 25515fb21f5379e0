"""What was stored is answered as kept, and what is answered with an error is not stored, whatever fails meanwhile."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from faults.processes import Child

pytestmark = pytest.mark.slow

_WRITES = [
    ("write_context", {"type": "discovery", "content": "one", "file": "a.py"}, "context"),
    ("write_context", {"type": "discovery", "content": "two", "file": "a.py"}, "context"),
    ("set_decision", {"key": "cache", "value": "redis", "layer": "data"}, "decisions"),
    ("add_constraint", {"category": "security", "text": "Keep the keys out of the log"}, "constraints"),
    ("record_file_change", {"file": "a.py", "change": "modified"}, "file_changes"),
]


def test_after_a_commit_no_answer_needs_to_load_or_read_anything(tmp_path: Path) -> None:
    with Child("write-and-then-fail", tmp_path / "s.db") as child:
        said = child.finish()
    assert len(said) > 10
    for line in said:
        _, commits, is_error, text = line.split(" ", 3)
        assert (commits > "0", is_error) == (True, "False"), line
        assert "could not be written" not in text, line


@pytest.mark.parametrize("arguments", [("init",), ("doctor", "--rebuild")])
def test_after_its_first_commit_a_command_loads_no_kind(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with Child("command-and-then-fail", *arguments, "--db", tmp_path / "s.db") as child:
        assert child.finish()[-1] == "0"


@pytest.mark.parametrize("limit", [10, 12, 13])
def test_with_few_file_descriptors_every_answer_is_true(folder: Path, environment: dict[str, str], limit: int) -> None:
    server = subprocess.run(
        [sys.executable, "-m", "satchel", "mcp", "--agent", "a", "--toolsets", "all"],
        cwd=folder,
        env=environment,
        input=b"\n".join(_session()) + b"\n",
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    answered = dict.fromkeys((table for *_, table in _WRITES), 0)
    for answer in map(json.loads, server.stdout.splitlines()):
        if answer["id"]:
            result = answer["result"]
            answered[_WRITES[answer["id"] - 1][2]] += not result.get("isError", False)
    assert _stored(folder / ".satchel" / "satchel.db", list(answered)) == answered


def _session() -> list[bytes]:
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    requests: list[tuple[str, dict[str, Any]]] = [("initialize", opening)]
    requests += [("tools/call", {"name": tool, "arguments": arguments}) for tool, arguments, _ in _WRITES]
    return [
        json.dumps({"jsonrpc": "2.0", "id": place, "method": method, "params": params}).encode()
        for place, (method, params) in enumerate(requests)
    ]


def _stored(file: Path, tables: list[str]) -> dict[str, int]:
    if not file.exists() or not file.stat().st_size:
        return dict.fromkeys(tables, 0)
    with closing(apsw.Connection(str(file))) as connection:
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").get if table in there else 0 for table in tables
        }

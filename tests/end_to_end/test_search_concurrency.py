"""Processes that write and search at once, and one that is killed at it: the index misses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults.processes import Child
from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

_PROCESSES = 4
_WRITES = 25

# what each process does: it writes, and finds at once each entry that was acknowledged
_WRITE_AND_SEARCH = """
import json, sys
from pathlib import Path
from satchel import open_satchel

store, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with open_satchel(store, "p", name, cwd=store.parent, environ={}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    written, missed = [], []
    for number in range(count):
        word = f"{name}{'bcdfghjklm'[number // 10]}{'bcdfghjklm'[number % 10]}"
        entry = satchel.entries.write("discovery", f"shared {word}", loop_id="L1")
        written.append([entry.ref, word])
        if entry.ref not in [one.ref for one in satchel.finding.search(word).results]:
            missed.append(entry.ref)
        page = satchel.finding.search("which shared note is there", limit=5)
        if page.total < number + 1 or len(page.results) != min(5, page.total):
            missed.append(f"{page.total} after {number + 1}")
    print(json.dumps({"written": written, "missed": missed}))
"""


def _open(store: Path) -> Satchel:
    return open_satchel(store, "p", cwd=store.parent, environ={})


def _failed(satchel: Satchel) -> list[str]:
    return [f"{check.name}: {check.detail}" for check in satchel.housekeeping.doctor() if check.status == "failed"]


def _process(store: Path, name: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITE_AND_SEARCH, str(store), name, str(_WRITES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_processes_that_write_and_search_at_once_find_everything_that_was_acknowledged(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    store = tmp_path / "s.db"
    processes = [_process(store, f"zz{letter}", environment) for letter in "wxyz"[:_PROCESSES]]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        said.append(json.loads(out))
    assert [one["missed"] for one in said] == [[]] * _PROCESSES
    written = [pair for one in said for pair in one["written"]]
    assert len(written) == _PROCESSES * _WRITES
    with _open(store) as satchel:
        found = {word: [one.ref for one in satchel.finding.search(word).results] for _, word in written}
        assert found == {word: [ref] for ref, word in written}
        assert satchel.finding.search("shared", limit=0).total == len(written)
        assert _failed(satchel) == []


def test_a_rebuild_while_another_process_writes_and_searches_misses_nothing(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    store = tmp_path / "s.db"
    with _open(store) as satchel:
        for number in range(30):
            satchel.entries.write("discovery", f"before {number}")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE documents_fts_data SET block = zeroblob(length(block)) WHERE id > 10")
        satchel.finding.rebuild(lambda done, total: None)  # noqa: ARG005 -- nobody watches
        process = _process(store, "zzw", environment)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        while process.poll() is None:
            satchel.finding.rebuild(lambda done, total: None)  # noqa: ARG005 -- nobody watches
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        assert json.loads(out)["missed"] == []
        assert satchel.finding.search("shared", limit=0).total == _WRITES
        assert satchel.finding.search("before", limit=0).total == 30
        assert _failed(satchel) == []


def test_after_a_writer_was_killed_the_index_says_what_the_tables_say(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    said = []
    for _ in range(3):
        with Child("write-for-ever", store) as child:
            said += [child.hear() for _ in range(5)]
            said += child.kill()
    with _open(store) as satchel:
        found = satchel.finding.search("x" * 3_000, limit=500)
        assert found.total == satchel.entries.read(limit=0).total >= len(said)
        assert _failed(satchel) == []

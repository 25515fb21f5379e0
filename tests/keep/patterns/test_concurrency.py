"""Processes and threads that report and judge at once: no count is lost."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

PROCESSES, ROUNDS = 4, 25

_JUDGE = """
import sys
from satchel import open_satchel

store, folder, number, rounds = *sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
with open_satchel(store, "p", f"agent-{number}", cwd=folder, environ={}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(rounds):
        satchel.patterns.report("E", "boom", solution="fix")
        satchel.patterns.outcome("y1", helped=turn % 5 != number, agent=f"agent-{number}-{turn}")
"""


def test_processes_that_judge_at_once_lose_no_count(tmp_path: Path) -> None:
    with open_satchel(tmp_path / "s.db", "p", "author", cwd=tmp_path, environ={}) as satchel:
        store = satchel.workplace.engine.location
        satchel.patterns.report("E", "boom", solution="fix")
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", _JUDGE, store, str(tmp_path), str(number), str(ROUNDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(PROCESSES)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            _, err = process.communicate()
            assert (process.returncode, err) == (0, "")
        pattern = satchel.patterns.get("x1", status="all")
        (fix,) = pattern.solutions
        failed = PROCESSES * ROUNDS // 5
        assert pattern.occurrences == 1 + PROCESSES * ROUNDS
        # each agent's report of the author's fix confirms it once, and so do four of the five agents that judge it
        assert (fix.confirmed, fix.failed) == (PROCESSES + PROCESSES * ROUNDS - failed, failed)
        assert satchel.patterns.find(limit=0).total == 1


def test_threads_that_judge_at_once_lose_no_count(satchel: Satchel) -> None:
    satchel.patterns.report("E", "boom", solution="fix")

    def judge(number: int) -> None:
        for turn in range(20):
            satchel.patterns.outcome("y1", helped=bool(number % 2), agent=f"agent-{number}-{turn}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(judge, range(4)))
    (fix,) = satchel.patterns.get("x1", status="all").solutions
    assert (fix.confirmed, fix.failed) == (40, 40)
    assert 1 <= fix.confidence <= 10

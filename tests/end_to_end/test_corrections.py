"""Processes that correct one item at once: one replaces it, the others are told by which, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from satchel import open_satchel

pytestmark = pytest.mark.slow

_PROCESSES = 4
_ROUNDS = 25

# every process replaces each note, then retracts each rule: the first to come wins
_CORRECT = """
import json, sys
from pathlib import Path
from satchel import Conflict, open_satchel

store, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
with open_satchel(store, "p", f"agent-{number}", cwd=store.parent, environ={}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    won, lost, retracted = {}, {}, []
    for turn in range(1, rounds + 1):
        try:
            won[turn] = satchel.entries.write("discovery", f"by {number} of e{turn}", supersedes=f"e{turn}").ref
        except Conflict as refused:
            lost[turn] = refused.problem
        if satchel.corrections.retract(f"c{turn}", f"by {number}").already is None:
            retracted.append(turn)
    print(json.dumps([won, lost, retracted]))
"""


def test_one_process_corrects_each_item_and_the_others_are_told(tmp_path: Path, environment: dict[str, str]) -> None:
    store = tmp_path / "s.db"
    with open_satchel(store, "p", cwd=tmp_path, environ={}) as satchel:
        for turn in range(1, _ROUNDS + 1):
            satchel.entries.write("discovery", f"old {turn}")
            satchel.constraints.add(f"rule {turn}")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _CORRECT, str(store), str(number), str(_ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(_PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    told = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        told.append(json.loads(out))
    turns = [str(turn) for turn in range(1, _ROUNDS + 1)]
    with open_satchel(store, "p", cwd=tmp_path, environ={}) as satchel:
        heirs = {str(one.id): f"e{one.superseded_by}" for one in satchel.entries.read(status="superseded", limit=500)}
        assert {turn: ref for won, _, _ in told for turn, ref in won.items()} == heirs
        assert sorted(turn for won, _, _ in told for turn in won) == sorted(turns), "each was replaced once"
        assert satchel.entries.read(status="all", limit=0).total == 2 * _ROUNDS, "who lost wrote nothing"
        for won, lost, _ in told:
            assert won.keys() | lost.keys() == set(turns)
            assert all(problem == f"e{turn} was replaced by {heirs[turn]} already" for turn, problem in lost.items())
        assert sorted(turn for _, _, retracted in told for turn in retracted) == list(range(1, _ROUNDS + 1))
        rules = satchel.constraints.find(status="inactive", limit=500)
        assert {(rule.id, rule.reason) for rule in rules} == {
            (turn, f"by {number}") for number, (_, _, retracted) in enumerate(told) for turn in retracted
        }
        assert [check.name for check in satchel.housekeeping.doctor() if check.status == "failed"] == []

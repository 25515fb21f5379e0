"""Eight processes that claim overlapping sets of paths at once: each path is granted once, and no set in half."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

_PROCESSES = 8
_ROUNDS = 30

# what each process does: in every round it asks for two neighbours of a ring of four files, or for the folder that they
# all lie in, and for a path of its own that tells afterwards whether a refused set was claimed in part
_CLAIM = """
import json, sys
from pathlib import Path
from satchel import Conflict, open_satchel

store, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
with open_satchel(store, "p", f"agent-{number}", cwd=store.parent, environ={}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    asked = []
    for turn in range(rounds):
        ring = [f"r{turn}/{(number + step) % 4}" for step in range(2)]
        wanted = [f"a/{turn}/{number}", *([f"r{turn}/"] if number == turn % 11 else ring), f"z/{turn}/{number}"]
        try:
            granted = [claim.path for claim in satchel.files.claim(wanted).claims]
        except Conflict as refused:
            granted = []
        asked.append([turn, granted])
    print(json.dumps(asked))
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def _open(store: Path) -> Satchel:
    return open_satchel(store, "p", cwd=store.parent, environ={})


def _process(store: Path, number: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CLAIM, str(store), str(number), str(_ROUNDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _granted(store: Path, environment: dict[str, str]) -> dict[str, dict[int, list[str]]]:
    """Let all of them claim at the same moment, and return what each was told it got in each round."""
    processes = [_process(store, number, environment) for number in range(_PROCESSES)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told: dict[str, dict[int, list[str]]] = {}
    for number, process in enumerate(processes):
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        told[f"agent-{number}"] = dict(json.loads(out))
    return told


def _overlap(one: str, other: str) -> bool:
    return one == other or any(
        folder.endswith("/**") and path.startswith(folder[:-2]) for folder, path in ((one, other), (other, one))
    )


def test_processes_that_claim_at_once_get_each_path_once_and_no_set_in_half(
    store: Path, environment: dict[str, str]
) -> None:
    told = _granted(store, environment)
    with _open(store) as satchel:
        held: dict[str, set[str]] = defaultdict(set)
        for offset in range(0, _PROCESSES * _ROUNDS * 4, 500):
            for claim in satchel.files.claims(limit=500, offset=offset):
                held[claim.agent].add(claim.path)
        failed = [check for check in satchel.housekeeping.doctor() if check.status == "failed"]
    assert failed == []
    for agent, rounds in told.items():
        assert len(rounds) == _ROUNDS
        assert held[agent] == {path for granted in rounds.values() for path in granted}, "only whole sets are held"
        assert {len(granted) for granted in rounds.values()} <= {0, 3, 4}
    for turn in range(_ROUNDS):
        winners = {agent: rounds[turn] for agent, rounds in told.items() if rounds[turn]}
        assert winners, "whoever came first got what it asked for"
        for one, other in combinations(winners.values(), 2):
            assert not any(_overlap(path, another) for path in one for another in other)
        taken = [path for granted in winners.values() for path in granted if path.startswith(f"r{turn}/")]
        if f"r{turn}/**" not in taken:
            # a process is refused only for what stands against it: no two neighbours of the ring were left over
            left = [not {f"r{turn}/{place}", f"r{turn}/{(place + 1) % 4}"} & set(taken) for place in range(4)]
            assert not any(left)

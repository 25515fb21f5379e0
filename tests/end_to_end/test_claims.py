"""Processes that claim at once: each path is granted once, no set in half, and who waits gets it in turn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.keep import projects

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


# waits for the file; holds it until it is told to go on
_WAIT = """
import sys
from pathlib import Path
from satchel import Conflict, open_satchel
from satchel.keep import projects

projects.MAX_WAIT_SECONDS = 600
store = Path(sys.argv[1])
with open_satchel(store, "p", sys.argv[2], cwd=store.parent, environ={}) as satchel:
    print("ready", flush=True)
    sys.stdin.readline()
    satchel.files.claim(["a"], wait_seconds=600)
    print("got it", flush=True)
    sys.stdin.readline()
    satchel.files.release(["a"])
"""


class Waiters:
    """Processes that wait for one file, in the order in which they were added."""

    def __init__(self, store: Path, environment: dict[str, str]) -> None:
        self.store = store
        self.environment = environment
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def add(self, satchel: Satchel, name: str) -> None:
        """Start a process, and return when it waits."""
        process = subprocess.Popen(
            [sys.executable, "-c", _WAIT, str(self.store), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        self.processes[name] = process
        assert self.read(name) == "ready"
        self.tell(name)
        until(lambda: waiting(satchel)[-1:] == [name])

    def read(self, name: str) -> str:
        """Return the next line that a process says."""
        stream = self.processes[name].stdout
        assert stream is not None
        return stream.readline().strip()

    def tell(self, name: str) -> None:
        """Let a process go on."""
        stream = self.processes[name].stdin
        assert stream is not None
        stream.write("go\n")
        stream.flush()

    def kill(self, name: str) -> None:
        """End a process so that it can do nothing more."""
        self.processes[name].kill()
        self.processes[name].wait()


def until(holds: Callable[[], bool]) -> None:
    """Ask until it holds; a test that asks for ever is ended from outside."""
    while not holds():
        pass


def waiting(satchel: Satchel) -> list[str]:
    """Who waits, in order, whether or not its process is there."""
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all("SELECT a.name FROM claim_waiters w JOIN agents a ON a.id = w.agent_id ORDER BY w.id")
    return [row[0] for row in rows]


def holders(satchel: Satchel) -> list[str]:
    return [claim.agent for claim in satchel.files.claims(path="a")]


@pytest.fixture
def waiters(store: Path, environment: dict[str, str]) -> Iterator[Waiters]:
    made = Waiters(store, environment)
    yield made
    for name, process in made.processes.items():
        made.kill(name)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


def test_a_claim_that_is_released_wakes_one_waiter_at_a_time_in_order(store: Path, waiters: Waiters) -> None:
    names = [f"waiter-{number}" for number in range(5)]
    with _open(store) as satchel:
        satchel.files.claim(["a"], agent="first")
        for name in names:
            waiters.add(satchel, name)
        wished = satchel.files.release(agent="first").wished
        assert [(wish.agent, wish.waits) for wish in wished] == [(name, True) for name in names]
        for place, name in enumerate(names):
            assert waiters.read(name) == "got it"
            assert holders(satchel) == [name]
            assert waiting(satchel) == names[place + 1 :]
            waiters.tell(name)
            assert waiters.processes[name].wait() == 0
        assert holders(satchel) == []


def test_a_waiter_that_is_killed_is_forgotten_and_the_next_gets_it(store: Path, waiters: Waiters) -> None:
    with _open(store) as satchel:
        satchel.files.claim(["a"], agent="first")
        for name in ("killed", "next", "killed too"):
            waiters.add(satchel, name)
        for name in ("killed", "killed too"):
            waiters.kill(name)
        assert [wish.agent for wish in satchel.files.release(agent="first").wished] == ["next"]
        assert waiters.read("next") == "got it"
        assert holders(satchel) == ["next"]
        satchel.files.release(agent="next")
        satchel.files.claim(["a"], agent="first")
        waiters.add(satchel, "after")
        assert waiting(satchel) == ["after"], "the dead have left the store"


def test_a_waiter_that_is_killed_while_it_is_next_frees_the_way_though_nothing_is_written(
    store: Path, waiters: Waiters
) -> None:
    with _open(store) as satchel:
        satchel.files.claim(["a"], agent="first")
        waiters.add(satchel, "stopped")
        waiters.add(satchel, "next")
        waiters.processes["stopped"].send_signal(signal.SIGSTOP)
        satchel.files.release(agent="first")
        waiters.kill("stopped")
        assert waiters.read("next") == "got it"
        assert holders(satchel) == ["next"]


def test_fifty_agents_that_wait_for_one_file_get_it_one_after_another(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as a thread with a connection of its own."""
    monkeypatch.setattr(projects, "MAX_WAIT_SECONDS", 600)
    took: list[str] = []

    def take(number: int) -> None:
        with open_satchel(store, "p", f"agent-{number}", cwd=store.parent, environ={}) as satchel:
            satchel.files.claim(["a"], wait_seconds=600)
            took.append(f"agent-{number}")
            assert holders(satchel) == [f"agent-{number}"]
            satchel.files.release(["a"])

    with _open(store) as satchel, ThreadPoolExecutor(50) as pool:
        satchel.files.claim(["a"], agent="first")
        working = [pool.submit(take, number) for number in range(50)]
        until(lambda: len(waiting(satchel)) == 50)
        order = waiting(satchel)
        satchel.files.release(agent="first")
        for one in working:
            one.result()
        assert took == order
        assert (holders(satchel), waiting(satchel)) == ([], [])

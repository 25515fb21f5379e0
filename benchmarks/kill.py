"""A writer killed in the middle of its work, again and again: is anything lost that was acknowledged?"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.content import notes, open_store
from benchmarks.harness import ROOT, Bench, Figure, Section
from satchel.client import Satchel

_LONGEST_LIFE_SECONDS = 0.06
_NOTES = 2_000


def run(bench: Bench) -> Section:
    """Kill one writer after the other at a random moment after its first write, and look for what each had written."""
    rounds = bench.choose(200, 20)
    chance = random.Random("kill")
    file = bench.folder / "store.db"
    with open_store(file) as satchel:
        acknowledged = lost = 0
        recovery: list[float] = []
        for number in range(rounds):
            bench.progress.say(f"killing a writer, {number + 1} of {rounds}")
            uids = _write_and_kill(file, chance.uniform(0, _LONGEST_LIFE_SECONDS))
            started = time.perf_counter()
            satchel.entries.write("discovery", f"after kill {number}", agent="survivor")
            recovery.append((time.perf_counter() - started) * 1_000)
            acknowledged += len(uids)
            lost += len(uids - _kept(satchel, uids))
        failed = [check.name for check in satchel.housekeeping.doctor() if check.status == "failed"]
        survivors = satchel.entries.read(author="survivor", limit=0).total
    return Section(
        "Killing a writer",
        (
            Figure(f"acknowledged writes lost, of {acknowledged:,} in {rounds} kills", lost, at_most=0),
            Figure("writes after a kill lost", rounds - survivors, at_most=0),
            Figure("checks of the store that fail afterwards (`satchel doctor`)", len(failed), at_most=0),
            Figure("slowest first write of another process after a kill", max(recovery), "ms"),
        ),
        (
            "SIGKILL strikes a process that writes without a pause, 0 to "
            f"{_LONGEST_LIFE_SECONDS * 1_000:.0f} ms after its first acknowledged write.",
        ),
    )


def _write_and_kill(file: Path, life_seconds: float) -> set[str]:
    """Return the uids that the writer had acknowledged when it was killed."""
    command = [sys.executable, "-m", "benchmarks.kill", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(life_seconds)
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read()
    if writer.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the writer left by itself with status {writer.returncode}")
    # a line that the kill cut short acknowledges nothing
    return {line.decode() for line in (first + rest).split(b"\n")[:-1]}


def _kept(satchel: Satchel, uids: set[str]) -> set[str]:
    with satchel.workplace.engine.read() as transaction:
        return {
            uid
            for uid in uids
            if transaction.one("SELECT 1 FROM context WHERE uid = :uid", {"uid": bytes.fromhex(uid)}) is not None
        }


def _write_until_killed(file: Path) -> None:
    with open_store(file) as satchel:
        for note in notes(_NOTES) * 50:
            entry = satchel.entries.write(note.type, note.content, task_id=note.task_id, loop_id=note.loop_id)
            os.write(1, f"{entry.uid}\n".encode())


if __name__ == "__main__":
    _write_until_killed(Path(sys.argv[1]))

"""The largest bodies that a token may send to a server, and how long another token waits meanwhile."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from pathlib import Path

from benchmarks.content import notes, open_filled
from benchmarks.harness import Bench, Figure, Section
from benchmarks.serving import ServedStore
from satchel.interfaces.http.bodies import MAX_VALUES
from satchel.interfaces.http.settings import Settings

_BYTES = Settings().body_bytes
_BODIES, _RATIO = 15, 3.0
_PAUSE_SECONDS = 0.02


def run(bench: Bench) -> Section:
    """Read with one token, alone and while another sends 15 of the largest bodies in 20 s."""
    seconds = bench.choose(20, 4)
    folder = bench.folder.resolve()
    file = folder / "held.db"
    open_filled(file, notes(200)).close()
    with ServedStore(file, folder) as served:
        reader, sender = served.token(), served.token()
        _reads(served.port, reader, 1)
        idle = _reads(served.port, reader, seconds / 2)
        sending = threading.Thread(target=_send, args=(served.port, sender, seconds / _BODIES))
        sending.start()
        busy = _reads(served.port, reader, seconds)
        sending.join()
        peak = _peak_mb(served.process.pid)
    alone, beside = statistics.median(idle), statistics.median(busy)
    return Section(
        "Large bodies",
        (
            Figure("median read beside them", beside, "ms", None, alone, "the same alone", ratio_at_most=_RATIO),
            Figure("longest read beside them", max(busy), "ms", None, max(idle), "the same alone"),
            Figure("most memory of the server", peak, "MB"),
        ),
        (
            f"{_BODIES} bodies of {_BYTES >> 20} MiB in {seconds} s: a long text, nearly {MAX_VALUES:,} values, and as "
            "many values as fit, in turn.",
        ),
    )


def _bodies() -> list[bytes]:
    text = "y" * (_BYTES // MAX_VALUES - 8)
    return [
        json.dumps({"query": "x" * (_BYTES - 20)}).encode(),
        json.dumps({"types": [text] * (MAX_VALUES - 10)}).encode(),
        b'{"types":[' + b"1," * (_BYTES // 2 - 10) + b"1]}",
    ]


def _send(port: int, token: str, every: float) -> None:
    bodies = _bodies()
    for number in range(_BODIES):
        began = time.monotonic()
        _post(http.client.HTTPConnection("127.0.0.1", port), token, bodies[number % len(bodies)])
        time.sleep(max(0.0, every - (time.monotonic() - began)))


def _reads(port: int, token: str, seconds: float) -> list[float]:
    took = []
    connection = http.client.HTTPConnection("127.0.0.1", port)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        assert _post(connection, token, b'{"limit":5}') == 200
        took.append((time.perf_counter() - began) * 1_000)
        time.sleep(_PAUSE_SECONDS)
    return took


def _post(connection: http.client.HTTPConnection, token: str, body: bytes) -> int:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/read_context", body, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

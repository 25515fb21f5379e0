"""Measure Satchel beside other memory servers in one run, over stdio, as their clients use them.

python scripts/measure_peers.py FOLDER [NAME...]

FOLDER holds the installed peers: environments ``basic-memory`` and ``mcp-memory-service``, and ``npm`` with
``@modelcontextprotocol/server-memory``. Prints one line of JSON for each server. Satchel is the one on the path.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.content import notes

Json = dict[str, Any]

HELD = 1_000
FILL_SECONDS = 60
ROUNDS = 40
STARTS = 5
CLIENTS = 4
WRITES_OF_EACH = 50
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"


@dataclass(frozen=True)
class Peer:
    """A server, and what it calls the three things that all of them do.

    Attributes:
        write: the tool and its arguments that keep a text under a name.
        search: the tool and its arguments that find up to ten.
        exactly: what search needs besides to find a word as it stands.
    """

    name: str
    command: Callable[[Path], Sequence[str | Path]]
    write: Callable[[str, str], tuple[str, Json]]
    search: Callable[[str], tuple[str, Json]]
    environment: Callable[[Path], Mapping[str, str]] = lambda _: {}
    exactly: Mapping[str, str] = field(default_factory=dict)

    def find(self, word: str) -> tuple[str, Json]:
        """Return the tool and its arguments that find a word as it stands."""
        tool, arguments = self.search(word)
        return tool, {**arguments, **self.exactly}


PEERS = (
    Peer(
        "satchel",
        lambda _: ["satchel", "mcp"],
        lambda _, text: ("write_context", {"type": "discovery", "content": text}),
        lambda words: ("search", {"query": words, "limit": 10}),
    ),
    Peer(
        "server-memory",
        lambda folder: ["node", folder / "npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js"],
        lambda name, text: (
            "create_entities",
            {"entities": [{"name": name, "entityType": "note", "observations": [text]}]},
        ),
        lambda words: ("search_nodes", {"query": words}),
        lambda home: {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
    ),
    Peer(
        "mcp-memory-service",
        lambda folder: [folder / "mcp-memory-service/bin/memory", "server"],
        lambda _, text: ("memory_store", {"content": text}),
        lambda words: ("memory_search", {"query": words, "limit": 10}),
        lambda home: {
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_SQLITE_PATH": str(home / "memory.db"),
            "HF_HUB_OFFLINE": "1",
        },
        {"mode": "exact"},
    ),
    Peer(
        "basic-memory",
        lambda folder: [folder / "basic-memory/bin/basic-memory", "mcp"],
        lambda name, text: ("write_note", {"title": name, "directory": "notes", "content": text}),
        lambda words: ("search_notes", {"query": words, "page_size": 10}),
        lambda _: {"HF_HUB_OFFLINE": "1", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
    ),
)


class Client:
    """One server process with its handshake done."""

    def __init__(self, peer: Peer, folder: Path, home: Path) -> None:
        self.peer = peer
        self.started = time.perf_counter()
        project = home / "project"
        (project / ".git").mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            list(map(str, peer.command(folder))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **peer.environment(home)},
        )
        self._last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "measure", "version": "1"}}
        self.server = self.ask("initialize", hello)["serverInfo"]
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Json) -> Json:
        """Send a request and return its result."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer: Json = json.loads(line)
            if answer.get("id") == self._last and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{self.peer.name}: {answer['error']}")
                result: Json = answer["result"]
                return result
        raise RuntimeError(f"{self.peer.name} left")

    def call(self, tool: str, arguments: Json) -> str:
        """Call a tool and return its text; an error that it answers ends the measurement."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise RuntimeError(f"{self.peer.name} {tool}: {text[:300]}")
        return text

    def resident_mb(self) -> float:
        """Return the resident memory of the process and its children."""
        import psutil

        root = psutil.Process(self.process.pid)
        return float(sum(one.memory_info().rss for one in [root, *root.children(recursive=True)])) / 1e6

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def _bytes_in(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file() and ".log" not in path.name)


def measure(peer: Peer, folder: Path, home: Path) -> Json:
    """Measure one server in a home of its own.

    Returns:
        What was measured; times are medians in milliseconds, but that of starting is the fastest of a few.
    """
    from satchel.base.tokens import token_counter

    texts = [note.content for note in notes(HELD + 3 * ROUNDS + CLIENTS * WRITES_OF_EACH, "peers")]
    left = list(enumerate(texts))
    if peer.name == "satchel":
        with Client(peer, folder, home):
            pass
        subprocess.run(["satchel", "init"], cwd=home / "project", env=_plain(home), check=True, capture_output=True)

    def write(client: Client) -> None:
        number, text = left.pop(0)
        client.call(*peer.write(f"note {number}", f"{text} [{number}]"))

    starts = []
    for number in range(STARTS):
        with Client(peer, folder, home) as client:
            client.call(*peer.search(f"first {number}"))
            starts.append((time.perf_counter() - client.started) * 1e3)
    empty = _bytes_in(home)
    with Client(peer, folder, home) as client:
        listed = [
            {name: tool.get(name) for name in ("name", "description", "inputSchema")}
            for tool in client.ask("tools/list", {})["tools"]
        ]
        until = time.perf_counter() + FILL_SECONDS
        while len(texts) - len(left) < HELD and time.perf_counter() < until:
            write(client)
        held = len(texts) - len(left)
        writes = [_milliseconds(lambda: write(client)) for _ in range(ROUNDS)]
        words = [" ".join(text.split()[:3]) for text in texts[:ROUNDS]]
        searches = [_milliseconds(lambda one=one: client.call(*peer.search(one))) for one in words]  # type: ignore[misc]
        memory = client.resident_mb()
        version = client.server["version"]
        client.call(*peer.write("token", f"the deploy token is {TOKEN}"))
    size = (_bytes_in(home) - empty) / (held + ROUNDS)
    return {
        "name": peer.name,
        "says version": version,
        "start to first answer, fastest": round(min(starts)),
        "resident MB": round(memory),
        "tools": len(listed),
        "tokens of the listing": token_counter("o200k_base").count(json.dumps(listed, separators=(",", ":"))),
        "held": held,
        "write": round(statistics.median(writes), 1),
        "search 10": round(statistics.median(searches), 1),
        "bytes a note": round(size),
        "holds the token": any(TOKEN.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file()),
        **_together(peer, folder, home, texts[-CLIENTS * WRITES_OF_EACH :]),
    }


def _together(peer: Peer, folder: Path, home: Path, texts: Sequence[str]) -> Json:
    """Write by several servers at once, then look for every note by a word that it alone has."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = list(pool.map(lambda _: Client(peer, folder, home), range(CLIENTS)))

        def work(number: int) -> list[str]:
            refused = []
            for at in range(WRITES_OF_EACH):
                text = texts[number * WRITES_OF_EACH + at]
                try:
                    clients[number].call(*peer.write(f"both {number} {at}", f"{text} unique{number}x{at}"))
                except RuntimeError as error:
                    refused.append(str(error))
            return refused

        start = time.perf_counter()
        refused = [error for errors in pool.map(work, range(CLIENTS)) for error in errors]
        seconds = time.perf_counter() - start
        for client in clients:
            client.__exit__(None, None, None)
    with Client(peer, folder, home) as client:

        def is_found(number: int, at: int) -> bool:
            word = f"unique{number}x{at}"
            answer = client.call(*peer.find(word))
            # a snippet, or the title where there are none; the word alone may be an echo of the query
            text = texts[number * WRITES_OF_EACH + at]
            return f"{text[-6:]} {word}" in answer or f"both {number} {at}\n" in answer

        lost = sum(not is_found(number, at) for number in range(CLIENTS) for at in range(WRITES_OF_EACH))
    return {
        "writes a second of four": round(CLIENTS * WRITES_OF_EACH / seconds),
        "refused": len(refused),
        "refused because": refused[0][:200] if refused else None,
        "not found": lost,
    }


def _plain(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def main() -> None:
    """Measure the servers that were named, or all."""
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    for peer in PEERS:
        if not names or peer.name in names:
            with tempfile.TemporaryDirectory(prefix="peers") as home:
                sys.stdout.write(json.dumps(measure(peer, folder, Path(home))) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The servers, how each is started, and a client that uses them over stdio as agents' clients do."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.content import notes

Json = dict[str, Any]

ANSWER_SECONDS = 120
_READER_SECONDS = 5

_TEXTS = [note.content for note in notes(500, "rivals")]


@dataclass(frozen=True)
class Rival:
    """A server, its pinned versions, and the names of the tools that all of them have.

    Attributes:
        older: an earlier release, which meets the stores of this one.
        kind: the registry it comes from, or "git" for a commit of this repository.
        base: the program, in the folder where it is installed.
        serve: the arguments that start the server.
        prepare: the arguments that make a store; empty where the server makes it.
        restore: the arguments that bring back a backup; empty where there is no such command.
        write: the tool and its arguments that store a text under a name.
        search: the tool and its arguments that find up to ten notes.
        exactly: what search needs besides to find a word as it stands.
        location: the environment that names the store, for a home and a folder.
        needs: what a Python that runs it can execute.
        in_project: whether the server keeps its store in the project by itself.
    """

    name: str
    version: str
    older: str
    kind: str
    package: str
    base: Callable[[Path], Sequence[str | Path]]
    write: Callable[[str, str], tuple[str, Json]]
    search: Callable[[str], tuple[str, Json]]
    serve: Sequence[str] = ()
    prepare: Sequence[str] = ()
    restore: Sequence[str] = ()
    location: Callable[[Path], Mapping[str, str]] = lambda _: {}
    environment: Mapping[str, str] = field(default_factory=dict)
    exactly: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    in_project: bool = False


def _satchel(folder: Path) -> Sequence[str | Path]:
    if (folder / "src").exists():
        return ["env", f"PYTHONPATH={folder / 'src'}", sys.executable, "-m", "satchel"]
    return [Path(sys.executable).with_name("satchel")]


RIVALS = (
    Rival(
        "satchel",
        "",
        "61e1b5c7",
        "git",
        "satchel",
        _satchel,
        lambda _, text: ("write_context", {"type": "discovery", "content": text}),
        lambda words: ("search", {"query": words, "limit": 10}),
        serve=("mcp",),
        prepare=("init",),
        restore=("restore", "--yes"),
        location=lambda folder: {"SATCHEL_DB": str(folder / "store.db"), "SATCHEL_PROJECT": "project"},
        in_project=True,
    ),
    Rival(
        "server-memory",
        "2026.8.31",
        "2025.11.25",
        "npm",
        "@modelcontextprotocol/server-memory",
        lambda folder: ["node", folder / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"],
        lambda name, text: (
            "create_entities",
            {"entities": [{"name": name, "entityType": "note", "observations": [text]}]},
        ),
        lambda words: ("search_nodes", {"query": words}),
        location=lambda folder: {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    ),
    Rival(
        "mcp-memory-service",
        "12.4.0",
        "11.7.0",
        "pip",
        "mcp-memory-service",
        lambda folder: [folder / "bin/memory"],
        lambda _, text: ("memory_store", {"content": text}),
        lambda words: ("memory_search", {"query": words, "limit": 10}),
        serve=("server",),
        location=lambda folder: {"MCP_MEMORY_SQLITE_PATH": str(folder / "memory.db")},
        environment={
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "1",
            "HF_HUB_OFFLINE": "1",
        },
        exactly={"mode": "exact"},
        needs="import sqlite3; sqlite3.Connection.enable_load_extension",
    ),
    Rival(
        "basic-memory",
        "0.24.1",
        "0.22.0",
        "pip",
        "basic-memory",
        lambda folder: [folder / "bin/basic-memory"],
        lambda name, text: ("write_note", {"title": name, "directory": "notes", "content": text}),
        lambda words: ("search_notes", {"query": words, "page_size": 10}),
        serve=("mcp",),
        location=lambda folder: {"BASIC_MEMORY_HOME": str(folder / "basic-memory")},
        environment={"HF_HUB_OFFLINE": "1", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
        needs="import sys; sys.exit(sys.version_info < (3, 12))",
    ),
)


class RefusedError(RuntimeError):
    """The server answered with an error."""


class GoneError(RuntimeError):
    """The server ended, or did not answer in time."""


@dataclass(frozen=True)
class Home:
    """A home folder with a project in it, in which a server of one rival keeps its store.

    Attributes:
        installed: where the rival is installed.
        location: the environment that names the store.
        prefix: a command that runs the server's, such as one that sets its clock.
    """

    rival: Rival
    installed: Path
    folder: Path
    location: Mapping[str, str]
    prefix: Sequence[str] = ()

    @classmethod
    def make(cls, rival: Rival, installed: Path, folder: Path, prefix: Sequence[str] = ()) -> Self:
        """Make the home in a folder, with the store beside the project or where the server puts it by itself."""
        project = folder / "project"
        project.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
        home = cls(rival, installed, folder, {} if rival.in_project else rival.location(folder), prefix)
        home.prepare()
        return home

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def environment(self) -> dict[str, str]:
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        return {**plain, **self.rival.environment, **self.location}

    def prepare(self) -> None:
        """Make the store, where the rival has a command for it."""
        if self.rival.prepare:
            self._run(self.rival.prepare).check_returncode()

    def restore(self) -> bool:
        """Bring back a backup as a person does; return whether that succeeded."""
        return self._run(self.rival.restore).returncode == 0

    def _run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        environment = {**self.environment, "SATCHEL_PERSON": "ann"}
        command = self.command(arguments)
        return subprocess.run(command, cwd=self.project, env=environment, capture_output=True, check=False)

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Return the command line of the rival's program with some arguments."""
        return [*self.prefix, *map(str, self.rival.base(self.installed)), *arguments]

    def files(self) -> list[Path]:
        """Return the files that the server wrote, logs aside."""
        git = self.project / ".git"
        every = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_relative_to(git / "objects"))
        return [path for path in every if ".log" not in path.name and git / "hooks" != path.parent]


class Client:
    """One server process with its handshake done."""

    def __init__(self, home: Home) -> None:
        self.rival = home.rival
        self.started = time.perf_counter()
        self.errors: list[str] = []
        self.process = subprocess.Popen(
            home.command(home.rival.serve),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home.project,
            env=home.environment,
            start_new_session=True,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._listen)]
        for reader in self._readers:
            reader.start()
        self._last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        try:
            self.server = self.ask("initialize", hello)["serverInfo"]
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except RuntimeError:
            self.kill()
            raise

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.errors.extend(line.decode(errors="replace") for line in lines)

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise GoneError(f"the server ended: {''.join(self.errors[-3:])[:300]}") from error

    def ask(self, method: str, params: Json) -> Json:
        """Send a request and return its result."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise GoneError(f"no answer to {method} in {ANSWER_SECONDS} s") from None
            if line is None:
                raise GoneError(f"the server ended: {''.join(self.errors[-3:])[:300]}")
            try:
                answer: Json = json.loads(line)
            except ValueError:
                continue  # a line that is no protocol
            if answer.get("id") == self._last and "method" not in answer:
                if "error" in answer:
                    raise RefusedError(str(answer["error"]))
                result: Json = answer["result"]
                return result

    def call(self, tool: str, arguments: Json) -> str:
        """Call a tool and return its text.

        Raises:
            RefusedError: it answered with an error.
        """
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result["content"])
        if result.get("isError") or text.startswith(("# Error", "Error")):
            raise RefusedError(text)
        return text

    def write(self, number: int) -> None:
        """Store the note of a number."""
        self.call(*self.rival.write(f"note pair{number:05}", note(number)))

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """Return the notes that searching for their own word does not bring, each by its number."""
        return [number for number in numbers if f"pair{number:05}" not in self._find(f"mark{number:05}")]

    def search(self, words: str) -> str:
        """Return the answer to a search for ten notes."""
        return self.call(*self.rival.search(words))

    def _find(self, word: str) -> str:
        tool, arguments = self.rival.search(word)
        return self.call(tool, {**arguments, **self.rival.exactly})

    def resident_mb(self) -> float:
        """Return the resident memory of the process and its children."""
        import psutil

        root = psutil.Process(self.process.pid)
        return float(sum(one.memory_info().rss for one in [root, *root.children(recursive=True)])) / 1e6

    def kill(self) -> None:
        """Kill the server and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join(_READER_SECONDS)
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, subprocess.TimeoutExpired):
            self.process.stdin.close()
            self.process.wait(20)
        self.kill()


def note(number: int) -> str:
    """Return the text of a note; no other holds its two last words, and only the first is ever searched for."""
    return f"{_TEXTS[number % len(_TEXTS)]} mark{number:05} pair{number:05}"

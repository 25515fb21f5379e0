"""Assistants on the command line: an installed client answers with its own account, reads only, and in time.

It works in a folder that holds the files to search one level below, where their configuration of clients, which can
name programs to start, does not count; and without Satchel's hooks and servers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from satchel.base.errors import AssistantFailed, Refused, Unavailable
from satchel.base.records import dataclass
from satchel.consult import FOLDER_PREFIX, MARK, is_consulted
from satchel.consult.models import Ask, Model, Reply, Timing
from satchel.consult.prompts import choose_mark, fenced
from satchel.consult.records import Exchange, Settings, raise_if_cancelled
from satchel.consult.sdk import empty, excerpt, nonsense
from satchel.consult.wire import Limits

_LOOK_SECONDS = 0.1
_LIST_SECONDS = 30
_FILES, _OUTSIDE = "files", "outside"
_SEARCHABLE = (
    f"Files that are listed as searchable lie below the folder {_FILES} of the current one, those with absolute paths "
    f"below {_OUTSIDE}: read and search them there, and name them as they are listed.\n"
)
_THREAD = "The messages of a conversation with you follow, and your answers to them. Answer the last message.\n"
# a client that is started by another one would refuse, or take itself for a part of it
_OF_PARENTS = ("SATCHEL_", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION")


@dataclass(frozen=True, slots=True)
class Client:
    """Command of a client that answers without a person: it reads the prompt from standard input."""

    arguments: Sequence[str]
    effort: Sequence[str] = ()
    answer: str | None = None


CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        (
            *("--print", "--output-format", "json", "--safe-mode", "--restricted", "--strict-mcp-config"),
            *("--no-session-persistence", "--tools", "Read,Grep,Glob"),
        ),
        ("--effort", "{effort}"),
        "result",
    ),
    "codex": Client(
        (
            *("exec", "--sandbox", "read-only", "--ephemeral", "--skip-git-repo-check", "--color", "never"),
            *("--disable", "hooks", "--disable", "plugins", "-o", "{answer}"),
        ),
        ("-c", 'model_reasoning_effort="{effort}"'),
    ),
    "gemini": Client(
        (
            *("--output-format", "json", "--approval-mode", "default", "--skip-trust"),
            *("--extensions", "none", "--allowed-mcp-server-names", "none"),
        ),
        answer="response",
    ),
}


class CommandLineAssistant:
    """A client that is installed on this machine."""

    keeps_history = False
    sweeper = None

    def __init__(self, model: Model, environ: Mapping[str, str], timing: Timing | None = None) -> None:
        program = find_program(model.name, environ)
        if program is None:
            raise Unavailable(f"{model.name} is not installed, or not in PATH", "Install it, or ask another model")
        self.name, self.window = model.full_name, model.window
        self.address = program
        self._client = CLIENTS[model.name]
        self.unsupported = frozenset({"temperature", "web_search", *(() if self._client.effort else ("effort",))})
        self._environ = {name: value for name, value in environ.items() if not name.startswith(_OF_PARENTS)}
        self._timing = timing or Timing()

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.models.Assistant`."""
        ask.on_progress(f"asking {self.name}")
        with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as name:
            folder = Path(name).resolve()
            (folder / "work").mkdir()
            for path, content in ask.searchable.items():
                file = folder / "work" / (_OUTSIDE if path.startswith("/") else _FILES) / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.text.encode("utf-8", "surrogatepass"))
            (folder / "prompt").write_bytes(_prompt(ask).encode("utf-8", "replace"))
            text, usage = self._answer(folder, self._run(folder, ask))
        if not text.strip():
            raise empty(self.name, is_cut=False)
        ask.on_text(text)
        return Reply(text, input_tokens=usage[0], output_tokens=usage[1])

    def _run(self, folder: Path, ask: Ask) -> bytes:
        limit = Limits.of(self.window.output).event
        out, err, answer = folder / "out", folder / "err", folder / "answer"
        command = [self.address, *_arguments(self._client, ask.settings, str(answer)), *self._without_servers(folder)]
        deadline = self._timing.clock() + self._timing.total
        with (folder / "prompt").open("rb") as prompt, out.open("wb") as stdout, err.open("wb") as stderr:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder / "work",
                    env=self._environ | {MARK: str(folder)},
                    stdin=prompt,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
            except OSError as error:
                raise Unavailable(f"{self.address} cannot be started: {error.strerror}", "Check the program") from None
            try:
                while True:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_LOOK_SECONDS)
                        break
                    ask.on_sign()
                    raise_if_cancelled(ask.is_cancelled)
                    if self._timing.clock() > deadline:
                        raise AssistantFailed(
                            f"{self.name} was not done within {self._timing.total:g} seconds",
                            "It may have waited for an answer; ask for less, or configure a higher "
                            "consult.total_seconds",
                            reason="timed_out",
                        )
                    if any(one.exists() and one.stat().st_size > limit for one in (out, err, answer)):
                        raise AssistantFailed(f"{self.name} printed more than {limit:,} bytes", reason="too_much")
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            output = excerpt(_last(err, limit) or _last(out, limit))
            raise AssistantFailed(
                f"{self.name} ended with status {process.returncode}: {output}",
                f"Run `{Path(self.address).name}` yourself: it may have to be signed in or updated",
                reason="failing",
            )
        return out.read_bytes()[: limit + 1]

    def _without_servers(self, folder: Path) -> list[str]:
        if self._client.answer is not None:
            return []
        command = [self.address, "mcp", "list", "--json"]
        try:
            listing = subprocess.run(
                command,
                cwd=folder / "work",
                env=self._environ | {MARK: str(folder)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIST_SECONDS,
                check=True,
            )
            names = [server["name"] for server in json.loads(listing.stdout)]
        except (OSError, subprocess.SubprocessError, ValueError, TypeError, LookupError) as error:
            problem = f"{self.name} does not list its MCP servers, so none can be kept out: {excerpt(error)}"
            raise Unavailable(problem, f"Run `{' '.join(['codex', *command[1:]])}` yourself") from None
        if odd := [name for name in names if not re.fullmatch(r"[\w-]+", name)]:
            raise Unavailable(f"{self.name} has an MCP server {odd[0]!r}, which cannot be kept out", "Rename it")
        return [part for name in names for part in ("-c", f"mcp_servers.{name}.enabled=false")]

    def _answer(self, folder: Path, printed: bytes) -> tuple[str, tuple[int | None, int | None]]:
        if self._client.answer is None:
            file = folder / "answer"
            return file.read_text("utf-8", "replace") if file.exists() else "", (None, None)
        try:
            answer = json.loads(printed[printed.index(b"{") :])
            text = answer[self._client.answer]
            if not isinstance(text, str) or answer.get("is_error"):
                raise ValueError(text)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise nonsense(self.name, error) from error
        usage = answer.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        taken = sum(_count(counts, f"{way}input_tokens") for way in ("", "cache_read_", "cache_creation_"))
        return text, (taken or None, _count(counts, "output_tokens") or None)


def check_not_consulted(environ: Mapping[str, str]) -> None:
    """Refuse a question from within a client that answers one."""
    if is_consulted(environ):
        raise Refused("a client that is consulted asks no other model", "Answer with what you have")


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a client's program; one in a relative folder of PATH does not count."""
    path = os.pathsep.join(one for one in environ.get("PATH", "").split(os.pathsep) if Path(one).is_absolute())
    return shutil.which(name, path=path) if path else None


def _arguments(client: Client, settings: Settings, answer: str) -> list[str]:
    more = [one.format(effort=settings.effort) for one in client.effort] if settings.effort else []
    return [answer if one == "{answer}" else one for one in client.arguments] + more


def _prompt(ask: Ask) -> str:
    after = _SEARCHABLE if ask.searchable else ""
    if not ask.history:
        return ask.prompt + after
    turns = [*ask.history, Exchange(ask.prompt, "")]
    mark = choose_mark((), [text for turn in turns for text in (turn.prompt, turn.answer)])
    parts = [fenced("message", mark, turn.prompt) + fenced("answer", mark, turn.answer) for turn in ask.history]
    return "".join([_THREAD, *parts, fenced("message", mark, ask.prompt), after])


def _last(file: Path, most: int) -> str:
    return file.read_bytes()[-min(most, 2_000) :].decode("utf-8", "replace").strip()


def _count(counts: Mapping[str, Any], name: str) -> int:
    count = counts.get(name)
    return count if isinstance(count, int) and count > 0 else 0

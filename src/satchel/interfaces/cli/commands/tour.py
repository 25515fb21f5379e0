"""``satchel tour``: two agents of one run share a memory over a real git history."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Self

import click

from satchel import __version__
from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import dataclass
from satchel.interfaces.cli.common import json_option, show_json
from satchel.keep.sessions.clients import CLIENTS, client_named

_PROTOCOL = "2026-07-28"
_META = "io.modelcontextprotocol/"
_SECONDS = 60.0


class ToolClient:
    """An agent's connection to its own server process, as a context manager."""

    def __init__(
        self, arguments: Sequence[str], environ: Mapping[str, str], name: str, folder: Path | None = None
    ) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "satchel", *arguments]
        self._environ = environ
        self._folder = folder
        self._last_id = 0

    def __enter__(self) -> Self:
        # in its own session, so that Ctrl-C reaches only this process, which then ends the server cleanly
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._folder,
            env=self._environ,
            encoding="utf-8",
            start_new_session=True,
        )
        return self

    def __exit__(self, *_error: object) -> None:
        with self._process as process:
            try:
                process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def call(self, tool: str, arguments: Mapping[str, object], *, refused: bool = False) -> str:
        result = self._request("tools/call", {"name": tool, "arguments": dict(arguments)})
        text = "\n".join(str(block["text"]) for block in result["content"])
        if result.get("isError", False) is not refused:
            raise SatchelError(f"the server {'allowed' if refused else 'refused'} {tool}: {text}")
        return text

    def _request(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._last_id += 1
        meta = {
            f"{_META}protocolVersion": _PROTOCOL,
            f"{_META}clientInfo": {"name": self.name, "version": __version__},
            f"{_META}clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, "_meta": meta}}
        timer = threading.Timer(_SECONDS, self._process.kill)  # reading a pipe blocks until the server ends
        timer.start()
        try:
            stdin.write(json.dumps(body) + "\n")
            stdin.flush()
            for line in stdout:
                message = json.loads(line)
                if message.get("id") == self._last_id:
                    return dict(message["result"])
        except (OSError, ValueError, KeyError) as error:
            raise SatchelError(f"the tour's server did not answer {method}: {error!r}") from error
        finally:
            timer.cancel()
        raise SatchelError(f"the tour's server ended before it answered {method}")


# What a hook may take here, where nobody waits for it and the machine may be busy.
_MILLISECONDS = "20000"

_OF_CLIENTS = frozenset(
    ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_ENV_FILE", *(one.id_variable for one in CLIENTS)]
).union(*(one.markers for one in CLIENTS))
_PATCH = "*** Begin Patch\n*** Update File: {file}\n@@\n-before\n+after\n*** End Patch\n"


class HookSession:
    """A client session: each event starts ``satchel hook`` as the client does, and each command a process.

    The user's own configuration is ignored.
    """

    def __init__(self, client: str, folder: Path, where: Mapping[str, str], home: Path) -> None:
        record = client_named(client)
        assert record is not None
        assert record.id_variable is not None
        self.client = client
        self._folder = folder
        self._id = f"tour-{client}"
        self._numbers = count(1)
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        self._environ = {name: value for name, value in ours.items() if name not in _OF_CLIENTS} | {
            record.id_variable: self._id,
            "SATCHEL_HOOKS_DEADLINE_MS": _MILLISECONDS,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            **where,
        }

    def begin(self) -> None:
        self._send("SessionStart", source="startup")

    def edit(self, file: str) -> tuple[bool, str]:
        """Edit a file with the client's own tool, unless the hook denies it."""
        used = self._use_of_tool(file)
        output = self._send("PreToolUse", **used)
        if output.get("permissionDecision") == "deny":
            return False, str(output.get("permissionDecisionReason"))
        path = self._folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"edited by {self.client}\n")
        self._send("PostToolUse", **used, tool_response={"success": True})
        return True, str(output.get("additionalContext", ""))

    def run(self, *arguments: str) -> str:
        """Run a Satchel command in the agent's shell and return its output."""
        done = self._run(arguments, b"")
        if done.returncode:
            raise SatchelError(f"satchel {' '.join(arguments)} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode().strip()

    def _use_of_tool(self, file: str) -> dict[str, object]:
        number = f"{self._id}-{next(self._numbers)}"
        if self.client == "codex":
            patch = _PATCH.format(file=file)
            return {"tool_name": "apply_patch", "tool_use_id": number, "tool_input": {"command": patch}}
        edit = {"file_path": str(self._folder / file), "old_string": "before", "new_string": "after"}
        return {"tool_name": "Edit", "tool_use_id": number, "tool_input": edit}

    def _send(self, event: str, **fields: object) -> dict[str, Any]:
        message = {"hook_event_name": event, "session_id": self._id, "cwd": str(self._folder), **fields}
        done = self._run(("hook", self.client, event), json.dumps(message).encode())
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        output: dict[str, Any] = answer.get("hookSpecificOutput", {})
        return output

    def _run(self, arguments: tuple[str, ...], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "satchel", *arguments],
            check=False,
            input=stdin,
            cwd=self._folder,
            env=self._environ,
            capture_output=True,
            timeout=_SECONDS,
        )


KEY = "test_timeout_seconds"
BUDGET = 300

_NOTES = (
    "The report adds up the second column of each export; exports have no header",
    "Shops send their exports at night, so sold.csv is complete only after 06:00",
    "Prices are kept as integers in cents, because floats lost a cent in March",
)
_QUESTION = "why are prices integers"
_RULE = "Every fix comes with a test that failed before it"
_SOLD, _RETURNED = "sold.csv", "returned.csv"
_EXPORTS = {_SOLD: "Café Zoë;12\nMüller;7\n", _RETURNED: "Señor Núñez;3\nCafé Zoë;2\n"}
_ENCODING = "cp1252"
_USUAL = "utf-8"
_PROGRAM = (
    "import csv; print(sum(int(row[1]) for row in csv.reader(open({file!r}, encoding={encoding!r}), delimiter=';')))"
)
_FIX = f"The shop's exports need encoding='{_ENCODING}', not {_USUAL}"


@dataclass(frozen=True, slots=True)
class Act:
    """A step of an agent, and its result."""

    agent: str
    action: str
    answer: str


def share(builder: ToolClient, reviewer: ToolClient) -> Iterator[Act]:
    """Write notes as one agent, and find one of them as another."""
    notes = [{"type": "discovery", "content": note} for note in _NOTES]
    yield _act(builder, f"writes {len(notes)} notes", "write_context", {"entries": notes})
    yield (answer := _act(reviewer, f"asks: {_QUESTION}", "search", {"query": _QUESTION, "limit": 1}))
    if "floats lost a cent" not in answer.answer:
        raise SatchelError("the reviewer did not find the builder's note")


def work_as_team(builder: ToolClient, reviewer: ToolClient, file: str) -> Iterator[Act]:
    """Play two agents that decide, agree on a rule, and exchange messages about a file."""
    for agent, value, why in (
        (builder, 60, "the slowest test needs it"),
        (reviewer, 30, "slow tests hide hangs"),
        (builder, 45, "the slowest real test takes 38 s"),
    ):
        decision = {"key": KEY, "value": value, "tags": ["testing"], "rationale": why}
        yield _act(agent, f"decides that {KEY} is {value}: {why}", "set_decision", decision)
    yield _act(reviewer, "asks how it came to that", "get_items", {"ids": [f"decision:{KEY}"]})
    rule = {"text": _RULE, "priority": "high", "tags": ["testing"]}
    yield _act(builder, f"lays down a rule: {_RULE}", "add_constraint", rule)
    request = f"I am about to rewrite {file}: please review it then"
    message = {"to": reviewer.name, "type": "request", "priority": "critical", "message": request}
    yield _act(builder, f"sends a critical message to the {reviewer.name}", "send_message", message)
    action = "asks for the rules, and sees that it has an unread message"
    yield _act(reviewer, action, "get_constraints", {"tags": ["testing"]})
    yield _act(reviewer, "lists its messages", "get_messages", {})


def keep_apart(first: HookSession, second: HookSession, file: str) -> Iterator[Act]:
    """Play two client sessions that edit one file, coordinated only by their hooks."""
    first.begin()
    second.begin()
    _edit(first, file, goes_through=True)
    action = f"edits {file}: its hook says nothing, and claims the file for the session"
    yield Act(first.client, action, "")
    hint = _edit(second, file, goes_through=True)
    if not hint:
        raise SatchelError(f"{second.client} was not told that {first.client} edits {file}")
    yield Act(second.client, "edits it too: its hook lets the edit through, and the agent reads", hint)
    claimed = first.run("file", "claim", file, "--why", "rewriting it")
    yield Act(first.client, f'claims it: satchel file claim {file} --why "rewriting it"', claimed)
    reason = _edit(second, file, goes_through=False)
    yield Act(second.client, "goes on to edit it: its hook stops the edit, and the agent reads why", reason)


def _edit(session: HookSession, file: str, *, goes_through: bool) -> str:
    went_through, message = session.edit(file)
    if went_through != goes_through:
        raise SatchelError(f"an edit of {file} by {session.client} was {'let through' if went_through else 'stopped'}")
    return message


def learn(first: ToolClient, second: ToolClient, folder: Path) -> Iterator[Act]:
    """Play an agent that reports an error and its fix, and another that is briefed with it.

    The failure is real: a program reads a file in the wrong encoding. The second agent takes the right one from its
    briefing.
    """
    for name, text in _EXPORTS.items():
        (folder / name).write_bytes(text.encode(_ENCODING))
    done = _add_up(folder, _SOLD, _USUAL)
    error = done.stderr.rstrip().rpartition("\n")[2]
    error_type, separator, message = error.partition(": ")
    if not done.returncode or not separator:
        raise SatchelError(f"{_SOLD} was read as {_USUAL} without an error")
    yield Act(first.name, f"adds up {_SOLD}, which a shop exported, and fails", error)
    report = {"error_type": error_type, "message": message, "stack": done.stderr, "lang": "python"}
    yield (reported := _act(first, "reports the error, with its traceback", "report_error", report))
    action = f"tries another encoding, {_ENCODING}, and has its answer"
    yield Act(first.name, action, _total(folder, _SOLD, _ENCODING))
    solved = {"id": reported.answer.split()[0], "solution": _FIX}
    yield (recorded := _act(first, f"records what fixed it: {_FIX}", "report_outcome", solved))
    query = f"add up {_RETURNED}, which the shop exported"
    request = {"role": "qa_expert", "task_id": "returns", "query": query, "budget": BUDGET}
    action = f"is to {query}, and begins with a briefing of at most {BUDGET} tokens"
    yield (briefing := _act(second, action, "get_briefing", request))
    warned = re.search(r"encoding='([\w-]+)'", briefing.answer)
    if warned is None:
        raise SatchelError("the briefing did not warn of the error that was solved")
    action = f"opens its file with {warned[1]} at once, and has its answer"
    yield Act(second.name, action, _total(folder, _RETURNED, warned[1]))
    action = "reports that the fix helped, which raises its confidence for the next agent"
    yield _act(second, action, "report_outcome", {"id": recorded.answer.split()[1]})


def _act(agent: ToolClient, action: str, tool: str, arguments: Mapping[str, object]) -> Act:
    return Act(agent.name, action, agent.call(tool, arguments))


def _total(folder: Path, file: str, encoding: str) -> str:
    done = _add_up(folder, file, encoding)
    if done.returncode:
        raise SatchelError(f"{file} could not be read as {encoding}: {done.stderr}")
    return done.stdout.strip()


def _add_up(folder: Path, file: str, encoding: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", _PROGRAM.format(file=file, encoding=encoding)]
    return subprocess.run(
        command, check=False, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", timeout=30
    )


_COLOURS = {"builder": "cyan", "reviewer": "magenta", "codex": "green", "claude": "yellow"}
_FILE = "src/report.py"
_PROJECT = "tour"
_WRAPPER = textwrap.TextWrapper(100, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False)


@dataclass(frozen=True, slots=True)
class TourResult:
    """The result of the tour."""

    share: tuple[Act, ...]
    team: tuple[Act, ...]
    apart: tuple[Act, ...]
    lesson: tuple[Act, ...]
    seconds: float
    store: Path | None


def guide(keep: Path | None, say: Callable[[str], None]) -> TourResult:
    started = time.monotonic()
    if keep is not None and keep.exists():
        raise InvalidInput(f"{keep} exists already", "Name a new file for the tour's store")

    def play(number: int, title: str, scene: Iterable[Act]) -> tuple[Act, ...]:
        say(click.style(f"{number}. {title}", bold=True))
        acts: list[Act] = []
        for act in scene:
            acts.append(act)
            say(f"   {click.style(f'{act.agent}: ', fg=_COLOURS[act.agent])}{act.action}")
            for line in act.answer.splitlines():
                say(_WRAPPER.fill(line))
        return tuple(acts)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-tour-")))
        store = (keep or folder / "tour.db").absolute()
        work = folder / "work"  # not the user's project, whose shared texts and files are no part of the tour
        (work / ".git").mkdir(parents=True)  # makes this the root of paths, as in a repository
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        where = {"SATCHEL_DB": str(store), "SATCHEL_PROJECT": _PROJECT}
        say("Two agents start. Each has its own MCP server; both servers use one temporary store.")
        builder, reviewer = (
            stack.enter_context(ToolClient(["mcp", "--agent", name, "--toolsets", "all"], environ | where, name, work))
            for name in ("builder", "reviewer")
        )
        codex, claude = (HookSession(name, work, where, folder / "home") for name in ("codex", "claude"))
        result = TourResult(
            play(1, "One writes what it learned, the other finds it in its own words.", share(builder, reviewer)),
            play(2, "They decide, agree on a rule, and write to each other.", work_as_team(builder, reviewer, _FILE)),
            play(3, "Two clients edit one file; their hooks keep them apart.", keep_apart(codex, claude, _FILE)),
            play(4, "One fails; the other is warned before it fails the same way.", learn(builder, reviewer, folder)),
            round(time.monotonic() - started, 1),
            keep and store,
        )
    say(f"It took {result.seconds:.0f} s.")
    if keep:
        say(f"The store is kept: satchel read --db {store} --project {_PROJECT}")
    say("Now your own project: `satchel setup` connects your coding clients.")
    return result


@click.command()
@click.option("--keep", metavar="FILE", type=click.Path(path_type=Path), help="Keep the tour's store in this new file.")
@json_option
def tour_command(keep: Path | None, as_json: bool) -> None:
    """Watch two agents share a memory: real servers and hooks over a temporary store, in a few seconds.

    One agent writes notes and the other finds them; they decide, agree on a rule and send messages; hooks keep two
    clients from editing one file; one agent fails, and the other is warned before it fails the same way. Your own
    store is not touched.

    \b
    Examples:
      satchel tour
      satchel tour --keep tour.db
    """

    result = guide(keep, (lambda _: None) if as_json else click.echo)
    if as_json:
        show_json(result)

"""Scenes of the tour: sharing notes, team work, claims enforced by hooks, and learning from an error."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.interfaces.cli.tour.client import ToolClient
from satchel.interfaces.cli.tour.sessions import HookSession

KEY = "test_timeout_seconds"
BUDGET = 300
"""Tokens of the second agent's briefing."""

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
    yield _act(reviewer, "reads what is unread", "get_messages", {"unread": True})


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
    went_through, said = session.edit(file)
    if went_through != goes_through:
        raise SatchelError(f"an edit of {file} by {session.client} was {'let through' if went_through else 'stopped'}")
    return said


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
    met = {"error_type": error_type, "message": message, "stack": done.stderr, "lang": "python"}
    yield (reported := _act(first, "reports the error, with its traceback", "report_error", met))
    action = f"tries another encoding, {_ENCODING}, and has its answer"
    yield Act(first.name, action, _total(folder, _SOLD, _ENCODING))
    solved = {"id": reported.answer.split()[0], "solution": _FIX}
    yield (recorded := _act(first, f"records what fixed it: {_FIX}", "report_outcome", solved))
    query = f"add up {_RETURNED}, which the shop exported"
    asked = {"role": "qa_expert", "task_id": "returns", "query": query, "budget": BUDGET}
    action = f"is to {query}, and begins with a briefing of at most {BUDGET} tokens"
    yield (briefing := _act(second, action, "get_briefing", asked))
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

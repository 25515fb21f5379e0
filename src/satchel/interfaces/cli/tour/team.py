"""The part of the tour where two agents work as a team: they decide, agree on a rule, keep off each other's file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from satchel.base.errors import InvalidInput, SatchelError
from satchel.interfaces.cli.tour.client import ToolClient, must_call
from satchel.interfaces.cli.tour.history import History
from satchel.keep.files.paths import check_path

Say = Callable[[str, str, str], None]
"""Says who did what, and what came back."""

KEY = "test_timeout_seconds"
_RULE = "Every fix comes with a test that failed before it"
_FALLBACK_FILE = "README.md"


@dataclass(frozen=True, slots=True)
class Member:
    """One agent: its name, and the server it talks to."""

    name: str
    server: ToolClient


@dataclass(frozen=True, slots=True)
class TeamResult:
    """What happened while they worked as a team.

    Attributes:
        decision: the decision that was changed twice.
        values: what it was, the oldest first; the last one is what it is.
        constraint: the rule that one of them laid down, as the other read it.
        file: the file that one of them claimed.
        refused: what the other got when it wanted the same file.
        notice: the line that told it of a message when it asked for something else.
        message: the message, as it read it, with what told it that its decision was changed.
    """

    decision: str
    values: tuple[float, ...]
    constraint: str
    file: str
    refused: str
    notice: str
    message: str


def busiest_file(history: History) -> str:
    """Return the tracked file that most commits changed, of those that can be claimed by their name."""
    tracked = frozenset(history.tracked_files)
    counts = Counter(file for commit in history.commits for file in commit.files if file in tracked)
    return next((file for file, _ in counts.most_common() if _is_claimable(file)), _FALLBACK_FILE)


def _is_claimable(file: str) -> bool:
    try:
        return check_path(file, None) == file
    except InvalidInput:
        return False


def work_as_team(builder: Member, reviewer: Member, file: str, say: Say) -> TeamResult:
    """Let two agents decide, agree and coordinate over one store.

    Args:
        builder, reviewer: their names and servers, which serve all toolsets.
        file: the file that both want.
        say: told each step.

    Raises:
        SatchelError: a server refused what it should have done, or allowed what it should not.
    """

    def ask(member: Member, what: str, tool: str, **arguments: object) -> str:
        text = must_call(member.server, tool, arguments)
        say(member.name, what, text)
        return text

    def decide(member: Member, value: int, why: str) -> None:
        what = f"decides that {KEY} is {value}: {why}"
        ask(member, what, "set_decision", key=KEY, value=value, tags=["testing"], rationale=why)

    decide(builder, 60, "the slowest test needs it")
    decide(reviewer, 30, "slow tests hide hangs")
    decide(builder, 45, "the slowest real test takes 38 s")
    ask(reviewer, "asks how it came to that", "get_decision", key=KEY)
    past = json.loads(must_call(reviewer.server, "get_decision", {"key": KEY, "format": "json"}))
    ask(builder, f"lays down a rule: {_RULE}", "add_constraint", text=_RULE, priority="high", tags=["testing"])
    ask(builder, f"claims {file}", "claim_files", paths=[file], reason="rewriting it")
    refused = reviewer.server.call("claim_files", {"paths": [file]})
    if not refused.is_error:
        raise SatchelError(f"two agents were both given {file}")
    say(reviewer.name, "wants the same file, and is kept off it", refused.text)
    request = f"I am rewriting {file}: please review it once I have released it"
    told = {"to": reviewer.name, "type": "request", "priority": "critical"}
    ask(builder, f"sends a critical message to the {reviewer.name}", "send_message", message=request, **told)
    rules = ask(reviewer, "asks for the rules, and is told that a message waits", "get_constraints", tags=["testing"])
    message = ask(reviewer, "reads what is unread", "get_messages", unread=True)
    ask(reviewer, "marks everything read", "mark_read", all=True)
    rule, _, notice = rules.rpartition("\n")
    return TeamResult(
        decision=KEY,
        values=(*(state["value"] for state in reversed(past["history"])), past["decision"]["value"]),
        constraint=rule,
        file=file,
        refused=refused.text,
        notice=notice,
        message=message,
    )

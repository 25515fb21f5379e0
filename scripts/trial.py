"""A trial: two agents at work in one clone, who know Satchel only as a server that their hosts give them.

Run ``make trial``, which prints what to do.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import trial_bridge
import trial_log

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".trial"
COMMAND = shlex.join([sys.executable, str(Path(__file__).resolve())])

TASKS = {
    "ann": """\
Add one small option or parameter that users of this program would miss, with its tests, and describe it in the README.
Choose it yourself.""",
    "ben": """\
Find one bug or one unclear error message in this program, mend it, with its tests, and bring the README up to date with
what the program does. Choose it yourself.""",
}
"""Different tasks that lead to the same files: the tests, the README, and what reads the input."""

QUESTIONS = """\
Do not be polite. Quote what you speak of: the words of the listing, of an answer, of an error.
1. What confused you, or had to be read twice?
2. Which calls failed, and did the error say what would have been right?
3. What helped: what did you know through Satchel that you would not have known otherwise?
4. What was noise: what did you read that you did not need?
5. What was missing: what did you look for and not find, or what would you have liked to say and could not?
6. Rate from 0 to 10, each with a reason: the listing of the tools, the instructions, the answers."""


def plan(clone: Path | None) -> str:
    """Return what a person does for a trial.

    Args:
        clone: what the agents work in; None where it is not made yet.
    """
    repo = "REPO" if clone is None else shlex.quote(str(clone.resolve()))
    log = shlex.quote(str(FOLDER / trial_bridge.LOG))
    hosts = "\n".join(f"   {COMMAND} host {agent} --project {repo} &" for agent in TASKS)
    stops = "\n".join(f"   {COMMAND} as {agent} stop" for agent in TASKS)
    prompts = "\n\n".join(_prompt(agent, repo) for agent in TASKS)
    return f"""\
A trial: two agents at work in one clone, who know Satchel only as a server that their hosts give them.

1. Clone a small public repository (some thousand lines, with tests and a README), and have its path printed here:
   make trial REPO=path

2. Start a host for each agent; what they ask is added to {log}:
{hosts}

3. Start two agents that know nothing of Satchel, at the same time, each with its prompt:

{prompts}

4. When both are done, ask each:

{_indented(QUESTIONS)}

5. End the hosts, and sum up the log:
{stops}
   make trial LOG={log}
"""


def _prompt(agent: str, repo: str) -> str:
    others = " and ".join(other for other in TASKS if other != agent)
    return _indented(f"""\
You are {agent}, and work in {repo}. {others.capitalize()} works in the same folder at the same time, at another task.
Your task: {TASKS[agent]}
Your host gives you the tools of one MCP server, satchel, through this command. Read its instructions and its tools
first, then use them as you would any tools of yours. You know Satchel through nothing else: do not read its source.
  {COMMAND} as {agent} instructions
  {COMMAND} as {agent} list
  {COMMAND} as {agent} call TOOL '{{"name": "value"}}'
Commit nothing. You are done when the tests pass.""")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise argparse.ArgumentTypeError("not an object")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trial.py", description="A trial with two agents at work.")
    actions = parser.add_subparsers(dest="action", required=True)
    printed = actions.add_parser("plan", help="print what to do")
    printed.add_argument("clone", type=Path, nargs="?", help="the clone that the agents work in")
    summed = actions.add_parser("sum", help="sum up a log")
    summed.add_argument("log", type=Path)
    hosting = actions.add_parser("host", help="keep the server of an agent")
    hosting.add_argument("agent")
    hosting.add_argument("--project", type=Path, default=Path(), help="the clone that it works in")
    hosting.add_argument("--toolsets", metavar="NAMES", help="those of satchel mcp")
    asking = actions.add_parser("as", help="what an agent asks its host")
    asking.add_argument("agent")
    asked = asking.add_subparsers(dest="asked", required=True)
    for name in (trial_bridge.INSTRUCTIONS, trial_bridge.LIST, trial_bridge.STOP):
        asked.add_parser(name)
    calling = asked.add_parser(trial_bridge.CALL)
    calling.add_argument("tool")
    calling.add_argument("arguments", type=_arguments, nargs="?", default={})
    for one in (hosting, asking):
        one.add_argument("--folder", type=Path, default=FOLDER, help="where the sockets and the log are")
    return parser


def main() -> int:
    """Do what the command line says; return the status to leave with."""
    given = _parser().parse_args()
    if given.action == "host":
        trial_bridge.host(given.agent, given.project, given.folder, given.toolsets)
        return 0
    if given.action == "as":
        request = {"asked": given.asked}
        if given.asked == trial_bridge.CALL:
            request |= {"tool": given.tool, "arguments": given.arguments}
        text, is_error = trial_bridge.ask(given.agent, given.folder, request)
        sys.stdout.write(f"{text}\n")
        return int(is_error)
    if given.action == "sum":
        try:
            text = given.log.read_text(encoding="utf-8")
        except OSError as error:
            raise SystemExit(f"no log can be read: {error}") from None
        sys.stdout.write(f"{trial_log.summary(trial_log.read_log(text))}\n")
    else:
        sys.stdout.write(plan(given.clone))
    return 0


if __name__ == "__main__":
    sys.exit(main())

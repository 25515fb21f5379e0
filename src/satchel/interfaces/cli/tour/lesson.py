"""The part of the tour where one agent fails, and another is warned before it fails the same way.

The failure is a real one: a program reads a file in the wrong encoding. The second agent takes the right one from its
briefing.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from satchel.base.errors import SatchelError
from satchel.interfaces.cli.tour.client import must_call
from satchel.interfaces.cli.tour.team import Member, Say

BUDGET = 300
"""Tokens of the second agent's briefing."""

_SOLD, _RETURNED = "sold.csv", "returned.csv"
_EXPORTS = {_SOLD: "Café Zoë;12\nMüller;7\n", _RETURNED: "Señor Núñez;3\nCafé Zoë;2\n"}
_ENCODING = "cp1252"
_USUAL = "utf-8"
_PROGRAM = (
    "import csv; print(sum(int(row[1]) for row in csv.reader(open({file!r}, encoding={encoding!r}), delimiter=';')))"
)
_FIX = f"The shop's exports need encoding='{_ENCODING}', not {_USUAL}"
_ENCODING_SAID = re.compile(r"encoding='([\w-]+)'")
_PROGRAM_SECONDS = 30


@dataclass(frozen=True, slots=True)
class LessonResult:
    """What one agent learned the hard way, and the other from its briefing.

    Attributes:
        error: what the first one met.
        solution: what fixed it, as recorded.
        briefing: what the second one was told before it began.
        budget: the tokens it was allowed to have.
        tries: how often the first and the second one had to run their programs.
        outcome: what became of the solution once it had helped.
    """

    error: str
    solution: str
    briefing: str
    budget: int
    tries: tuple[int, int]
    outcome: str


def learn(first: Member, second: Member, folder: Path, say: Say) -> LessonResult:
    """Let one agent fail, report the error and what fixed it, and another begin with a briefing.

    Args:
        first, second: their names and servers, which serve the toolsets briefing and errors.
        folder: where both work; two small files are made in it.
        say: told each step.

    Raises:
        SatchelError: a server refused, the program did not fail, or the briefing gave no warning.
    """
    for name, text in _EXPORTS.items():
        (folder / name).write_bytes(text.encode(_ENCODING))
    error_type, message, stack = _fail(folder)
    error = f"{error_type}: {message}"
    say(first.name, f"adds up {_SOLD}, which a shop exported, and fails", error)
    reported = must_call(
        first.server,
        "report_error",
        {"error_type": error_type, "message": message, "stack": stack, "lang": "python"},
    )
    say(first.name, "reports the error, with its traceback", reported)
    total = _add_up(folder, _SOLD, _ENCODING)
    say(first.name, f"tries another encoding, {_ENCODING}, and has its answer", total)
    recorded = must_call(first.server, "report_outcome", {"error": reported.split()[0], "solution": _FIX})
    say(first.name, f"records what fixed it: {_FIX}", recorded)
    query = f"add up {_RETURNED}, which the shop exported"
    asked = {"role": "qa_expert", "task_id": "returns", "query": query, "budget": BUDGET}
    briefing = must_call(second.server, "get_briefing", asked)
    say(second.name, f"is to {query}, and begins with a briefing of at most {BUDGET} tokens", briefing)
    warned = _ENCODING_SAID.search(briefing)
    if warned is None:
        raise SatchelError("the briefing did not warn of the error that was solved")
    total = _add_up(folder, _RETURNED, warned[1])
    say(second.name, f"opens its file with {warned[1]} at once, and has its answer", total)
    solution = recorded.split()[1]
    outcome = must_call(second.server, "report_outcome", {"solution": solution})
    say(second.name, "says that it helped, so the next one is told with more confidence", outcome)
    return LessonResult(error, _FIX, briefing, BUDGET, (2, 1), outcome)


def _fail(folder: Path) -> tuple[str, str, str]:
    """Run the program as one would write it; return the type of the error, its message and the traceback."""
    status, _, told = _run(folder, _SOLD, _USUAL)
    error_type, separator, message = told.rstrip().rpartition("\n")[2].partition(": ")
    if not status or not separator:
        raise SatchelError(f"{_SOLD} was read as {_USUAL} without an error")
    return error_type, message, told


def _add_up(folder: Path, file: str, encoding: str) -> str:
    status, told, error = _run(folder, file, encoding)
    if status:
        raise SatchelError(f"{file} could not be read as {encoding}: {error}")
    return told.strip()


def _run(folder: Path, file: str, encoding: str) -> tuple[int, str, str]:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-I", "-c", _PROGRAM.format(file=file, encoding=encoding)],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=_PROGRAM_SECONDS,
    )
    return done.returncode, done.stdout, done.stderr

"""Errors: report, list, record outcomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from satchel.keep.patterns.records import Solution
    from satchel.keep.strategies import Strategy

# The short id of a solution, an error or a strategy.
_JUDGED = re.compile(r"\s*[yxs][0-9]+\s*")


def _outcome(
    satchel: Satchel, ref: str, *, solution: str | None = None, helped: bool = True, agent: str | None = None
) -> Solution | Strategy:
    is_id = _JUDGED.fullmatch(ref) is not None
    if solution is None:
        if not is_id:
            raise InvalidInput(
                f"{ref.strip()[:80]!r} is no id of a solution, an error or a strategy",
                "Give one such as y7, x4 or s3; the text of a fix goes into solution, with the error's id as id",
            )
        if ref.strip().startswith("s"):
            return satchel.strategies.outcome(ref, helped, agent=agent)
        return satchel.patterns.outcome(ref, helped, agent=agent)
    if _JUDGED.fullmatch(solution) is not None:
        raise InvalidInput(
            f"solution is the text of a fix, and {solution.strip()} an id",
            f"Give id={solution.strip()} without solution to say whether it helped",
        )
    if is_id and not ref.strip().startswith("x"):
        raise InvalidInput(
            f"{ref.strip()} is no error that a solution fixes",
            "Give the error's id as id, such as x4, or leave solution out to say whether it helped",
        )
    if not helped:
        raise InvalidInput(
            "what did not help is no solution of an error",
            "Give the id of the solution that was offered, such as y7, and no text",
        )
    return satchel.patterns.solve(ref, solution, agent=agent)


OPERATIONS = (
    Operation(
        tool="report_error",
        toolset="errors",
        about="Report an error that others may meet; returns its id and what fixed it before. To only look, use "
        "search.",
        found_by="this error again exception failure stack trace fix known error debug",
        command=("error", "report"),
        help="Report an error and show what fixed it before. Without MESSAGE, or with -, it is read from standard "
        "input.",
        examples=("error report TS2307 \"Cannot find module 'zod'\" --lang typescript --stack-file build.log",),
        parameters=(
            Parameter("error_type", about="Such as KeyError or TS2307", required=True, option="TYPE"),
            Parameter("message", required=True, option="MESSAGE", reads="stdin"),
            Parameter("stack", help="The stack trace.", option="--stack-file", metavar="FILE", reads="file"),
            Parameter("hints", list[str], unlisted=True, help="Ranks solutions that share words."),
            Parameter("lang", help="The programming language. Default: any.", unlisted=True),
            Parameter("solution", about="What fixed it, if you know", help="What fixed it, if that is known."),
            parameters.NEW_TASK.but(help="The task it was met in."),
            parameters.NEW_LOOP.but(help="The loop it was met in; what makes that succeed is its fix."),
            Parameter(
                "ttl_days",
                int,
                help="How long it is kept after its last report. Default: 90.",
                metavar="DAYS",
                for_people=True,
            ),
            parameters.RUN,
            parameters.AGENT_UNLISTED,
        ),
        run=services.patterns.report,
        writes=True,
        text=text.errors.reported_text,
        shown=text.errors.people_reported_text,
        shows_notes=True,
    ),
    Operation(
        command=("error", "list"),
        help="List the errors that were met with their solutions, the newest first, or what matches WORDS best.",
        examples=("error list --lang python --state unsolved",),
        parameters=(
            parameters.QUERY,
            Parameter("lang", help="Only errors of this language, and of any."),
            Parameter("error_type", help="Only errors of this type.", option="--type", metavar="TYPE"),
            Parameter(
                "state",
                help="Only those with a solution in this state, or none.",
                choices=("active", "confirmed", "demoted", "unsolved"),
            ),
            Parameter(
                "status",
                help="all: with solutions that are only observed.",
                choices=("offered", "all"),
                default="offered",
            ),
            *parameters.CHANGES,
        ),
        run=services.patterns.find,
        items="patterns",
        shown=text.errors.show_errors,
    ),
    Operation(
        tool="report_outcome",
        toolset="errors",
        title="Report what helped",
        about="Say whether a known fix that you tried helped, or what fixed an error.",
        found_by="solution fix worked helped did not help outcome",
        idempotent=True,
        command=("error", "outcome"),
        help="Say whether a solution (ID as y7, or its error's as x4) or a strategy (s3) helped, or with --solution "
        "what fixed an error (x4). Each agent's word counts once.",
        examples=(
            "error outcome y7 --failed",
            'error outcome x4 --solution "Install it into the environment that runs the tests"',
        ),
        parameters=(
            Parameter(
                "id",
                about="The fix you tried (y7), or the error you solved (x4)",
                required=True,
                option="ID",
                passed_as="ref",
            ),
            Parameter("solution", about="What fixed x4, in words", help="For an error: what fixed it."),
            Parameter(
                "helped",
                bool,
                about="Whether y7 did; default true",
                help="Whether the error was gone. Default: it helped.",
                default=True,
                option="--helped/--failed",
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=_outcome,
        writes=True,
        text=text.errors.outcome_text,
    ),
)

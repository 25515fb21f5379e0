"""Toolset ``errors``: the errors that were met, what fixed them, and whether that helped."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import FLAG, FORMAT, TEXT, TEXTS, said, takes
from satchel.interfaces.mcp.registry import Tool


def report_error(
    call: Call[Satchel],
    /,
    *,
    error_type: str,
    message: str,
    stack: str | None = None,
    hints: Sequence[str] | None = None,
    lang: str | None = None,
    solution: str | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Report an error; the answer says what fixed it before."""
    from satchel.interfaces.briefing.errors_text import reported_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        reported = call.service.patterns.report(
            error_type,
            message,
            stack=stack,
            hints=hints,
            lang=lang,
            solution=solution,
            task_id=task_id,
            loop_id=loop_id,
            run_id=run_id,
            agent=agent,
        )
    return answer(call, format, lambda: reported_text(reported), lambda: fields_of(reported), agent=agent)


def report_outcome(
    call: Call[Satchel],
    /,
    *,
    solution: str,
    helped: bool = True,
    error: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Say whether a solution or a strategy helped, or with an error what fixed it."""
    from satchel.interfaces.briefing.errors_text import solution_text
    from satchel.interfaces.briefing.outcomes import is_judged, judge, outcome_text
    from satchel.interfaces.to_json import fields_of

    if error is None:
        with call.on_cancel(call.service.interrupter()):
            judged = judge(
                call.service,
                solution,
                helped,
                agent=agent,
                otherwise="Give one such as y7 or s3; a text needs error beside it, such as x4: what it fixed",
            )
        return answer(call, format, lambda: outcome_text(judged), lambda: fields_of(judged), agent=agent)
    if is_judged(solution):
        raise InvalidInput(
            f"error was given beside solution {solution.strip()!r}, which is there already",
            "Leave error out to say whether it helped, or give as solution the text of what fixed the error",
        )
    if not helped:
        raise InvalidInput(
            "what did not help is no solution of an error",
            "Give as solution the id of one that was offered, such as y7, without error",
        )
    with call.on_cancel(call.service.interrupter()):
        recorded = call.service.patterns.solve(error, solution, agent=agent)
    return answer(
        call,
        format,
        lambda: solution_text(recorded, is_recorded=True),
        lambda: fields_of(recorded),
        agent=agent,
    )


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="report_error",
        toolset="errors",
        description="Report an error; learn what fixed it.",
        parameters=takes(
            {
                "error_type": TEXT,
                "message": TEXT,
                "stack": TEXT,
                "hints": TEXTS,
                "lang": TEXT,
                "solution": TEXT,
                "task_id": TEXT,
                "loop_id": TEXT,
                "run_id": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            },
            "error_type",
            "message",
        ),
        handler=report_error,
        read_only=False,
    ),
    Tool(
        name="report_outcome",
        toolset="errors",
        description="Did it help?",
        parameters=takes(
            {
                "solution": said(TEXT, "y7, strategy s3, or with error x4 the text of its fix"),
                "helped": FLAG,
                "error": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            },
            "solution",
        ),
        handler=report_outcome,
        read_only=False,
    ),
)

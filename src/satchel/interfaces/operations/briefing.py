"""Briefings: the items that an agent needs most, within its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.interfaces.mcp.call import Call


def answer_agent(
    call: Call[Satchel],
    /,
    *,
    budget: int | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
    **request: Any,
) -> str:
    """Brief an agent. As text the whole answer, including its notice, stays within the budget if possible."""
    from satchel.interfaces.mcp.call import json_answer, notice_for, text_answer
    from satchel.interfaces.text.briefings import briefing_text, room_for
    from satchel.interfaces.text.json import fields_of

    is_text = format != "json"
    service, count = call.service, call.service.briefings.count
    allowed = service.config.brief_budget if budget is None else budget
    waiting = notice_for(call, agent, is_preview=True) if is_text else None
    room = room_for(waiting, allowed, count)
    with call.on_cancel(service.interrupter()):
        briefing = service.brief(budget=allowed - room, agent=agent, **request)
    # what comes only once is not fetched where there is no room for it
    has_room = not is_text or waiting is None or room > 0
    notice = notice_for(call, agent, [item.file for item in briefing.items]) if has_room else None
    if not is_text:
        return json_answer(fields_of(briefing), notice)
    text = briefing_text(briefing, count)
    whole = text_answer(text, notice)
    return whole if waiting is not None or count(whole) <= allowed else text


OPERATIONS = (
    Operation(
        tool="get_briefing",
        toolset="briefing",
        about="Call it first, and before each new attempt: the rules and decisions that bind you, where you left off, "
        "what was tried, what others learned and are doing, known fixes. Leaves out what you already got.",
        found_by="context from other agents start briefing what did the others do memory catch up resume",
        always_shown=True,
        command=("brief",),
        help="Brief an agent: what it needs most and did not get yet. QUERY says what it is about to do.\n\n"
        "The briefing alone goes to standard output, and what it shows counts as delivered.",
        examples=("brief fix the token refresh --role developer --task T1 --budget 2000 --agent builder",),
        parameters=(
            Parameter("role", about="Your role, such as developer, tech_lead or qa_expert"),
            parameters.NEW_TASK.but(
                about="Name of a task that several agents work on", help="The task; what belongs to it goes first."
            ),
            parameters.NEW_LOOP.but(
                about="A name for a goal that takes several attempts; reuse it in write_context and later sessions",
                help="The loop; its scratchpads are shown, and whether it is stuck.",
            ),
            Parameter("iteration", int, about="Number of the attempt; a new one resends everything"),
            Parameter("query", about="Your next step, which ranks the answer; others see it", option="QUERY..."),
            Parameter("budget", int, about="Most tokens of the answer, default 4000", metavar="TOKENS"),
            Parameter(
                "window_used",
                float,
                unlisted=True,
                help="0 to 1 of the agent's window; fuller means shorter.",
                metavar="SHARE",
            ),
            Parameter("again", bool, about="Resend what you already got, as after compaction"),
            Parameter("dry_run", bool, help="Record nothing as delivered.", option="--dry-run", unlisted=True),
            parameters.RUN.but(help="The run of the loop. Default: main. [env: SATCHEL_RUN]"),
            parameters.AGENT.but(about="Subagents: your name, in every tool"),
        ),
        run=services.briefings.brief,
        cites=True,
        writes=True,
        read_only=True,
        handler=answer_agent,
        text=text.briefings.briefing_text,
        shown=text.briefings.show_briefing,
        shows_notes=True,
    ),
)

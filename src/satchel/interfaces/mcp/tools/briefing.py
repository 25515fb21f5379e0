"""Toolset ``briefing``: what one agent needs most, inside its budget."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import json_answer, notice_for, text_answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import FLAG, FORMAT, NUMBER, TEXT, WHOLE, takes
from satchel.interfaces.mcp.registry import Tool


def get_briefing(
    call: Call[Satchel],
    /,
    *,
    role: str | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    iteration: int = 0,
    query: str | None = None,
    budget: int | None = None,
    window_used: float | None = None,
    again: bool = False,
    preview: bool = False,
    run_id: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Pack a briefing. As text the whole answer, its notice too, stays inside the budget wherever one can."""
    from satchel.interfaces.briefing.briefing_text import briefing_text, room_for
    from satchel.interfaces.to_json import fields_of

    is_text = format != "json"
    service, count = call.service, call.service.briefings.count
    asked = service.config.brief_budget if budget is None else budget
    waiting = notice_for(call, agent) if is_text else None
    with call.on_cancel(service.interrupter()):
        briefing = service.brief(
            role,
            task_id=task_id,
            loop_id=loop_id,
            iteration=iteration,
            query=query,
            budget=asked - room_for(waiting, asked, count),
            window_used=window_used,
            again=again,
            preview=preview,
            run_id=run_id,
            agent=agent,
        )
    notice = notice_for(call, agent, [item.file for item in briefing.items])
    if not is_text:
        return json_answer(fields_of(briefing), notice)
    text = briefing_text(briefing, count)
    answers = (text_answer(text, line) for line in (notice, waiting) if line is not None)
    return next((whole for whole in answers if count(whole) <= asked), text)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="get_briefing",
        toolset="briefing",
        description="Your briefing: what is new and matters, in budget tokens.",
        parameters=takes(
            {
                "role": TEXT,
                "task_id": TEXT,
                "loop_id": TEXT,
                "iteration": WHOLE,
                "query": TEXT,
                "budget": WHOLE,
                "window_used": NUMBER,
                "again": FLAG,
                "preview": FLAG,
                "run_id": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            }
        ),
        handler=get_briefing,
        read_only=False,
    ),
)

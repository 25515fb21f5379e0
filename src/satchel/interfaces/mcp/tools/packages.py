"""Toolset ``packages``: approaches that worked."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import FORMAT, TEXT, said, takes
from satchel.interfaces.mcp.registry import Tool


def save_strategy(
    call: Call[Satchel],
    /,
    *,
    topic: str,
    insight: str,
    lang: str | None = None,
    framework: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Save an approach that worked."""
    from satchel.interfaces.briefing.strategies_text import saved_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        saved = call.service.strategies.save(topic, insight, lang=lang, framework=framework, agent=agent)
    return answer(call, format, lambda: saved_text(saved), lambda: fields_of(saved), agent=agent)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="save_strategy",
        toolset="packages",
        description="Save an approach that worked, for all runs.",
        parameters=takes(
            {
                "topic": TEXT,
                "insight": said(TEXT, "What to do and why it works"),
                "lang": TEXT,
                "framework": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            },
            "topic",
            "insight",
        ),
        handler=save_strategy,
        read_only=False,
    ),
)

"""Toolset ``admin``: what there is, what it costs, what is set, and clearing what is old."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import FLAG, FORMAT, WHOLE, said, takes
from satchel.interfaces.mcp.registry import Tool


def get_layer_summary(
    call: Call[Satchel],
    /,
    *,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Count what each layer holds."""
    from satchel.interfaces.admin_text import summary_fields, summary_text

    with call.on_cancel(call.service.interrupter()):
        summary = call.service.housekeeping.layer_summary()
    return answer(call, format, lambda: summary_text(summary), lambda: summary_fields(summary))


def get_stats(
    call: Call[Satchel],
    /,
    *,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Count what the project holds."""
    from satchel.interfaces.admin_text import statistics_fields, statistics_text

    with call.on_cancel(call.service.interrupter()):
        statistics = call.service.housekeeping.statistics()
    return answer(call, format, lambda: statistics_text(statistics), lambda: statistics_fields(statistics))


def clear_old_data(
    call: Call[Satchel],
    /,
    *,
    messages_hours: int | None = None,
    file_changes_hours: int | None = None,
    conversations_days: int | None = None,
    confirm: bool = False,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Remove what is old, or say what would be removed."""
    from satchel.interfaces.admin_text import cleared_fields, cleared_text

    with call.on_cancel(call.service.interrupter()):
        cleared = call.service.housekeeping.clear(
            messages_hours,
            file_changes_hours,
            preview=not confirm,
            conversations_days=conversations_days,
            progress=call.progress,
        )
    return answer(call, format, lambda: cleared_text(cleared), lambda: cleared_fields(cleared))


def get_config(
    call: Call[Satchel],
    /,
    *,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Show the configuration in force."""
    from satchel.interfaces.admin_text import config_fields, config_text

    config = call.service.config
    return answer(call, format, lambda: config_text(config), lambda: config_fields(config))


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="get_layer_summary",
        toolset="admin",
        description="Per layer: active decisions and constraints, file changes of the last hour.",
        parameters=takes({"format": FORMAT}),
        handler=get_layer_summary,
        read_only=True,
    ),
    Tool(
        name="get_stats",
        toolset="admin",
        description="How much is kept, and its size.",
        parameters=takes({"format": FORMAT}),
        handler=get_stats,
        read_only=True,
    ),
    Tool(
        name="clear_old_data",
        toolset="admin",
        description="Delete old messages, file changes, conversations, expired claims and errors; "
        "only a preview unless confirm=true.",
        parameters=takes(
            {
                "messages_hours": said(WHOLE, "This old and older, even unread; default: what has expired"),
                "file_changes_hours": WHOLE,
                "conversations_days": WHOLE,
                "confirm": FLAG,
                "format": FORMAT,
            }
        ),
        handler=clear_old_data,
        read_only=False,
        destructive=True,
    ),
    Tool(
        name="get_config",
        toolset="admin",
        description="Every setting: value, source, meaning.",
        parameters=takes({"format": FORMAT}),
        handler=get_config,
        read_only=True,
    ),
)

"""Toolset ``constraints``: the rules that the project must respect."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    AUTHOR,
    CHANGES,
    FORMAT,
    LEAST_PRIORITY,
    MATCH,
    PRIORITY,
    TEXT,
    TEXTS,
    choice,
    said,
    takes,
)
from satchel.interfaces.mcp.registry import Tool


def add_constraint(
    call: Call[Satchel],
    /,
    *,
    text: str,
    category: str = "architecture",
    priority: str = "medium",
    layer: str | None = None,
    tags: Sequence[str] = (),
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Add a rule."""
    from satchel.interfaces.ledger.constraints_text import added_text
    from satchel.interfaces.ledger.to_json import constraint_fields

    with call.on_cancel(call.service.interrupter()):
        added = call.service.constraints.add(
            text, category=category, priority=priority, layer=layer, tags=tags, agent=agent
        )
    return answer(call, format, lambda: added_text(added), lambda: constraint_fields(added), agent=agent)


def get_constraints(
    call: Call[Satchel],
    /,
    *,
    search: str | None = None,
    category: str | None = None,
    priority: str | None = None,
    layer: str | None = None,
    tags: Sequence[str] | None = None,
    match: str = "any",
    status: str = "active",
    agent: str | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    order: str | None = None,
    limit: int = 20,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Read rules."""
    from satchel.interfaces.ledger.constraints_text import constraints_text
    from satchel.interfaces.ledger.to_json import constraint_page_fields

    with call.on_cancel(call.service.interrupter()):
        page = call.service.constraints.find(
            query=search,
            category=category,
            priority=priority,
            layer=layer,
            tags=tags,
            match=match,
            status=status,
            author=agent,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
    return answer(call, format, lambda: constraints_text(page), lambda: constraint_page_fields(page))


def deactivate_constraint(
    call: Call[Satchel],
    /,
    *,
    id: str,  # noqa: A002 -- the field's own name
    reason: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Say that a rule does not hold any more."""
    from satchel.interfaces.ledger.constraints_text import deactivated_text
    from satchel.interfaces.ledger.to_json import constraint_fields

    with call.on_cancel(call.service.interrupter()):
        ended = call.service.constraints.deactivate(id, reason, agent=agent)
    return answer(call, format, lambda: deactivated_text(ended), lambda: constraint_fields(ended), agent=agent)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="add_constraint",
        toolset="constraints",
        description="Add a rule for all.",
        parameters=takes(
            {
                "text": TEXT,
                "category": said(TEXT, "architecture, security, ..."),
                "priority": PRIORITY,
                "layer": TEXT,
                "tags": TEXTS,
                "agent": TEXT,
                "format": FORMAT,
            },
            "text",
        ),
        handler=add_constraint,
        read_only=False,
    ),
    Tool(
        name="get_constraints",
        toolset="constraints",
        description="Rules, most urgent first or by search.",
        parameters=takes(
            {
                "search": TEXT,
                "category": TEXT,
                "priority": LEAST_PRIORITY,
                "layer": TEXT,
                "tags": TEXTS,
                "match": MATCH,
                "status": choice("active", "inactive", "all"),
                "agent": AUTHOR,
                **CHANGES,
            }
        ),
        handler=get_constraints,
        read_only=True,
    ),
    Tool(
        name="deactivate_constraint",
        toolset="constraints",
        description="A rule no longer holds.",
        parameters=takes({"id": TEXT, "reason": TEXT, "agent": TEXT, "format": FORMAT}, "id"),
        handler=deactivate_constraint,
        read_only=False,
    ),
)

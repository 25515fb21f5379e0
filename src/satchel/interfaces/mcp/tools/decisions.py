"""Toolset ``decisions``: set what the project has decided, get it with its history, find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    AUTHOR,
    CHANGES,
    FORMAT,
    MATCH,
    NUMBER,
    PAGE,
    SEVERAL,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    clearable,
    said,
    takes,
)
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.mcp.schema import Schema, check_arguments

_STATUS = choice("active", "deprecated", "draft")
_DECISION: Mapping[str, Schema] = {
    "key": TEXT,
    "value": {"type": ["string", "number"]},
    "tags": clearable(TEXTS),
    "scopes": clearable(TEXTS),
    "layer": clearable(TEXT),
    "version": clearable(TEXT),
    "status": _STATUS,
    "rationale": clearable(TEXT),
    "expected_revision": said(WHOLE, "0: new"),
}
_DECISION_SCHEMA = takes(_DECISION, "key")


def set_decision(
    call: Call[Satchel],
    /,
    *,
    decisions: Sequence[Mapping[str, object]] | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
    **given: object,
) -> str:
    """Set one decision, or several in one transaction. What is not given is not passed on, so that it stays."""
    from satchel.interfaces.ledger.decisions_text import set_text
    from satchel.interfaces.to_json import fields_of
    from satchel.keep.decisions import NewDecision

    if decisions is not None and given:
        raise InvalidInput(
            f"decisions was given beside {', '.join(given)}", "Put every decision into decisions, or give one"
        )
    if decisions is None:
        new = [NewDecision(**check_arguments(_DECISION_SCHEMA, given, "set_decision"))]
    else:
        new = [
            NewDecision(**check_arguments(_DECISION_SCHEMA, one, f"decisions[{place}]"))
            for place, one in enumerate(decisions)
        ]
    with call.on_cancel(call.service.interrupter()):
        done = call.service.decisions.set_many(new, agent=agent)
    return answer(
        call,
        format,
        lambda: set_text(done),
        lambda: {"decisions": [fields_of(decision) for decision in done]},
        agent=agent,
    )


def get_decision(
    call: Call[Satchel],
    /,
    *,
    key: str,
    limit: int = 20,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Show one decision with what it was before."""
    from satchel.interfaces.ledger.decisions_text import history_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        history = call.service.decisions.get(key, limit=limit, offset=offset)
    return answer(call, format, lambda: history_text(history), lambda: fields_of(history))


def find_decisions(
    call: Call[Satchel],
    /,
    *,
    search: str | None = None,
    status: str | None = None,
    layer: str | None = None,
    tags: Sequence[str] | None = None,
    match: str = "any",
    scopes: Sequence[str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    agent: str | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    order: str | None = None,
    limit: int = 20,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Find decisions."""
    from satchel.interfaces.ledger.decisions_text import decisions_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        page = call.service.decisions.find(
            query=search,
            status=status,
            layer=layer,
            tags=tags,
            match=match,
            scopes=scopes,
            minimum=minimum,
            maximum=maximum,
            author=agent,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
    return answer(call, format, lambda: decisions_text(page), lambda: fields_of(page, "decisions"))


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="set_decision",
        toolset="decisions",
        description="Set what the project decides (key, value, ...) or several (decisions). Omitted stays, null "
        "clears.",
        parameters=takes({**_DECISION, "decisions": SEVERAL, "agent": TEXT, "format": FORMAT}),
        handler=set_decision,
        read_only=False,
    ),
    Tool(
        name="get_decision",
        toolset="decisions",
        description="One decision with its history.",
        parameters=takes({"key": TEXT, **PAGE}, "key"),
        handler=get_decision,
        read_only=True,
    ),
    Tool(
        name="find_decisions",
        toolset="decisions",
        description="Decisions, newest first or by search.",
        parameters=takes(
            {
                "search": TEXT,
                "status": _STATUS,
                "layer": TEXT,
                "tags": TEXTS,
                "match": MATCH,
                "scopes": TEXTS,
                "minimum": NUMBER,
                "maximum": NUMBER,
                "agent": AUTHOR,
                **CHANGES,
            }
        ),
        handler=find_decisions,
        read_only=True,
    ),
)

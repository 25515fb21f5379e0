"""Toolset ``consult``: a second opinion from another model, whose files are sent once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.paging import DEFAULT_LIMIT
from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import FLAG, FORMAT, PAGE, TEXT, TEXTS, said, takes
from satchel.interfaces.mcp.registry import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

_TOLD_EVERY_CHARS = 400
"""An answer that arrives is told of whenever so much of it is new."""


def consult(
    call: Call[Satchel],
    /,
    *,
    assistant: str,
    instructions: str,
    session_id: str | None = None,
    context: Sequence[str] = (),
    priority: Sequence[str] = (),
    attachments: Sequence[str] = (),
    briefing: bool = False,
    force: bool = False,
    dry_run: bool = False,
    keep_as: str | None = None,
    role: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Ask another model."""
    from satchel.consult.service import DEFAULT_SESSION
    from satchel.interfaces.consulting.consultations_text import consultation_text
    from satchel.interfaces.consulting.to_json import consultation_fields

    on_progress, on_text = _tellers(call)
    call.check()
    done = call.service.consulting.consult(
        assistant,
        instructions,
        session_id=DEFAULT_SESSION if session_id is None else session_id,
        context=context,
        priority=priority,
        attachments=attachments,
        briefing=briefing,
        role=role,
        task_id=task_id,
        run_id=run_id,
        agent=agent,
        keep_as=keep_as,
        force=force,
        dry_run=dry_run,
        on_text=on_text,
        shows_text=False,
        on_progress=on_progress,
        is_cancelled=call.cancelled,
    )
    return answer(
        call,
        format,
        lambda: consultation_text(done),
        lambda: consultation_fields(done),
        agent=agent,
        files=done.paths,
    )


def _tellers(call: Call[Satchel]) -> tuple[Callable[[str], None], Callable[[str], None]]:
    """Return what tells the caller of each step, and what tells it how much of the answer there is."""
    steps = 0
    chars = 0
    told = 0

    def step(what: str) -> None:
        nonlocal steps
        steps += 1
        call.progress(steps, message=what)

    def arrived(text: str) -> None:
        nonlocal chars, told
        chars += len(text)
        if not told or chars - told >= _TOLD_EVERY_CHARS:
            told = chars
            step(f"answering: {chars:,} characters")

    return step, arrived


def list_conversations(
    call: Call[Satchel],
    /,
    *,
    session_id: str | None = None,
    assistant: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """List conversations and who could be asked."""
    from satchel.interfaces.consulting.conversations_text import conversations_text
    from satchel.interfaces.consulting.to_json import conversations_fields

    with call.on_cancel(call.service.interrupter()):
        page = call.service.consulting.conversations.list(
            session_id=session_id, assistant=assistant, limit=limit, offset=offset
        )
    states = call.service.consulting.providers()
    return answer(
        call,
        format,
        lambda: conversations_text(page, states, every_file=session_id is not None),
        lambda: conversations_fields(page, states),
    )


def reset_conversation(
    call: Call[Satchel],
    /,
    *,
    session_id: str,
    assistant: str | None = None,
    confirm: bool = False,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Forget a conversation, or say what would be forgotten."""
    from satchel.interfaces.consulting.conversations_text import reset_text
    from satchel.interfaces.consulting.to_json import reset_fields

    with call.on_cancel(call.service.interrupter()):
        found = call.service.consulting.find(session_id, assistant)
        if confirm:
            call.service.consulting.conversations.reset(found.key)
    return answer(call, format, lambda: reset_text(found, done=confirm), lambda: reset_fields(found, done=confirm))


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="consult",
        toolset="consult",
        description="Ask another model; it keeps the conversation, files go once and then only their changes.",
        parameters=takes(
            {
                "assistant": said(TEXT, "As gpt-6-sol, anthropic:claude-opus-5-5, ollama:qwen3:8b"),
                "instructions": TEXT,
                "session_id": said(TEXT, "Names the conversation"),
                "context": said(TEXTS, "Files, folders"),
                "priority": said(TEXTS, "Files to put in the prompt first"),
                "attachments": said(TEXTS, "Files to search, this turn only"),
                "briefing": said(FLAG, "Put what is known here first"),
                "force": said(FLAG, "Send secrets too"),
                "dry_run": said(FLAG, "Only show what would be sent"),
                "keep_as": said(TEXT, "discovery or decision:KEY"),
                "role": TEXT,
                "task_id": TEXT,
                "run_id": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            },
            "assistant",
            "instructions",
        ),
        handler=consult,
        read_only=False,
    ),
    Tool(
        name="list_conversations",
        toolset="consult",
        description="Conversations: files inline, overflow and why, tokens; and who can be asked.",
        parameters=takes({"session_id": TEXT, "assistant": TEXT, **PAGE}),
        handler=list_conversations,
        read_only=True,
    ),
    Tool(
        name="reset_conversation",
        toolset="consult",
        description="Forget a conversation; only a preview unless confirm=true.",
        parameters=takes({"session_id": TEXT, "assistant": TEXT, "confirm": FLAG, "format": FORMAT}, "session_id"),
        handler=reset_conversation,
        read_only=False,
        destructive=True,
    ),
)

"""Hooks of a session at work: an event of a client becomes a call of the service, and what that says an answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.interfaces.hooks import events
from satchel.interfaces.hooks.events import HookEvent
from satchel.interfaces.hooks.tools import ToolCall

_AT_TERMINAL = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
"""What Claude Code sets where a person at a terminal is there to be asked; with ``--print`` the first is 0."""

_MAX_CHARS = 9_000
"""Longer answers become a file with a short preview in Claude Code."""

if TYPE_CHECKING:
    from satchel.brief.working.hook_context import HookAnswer
    from satchel.brief.working.service import Working
    from satchel.client import Satchel


def answer(
    event: HookEvent,
    folder: str,
    satchel: Satchel,
    write: Callable[[str], None],
    is_over: Callable[[], bool],
    *,
    opening: str = "",
) -> HookAnswer:
    """Do what an event at work asks for, answer it, and return what that was."""
    said = act(event, folder, satchel.working, is_over)
    if not stop(event, said, write) and (text := "\n".join(filter(None, [opening, said.text]))):
        if opening and len(text) > _MAX_CHARS:
            from satchel.brief.working.hook_context import NOTHING

            text, said = opening, NOTHING  # what it had to say comes at the next such event
        write(events.answer(event, text))
        # what the client has counts as shown; were it the other way round, a text that was cut off would not come
        satchel.working.record(said)
    return said


def stop(event: HookEvent, answer: HookAnswer, write: Callable[[str], None]) -> bool:
    """Stop an edit, or let the client's user decide, as an answer demands; return whether it did."""
    if answer.denial:
        write(events.stop_edit(event, answer.denial))
    elif answer.question:
        write(events.ask_about_edit(event, answer.question))
    return bool(answer.denial or answer.question)


def act(event: HookEvent, folder: str, working: Working, is_over: Callable[[], bool]) -> HookAnswer:
    """Do what an event at work asks for, and return what is to be said; the arguments are those of answer."""
    tool = event.tool or ToolCall()
    cwd, agent = _folder_of(event, folder), event.agent_id
    if event.happening == events.PROMPT:
        by_person = not os.environ.get("CI") and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"
        return working.prompt(event.prompt, is_over, agent_id=agent, by_person=by_person)
    if tool.command is not None:
        command = tool.command
        if command.has_failed is None:
            return working.command_ended(command.text, command.output, agent_id=agent)
        cwd = os.path.join(cwd, command.folder)  # noqa: PTH118 -- a text that tells commands apart
        if command.has_failed:
            return working.command_failed(
                cwd, command.text, command.status, command.output, agent_id=agent, tells=event.is_heard
            )
        return working.command_succeeded(cwd, command.text, command.output, agent_id=agent, owes_fixes=event.owes_fixes)
    if tool.plan is not None:
        return working.plan_approved(tool.plan, agent_id=agent)
    if event.happening == events.AFTER_READ:
        return working.after_read(cwd, tool.reads, agent_id=agent)
    if event.happening == events.BEFORE_EDIT:
        can_ask = event.can_ask and os.environ.items() >= _AT_TERMINAL.items()
        return working.before_edit(
            cwd, tool.edits, agent_id=agent, text=tool.text, tells=event.is_heard_before, can_ask=can_ask
        )
    return working.after_edit(cwd, tool.edits, agent_id=agent, text=tool.text, owes_fixes=event.owes_fixes)


def _folder_of(event: HookEvent, folder: str) -> str:
    cwd = event.cwd
    return cwd if cwd is not None and os.path.isabs(cwd) and os.path.isdir(cwd) else folder  # noqa: PTH112, PTH117

"""Hooks of a session at work: answers to events, debts of hooks that ran out of time, and edits of other projects."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.events import HookEvent
from satchel.interfaces.hooks.tools import ToolCall

if TYPE_CHECKING:
    from satchel.base.paths import Worktree
    from satchel.brief.briefing.collecting import Deadline
    from satchel.brief.moments import Moment
    from satchel.brief.working.hook_context import HookAnswer
    from satchel.brief.working.service import Working
    from satchel.client import Satchel

# What Claude Code sets where a person at a terminal is there to be asked; with ``--print`` the first is 0.
_AT_TERMINAL = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}

# Longer answers become a file with a short preview in Claude Code.
_MAX_CHARS = 9_000


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
    outcome = act(event, folder, satchel.working, is_over)
    if not stop(event, outcome, write) and (text := "\n".join(filter(None, [opening, outcome.text]))):
        if opening and len(text) > _MAX_CHARS:
            from satchel.brief.working.hook_context import NOTHING

            text, outcome = opening, NOTHING  # what it had to say comes at the next such event
        write(events.answer(event, text))
        # what the client has counts as shown; were it the other way round, a text that was cut off would not come
        satchel.working.record(outcome)
    return outcome


def stop(event: HookEvent, answer: HookAnswer, write: Callable[[str], None]) -> bool:
    """Stop an edit, or let the client's user decide, as an answer demands; return whether it did."""
    if answer.denial:
        write(events.stop_edit(event, answer.denial))
    elif answer.question:
        write(events.ask_about_edit(event, answer.question))
    return bool(answer.denial or answer.question)


def act(event: HookEvent, folder: str, working: Working, is_over: Callable[[], bool]) -> HookAnswer:
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


# What a briefing had no time for.
REST = "rest"

# The news that the store is back, owed to a session that heard that it was gone.
RETURN = "return"

# Debts other than a briefing: the notes on a prompt, and who has claimed the files of an edit.
_PROMPT, _EDIT = "prompt:", "edit:"

_MOST_FILES = 20
_MAX_PATH_CHARS = 4_096
# What is longer leaves files out, the last first, so that the line is kept.
_MAX_EDIT_CHARS = state.MAX_DEBT_BYTES // 2

_PROMPT_END_CHARS = 1_000
_LATE_TOKENS = 1_800
_LATE = "Satchel: an earlier hook ran out of time; this is what it had to say."
_BACK = "Satchel is on again here: its store is back."


def debt_of(event: HookEvent, folder: str) -> str:
    """Return what is owed if the hook of an event does not get to its end; empty for nothing."""
    if event.happening == events.PROMPT:
        from satchel.redaction import redact

        text = events.ends(redact(event.prompt).text, _PROMPT_END_CHARS)
        return _PROMPT + json.dumps(text, ensure_ascii=False)
    if event.happening == events.BEFORE_EDIT and event.tool is not None:
        from satchel.redaction import finds_secret

        paths = [os.path.join(event.cwd or folder, edit.path) for edit in event.tool.edits[:_MOST_FILES]]  # noqa: PTH118
        paths = [path for path in paths if len(path) <= _MAX_PATH_CHARS and finds_secret(path) is None]
        while len(debt := _EDIT + json.dumps(paths)) > _MAX_EDIT_CHARS:
            paths.pop()
        return debt
    return event.happening if event.happening in events.BRIEFED else ""


def moment_named(what: str) -> Moment | None:
    """Return the moment of which a hook owes the briefing; None where it owes something else."""
    from satchel.brief import moments

    return {
        events.START: moments.START,
        events.CLEAR: moments.CLEAR,
        events.RESUME: moments.RESUME_AFRESH,
        events.COMPACTION: moments.COMPACTION,
        events.SUBAGENT: moments.SUBAGENT,
        REST: moments.REST,
    }.get(what)


def late_text(
    event: HookEvent,
    satchel: Satchel,
    debts: Sequence[str],
    deadline: Callable[[], Deadline],
    is_over: Callable[[], bool],
) -> str:
    """Return what earlier hooks of a session had to say and could not."""
    texts = []
    try:
        texts = [text for debt in debts if (text := _text(event, satchel, debt, deadline, is_over))]
    except Exception as error:  # noqa: BLE001 -- the event itself is worth more: it may be an edit
        state.record_fault(f"{event.client} {event.name}", f"{type(error).__name__}: {error}", event.cwd or os.sep)
    is_usual = list(debts) == [events.COMPACTION] and event.client in events.SAYS_NOTHING_AFTER_COMPACTION
    if RETURN in debts:
        return "\n".join([_BACK, *texts])
    return "\n".join(texts if is_usual or not texts else [_LATE, *texts])


def _text(
    event: HookEvent, satchel: Satchel, debt: str, deadline: Callable[[], Deadline], is_over: Callable[[], bool]
) -> str:
    if debt.startswith(_PROMPT):
        answer = satchel.working.prompt(json.loads(debt.removeprefix(_PROMPT)), is_over, agent_id=event.agent_id)
    elif debt.startswith(_EDIT):
        edits = [(str(path), "") for path in json.loads(debt.removeprefix(_EDIT))]
        answer = satchel.working.unchecked_edit(event.cwd or "", edits, agent_id=event.agent_id)
    elif (moment := moment_named(debt)) is not None:
        # the event may have something to say itself
        put_in = satchel.moments.make(
            moment._replace(most=_LATE_TOKENS), deadline(), agent_id=event.agent_id, agent_type=event.agent_type
        )
        # before it is printed, so that what the event itself has to say repeats nothing of it
        satchel.moments.record(moment, put_in)
        return put_in.text
    else:
        return ""
    satchel.working.record(answer)
    return answer.text


def is_worktree(inner: str, project: str) -> bool:
    """Return whether a folder inside a project is another worktree of it, not a clone or a submodule."""
    one, other = _worktree_of(inner), _worktree_of(project)
    return one is not None and other is not None and one.root == other.root and one.worktree != other.worktree


def has_root(folder: str, root: str | None) -> bool:
    """Return whether a folder belongs to the project with a root, as worktrees and submodules do."""
    result = _worktree_of(folder)
    return result is not None and str(result.root) == root


def _worktree_of(folder: str) -> Worktree | None:
    from satchel.base.errors import Refused
    from satchel.base.paths import worktree_of

    try:
        return worktree_of(os.path.realpath(folder))
    except Refused:  # it has no store
        return None

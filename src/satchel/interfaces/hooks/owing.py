"""The debts of a hook to its session, recorded before its work and delivered by a later hook if it is ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.events import HookEvent

if TYPE_CHECKING:
    from satchel.brief.briefing.collecting import Deadline
    from satchel.brief.moments import Moment
    from satchel.client import Satchel

REST = "rest"
"""What a briefing had no time for."""

_PROMPT, _EDIT = "prompt:", "edit:"
"""Debts other than a briefing: the notes on a prompt, and who has claimed the files of an edit."""

_MOST_FILES = 20
_MAX_PATH_CHARS = 4_096
_MAX_EDIT_CHARS = state.MAX_DEBT_BYTES // 2
"""What is longer leaves files out, the last first, so that the line is kept."""

_PROMPT_END_CHARS = 1_000
_LATE_TOKENS = 1_800
_LATE = "Satchel: an earlier hook ran out of time; this is what it had to say."


def debt_of(event: HookEvent, folder: str) -> str:
    """Return what is owed if the hook of an event does not get to its end; empty for nothing."""
    if event.happening == events.PROMPT:
        from satchel.interfaces.hooks import prompts
        from satchel.redaction import redact

        text = prompts.ends(redact(event.prompt).text, _PROMPT_END_CHARS)
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
    is_usual = list(debts) == [events.COMPACTION] and event.announces_compaction
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

"""``satchel hook --explain``: what a hook would put in, and why, from the last event of that name."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.base.folders import current_folder
from satchel.brief.briefing.collecting import Deadline
from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.command import moment_of, open_for, working_folder
from satchel.interfaces.hooks.events import HookEvent
from satchel.interfaces.hooks.tools import Edit, ToolCall

if TYPE_CHECKING:
    from satchel.client import Satchel

_DEADLINE_MS = 10_000

# What limits the text at each event at work, with the messages that come at a prompt and after a tool.
_BUDGETS = {events.PROMPT: "prompt", events.BEFORE_EDIT: "edit", events.AFTER_READ: "edit", events.FAILED: "error"}

# What an explanation has to do without: it may hold any secret.
_NOT_KEPT = {
    events.BEFORE_EDIT: "what the edit writes, which chooses among many notes of a file",
    events.FAILED: "the command and its output; shown is what is known of the last error that the session reported",
}


def explain(client: str, name: str) -> int:
    """Print what a hook would put in now, and why; nothing is recorded."""
    if client not in events.CLIENTS:
        print(f"no client {client!r}; there are {', '.join(events.CLIENTS)}", file=sys.stderr)  # noqa: T201
        return 2
    stored = state.last(f"{client}-{name}")
    here = str(current_folder())
    event = _event(stored) if stored is not None else events.parse(b"{}", client, name)
    folder = working_folder(event, {}, here)
    if stored is None and events.is_of_work(name):
        print(f"{client} {name}: none was heard yet in a project with a store, so there is nothing to show")  # noqa: T201
        return 0
    if not event.happening:
        print(f"{client} {name}: nothing is done at this event")  # noqa: T201
        return 0
    source = "the last that was heard" if stored is not None else "none was heard yet, so this is for an empty one"
    lines = [f"event: {client} {name} ({event.happening}) in {folder}; {source}"]
    try:
        lines += _explained(event, folder)
    except SatchelError as error:
        lines.append(f"puts in nothing: {error}")
    print("\n".join(lines))  # noqa: T201
    return 0


def _event(stored: dict[str, object]) -> HookEvent:
    files = tuple(Edit(*one) for one in stored.get("tool") or ())  # type: ignore[attr-defined]
    return HookEvent(**stored | {"tool": ToolCall(files, files)})  # type: ignore[arg-type]


def _explained(event: HookEvent, folder: str) -> list[str]:
    satchel = open_for(event, folder, os.environ)
    if satchel is None:
        return ["puts in nothing: the project has no store; `satchel init` makes one"]
    with satchel:
        lines = [f"store: {satchel.workplace.engine.location}"]
        if state.is_paused(folder):
            lines.append("paused: `satchel pause --off` turns hooks on again")
        if event.happening == events.PROMPT:
            return [*lines, *_at_prompt(event, folder, satchel)]
        if event.happening in events.AT_WORK:
            return [*lines, *_at_work(event, folder, satchel)]
        if event.happening == events.COMPACTING:
            return [*lines, "puts in nothing: the next edit, command or prompt brings what is to be said after it"]
        if event.happening == events.TURN_END:
            return [*lines, "does: records that the agent is at its prompt; puts in nothing"]
        moment = moment_of(event)
        if moment is None:
            does = "releases automatic claims and records the end of the session"
            return [*lines, f"does: {does if satchel.config.hooks_end else 'nothing'}; puts in nothing"]
        lines.append(_budget(satchel, moment.setting))
        put_in = satchel.moments.make(
            moment, Deadline(_DEADLINE_MS), agent_id=event.agent_id, agent_type=event.agent_type, dry_run=True
        )
        shown = {item.ref for item in put_in.briefing.items} if put_in.briefing is not None else set()
        lines += _loaded(satchel, event.client, shown)
        if not put_in.text or put_in.briefing is None:
            return [*lines, f"puts in nothing: {put_in.why}"]
        briefing = put_in.briefing
        text = ", ".join(f"{item.ref} ({item.section}, {item.priority})" for item in briefing.items)
        remaining = "; ".join(str(one) for one in briefing.left_out) or "nothing"
        return [
            *lines,
            f"shows: {text}",
            f"leaves out: {remaining}",
            f"puts in about {put_in.tokens} tokens, {len(put_in.text)} characters, in a new window:",
            "",
            put_in.text,
        ]


def _loaded(satchel: Satchel, client: str, shown: set[str]) -> list[str]:
    from satchel.find.kind import KIND_OF
    from satchel.keep import projects
    from satchel.keep.documents.states import loaded_items
    from satchel.keep.sessions.records import Actor

    with projects.reading(satchel.workplace) as (transaction, project):
        loaded = loaded_items(transaction, satchel.workplace, project.id, Actor())
    refs = sorted(KIND_OF[kind].ref(number) for kind, items in loaded.items() for number in items)
    refs = [ref for ref in refs if ref not in shown]
    return [f"leaves to {client}, which loads the documents that say it: {', '.join(refs)}"] if refs else []


def _at_prompt(event: HookEvent, folder: str, satchel: Satchel) -> list[str]:
    lines = [
        f"meets {one.ref}: {one.strength:.1f} times what chance would bring, by {', '.join(one.words)}"
        for one in satchel.working.look(event.prompt, Deadline(_DEADLINE_MS).has_passed)
    ]
    budget, *rest = _at_work(event, folder, satchel)
    return [budget, *lines, *rest]


def _at_work(event: HookEvent, folder: str, satchel: Satchel) -> list[str]:
    from satchel.brief.working.hook_context import tokens_of
    from satchel.interfaces.hooks.working import act

    working = satchel.dry_working
    late = event.happening == events.AFTER_EDIT and not event.is_heard_before
    lines = [_budget(satchel, f"hooks.{'edit' if late else _BUDGETS.get(event.happening, 'messages')}")]
    if event.happening in _NOT_KEPT:
        lines.append(f"not kept, since it may hold a secret: {_NOT_KEPT[event.happening]}")
    if event.happening == events.FAILED:
        outcome = working.last_error(agent_id=event.agent_id)
    elif event.happening in {events.SUCCEEDED, events.ENDED, events.APPROVED}:
        outcome = working.command_ended(agent_id=event.agent_id)
    else:
        outcome = act(event, folder, working, Deadline(_DEADLINE_MS).has_passed)
    text = outcome.denial or outcome.question or outcome.text
    if not text:
        return [*lines, f"puts in nothing: {outcome.why or 'there is nothing to say'}"]
    does = "stops the edit, and puts in" if outcome.denial else "asks the user, with" if outcome.question else "puts in"
    return [*lines, f"{does} about {tokens_of(text)} tokens in a new window:", "", text]


def _budget(satchel: Satchel, key: str) -> str:
    setting = satchel.config.setting(key)
    return f"budget: {setting.value} tokens ({setting.key.name}, {setting.source})"

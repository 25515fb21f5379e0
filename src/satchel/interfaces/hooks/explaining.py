"""``satchel hook --explain``: what a hook would put in, and why, from the last event of that name."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.brief.briefing.collecting import Deadline
from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.command import moment_of, open_for, working_folder
from satchel.interfaces.hooks.events import AT_WORK, BEFORE_EDIT, COMPACTING, FAILED, PROMPT, STOP, HookEvent

if TYPE_CHECKING:
    from satchel.client import Satchel

_DEADLINE_MS = 10_000


def explain(client: str, name: str) -> int:
    """Print what a hook would put in now, and why; nothing is recorded.

    Args:
        client, name: whose hook, and of which event.

    Returns:
        0, or 2 where there is no such hook.
    """
    if client not in events.CLIENTS:
        print(f"no client {client!r}; there are {', '.join(events.CLIENTS)}", file=sys.stderr)  # noqa: T201
        return 2
    kept = state.last(f"{client}-{name}")
    here = os.getcwd()  # noqa: PTH109
    event = HookEvent(**kept) if kept is not None else events.parse(b"{}", client, name)  # type: ignore[arg-type]
    folder = working_folder(event, {}, here)
    if not event.happening:
        print(f"{client} {name}: nothing is done at this event")  # noqa: T201
        return 0
    source = "the last that was heard" if kept is not None else "none was heard yet: an empty one"
    lines = [f"event: {client} {name}, {source}: {event.happening}, in {folder}"]
    try:
        lines += _explained(event, folder)
    except SatchelError as error:
        lines.append(f"puts in nothing: {error}")
    print("\n".join(lines))  # noqa: T201
    return 0


def _explained(event: HookEvent, folder: str) -> list[str]:
    satchel = open_for(event, folder, os.environ)
    if satchel is None:
        return ["puts in nothing: the project has no store; `satchel init` makes one"]
    with satchel:
        lines = [f"store: {satchel.place.file}"]
        if state.is_paused(folder):
            lines.append("paused: `satchel pause --off` lets hooks speak again")
        if event.happening == PROMPT:
            return [*lines, *_at_prompt(event, satchel)]
        if event.happening in AT_WORK:
            named = {BEFORE_EDIT: "edit", FAILED: "error", STOP: "stop"}.get(event.happening, "messages")
            setting = satchel.config.setting(f"hooks.{named}")
            return [*lines, f"puts in at most {setting.value} tokens ({setting.key.name}, {setting.source})"]
        if event.happening == COMPACTING:
            return [*lines, "puts in nothing: the next edit, command or prompt brings what is to be said after it"]
        moment = moment_of(event)
        if moment is None:
            does = "releases automatic claims and records the end of the session"
            return [*lines, f"does: {does if satchel.config.hooks_end else 'nothing'}; puts in nothing"]
        setting = satchel.config.setting(f"hooks.{moment.name}")
        lines.append(f"budget: {setting.value} tokens ({setting.key.name}, {setting.source})")
        put_in = satchel.moments.make(
            moment, Deadline(_DEADLINE_MS), agent_id=event.agent_id, agent_type=event.agent_type, dry_run=True
        )
        if not put_in.text or put_in.briefing is None:
            return [*lines, f"puts in nothing: {put_in.why}"]
        briefing = put_in.briefing
        shown = ", ".join(f"{item.ref} ({item.section}, {item.priority})" for item in briefing.items)
        left = "; ".join(str(one) for one in briefing.left_out) or "nothing"
        return [
            *lines,
            f"shows: {shown}",
            f"leaves out: {left}",
            f"puts in about {put_in.tokens} tokens, {len(put_in.text)} characters, in a new window:",
            "",
            put_in.text,
        ]


def _at_prompt(event: HookEvent, satchel: Satchel) -> list[str]:
    """Return what would be put in at a prompt in a new window, with how well each item is met."""
    setting = satchel.config.setting("hooks.prompt")
    lines = [f"budget: {setting.value} tokens ({setting.key.name}, {setting.source})"]
    looked = satchel.working.look(event.prompt, Deadline(_DEADLINE_MS).has_passed)
    lines += [
        f"meets {one.ref}: {one.strength:.1f} times what chance would bring, by {', '.join(one.words)}"
        for one in looked.met
    ]
    if not looked.text:
        return [*lines, f"puts in nothing: {looked.why}"]
    return [*lines, f"puts in about {looked.tokens} tokens in a new window:", "", looked.text]

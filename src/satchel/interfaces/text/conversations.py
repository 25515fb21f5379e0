"""Conversations as compact text: what each holds, where its files are, and who could be asked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import moment_text, year_of
from satchel.base.records import dataclass
from satchel.interfaces.text.consultations import part_lines, paths_text
from satchel.interfaces.text.json import Fields, fields_of
from satchel.interfaces.text.lists import Line, list_text
from satchel.interfaces.text.parts import counted, value_text

if TYPE_CHECKING:
    from satchel.base.paging import Page
    from satchel.consult.assistants.opening import ProviderState
    from satchel.consult.conversation_records import ListedConversation

_MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class Conversations:
    """A page of conversations, and who could be asked; with all files of each where one was asked for by name."""

    page: Page[ListedConversation]
    states: Sequence[ProviderState]
    with_files: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A conversation that was forgotten, or would be."""

    found: ListedConversation
    done: bool


def conversations_text(listed: Conversations) -> str:
    """Render conversations for an agent; without all files, the first few of each part."""
    items = listed.page.items
    year = year_of(items[0].updated_at) if items else ""
    lines = [_line(one, year, None if listed.with_files else _MAX_NAMED) for one in items]
    return "\n".join([list_text("conversation", listed.page, lines, (None,)), assistants_line(listed.states)])


def conversations_fields(listed: Conversations) -> Fields:
    """Return conversations with all their files, and who could be asked, as JSON fields."""
    return {**fields_of(listed.page, "conversations"), "assistants": fields_of(list(listed.states))}


def assistants_line(states: Sequence[ProviderState]) -> str:
    """Say who could be asked here, and what is missing for the others."""
    return "assistants: " + ", ".join(
        one.provider if one.missing is None else f"{one.provider} ({one.missing})" for one in states
    )


def may_reset(would: Reset) -> str:
    """Return the question whether to forget a conversation."""
    key = would.found.key
    return f"Forget {key.conversation} with {key.assistant}, {counted(would.found.turns, 'turn')}?"


def reset_text(reset: Reset) -> str:
    """Say what a reset forgot, or would forget."""
    one = reset.found
    counts = f"{counted(one.turns, 'turn')}, {counted(_files(one), 'file')}"
    what = f"{value_text(one.key.conversation)} with {one.key.assistant}: {counts}"
    return f"forgot {what}" if reset.done else f"nothing was forgotten; would forget {what}"


def reset_fields(reset: Reset) -> Fields:
    """Return what a reset forgot, or would forget, as JSON fields."""
    key = reset.found.key
    told = {"conversation": key.conversation, "assistant": key.assistant, "turns": reset.found.turns}
    return {**told, "files": _files(reset.found), "done": reset.done}


def _files(one: ListedConversation) -> int:
    return len(one.inline) + len(one.overflow)


def _line(one: ListedConversation, year: str, most: int | None) -> Line:
    below = [
        f" {line}"
        for part, files in (("inline", one.inline), ("overflow", one.overflow))
        for line in part_lines(part, [file for file in files if not file.is_removed], most)
    ]
    gone = [file.path for file in (*one.inline, *one.overflow) if file.is_removed]
    below += [f" removed {len(gone)}: {paths_text(gone, most)}"] if gone else []
    if one.lease is not None:
        below.append(f" {one.lease.holder} is in it, until {moment_text(one.lease.until, year)} at most")
    own = (
        f"turns:{one.turns}",
        f"holds:{one.held_tokens:,}",
        f"sent:{one.sent_tokens:,}",
        f"saved:{one.saved_tokens:,}",
        f"answers:{one.answer_tokens:,}",
    )
    return Line(
        start=value_text(one.key.conversation),
        cells=(one.key.assistant,),
        own=own,
        moment=one.updated_at,
        after=() if one.created_at == one.updated_at else (f"began {moment_text(one.created_at, year)}",),
        below=tuple(below),
    )

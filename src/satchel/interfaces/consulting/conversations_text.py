"""Conversations as compact text: what each holds, where its files are, and who could be asked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.interfaces.consulting.consultations_text import part_lines, paths_text
from satchel.interfaces.ledger.compact_lines import Line, list_text, moment_text
from satchel.interfaces.text_parts import value_text, year_of

if TYPE_CHECKING:
    from satchel.base.paging import Page
    from satchel.consult.assistants.opening import ProviderState
    from satchel.consult.conversation_records import ListedConversation

_MAX_NAMED = 10


def conversations_text(page: Page[ListedConversation], states: Sequence[ProviderState], *, every_file: bool) -> str:
    """Render conversations for an agent.

    Args:
        states: who could be asked.
        every_file: name all files of each, not the first few of each part.
    """
    year = year_of(page.items[0].updated_at) if page.items else ""
    lines = [_line(one, year, None if every_file else _MAX_NAMED) for one in page.items]
    return "\n".join([list_text("conversations", page, lines, (None,)), assistants_line(states)])


def assistants_line(states: Sequence[ProviderState]) -> str:
    """Say who could be asked here, and what is missing for the others."""
    return "assistants: " + ", ".join(
        one.provider if one.missing is None else f"{one.provider} ({one.missing})" for one in states
    )


def reset_text(one: ListedConversation, *, done: bool) -> str:
    """Say what a reset forgot, or would forget."""
    turns = f"{one.turns} {'turn' if one.turns == 1 else 'turns'}"
    files = len(one.inline) + len(one.overflow)
    what = f"{value_text(one.key.session_id)} with {one.key.assistant}: {turns}, {files} files"
    return f"forgot {what}" if done else f"nothing was forgotten; would forget {what}"


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
        start=value_text(one.key.session_id),
        cells=(one.key.assistant,),
        own=own,
        moment=one.updated_at,
        after=() if one.created_at == one.updated_at else (f"began {moment_text(one.created_at, year)}",),
        below=tuple(below),
    )

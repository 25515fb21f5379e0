"""Consultations as plain JSON, for ``format="json"`` and ``--json``; what is not set is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import iso
from satchel.interfaces.to_json import Fields, rest_fields

if TYPE_CHECKING:
    from satchel.base.paging import Page
    from satchel.consult.assistants.opening import ProviderState
    from satchel.consult.consultation import Consultation
    from satchel.consult.conversation_records import ListedConversation, ListedFile


def consultation_fields(done: Consultation) -> Fields:
    """Return a consultation as JSON fields; a turn that was only planned has the answer null."""
    kept = done.kept
    return {
        "assistant": done.assistant,
        "address": done.address,
        "session_id": done.session_id,
        "turn": done.turn,
        "answer": done.answer,
        "inline": [_file(file) for file in done.inline],
        "overflow": [_file(file) for file in done.overflow],
        "attachments": list(done.attachments),
        "held_back": [{"path": one.path, "reason": one.reason, "detail": one.detail} for one in done.held_back],
        "sent_tokens": done.sent_tokens,
        "saved_tokens": done.saved_tokens,
        "held_tokens": done.held_tokens,
        "window_tokens": done.window_tokens,
        "queries": list(done.queries),
        "cited": list(done.cited),
        "notes": list(done.notes),
    } | set_fields(
        {
            "input_tokens": done.input_tokens,
            "output_tokens": done.output_tokens,
            "kept": kept and kept.ref,
            "not_kept": kept.told if kept and kept.failure else None,
        }
    )


def conversations_fields(page: Page[ListedConversation], states: Sequence[ProviderState]) -> Fields:
    """Return conversations with all their files, and who could be asked, as JSON fields."""
    return {
        "conversations": [conversation_fields(one) for one in page.items],
        **rest_fields(page),
        "assistants": [set_fields({"provider": one.provider, "missing": one.missing}) for one in states],
    }


def conversation_fields(one: ListedConversation) -> Fields:
    """Return a conversation as JSON fields."""
    lease = one.lease
    return set_fields(
        {
            "session_id": one.key.session_id,
            "assistant": one.key.assistant,
            "uid": one.uid,
            "seq": one.seq,
            "turns": one.turns,
            "held_tokens": one.held_tokens,
            "sent_tokens": one.sent_tokens,
            "saved_tokens": one.saved_tokens,
            "answer_tokens": one.answer_tokens,
            "lease": None if lease is None else {"holder": lease.holder, "until": iso(lease.until)},
            "created_at": iso(one.created_at),
            "updated_at": iso(one.updated_at),
        }
    ) | {"inline": [_file(file) for file in one.inline], "overflow": [_file(file) for file in one.overflow]}


def reset_fields(one: ListedConversation, *, done: bool) -> Fields:
    """Return what a reset forgot, or would forget, as JSON fields."""
    return {
        "session_id": one.key.session_id,
        "assistant": one.key.assistant,
        "turns": one.turns,
        "files": len(one.inline) + len(one.overflow),
        "done": done,
    }


def set_fields(fields: Fields) -> Fields:
    """Return the fields that are set."""
    return {name: value for name, value in fields.items() if value is not None and value != []}


def _file(file: ListedFile) -> Fields:
    told = {"path": file.path, "tokens": file.tokens, "why": file.why, "removed": file.is_removed or None}
    return set_fields(told)

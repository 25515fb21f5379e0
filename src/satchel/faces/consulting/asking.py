"""What goes around a consultation with the store: a briefing before it, its answer kept after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, InvalidInput, NotFound, SatchelError, nearest, unknown_name
from satchel.base.paging import MAX_LIMIT
from satchel.base.text import check_name, shortened

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.consult.assistants.opening import ProviderState
    from satchel.consult.conversation_records import ListedConversation
    from satchel.consult.service import Consultation

KEPT_TYPES = ("discovery", "error", "decision")
"""The types of notes that an answer can be kept as: those whose content is a text."""

_DECISION = "decision:"
_MOST_QUERY_CHARS = 1_000
"""Of a question that a briefing is packed for; what stands first in it tells most."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What an answer is to be kept as: a note of a type, a decision of a key, or nothing."""

    entry_type: str | None = None
    decision_key: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of an answer that was to be kept.

    Attributes:
        ref: the short id of the note or decision; None where keeping it failed.
        told: what it was kept as, in words, or why it was not.
        notes: what was cleaned, redacted or started.
        failure: the error; the answer is there all the same.
    """

    ref: str | None
    told: str
    notes: tuple[str, ...] = ()
    failure: SatchelError | None = None


def check_keeping(keep_as: str | None, *, dry_run: bool) -> Keeping:
    """Read what an answer is to be kept as, before it is paid for.

    Args:
        keep_as: a type of note, or ``decision:`` and a key; None keeps nothing.
        dry_run: whether there will be no answer.

    Raises:
        InvalidInput: it is neither, or there will be nothing to keep.
    """
    if keep_as is None:
        return Keeping()
    if dry_run:
        raise InvalidInput("a dry run has no answer to keep", "Leave out what keeps it, or the dry run")
    if keep_as.startswith(_DECISION):
        return Keeping(decision_key=check_name(keep_as.removeprefix(_DECISION), "key"))
    if keep_as not in KEPT_TYPES:
        raise unknown_name("keep_as", keep_as, [*KEPT_TYPES, f"{_DECISION}KEY"])
    return Keeping(entry_type=keep_as)


def briefing_for(
    satchel: Satchel,
    instructions: str,
    *,
    role: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    agent: str | None = None,
) -> str | None:
    """Pack what the store knows for an assistant.

    An assistant has seen nothing of it, whatever was delivered to the caller, and nothing counts as delivered to the
    caller by this.

    Returns:
        The text; None where the budget allows none.
    """
    query = instructions[:_MOST_QUERY_CHARS] if instructions.strip() else None
    briefing = satchel.pack(role, task_id=task_id, run_id=run_id, agent=agent, query=query, again=True, preview=True)
    return briefing.text or None


def keep_answer(
    satchel: Satchel,
    done: Consultation,
    instructions: str,
    keeping: Keeping,
    *,
    run_id: str | None = None,
    agent: str | None = None,
) -> Kept | None:
    """Keep an answer with what it answers; a failure is told, not raised, since the answer is paid for.

    Returns:
        What became of it; None where nothing was to be kept.
    """
    if done.answer is None or keeping == Keeping():
        return None
    asked = f"{done.assistant} on: {shortened(' '.join(instructions.split()))}"
    try:
        if keeping.decision_key is not None:
            decision = satchel.decisions.set(keeping.decision_key, done.answer, rationale=asked, agent=agent)
            return Kept(decision.ref, f"kept as decision {decision.ref} {decision.key}", decision.notes)
        entry = satchel.entries.write(
            keeping.entry_type or KEPT_TYPES[0], f"{asked}\n\n{done.answer}", run_id=run_id, agent=agent
        )
    except SatchelError as error:
        return Kept(None, f"the answer was not kept: {error}", failure=error)
    return Kept(entry.ref, f"kept as {entry.ref} {entry.type} in run {entry.run_id}", entry.notes)


def find_conversation(satchel: Satchel, session_id: str, assistant: str | None) -> ListedConversation:
    """Find the one conversation that a name means.

    Args:
        assistant: with or without its provider; None where the name alone says which.

    Raises:
        NotFound: there is none.
        Conflict: there are several.
    """
    conversations = satchel.consulting.conversations
    named = conversations.list(session_id=session_id, limit=MAX_LIMIT).items
    found = [one for one in named if assistant in {None, one.key.assistant, one.key.assistant.partition(":")[2]}]
    if not found:
        known = [one.key.session_id for one in conversations.list(limit=MAX_LIMIT)]
        others = ", ".join(one.key.assistant for one in named)
        close = nearest(session_id, known)
        raise NotFound(
            f"there is no conversation {session_id!r}{'' if assistant is None else f' with {assistant}'}",
            f"There is one with {others}" if others else f"Did you mean {close!r}?" if close else "See which there are",
        )
    if len(found) > 1:
        raise Conflict(
            f"conversation {session_id!r} is with {', '.join(one.key.assistant for one in found)}",
            "Name the assistant too",
        )
    return found[0]


def askable(satchel: Satchel) -> tuple[ProviderState, ...]:
    """Return who could be asked here, and what is missing for the others."""
    from satchel.consult.assistants.opening import AssistantSettings, providers

    config = satchel.config
    settings = AssistantSettings(config.consult_base_url, config.consult_window_tokens, config.consult_output_tokens)
    return providers(satchel.environ, settings)

"""What one call asks, checked before anything is looked at, sent or paid for."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.records import dataclass
from satchel.consult.conversation_records import ConversationKey
from satchel.consult.keeping import Keeping, check_keeping
from satchel.keep.names import check_identifier
from satchel.keep.texts import check_content

EFFORTS = ("low", "medium", "high")
_HOTTEST = 2
DEFAULT_CONVERSATION = "default"
"""The conversation of questions that name none."""


@dataclass(frozen=True, slots=True)
class BriefingRequest:
    """What a briefing is made for: see :meth:`satchel.brief.briefing.Briefings.brief`."""

    role: str | None = None
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One turn's question.

    Attributes:
        key: of the conversation; its assistant is empty until that is known.
        notes: what was cleaned or redacted in the question.
        context, priority, attachments: paths.
        briefing: for whom one is put before the files; None for none.
        keeping: what the answer is kept as; None keeps nothing.
        run_id, agent: of the briefing, and of what is kept.
        force: whether files that hold secrets are sent.
        reuse: whether an earlier answer will do.
        effort, temperature: as in :class:`satchel.consult.assistants.protocol.Ask`.
        takes_over: whether it goes on with what another assistant discussed under the name.
    """

    key: ConversationKey
    instructions: str
    notes: tuple[str, ...]
    context: tuple[str, ...]
    priority: tuple[str, ...]
    attachments: tuple[str, ...]
    briefing: BriefingRequest | None
    keeping: Keeping | None
    run_id: str | None
    agent: str | None
    force: bool
    reuse: bool
    takes_over: bool
    effort: str | None
    temperature: float | None


def check_question(
    instructions: str,
    *,
    max_bytes: int,
    conversation: str = DEFAULT_CONVERSATION,
    context: Sequence[str] = (),
    priority: Sequence[str] = (),
    attachments: Sequence[str] = (),
    briefing: bool = False,
    role: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    keep_as: str | None = None,
    force: bool = False,
    reuse: bool = False,
    takes_over: bool = False,
    effort: str | None = None,
    temperature: float | None = None,
    dry_run: bool = False,
) -> Question:
    """Check what a call asks; the parameters are those of :meth:`satchel.consult.service.Consulting.consult`.

    Args:
        max_bytes: how long the question may be.

    Raises:
        InvalidInput, TooLarge: an argument is not acceptable.
    """
    for field, paths in (("context", context), ("priority", priority), ("attachments", attachments)):
        if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
            raise InvalidInput(f"{field} is no list of paths", f'Give {field} as ["src", "README.md"]')
    unused = [name for name, value in (("role", role), ("task_id", task_id)) if value is not None and not briefing]
    if unused:
        raise InvalidInput(f"{', '.join(unused)} was given without briefing", "Ask for a briefing, or leave it out")
    if effort is not None and effort not in EFFORTS:
        raise unknown_name("effort", effort, EFFORTS)
    if temperature is not None and not 0 <= temperature <= _HOTTEST:
        raise InvalidInput(f"temperature {temperature!r} is out of range", f"Give 0 to {_HOTTEST}")
    keeping = check_keeping(keep_as, dry_run=dry_run)
    if run_id is not None and not briefing and (keeping is None or keeping.entry_type is None):
        raise InvalidInput("run_id was given without briefing or a note to keep", "Leave it out, or say what it is for")
    asked = check_content(instructions, "instructions", max_bytes)
    return Question(
        key=ConversationKey("", check_identifier(conversation, "conversation")),
        instructions=asked.text,
        notes=tuple(f"question: {note}" for note in asked.notes),
        context=tuple(context),
        priority=tuple(priority),
        attachments=tuple(attachments),
        briefing=BriefingRequest(role, task_id) if briefing else None,
        keeping=keeping,
        run_id=None if run_id is None else check_identifier(run_id, "run_id"),
        agent=None if agent is None else check_identifier(agent, "agent"),
        force=force,
        reuse=reuse,
        takes_over=takes_over,
        effort=effort,
        temperature=temperature,
    )

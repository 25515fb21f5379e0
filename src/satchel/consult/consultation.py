"""The record of one consultation, as every interface shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.consult.assistants.protocol import Assistant, Reply
from satchel.consult.conversation_records import ListedFile, list_placements
from satchel.consult.records import ConversationState, HeldBack, TurnPlan

if TYPE_CHECKING:
    from satchel.consult.question import Question


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


@dataclass(frozen=True, slots=True)
class Consultation:
    """One turn of a conversation with an assistant: answered, or only planned.

    Attributes:
        address: where the assistant is asked: scheme, host, port and path.
        answer: None for a turn that was only planned.
        turn: the how-manieth of the conversation it is, from 1.
        inline: the files of the conversation that stand in its prompts, by path.
        overflow: those that did not fit into the prompt, each with the reason, by path.
        searchable: how many of them could be searched in this turn.
        attachments: paths of what is searched in this turn only.
        held_back: what was not sent, and why.
        sent_tokens: what the prompt added to the window; ``saved_tokens``, what a full resend would have added more.
        held_tokens: what the conversation holds now, of ``window_tokens``.
        input_tokens, output_tokens: what the provider counted in this call, all that it was sent and thinking
            included; None where it does not say.
        queries: what the assistant searched for.
        cited: paths that the answer cites, where the provider says so.
        kept: what became of the answer, where it was to be kept.
        notes: what the caller should know.
    """

    assistant: str
    address: str
    conversation: str
    turn: int
    answer: str | None
    inline: tuple[ListedFile, ...]
    overflow: tuple[ListedFile, ...]
    searchable: int
    attachments: tuple[str, ...]
    held_back: tuple[HeldBack, ...]
    sent_tokens: int
    saved_tokens: int
    held_tokens: int
    window_tokens: int
    input_tokens: int | None
    output_tokens: int | None
    queries: tuple[str, ...]
    cited: tuple[str, ...]
    kept: Kept | None
    notes: tuple[str, ...]

    @property
    def failure(self) -> SatchelError | None:
        """Why the answer was not kept, where it was to be."""
        return self.kept.failure if self.kept else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the question was about."""
        return (*(file.path for file in (*self.inline, *self.overflow)), *self.attachments)


def consultation_of(
    question: Question,
    model: Assistant,
    state: ConversationState,
    plan: TurnPlan,
    reply: Reply | None = None,
    kept: Kept | None = None,
    notes: Sequence[str] = (),
) -> Consultation:
    """Return the record of a turn: answered, or only planned."""
    inline, overflow = list_placements({path: known for path, known in plan.files.items() if known.digest is not None})
    return Consultation(
        assistant=model.name,
        address=model.address,
        conversation=question.key.conversation,
        turn=state.turns + (reply is None),
        answer=None if reply is None else reply.text,
        inline=inline,
        overflow=overflow,
        searchable=len(plan.overflow) - len(plan.attachments),
        attachments=plan.attachments,
        held_back=(*plan.held_back, *(reply.dropped if reply else ())),
        sent_tokens=plan.tokens,
        saved_tokens=max(0, plan.resent_tokens - plan.tokens),
        held_tokens=state.held_tokens + (plan.tokens if reply is None else 0),
        window_tokens=model.window.tokens,
        input_tokens=reply.input_tokens if reply else None,
        output_tokens=reply.output_tokens if reply else None,
        queries=reply.queries if reply else (),
        cited=reply.cited if reply else (),
        kept=kept,
        notes=(
            *question.notes,
            *plan.notes,
            *(reply.notes if reply else ()),
            *notes,
            *(kept.notes if kept else ()),
        ),
    )

"""Results of a consultation: the answer of one model or of several, in the foreground or in the background.

A background consultation runs in a thread of the calling program and ends with it. Its owner reads the answer by a
handle.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import AssistantFailed, Conflict, InvalidInput, NotFound, SatchelError
from satchel.base.records import dataclass
from satchel.consult.models import Assistant, Price, Reply
from satchel.consult.records import (
    ConversationState,
    HeldBack,
    IsCancelled,
    ListedFile,
    Tell,
    TurnPlan,
    list_placements,
    raise_if_cancelled,
)

if TYPE_CHECKING:
    from satchel.consult.question import Question


@dataclass(frozen=True, slots=True)
class Kept:
    """Result of storing an answer."""

    ref: str | None
    message: str
    notes: tuple[str, ...] = ()
    failure: SatchelError | None = None


@dataclass(frozen=True, slots=True)
class Consultation:
    """One turn of a conversation with an assistant: answered, or only planned.

    Attributes:
        address: URL of the assistant: scheme, host, port and path.
        answer: None for a turn that was only planned.
        turn: number of the turn in the conversation, from 1.
        inline: the files in the prompts of the conversation, by path.
        overflow: those that did not fit into the prompt, each with the reason, by path.
        searchable: how many of them could be searched in this turn.
        attachments: paths of files that are searched in this turn only.
        held_back: files that were not sent, with the reason.
        sent_tokens: tokens that the prompt added to the window.
        saved_tokens: how many more a full resend would have added.
        held_tokens: size of the conversation now, of ``window_tokens``.
        input_tokens, output_tokens: the provider's count for this call, with the whole input and thinking; None if
            it reports none.
        queries: searches of the assistant.
        cited: paths that the answer cites, if the provider reports them.
        kept: result of storing the answer; None if it was not stored.
        notes: notes for the caller.
        mismatch: where the answer violates the requested schema.
        cost: US dollars for the counted tokens, without cache discounts and surcharges; for a planned turn, of its
            input. None if a price or count is unknown.
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
    mismatch: str | None = None
    cost: float | None = None

    @property
    def failure(self) -> SatchelError | None:
        """Reason why the answer was not stored, or does not match its schema."""
        if self.mismatch is not None:
            return AssistantFailed(
                f"the answer of {self.assistant} does not match the schema: {self.mismatch}",
                "The answer was not stored; ask again, or ask another model",
                reason="mismatch",
            )
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
    price: Price | None = None,
) -> Consultation:
    """Return the record of a turn: answered, or only planned."""
    result = reply or Reply("")
    inputs, outputs = (reply.input_tokens, reply.output_tokens) if reply else (state.held_tokens + plan.tokens, 0)
    inline, overflow = list_placements({path: file for path, file in plan.files.items() if file.digest is not None})
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
        held_back=(*plan.held_back, *result.dropped),
        sent_tokens=plan.tokens,
        saved_tokens=max(0, plan.resent_tokens - plan.tokens),
        held_tokens=state.held_tokens + (plan.tokens if reply is None else 0),
        window_tokens=model.window.tokens,
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        queries=result.queries,
        cited=result.cited,
        kept=kept,
        notes=(*question.notes, *plan.notes, *result.notes, *notes, *(kept.notes if kept else ())),
        cost=None
        if price is None or inputs is None or outputs is None
        else (price[0] * inputs + price[1] * outputs) / 1_000_000,
    )


# Limit for models asked at once, and for background consultations of one owner.
MAX_RUNNING = 8

_COMPARE = """\
Several models answered the same question independently. Compare their answers: what they agree on, where they \
disagree and who is right as far as you can tell, and what only one of them saw. End with your own \
answer to the question.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that failed to answer."""

    assistant: str
    error: SatchelError


@dataclass(frozen=True, slots=True)
class Panel:
    """The answers of several models to one question."""

    answers: tuple[Consultation, ...]
    failures: tuple[Failure, ...]
    synthesis: Consultation | None = None

    @property
    def failure(self) -> SatchelError | None:
        """The first failure of a model, or the failure to store the comparison."""
        if self.failures:
            return self.failures[0].error
        return next((one.failure for one in (*self.answers, self.synthesis) if one and one.failure), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of all answers."""
        return tuple(dict.fromkeys(note for one in self.answers for note in one.notes))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the question was about."""
        return tuple(dict.fromkeys(path for one in self.answers for path in one.paths))


def comparison_request(question: str, answers: Sequence[Consultation]) -> str:
    """Return the request to compare answers."""
    texts = [f"## The answer of {one.assistant}\n\n{one.answer}\n" for one in answers]
    return "\n".join([_COMPARE, f"## The question\n\n{question}\n", *texts])


def check_panel(names: Sequence[str], synthesis: str | None, keep_as: str | None) -> None:
    """Refuse duplicate models, a comparison of one answer, and storing several answers as one."""
    if len(set(names)) < len(names):
        raise InvalidInput("a model is named twice", "Name each model once")
    if synthesis is not None and len(names) < 2:
        raise InvalidInput("one answer cannot be compared", "Name more models, or leave out synthesis")
    if keep_as is not None and synthesis is None:
        raise InvalidInput("several answers cannot be kept as one", "Name a synthesis to keep, or ask one model")


def ask_all(
    names: Sequence[str],
    ask: Callable[[str, Tell, IsCancelled], Consultation],
    listener: Tell,
    is_cancelled: IsCancelled,
    most: int,
) -> Panel:
    """Ask several models at once, up to a limit."""
    from concurrent.futures import ThreadPoolExecutor  # it takes long to import

    lock, stop = threading.Lock(), threading.Event()

    def ask_one(name: str) -> Consultation | Failure:
        def tell(what: str) -> None:
            with lock:
                listener(f"{name}: {what}")

        try:
            return ask(name, tell, lambda: stop.is_set() or is_cancelled())
        except SatchelError as error:
            return Failure(name, error)

    with ThreadPoolExecutor(min(most, MAX_RUNNING)) as pool:
        try:
            results = list(pool.map(ask_one, names))
        except BaseException:
            stop.set()  # the pool waits for its threads
            raise
    raise_if_cancelled(is_cancelled)
    answers = tuple(one for one in results if isinstance(one, Consultation))
    failures = tuple(one for one in results if isinstance(one, Failure))
    if not answers:
        raise failures[0].error
    return Panel(answers, failures)


MAX_WAIT_S = 45
# How many finished consultations an owner can still get.
_MAX_STORED = 64

# How long a start waits for an early error; later errors are reported by the handle.
_START_S = 2.0


@dataclass(frozen=True, slots=True)
class BackgroundConsultation:
    """State of a consultation in the background."""

    handle: str
    step: str
    seconds: int
    result: Consultation | Panel | None = None
    error: SatchelError | None = None

    @property
    def state(self) -> str:
        """``running``, ``done`` or ``failed``."""
        return "done" if self.result is not None else "failed" if self.error is not None else "running"


class _Job:
    def __init__(self, owner: Hashable) -> None:
        self.owner = owner
        self.handle = os.urandom(8).hex()
        self.began, self.took = time.monotonic(), 0.0
        self.has_begun, self.is_over, self.is_cancelled = threading.Event(), threading.Event(), threading.Event()
        self.step = "starting"
        self.result: Consultation | Panel | None = None
        self.error: SatchelError | None = None

    def run(self, ask: Callable[[Tell, IsCancelled], Consultation | Panel]) -> None:
        try:
            self.result = ask(self.tell, self.is_cancelled.is_set)
        except SatchelError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 -- nobody would learn of it
            self.error = SatchelError(f"the consultation failed: {error!r:.300}", "Report this fault in Satchel")
        finally:
            self.took = time.monotonic() - self.began
            self.is_over.set()
            self.has_begun.set()

    def tell(self, step: str) -> None:
        self.step = step
        if "asking " in step:  # the question was valid: errors from here on are the provider's
            self.has_begun.set()

    def state(self) -> BackgroundConsultation:
        seconds = self.took if self.is_over.is_set() else time.monotonic() - self.began
        return BackgroundConsultation(self.handle, self.step, int(seconds), self.result, self.error)


_jobs: dict[str, _Job] = {}
_lock = threading.Lock()


def start_background(
    owner: Hashable, ask: Callable[[Tell, IsCancelled], Consultation | Panel]
) -> BackgroundConsultation:
    """Ask in a thread."""
    job = _Job(owner)
    with _lock:
        running = [one.handle for one in _jobs.values() if not one.is_over.is_set() and one.owner == owner]
        if len(running) >= MAX_RUNNING:
            raise Conflict(
                f"{MAX_RUNNING} consultations are running in the background", f"Wait for one, such as {running[0]}"
            )
        over = [one.handle for one in _jobs.values() if one.is_over.is_set() and one.owner == owner]
        for handle in over[: max(0, len(over) + 1 - _MAX_STORED)]:
            del _jobs[handle]
        _jobs[job.handle] = job
    threading.Thread(target=job.run, args=(ask,), name=f"satchel-consult-{job.handle}", daemon=True).start()
    job.has_begun.wait(_START_S)
    if job.error is not None:
        raise job.error
    return job.state()


def get_background(owner: Hashable, handle: str, *, wait: float = 0, cancel: bool = False) -> BackgroundConsultation:
    """Return the state of a consultation, or its answer."""
    if not 0 <= wait <= MAX_WAIT_S:
        raise InvalidInput(f"wait {wait!r} is out of range", f"Give 0 to {MAX_WAIT_S} seconds")
    job = _jobs.get(handle)
    if job is None or job.owner != owner:
        raise NotFound(
            f"there is no consultation {handle[:80]!r} in the background",
            "A restart forgets handles; answers that arrived are in their conversations, see list_conversations",
        )
    if cancel:
        job.is_cancelled.set()
    job.is_over.wait(MAX_WAIT_S if cancel else wait)
    return job.state()

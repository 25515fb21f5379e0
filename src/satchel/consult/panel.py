"""Several models asked at once: their answers, and the request to compare them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import dataclass
from satchel.consult.consultation import Consultation
from satchel.consult.records import IsCancelled, raise_if_cancelled

_COMPARE = """\
Several models answered the same question independently. Compare their answers: what they agree on, where they \
disagree and who is right as far as you can tell, and what only one of them saw. End with your own \
answer to the question.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that gave no answer, and why."""

    assistant: str
    error: SatchelError


@dataclass(frozen=True, slots=True)
class Panel:
    """The answers of several models to one question.

    Attributes:
        answers: in the order of the models.
        failures: the models that gave no answer.
        synthesis: the comparison of the answers, or None.
    """

    answers: tuple[Consultation, ...]
    failures: tuple[Failure, ...]
    synthesis: Consultation | None = None

    @classmethod
    def of(cls, results: Iterable[Consultation | Failure]) -> Panel:
        """Sort results into answers and failures."""
        results = list(results)
        return cls(
            tuple(one for one in results if isinstance(one, Consultation)),
            tuple(one for one in results if isinstance(one, Failure)),
        )

    @property
    def failure(self) -> SatchelError | None:
        """The first reason why a model gave no answer, or why the comparison was not kept."""
        return self.failures[0].error if self.failures else self.synthesis.failure if self.synthesis else None

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
    """Refuse models named twice, a comparison of one answer, and several answers kept as one."""
    if len(set(names)) < len(names):
        raise InvalidInput("a model is named twice", "Name each model once")
    if synthesis is not None and len(names) < 2:
        raise InvalidInput("one answer cannot be compared", "Name more models, or leave out synthesis")
    if keep_as is not None and synthesis is None:
        raise InvalidInput("several answers cannot be kept as one", "Name a synthesis to keep, or ask one model")


def ask_all(
    names: Sequence[str],
    ask: Callable[[str, Callable[[str], None], IsCancelled], Consultation],
    listener: Callable[[str], None],
    is_cancelled: IsCancelled,
) -> Panel:
    """Ask models at once, a thread each.

    Args:
        ask: asks the model of a name, given a listener for its progress and whether the call is over.

    Raises:
        Interrupted: the call was cancelled.
        SatchelError: every model failed; the error of the first.
    """
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

    with ThreadPoolExecutor(len(names)) as pool:
        try:
            panel = Panel.of(pool.map(ask_one, names))
        except BaseException:
            stop.set()  # the pool waits for its threads
            raise
    raise_if_cancelled(is_cancelled)
    if not panel.answers:
        raise panel.failures[0].error
    return panel

"""The answers of several models to one question, and the request to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.consult.consultation import Consultation

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
        """What the caller should know, of all answers."""
        return tuple(dict.fromkeys(note for one in self.answers for note in one.notes))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the question was about."""
        return tuple(dict.fromkeys(path for one in self.answers for path in one.paths))


def comparison_request(question: str, answers: Sequence[Consultation]) -> str:
    """Return the request to compare answers."""
    texts = [f"## The answer of {one.assistant}\n\n{one.answer}\n" for one in answers]
    return "\n".join([_COMPARE, f"## The question\n\n{question}\n", *texts])

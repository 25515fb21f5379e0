"""What becomes of an answer: kept as a note or a decision, where the caller asked for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput, SatchelError, unknown_name
from satchel.base.records import dataclass
from satchel.base.text import check_name, shortened
from satchel.consult.consultation import Kept

if TYPE_CHECKING:
    from satchel.keep.decisions import Decisions
    from satchel.keep.entries import Entries
    from satchel.keep.runs import Runs

KEPT_TYPES = ("discovery", "error", "decision")
"""The types of notes that an answer can be kept as: those whose content is a text."""

_DECISION = "decision:"


@dataclass(frozen=True, slots=True)
class Keeping:
    """What an answer is to be kept as: a note of a type, or a decision of a key."""

    entry_type: str | None = None
    decision_key: str | None = None


REMEMBERED = Keeping(entry_type="discovery")
"""What an answer is kept as that nobody asked to keep."""


def check_keeping(keep_as: str | None, *, dry_run: bool) -> Keeping | None:
    """Read what an answer is to be kept as, before it is paid for.

    Args:
        keep_as: a type of note, or ``decision:`` and a key; None keeps nothing.
        dry_run: whether there will be no answer.

    Raises:
        InvalidInput: it is neither, or there will be nothing to keep.
    """
    if keep_as is None:
        return None
    if dry_run:
        raise InvalidInput("a dry run has no answer to keep", "Leave out what keeps it, or the dry run")
    if keep_as.startswith(_DECISION):
        return Keeping(decision_key=check_name(keep_as.removeprefix(_DECISION), "key"))
    if keep_as not in KEPT_TYPES:
        raise unknown_name("keep_as", keep_as, [*KEPT_TYPES, f"{_DECISION}KEY"])
    return Keeping(entry_type=keep_as)


class AnswerKeeper:
    """Keeps answers as notes and decisions."""

    def __init__(self, entries: Entries, decisions: Decisions, runs: Runs) -> None:
        self._entries = entries
        self._decisions = decisions
        self._runs = runs

    def check(self, keeping: Keeping, run_id: str | None) -> None:
        """Make sure, before an answer is paid for, that there is the run which a note of it goes to.

        Raises:
            NotFound: the run does not exist.
            InvalidInput: it means all runs.
        """
        if keeping.entry_type is not None:
            self._runs.get(run_id)

    def keep(
        self,
        keeping: Keeping,
        assistant: str,
        instructions: str,
        answer: str,
        *,
        run_id: str | None = None,
        agent: str | None = None,
        max_bytes: int,
    ) -> Kept:
        """Keep an answer with what it answers; a failure is told, not raised, since the answer is paid for.

        Args:
            assistant: who answered.
            instructions: what it was asked.
            run_id: the run of a note; None takes the default.
            agent: who keeps it; None takes the default.
            max_bytes: the longest note; one that nobody asked for is cut to it.
        """
        asked = f"{assistant} on: {shortened(' '.join(instructions.split()))}"
        try:
            if keeping.decision_key is not None:
                decision = self._decisions.set(keeping.decision_key, answer, rationale=asked, agent=agent)
                return Kept(decision.ref, f"kept as decision {decision.ref} {decision.key}", decision.notes)
            text = f"{asked}\n\n{answer}"
            if keeping is REMEMBERED:
                text = text.encode()[:max_bytes].decode(errors="ignore")
            entry = self._entries.write(keeping.entry_type or KEPT_TYPES[0], text, run_id=run_id, agent=agent)
        except SatchelError as error:
            if keeping is REMEMBERED:
                return Kept(None, f"the answer was not remembered: {error}")
            return Kept(None, f"the answer was not kept: {error}", failure=error)
        if keeping is REMEMBERED:
            return Kept(entry.ref, f"remembered as {entry.ref}")
        return Kept(entry.ref, f"kept as {entry.ref} {entry.type} in run {entry.run_id}", entry.notes)

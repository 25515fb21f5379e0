"""Import of lines into a store: the only way in for other stores, tools and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from satchel.base.records import replace
from satchel.keep.decisions.records import ChangedDecision
from satchel.keep.kind import Line
from satchel.keep.moving import states
from satchel.keep.moving.batches import Batch
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.reading import Reading
from satchel.keep.moving.records import Outcome, Verdict
from satchel.keep.moving.states import Source
from satchel.keep.names import shown_name
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

# number of lines per transaction: other writers wait for one such batch, and finished batches stay committed
PER_TRANSACTION = 1_000

OnProposed = Callable[[Transaction, ChangedDecision], None]

_NEWS = frozenset({Outcome.ADDED, Outcome.UPDATED})


class Taking:
    """An import of lines from one source.

    Args:
        source: name of the source; a merge is based on the state last in step with it.
        written_at: when the lines were written, in milliseconds UTC; None if unknown, so they may be older than others.
        decided: whether a person decided that the incoming state wins as it is; the replaced state is kept.
        last_seq: of an import as written, the project's last change number where the lines come from; None otherwise.
        is_by_agent, is_accepted: as for :class:`satchel.keep.moving.reading.Reading`.
        on_proposed: of an agent's import, tells a person of a draft that proposes to change their decision.

    Attributes:
        new_layers: layers the project did not have; ``new_runs``: runs known only by name.
    """

    def __init__(
        self,
        workplace: Workplace,
        *,
        source: str,
        now: int | None = None,
        written_at: int | None = None,
        decided: bool = False,
        last_seq: int | None = None,
        is_by_agent: bool = False,
        is_accepted: bool = False,
        on_proposed: OnProposed | None = None,
    ) -> None:
        now = workplace.clock() if now is None else now
        self._reading = Reading(workplace, now, last_seq=last_seq, is_by_agent=is_by_agent, is_accepted=is_accepted)
        self.new_layers, self.new_runs = self._reading.new_layers, self._reading.new_runs
        self._name = source
        self._on_proposed = on_proposed
        self._written_at = written_at
        self._decided = decided
        self._source: Source | None = None

    def take(self, transaction: Transaction, project_id: int, lines: Sequence[Line]) -> list[Verdict]:
        if self._source is None:
            self._source = states.open_source(transaction, project_id, self._name, self._written_at)
        reading = self._reading
        reading.start(transaction, project_id)
        verdicts: list[Verdict | None] = [None] * len(lines)
        for kind, group in groupby(enumerate(lines), key=lambda pair: pair[1].get("kind")):
            batch = list(group)
            line_kind = LINE_KINDS.get(kind) if isinstance(kind, str) else None
            if line_kind is None:
                reason = f"unknown kind of lines {repr(kind)[:60]}"
                for place, line in batch:
                    verdicts[place] = Verdict(str(kind), str(line.get("uid")), None, Outcome.LEFT_OUT, reason)
                continue
            for place, verdict in Batch(line_kind, reading, self._source, decided=self._decided).take(batch):
                verdicts[place] = verdict
        return [
            self._announced(transaction, project_id, verdict)
            if self._reading.is_by_agent and verdict.kind == "decision" and verdict.outcome in _NEWS
            else verdict
            for verdict in verdicts
            if verdict is not None
        ]

    def _announced(self, transaction: Transaction, project_id: int, verdict: Verdict) -> Verdict:
        from satchel.keep.decisions import proposals  # few imports are an agent's

        change = proposals.of_import(transaction, project_id, str(verdict.ref), self._reading.now)
        if change is None:
            return verdict
        if self._on_proposed is not None:
            self._on_proposed(transaction, change)
        theirs = f"{change.human_key} was decided by {shown_name(str(change.before.agent))} and stays"
        notes = (verdict.note, f"{theirs}: the draft {change.decision.key} proposes a change")
        return replace(verdict, note="; ".join(filter(None, notes)))


__all__ = ["PER_TRANSACTION", "OnProposed", "Outcome", "Taking", "Verdict"]

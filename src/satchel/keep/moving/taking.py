"""Import of lines into a store: the only way in for other stores, tools and texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from satchel.base.records import replace
from satchel.keep.kind import Line
from satchel.keep.moving.batches import Batch
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.reading import Reading
from satchel.keep.moving.records import Outcome, Verdict
from satchel.keep.names import shown_name
from satchel.store.transaction import Transaction

# number of lines per transaction: other writers wait for one such batch, and finished batches stay committed
PER_TRANSACTION = 1_000

_NEWS = frozenset({Outcome.ADDED, Outcome.UPDATED})


class Taking(Reading):
    """An import of lines from one source."""

    def take(self, transaction: Transaction, project_id: int, lines: Sequence[Line]) -> list[Verdict]:
        self.start(transaction, project_id)
        verdicts: list[Verdict | None] = [None] * len(lines)
        for kind, group in groupby(enumerate(lines), key=lambda pair: pair[1].get("kind")):
            batch = list(group)
            line_kind = LINE_KINDS.get(kind) if isinstance(kind, str) else None
            if line_kind is None:
                reason = f"unknown kind of lines {repr(kind)[:60]}"
                for place, line in batch:
                    verdicts[place] = Verdict(str(kind), str(line.get("uid")), None, Outcome.LEFT_OUT, reason)
                continue
            for place, verdict in Batch(line_kind, self).take(batch):
                verdicts[place] = verdict
        return [
            self._announced(transaction, project_id, verdict)
            if self.is_by_agent and verdict.kind == "decision" and verdict.outcome in _NEWS
            else verdict
            for verdict in verdicts
            if verdict is not None
        ]

    def _announced(self, transaction: Transaction, project_id: int, verdict: Verdict) -> Verdict:
        from satchel.keep.decisions import proposals  # few imports are an agent's

        change = proposals.of_import(transaction, project_id, str(verdict.ref), self.now)
        if change is None:
            return verdict
        if self._on_proposed is not None:
            self._on_proposed(transaction, change)
        theirs = f"{change.human_key} was decided by {shown_name(str(change.before.agent))} and stays"
        notes = (verdict.note, f"{theirs}: the draft {change.decision.key} proposes a change")
        return replace(verdict, note="; ".join(filter(None, notes)))


__all__ = ["PER_TRANSACTION", "Outcome", "Taking", "Verdict"]

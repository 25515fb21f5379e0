"""Taking lines into a store: the one way in for what another store, tool or text brings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from satchel.base.records import replace
from satchel.keep.moving import states
from satchel.keep.moving.batches import Batch
from satchel.keep.moving.fields import Line
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.reading import Reading
from satchel.keep.moving.states import Source
from satchel.keep.moving.verdicts import Outcome, Verdict
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

PER_TRANSACTION = 1_000
"""How many lines are taken in one transaction: it keeps others waiting for a tenth of a second, and stays done."""


class Taking:
    """Takes lines from one source.

    Args:
        workplace: where they arrive.
        source: where they come from; a merge has the state that was last in step with that as its base.
        now: the time of the import, in milliseconds UTC; None asks the clock.
        written_at: when what comes was written, in milliseconds UTC; None where that is not known, so that it may be
            older than what came before.
        is_ordered: whether what comes is never older than what came before unless it was seen; None judges by
            ``written_at``.
        decided: whether a person has decided already that what comes holds, as it is; what it replaces is kept.

    Attributes:
        new_layers: layers that the project did not have; ``new_runs``: runs that items name and nothing is known of.
    """

    def __init__(
        self,
        workplace: Workplace,
        *,
        source: str,
        now: int | None = None,
        written_at: int | None = None,
        is_ordered: bool | None = None,
        decided: bool = False,
    ) -> None:
        self.new_layers: dict[str, str] = {}
        self.new_runs: dict[str, str] = {}
        self._workplace = workplace
        self._name = source
        self._now = workplace.clock() if now is None else now
        self._written_at = written_at
        self._is_ordered = is_ordered
        self._decided = decided
        self._source: Source | None = None

    def take(self, transaction: Transaction, project_id: int, lines: Sequence[Line]) -> list[Verdict]:
        """Take some lines, in their order.

        Args:
            transaction: a write transaction; a preview rolls it back.
            project_id: our project.
            lines: at most some hundred; those of one kind together are fastest.

        Returns:
            A verdict for each line, in order.
        """
        if self._source is None:
            opened = states.open_source(transaction, project_id, self._name, self._written_at)
            is_ordered = opened.is_ordered if self._is_ordered is None else self._is_ordered
            self._source = replace(opened, is_ordered=is_ordered)
        reading = Reading(transaction, project_id, self._workplace, self._now)
        reading.new_layers, reading.new_runs = self.new_layers, self.new_runs
        verdicts: list[Verdict | None] = [None] * len(lines)
        for kind, group in groupby(enumerate(lines), key=lambda pair: pair[1].get("kind")):
            batch = list(group)
            known = LINE_KINDS.get(kind) if isinstance(kind, str) else None
            if known is None:
                said = f"lines of the kind {repr(kind)[:60]} are not known here"
                for place, line in batch:
                    verdicts[place] = Verdict(str(kind), str(line.get("uid")), None, Outcome.LEFT_OUT, said)
                continue
            for place, verdict in Batch(known, reading, self._source, decided=self._decided).take(batch):
                verdicts[place] = verdict
        return [verdict for verdict in verdicts if verdict is not None]


__all__ = ["PER_TRANSACTION", "Outcome", "Taking", "Verdict"]

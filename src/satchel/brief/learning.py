"""Learning: what follows when the work of a loop or a task succeeds, and what a run that is over has taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.keep.entries.records import (
    ENTRY_TYPES,
    LEAST_CHARS,
    MAX_CHARS,
    REVIEW_VERDICT,
    SCRATCHPAD,
    AfterWrite,
    DuplicateDelivery,
    FindDuplicates,
    Prepared,
    Writer,
)
from satchel.keep.projects import Service, Workplace
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.brief.extraction import StrategyProposal

_PLAIN = frozenset(ENTRY_TYPES.index(name) + 1 for name in ("discovery", "error", "decision"))


class Learning(Service):
    """What can be learned from a run as a whole."""

    def strategies(self, run_id: str | None = None) -> tuple[StrategyProposal, ...]:
        """Propose strategies: what passed review in a run after it had failed. Nothing is saved.

        One proposal for every task, or loop without a task, whose newest verdict passed after a verdict that did not,
        or after a scratchpad whose tests failed, and of which a scratchpad, a suggestion or the verdict says what was
        done. The same run always gives the same proposals. :meth:`satchel.keep.strategies.Strategies.save` keeps one.

        Args:
            run_id: the run; None takes the default, else the newest run that has ended.

        Raises:
            NotFound: there is no such run, or none was named and none has ended.
        """
        from satchel.brief import extraction

        return extraction.propose(self._workplace, run_id)


def follower(workplace: Workplace) -> AfterWrite:
    """Return what follows from an entry in the transaction that writes it; most types cost nothing.

    A scratchpad or verdict that says that a loop succeeded records what fixed its errors (:mod:`satchel.brief.fixes`).
    A verdict that passed lets the packages on failures and investigations of its task fall to low.

    Args:
        workplace: for the largest text that is kept.
    """

    def follow(transaction: Transaction, writer: Writer, number: int, entry: Prepared) -> tuple[str, ...]:
        if entry.type not in {SCRATCHPAD, REVIEW_VERDICT}:
            return ()
        from satchel.brief import fixes

        notes = fixes.learn(transaction, writer, number, entry, workplace.max_content_bytes)
        return (*notes, *_settle_packages(transaction, writer, entry)) if entry.type == REVIEW_VERDICT else notes

    return follow


_SETTLED = ("failures", "investigation")
"""The types of packages that nobody needs any more once their task has passed review."""


def _settle_packages(transaction: Transaction, writer: Writer, entry: Prepared) -> tuple[str, ...]:
    from satchel.find.kind import Kind
    from satchel.keep.entries.structured import review_verdict
    from satchel.keep.packages.kind import react_for_task

    if entry.task_id is None or not review_verdict(entry.content).passed:
        return ()
    fallen = react_for_task(transaction, writer.project_id, writer.run, entry.task_id, _SETTLED, "resolved", writer.now)
    refs = ", ".join(map(Kind.PACKAGE.ref, fallen))
    return (f"task {entry.task_id} is resolved: {refs} fell to low",) if fallen else ()


def duplicate_finder() -> FindDuplicates:
    """Return what finds entries that repeat what a briefing delivered to their writer.

    It costs one look-up where nothing was delivered.
    """

    def find(transaction: Transaction, writer: Writer, entries: Sequence[Prepared]) -> Mapping[int, DuplicateDelivery]:
        places = [place for place, entry in enumerate(entries) if _is_compared(entry)]
        if not places:
            return {}
        from satchel.keep.deliveries import windows_of

        where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
        if transaction.one(f"SELECT 1 FROM windows w WHERE {where}", values) is None:
            return {}
        from satchel.brief import duplicate_delivery

        return duplicate_delivery.find(transaction, writer, {place: entries[place] for place in places})

    return find


def _is_compared(entry: Prepared) -> bool:
    """Whether an entry is a note of such a length that it is compared with what was delivered."""
    return entry.type in _PLAIN and LEAST_CHARS <= len(entry.content) <= MAX_CHARS

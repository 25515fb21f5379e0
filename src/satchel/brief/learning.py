"""Consequences of a success in a loop or task, and lessons of finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.keep.entries.records import (
    BUG,
    ENTRY_TYPES,
    LEAST_CHARS,
    MAX_CHARS,
    REVIEW_ISSUE,
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
    """Lessons of a run as a whole."""

    def strategies(self, run_id: str | None = None) -> tuple[StrategyProposal, ...]:
        """Propose strategies: work that passed review after it had failed. Nothing is saved.

        There is one proposal for every task, or loop without a task, whose newest verdict passed after a failed verdict
        or failed tests, if a scratchpad, a suggestion or the verdict says what was done. The same run always gives the
        same proposals. :meth:`satchel.keep.strategies.Strategies.save` saves one.

        Args:
            run_id: the run; None takes the default, else the newest run that has ended.

        Raises:
            NotFound: no such run, or none was named and none has ended.
        """
        from satchel.brief import extraction

        return extraction.propose(self._workplace, run_id)


def follower(workplace: Workplace) -> AfterWrite:
    """Return a function that runs after an entry, in its transaction.

    A scratchpad or verdict that reports success records fixes. One that leaves its loop stuck tells its author. A
    verdict that passed lowers the packages on failures and investigations of its task; one that failed notifies the
    author of the change that it names. Of an issue or bug of a file its writer learns who gets a notice.
    """

    def follow(transaction: Transaction, writer: Writer, number: int, entry: Prepared) -> tuple[str, ...]:
        if entry.type in {REVIEW_ISSUE, BUG} and entry.file is not None:
            from satchel.brief.announcements import readers_note

            return readers_note(transaction, writer, entry.file)
        if entry.type not in {SCRATCHPAD, REVIEW_VERDICT}:
            return ()
        from satchel.brief import after_write

        notes = after_write.learn(transaction, writer, number, entry, workplace.max_content_bytes)
        if entry.type == SCRATCHPAD:
            return (*notes, *_stuck(transaction, writer, entry))
        from satchel.brief.announcements import tell_authors

        notes = (*notes, *tell_authors(transaction, workplace, writer, number, entry))
        return (*notes, *_lower_packages(transaction, writer, entry))

    return follow


def _stuck(transaction: Transaction, writer: Writer, entry: Prepared) -> tuple[str, ...]:
    from satchel.brief import loop_history
    from satchel.keep.loop_scope import LoopScope
    from satchel.keep.sessions.joining import sessions_before

    before = sessions_before(transaction, writer.session)
    loop = LoopScope(writer.project_id, writer.run, entry.task_id, entry.loop_id, writer.agent, writer.session, before)
    status = loop_history.judge(loop_history.load(transaction, loop, writer.now, (SCRATCHPAD, REVIEW_VERDICT)))
    return (loop_history.stuck_text(status),) if status.is_stuck else ()


# The types of packages that lose importance once their task has passed review.
_RESOLVED = ("failures", "investigation")


def _lower_packages(transaction: Transaction, writer: Writer, entry: Prepared) -> tuple[str, ...]:
    from satchel.find.kind import Kind
    from satchel.keep.entries.structured import review_verdict
    from satchel.keep.packages.service import react_for_task

    if entry.task_id is None or not review_verdict(entry.content).passed:
        return ()
    fallen = react_for_task(
        transaction, writer.project_id, writer.run, entry.task_id, _RESOLVED, "resolved", writer.now
    )
    refs = ", ".join(map(Kind.PACKAGE.ref, fallen))
    return (f"task {entry.task_id} is resolved: {refs} fell to low",) if fallen else ()


def duplicate_finder() -> FindDuplicates:
    """Return a function that finds entries which repeat an item delivered to their writer."""

    def find(transaction: Transaction, writer: Writer, entries: Sequence[Prepared]) -> Mapping[int, DuplicateDelivery]:
        places = [place for place, entry in enumerate(entries) if _is_compared(entry)]
        if not places:
            return {}
        from satchel.keep.deliveries import windows_of

        where, values = windows_of(writer.project_id, writer.session, writer.run, writer.agent)
        key = ("no window", *values.values())
        if key in transaction.memo or transaction.one(f"SELECT 1 FROM windows w WHERE {where}", values) is None:
            transaction.memo[key] = True
            return {}
        from satchel.brief import after_write

        return after_write.find_duplicates(transaction, writer, {place: entries[place] for place in places})

    return find


def _is_compared(entry: Prepared) -> bool:
    return entry.type in _PLAIN and LEAST_CHARS <= len(entry.content) <= MAX_CHARS

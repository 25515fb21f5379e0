"""What the run itself knows: entries, open review issues, the loop's own attempts."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.brief.briefing.packages import by, joined, other_task
from satchel.brief.briefing.ranking import HIGH, MEDIUM
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import Asked, Source, listed, readable
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import (
    CODEBASE_ANALYSIS,
    ENTRY_TYPES,
    REVIEW_ISSUE,
    REVIEW_VERDICT,
    SCRATCHPAD,
    STRUCTURED_TYPES,
)

_NOTES = tuple(
    number
    for number in range(1, len(ENTRY_TYPES) + 1)
    if number not in {REVIEW_ISSUE, REVIEW_VERDICT, SCRATCHPAD, CODEBASE_ANALYSIS}
)

UNNAMED = "an unnamed agent"
"""How the author of an attempt is shown who gave no name."""

ANOTHER_RUN = 0.3
"""What the relevance of an entry of another run counts for: it may be out of date."""

_OF_RUN = "c.project_id = :project AND c.run_id = :run AND c.superseded_by IS NULL"


def entries(asked: Asked) -> Source:
    """Return the notes of the run, the newest first, of the agent's own task before others.

    What the query finds counts whatever run and type it is of; what other sections offer is not counted again.
    """
    where = f"{_OF_RUN} AND c.type IN ({listed(_NOTES)})"
    elsewhere = [source.where for source in (attempts(asked), reviews(asked)) if source.where]
    # not just NOT: without a loop or task that would be null, and nothing would be found
    found = "".join(f" AND ({other}) IS NOT TRUE" for other in elsewhere)
    own = (("c.created_at DESC, c.id DESC", "c.task_id = :task"),) if asked.task_id is not None else ()
    return Source(
        name="entries",
        section="entries",
        kind=Kind.ENTRY,
        tool="search",
        table="context c",
        where="" if asked.run is None else where,
        orders=(*own, ("c.created_at DESC, c.id DESC", "")),
        priority=str(MEDIUM),
        load=_load_entries,
        tokens=8,
        found_where=f"c.project_id = :project AND c.superseded_by IS NULL{found}",
        counts_found=True,
    )


_COLUMNS = """
    c.id, c.seq, c.type, c.content, c.task_id, c.loop_id, c.file, c.line, c.run_id, r.run_id, a.name, c.created_at
"""
_SOURCE = "context c JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.agent_id"


def _load_entries(asked: Asked, numbers: Sequence[int], notes: list[str]) -> list[Candidate]:
    rows = asked.transaction.all(f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE c.id IN ({listed(numbers)})")

    def entry(
        number: int,
        seq: int,
        kind: int,
        content: str,
        task: str | None,
        loop: str | None,
        file: str | None,
        line: int | None,
        run: int,
        run_id: str,
        agent: str | None,
        created: int,
    ) -> Candidate:
        name = ENTRY_TYPES[kind - 1]
        is_here = asked.run is not None and run == asked.run.id
        text = structured.searchable_text(content) if name in STRUCTURED_TYPES else content
        return Candidate(
            section="entries",
            kind=Kind.ENTRY,
            number=number,
            seq=seq,
            label=name,
            group=joined(name, by(agent), None if is_here else f"of run {run_id}"),
            head=joined(other_task(asked, task), place(file, line)),
            text=text,
            priority=MEDIUM,
            changed_at=created,
            is_of_task=is_here
            and ((task is not None and task == asked.task_id) or (loop is not None and loop == asked.loop_id)),
            weight=1.0 if is_here else ANOTHER_RUN,
            file=file,
        )

    return readable(Kind.ENTRY, rows, entry, notes)


def reviews(asked: Asked) -> Source:
    """Return the open issues and the failed verdict of the review of the agent's task, or of its loop without one."""
    of_review = "c.task_id = :task" if asked.task_id is not None else "c.loop_id = :loop"
    is_known = asked.run is not None and (asked.task_id is not None or asked.loop_id is not None)
    return Source(
        name="review issues",
        section="reviews",
        kind=Kind.ENTRY,
        tool="read_context",
        table="context c",
        where=f"{_OF_RUN} AND {of_review} AND c.type IN ({REVIEW_ISSUE}, {REVIEW_VERDICT})" if is_known else "",
        orders=(("c.type DESC, c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=_load_reviews,
        tokens=12,
    )


def _load_reviews(asked: Asked, numbers: Sequence[int], notes: list[str]) -> list[Candidate]:
    rows = asked.transaction.all(f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE c.id IN ({listed(numbers)})")

    def review(
        number: int,
        seq: int,
        kind: int,
        content: str,
        _task: str | None,
        _loop: str | None,
        file: str | None,
        line: int | None,
        _run: int,
        _run_id: str,
        agent: str | None,
        created: int,
    ) -> Candidate:
        if kind == REVIEW_VERDICT:
            verdict = structured.review_verdict(content)
            label = "review passed" if verdict.passed else "review failed"
            if verdict.intent_satisfied is False:
                label += ", intent not satisfied"
            head, text = joined(label, by(agent)), verdict.summary or "no summary"
        else:
            issue = structured.review_issue(content)
            head = joined(issue.issue_type, by(agent), place(file, line))
            text = issue.description + (f"; suggested: {issue.suggestion}" if issue.suggestion else "")
        return Candidate(
            section="reviews",
            kind=Kind.ENTRY,
            number=number,
            seq=seq,
            label="review",
            group="review of your task",
            head=head,
            text=text,
            priority=HIGH,
            changed_at=created,
            is_of_task=True,
            is_own=True,
            file=file,
        )

    return readable(Kind.ENTRY, rows, review, notes)


def attempts(asked: Asked) -> Source:
    """Return the scratchpads of the agent's loop since it succeeded last, the newest first."""
    where = ""
    if asked.loop is not None:
        where = (
            f"{asked.loop.holds('c')} AND c.superseded_by IS NULL AND c.type = {SCRATCHPAD} "
            f"AND (c.created_at, c.id) > ({', '.join(map(str, asked.loop_since))})"
        )
    return Source(
        name="scratchpads",
        section="attempts",
        kind=Kind.ENTRY,
        tool="read_context",
        table="context c",
        where=where,
        orders=(("c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=_load_attempts,
        tokens=12,
    )


def _load_attempts(asked: Asked, numbers: Sequence[int], notes: list[str]) -> list[Candidate]:
    rows = asked.transaction.all(
        f"""
        SELECT c.id, c.seq, c.content, c.agent_id, a.name, c.created_at
        FROM context c LEFT JOIN agents a ON a.id = c.agent_id WHERE c.id IN ({listed(numbers)})
        """
    )

    def attempt(number: int, seq: int, content: str, author: int | None, agent: str | None, created: int) -> Candidate:
        pad = structured.scratchpad(content)
        parts = (
            f"tried: {'; '.join(pad.attempted)}" if pad.attempted else None,
            f"blockers: {'; '.join(pad.blockers)}" if pad.blockers else None,
            f"next: {pad.next_step}" if pad.next_step else None,
        )
        state = "done" if pad.done else pad.test_status
        return Candidate(
            section="attempts",
            kind=Kind.ENTRY,
            number=number,
            seq=seq,
            label="scratchpad",
            group="your loop so far (do not repeat what was tried)",
            head=joined(f"iteration {pad.iteration}", state, None if author == asked.agent else by(agent or UNNAMED)),
            text="; ".join(part for part in parts if part) or "nothing was noted",
            priority=HIGH,
            changed_at=created,
            is_of_task=True,
            is_own=True,
        )

    return readable(Kind.ENTRY, rows, attempt, notes)


def place(file: str | None, line: int | None) -> str | None:
    """Return how the place of a note is shown."""
    return file if line is None else f"{file}:{line}"

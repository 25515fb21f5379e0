"""What the runs know: entries, open review issues, the loop's own attempts."""

from __future__ import annotations

from satchel.brief.briefing.packages import by, is_task, joined, other_run, other_task
from satchel.brief.briefing.ranking import HIGH, MEDIUM
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import Asked, Source, listed, loading
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
from satchel.store.transaction import Row

_NOTES = tuple(
    number
    for number in range(1, len(ENTRY_TYPES) + 1)
    if number not in {REVIEW_ISSUE, REVIEW_VERDICT, SCRATCHPAD, CODEBASE_ANALYSIS}
)

_LIVE = "c.project_id = :project AND c.superseded_by IS NULL"


def entries(asked: Asked) -> Source:
    """Return the notes of all runs, the newest first, of the agent's own task before others.

    What the query finds counts whatever type it is of; what other sections offer is not counted again.
    """
    where = f"{_LIVE} AND c.type IN ({listed(_NOTES)})"
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
        where=where,
        orders=(*own, ("c.created_at DESC, c.id DESC", "")),
        priority=str(MEDIUM),
        load=loading(Kind.ENTRY, _COLUMNS, _SOURCE, _entry),
        tokens=8,
        found_where=f"{_LIVE}{found}",
        counts_found=True,
    )


_COLUMNS = "c.type, c.content, c.task_id, c.loop_id, c.file, c.line, c.run_id, r.run_id, a.name, c.created_at"
_SOURCE = "context c JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.agent_id"


def _entry(asked: Asked, row: Row) -> Candidate:
    number, seq, kind, content, task, loop, file, line, run, run_id, agent, created = row
    name = ENTRY_TYPES[kind - 1]
    text = structured.searchable_text(content) if name in STRUCTURED_TYPES else content
    return Candidate(
        section="entries",
        kind=Kind.ENTRY,
        number=number,
        seq=seq,
        label=name,
        group=joined(name, by(agent), other_run(asked, run_id)),
        head=joined(other_task(asked, task), place(file, line)),
        text=text,
        priority=MEDIUM,
        changed_at=created,
        is_of_task=is_task(asked, task, run_id) or (loop is not None and loop == asked.loop_id and run == asked.run.id),
        file=file,
    )


def reviews(asked: Asked) -> Source:
    """Return the open issues and the failed verdict of the review of the agent's task, or of its loop without one.

    A task may be worked at in several runs, where none was chosen; a loop is within one.
    """
    of_review = "c.task_id = :task"
    if asked.task_id is None:
        of_review = "c.loop_id = :loop AND c.run_id = :run"
    elif asked.is_run_chosen:
        of_review += " AND c.run_id = :run"
    is_known = asked.task_id is not None or asked.loop_id is not None
    return Source(
        name="review issues",
        section="reviews",
        kind=Kind.ENTRY,
        tool="read_context",
        table="context c",
        where=f"{_LIVE} AND {of_review} AND c.type IN ({REVIEW_ISSUE}, {REVIEW_VERDICT})" if is_known else "",
        orders=(("c.type DESC, c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=loading(Kind.ENTRY, _COLUMNS, _SOURCE, _review),
        tokens=12,
    )


def _review(_asked: Asked, row: Row) -> Candidate:
    number, seq, kind, content, _task, _loop, file, line, _run, _run_id, agent, created = row
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


def attempts(asked: Asked) -> Source:
    """Return the scratchpads of the agent's loop, the newest first."""
    return Source(
        name="scratchpads",
        section="attempts",
        kind=Kind.ENTRY,
        tool="read_context",
        table="context c",
        where=""
        if asked.loop_id is None
        else f"{_LIVE} AND c.run_id = :run AND c.loop_id = :loop AND c.type = {SCRATCHPAD}",
        orders=(("c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=loading(Kind.ENTRY, "c.content, c.created_at", "context c", _attempt),
        tokens=12,
    )


def _attempt(_asked: Asked, row: Row) -> Candidate:
    number, seq, content, created = row
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
        head=joined(f"iteration {pad.iteration}", state),
        text="; ".join(part for part in parts if part) or "nothing was noted",
        priority=HIGH,
        changed_at=created,
        is_of_task=True,
        is_own=True,
    )


def place(file: str | None, line: int | None) -> str | None:
    """Return how the place of a note is shown."""
    return file if line is None else f"{file}:{line}"

"""Notes, open reviews and the loop's own attempts as sources of a briefing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from satchel.base.clock import span_in_words
from satchel.base.errors import InvalidInput
from satchel.brief.announcements import judged_changes
from satchel.brief.briefing.packages import is_task, other_task
from satchel.brief.briefing.ranking import HIGH, MEDIUM
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import BriefingContext, New, Source, loading
from satchel.brief.fields import by, joined, name_text, quoted
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import (
    BUG,
    CODEBASE_ANALYSIS,
    ENTRY_TYPES,
    REVIEW_ISSUE,
    REVIEW_VERDICT,
    SCRATCHPAD,
    STRUCTURED_TYPES,
)
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.names import is_persons
from satchel.store.transaction import Asking, Row, set_of

_NOTES = tuple(
    number
    for number in range(1, len(ENTRY_TYPES) + 1)
    if number not in {REVIEW_ISSUE, REVIEW_VERDICT, SCRATCHPAD, CODEBASE_ANALYSIS}
)

# The author of an attempt without a name.
UNNAMED = "an unnamed agent"

# A state of work that needs no quotes: its free text cannot be taken for an author.
_PROGRESS = re.compile(r"(?!.*\bby\b)[\w ,.%/-]*")

_LIVE = "c.project_id = :project AND c.superseded_by IS NULL"


def entries(context: BriefingContext) -> Source:
    """Return the notes of all runs, the newest first, of the agent's own task before others.

    Matches of the query count whatever their type, unless another section offers them.
    """
    where = f"{_LIVE} AND c.type IN ({', '.join(map(str, _NOTES))})"
    elsewhere = [source.where for source in (attempts(context), reviews(context)) if source.where]
    # not just NOT: without a loop or task that would be null, and exclude everything
    match_filter = "".join(f" AND ({other}) IS NOT TRUE" for other in elsewhere)
    own = (("c.created_at DESC, c.id DESC", "c.task_id = :task"),) if context.loop.task_id is not None else ()
    return Source(
        name="entries",
        section="entries",
        kind=Kind.ENTRY,
        where=where,
        orders=(*own, ("c.created_at DESC, c.id DESC", "")),
        priority=f"CASE WHEN c.type = {BUG} THEN {HIGH} ELSE {MEDIUM} END",
        load=loading(_COLUMNS, _SOURCE, _entry),
        # with a query half as many do: they are ranked before they are loaded
        tokens=16 if context.has_query else 8,
        match_where=f"{_LIVE}{match_filter}",
        counts_matches=True,
        narrows=_without_older,
    )


_COLUMNS = (
    "c.type, c.content, c.task_id, c.loop_id, c.file, c.line, c.last_line, c.run_id, r.run_id, a.name, c.created_at"
)
_SOURCE = "context c JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.agent_id"


def _entry(context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, kind, content, task, loop, file, line, last, run, run_id, agent, created = row
    name = ENTRY_TYPES[kind - 1]
    text = structured.labelled(name, content) if name in STRUCTURED_TYPES else content
    where = place(file, line, last)
    return new(
        label=name,
        group="open bugs" if kind == BUG else "notes",
        head=joined(
            None if name in {"discovery", "bug"} else name.replace("_", " "),
            other_task(context, task),
            where,
        ),
        text=text,
        priority=HIGH if kind == BUG else MEDIUM,
        changed_at=created,
        is_of_task=is_task(context, task, run_id)
        or (loop is not None and loop == context.loop.loop_id and run == context.run.id),
        file=file,
        subject=joined(where),
        is_persons=is_persons(agent),
        **(_series_fields(content, run, agent, task, loop) if kind == SCRATCHPAD else {}),
    )


def newest_scratchpads(context: BriefingContext, numbers: Collection[int]) -> Asking[dict[int, int]]:
    """Return the newest scratchpad of the same author, task and loop for each entry that is a scratchpad."""
    same = " AND ".join(f"n.{column} IS NOT DISTINCT FROM c.{column}" for column in ("agent_id", "task_id", "loop_id"))
    newest = f"""
        SELECT n.id FROM context n
        WHERE n.run_id = c.run_id AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.superseded_by IS NULL AND {same}
        ORDER BY n.created_at DESC, n.id DESC LIMIT 1
    """
    rows = context.transaction.ask(
        f"""
        SELECT c.id, ({newest}) FROM context c WHERE c.id IN {set_of(numbers)} AND c.type = {SCRATCHPAD}
            AND (c.task_id IS NOT NULL OR c.loop_id IS NOT NULL)
        """
    )
    yield rows
    return {number: last for number, last in rows.all() if last is not None}


def _without_older(context: BriefingContext, matches: Sequence[int]) -> Asking[list[int]]:
    # It was delivered, or is among the attempts; older ones add nothing.
    last, there = (yield from newest_scratchpads(context, matches)), set(matches)
    return [number for number in matches if last.get(number, number) in there]


def reviews(context: BriefingContext) -> Source:
    """Return the open issues and the failed verdict of the review of the agent's task, or of its loop without one.

    A task may span several runs, unless one was chosen; a loop is within one.
    """
    of_review = "c.task_id = :task"
    if context.loop.task_id is None:
        of_review = "c.loop_id = :loop AND c.run_id = :run"
    elif context.is_run_chosen:
        of_review += " AND c.run_id = :run"
    is_known = context.loop.task_id is not None or context.loop.loop_id is not None
    return Source(
        name="review issues",
        section="reviews",
        kind=Kind.ENTRY,
        where=f"{_LIVE} AND {of_review} AND c.type IN ({REVIEW_ISSUE}, {REVIEW_VERDICT})" if is_known else "",
        orders=(("c.type DESC, c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=loading(_COLUMNS, _SOURCE, _review),
        tokens=12,
    )


def _review(context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, kind, content, _task, _loop, file, line, last, _run, _run_id, agent, created = row
    name = ENTRY_TYPES[kind - 1]
    fields = structured.parse_object(name, content)
    change = fields.pop("change", None) if kind == REVIEW_VERDICT else None
    state, text = structured.state_of(name, fields), structured.text_of(fields)
    if kind == REVIEW_VERDICT:
        judged = judged_changes(context.transaction, context.loop.project_id, change)
        since = ", changed since" if any(one.is_changed for one in judged) else ""
        files, refs = ", ".join(str(name_text(one.file)) for one in judged), ", ".join(one.ref for one in judged)
        of_change = f"of {files} ({refs}{since})" if judged else None
        head = joined(f"review {state}", of_change, by(agent))
    else:
        head = joined(name_text(state), by(agent), place(file, line, last))
    return new(
        label="review",
        group=f"review of your {'loop' if context.loop.task_id is None else 'task'}",
        head=head,
        text=text or "no summary",
        priority=HIGH,
        changed_at=created,
        is_of_task=True,
        is_own=True,
        file=file,
        subject=joined(place(file, line, last)),
    )


def attempts(context: BriefingContext) -> Source:
    """Return the scratchpads of the agent's loop since its last success, its newest, and the one that it continues.

    They are one series for each author, whatever else of the loop or task each names.
    """
    where = (
        f"{context.loop.holds('context', 'c')} AND c.{OF_LOOPS} AND c.superseded_by IS NULL "
        f"AND c.type = {SCRATCHPAD} AND (c.created_at, c.id) > (:loop_since, :success)"
    )
    if context.left_off is not None and context.carried:
        where = f"c.id IN {set_of({context.left_off, *context.carried})}"
    elif context.left_off is not None:
        where = f"(c.id = {context.left_off} OR c.id IN (SELECT c.id FROM context c WHERE {where}))"
    return Source(
        name="scratchpads",
        section="attempts",
        kind=Kind.ENTRY,
        where=where,
        orders=(("c.created_at DESC, c.id DESC", ""),),
        priority=str(HIGH),
        load=loading(f"{_COLUMNS}, c.agent_id IS NOT DISTINCT FROM :author, c.session_id", _SOURCE, _attempt),
        tokens=12,
    )


def _attempt(context: BriefingContext, new: New, row: Row) -> Candidate:
    number, _seq, _kind, content, task, _loop, _file, _line, _last, _run, _run_id, agent, created, *scope = row
    is_own, session = scope
    fields = structured.parse_object("scratchpad", content)
    leads = context.left_off == number
    is_before = session in context.loop.before
    group = "done so far" if fields.get("done") is True else "tried so far (do not repeat it)"
    if leads:
        at = joined(other_task(context, task), f"{span_in_words(context.now - created)} ago")
        group = f"where {'you' if is_own or is_before else name_text(agent) or UNNAMED} left off ({at})"
    return new(
        label="scratchpad",
        group=group,
        leads=leads,
        head=joined(_progress(fields), None if is_own else by(agent) or f"by {UNNAMED}"),
        text=structured.text_of(fields),
        priority=HIGH,
        changed_at=created,
        is_of_task=True,
        is_own=True,
        subject=joined(agent),
        series=(agent,),
        tried=structured.scratchpad(content).attempted,
    )


def _progress(fields: Mapping[str, object]) -> str:
    state = structured.state_of("scratchpad", fields)
    return state if _PROGRESS.fullmatch(state) else quoted(state)


def _series_fields(content: str, run: int, agent: str | None, task: str | None, loop: str | None) -> dict[str, Any]:
    try:
        tried = structured.scratchpad(content).attempted
    except InvalidInput:
        tried = ()
    return {"series": (run, agent, task, loop) if task or loop else (), "tried": tried}


def place(file: str | None, line: int | None, last: int | None) -> str | None:
    file = name_text(file)
    if file is None or line is None:
        return file
    return f"{file}:{line}" if last is None else f"{file}:{line}-{last}"

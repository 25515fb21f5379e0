"""Constraints and decisions as sources of a briefing."""

from __future__ import annotations

from satchel.brief.briefing.packages import joined
from satchel.brief.briefing.ranking import MEDIUM
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import ANY_PRIORITY, BriefingContext, New, Source, loading
from satchel.brief.fields import name_text, value_text
from satchel.find.kind import Kind
from satchel.keep.binding import UNCONFIRMED, author_of, binding_caller
from satchel.keep.decisions.records import DEPRECATED, STATUSES, value_of
from satchel.keep.names import is_persons
from satchel.store.transaction import Row

_ACTIVE, _DRAFT = (STATUSES.index(status) + 1 for status in ("active", "draft"))

_IS_OF_TASK = """
    EXISTS (SELECT 1 FROM decision_tags j JOIN tags n ON n.id = j.tag_id WHERE j.decision_id = c.id
        AND n.name IN (:task, (SELECT branch FROM sessions WHERE id = :session)))
"""
"""Whether a decision has the task of the agent, or the branch of its session, as a tag."""


def constraints(context: BriefingContext) -> Source:
    """Return the active constraints, the most urgent first."""
    binding = binding_caller(context.transaction, context.workplace, context.project_id)
    return Source(
        name="rules",
        section="rules",
        kind=Kind.CONSTRAINT,
        tool="search",
        table="constraints c",
        where=f"c.project_id = :project AND c.active = 1{binding} AND {ANY_PRIORITY}",
        reminds=True,
        orders=(("c.priority DESC, c.created_at DESC, c.id DESC", ""),),
        priority="c.priority",
        may_be_critical=True,
        binds=True,
        load=loading(
            "c.priority, c.text, a.name, c.created_at, c.unconfirmed",
            f"constraints c LEFT JOIN agents a ON a.id = {author_of('c')}",
            _constraint,
        ),
        tokens=12,
    )


def _constraint(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, priority, text, agent, created, unconfirmed = row
    return new(
        label="rule",
        group="rules",
        head=UNCONFIRMED if unconfirmed else "",
        text=text,
        priority=priority,
        changed_at=created,
        is_persons=is_persons(agent),
    )


def decisions(_context: BriefingContext) -> Source:
    """Return the active decisions, the last changed first, then drafts."""
    return Source(
        name="decisions",
        section="rules",
        kind=Kind.DECISION,
        tool="search",
        table="decisions c",
        changed_at="c.updated_at",
        where=f"c.project_id = :project AND c.status <> {DEPRECATED}",
        narrowed="c.project_id = :project",
        orders=(
            ("c.updated_at DESC, c.id DESC", f"c.status = {_ACTIVE}"),
            # drafts are few: + avoids reading all decisions in the order of the index
            ("+c.updated_at DESC, c.id DESC", f"c.status = {_DRAFT}"),
        ),
        priority=str(MEDIUM),
        binds=True,
        load=loading(
            f"c.key, c.status, c.value_text, c.value_number, c.rationale, a.name, c.updated_at, {_IS_OF_TASK}",
            "decisions c LEFT JOIN agents a ON a.id = c.agent_id",
            _decision,
        ),
        tokens=10,
    )


def _decision(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, key, status, text, value, rationale, agent, changed, is_of_task = row
    return new(
        label="decision",
        group="decisions",
        head=joined(name_text(key), "(draft)" if status == _DRAFT else None),
        text=value_text(value_of(text, value)),
        reason=rationale or "",
        priority=MEDIUM,
        changed_at=changed,
        subject=key,
        is_of_task=bool(is_of_task),
        is_persons=is_persons(agent),
    )

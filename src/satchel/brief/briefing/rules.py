"""Constraints and decisions as sources of a briefing."""

from __future__ import annotations

from satchel.brief.briefing.packages import joined, priority_text
from satchel.brief.briefing.ranking import MEDIUM
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import ANY_PRIORITY, BriefingContext, New, Source, loading
from satchel.brief.fields import by, name_text, quoted
from satchel.find.kind import Kind
from satchel.keep.decisions.records import STATUSES, Value
from satchel.keep.decisions.state import DEPRECATED, value_of
from satchel.store.transaction import Row

_REASON = '"; reason:'
_ACTIVE, _DRAFT = (STATUSES.index(status) + 1 for status in ("active", "draft"))


def constraints(_context: BriefingContext) -> Source:
    """Return the active constraints, the most urgent first."""
    return Source(
        name="constraints",
        section="rules",
        kind=Kind.CONSTRAINT,
        tool="get_constraints",
        table="constraints c",
        where=f"c.project_id = :project AND c.active = 1 AND {ANY_PRIORITY}",
        reminds=True,
        orders=(("c.priority DESC, c.created_at DESC, c.id DESC", ""),),
        priority="c.priority",
        may_be_critical=True,
        load=loading(
            "c.priority, c.text, g.name, a.name, c.created_at",
            "constraints c JOIN categories g ON g.id = c.category_id LEFT JOIN agents a ON a.id = c.created_by",
            _constraint,
        ),
        tokens=12,
    )


def _constraint(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, priority, text, category, agent, created = row
    return new(
        label="constraint",
        group="constraints",
        head=joined(priority_text(priority), name_text(category), by(agent)),
        text=text,
        priority=priority,
        changed_at=created,
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
        load=loading(
            "c.key, c.status, c.value_text, c.value_number, c.rationale, a.name, c.updated_at",
            "decisions c LEFT JOIN agents a ON a.id = c.agent_id",
            _decision,
        ),
        tokens=10,
    )


def _decision(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, key, status, text, value, rationale, agent, changed = row
    return new(
        label="decision",
        group="decisions",
        head=joined(name_text(key), "draft, proposed" if status == _DRAFT else None, by(agent)),
        text=f"{_value_text(value_of(text, value))}{f'; reason: {rationale}' if rationale else ''}",
        priority=MEDIUM,
        changed_at=changed,
        subject=key,
    )


def _value_text(value: Value) -> str:
    if not isinstance(value, str):
        return str(value)
    is_ambiguous = _REASON in value or value.endswith("\\")
    return quoted(value) if is_ambiguous else f'"{value}"'

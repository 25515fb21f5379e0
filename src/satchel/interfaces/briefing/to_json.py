"""What briefings hold as plain JSON, for ``format="json"`` and ``--json``; what is not set is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import iso
from satchel.find.kind import Kind
from satchel.interfaces.ledger.to_json import Fields, rest_fields, set_fields
from satchel.keep.packages import Package, PackageContent, PackagePage
from satchel.keep.patterns.records import ErrorPattern, ErrorPatternPage, Reported, Solution
from satchel.keep.strategies import Strategy, StrategyPage

if TYPE_CHECKING:
    from satchel.brief.briefing import Briefing
    from satchel.brief.extraction import StrategyProposal


def solution_fields(solution: Solution) -> Fields:
    """Return a solution as JSON fields; the confidence in tenths."""
    return set_fields(
        {
            "id": solution.ref,
            "uid": solution.uid,
            "seq": solution.seq,
            "pattern": solution.pattern,
            "text": solution.text,
            "standing": solution.standing,
            "confidence": solution.confidence,
            "confirmed": solution.confirmed,
            "failed": solution.failed,
            "state": solution.state,
            "agent": solution.agent,
            "created_at": iso(solution.created_at),
            "updated_at": iso(solution.updated_at),
            "notes": list(solution.notes),
        }
    )


def error_pattern_fields(pattern: ErrorPattern) -> Fields:
    """Return an error with its solutions as JSON fields."""
    return set_fields(
        {
            "id": pattern.ref,
            "uid": pattern.uid,
            "seq": pattern.seq,
            "hash": pattern.hash,
            "error_type": pattern.error_type,
            "message": pattern.message,
            "example": pattern.example,
            "lang": pattern.lang,
            "occurrences": pattern.occurrences,
            "ttl_days": pattern.ttl_days,
            "last_seen": iso(pattern.last_seen),
            "expires_at": iso(pattern.expires_at),
            "created_at": iso(pattern.created_at),
            "score": pattern.score,
        }
    ) | {"solutions": [solution_fields(solution) for solution in pattern.solutions]}


def reported_fields(reported: Reported) -> Fields:
    """Return what reporting an error told as JSON fields."""
    return {
        "pattern": error_pattern_fields(reported.pattern),
        "is_new": reported.is_new,
        "recorded": None if reported.recorded is None else solution_fields(reported.recorded),
        "notes": list(reported.notes),
    }


def error_page_fields(page: ErrorPatternPage) -> Fields:
    """Return a page of errors as JSON fields."""
    return {"patterns": [error_pattern_fields(pattern) for pattern in page], **rest_fields(page)}


def strategy_fields(strategy: Strategy) -> Fields:
    """Return a strategy as JSON fields."""
    return set_fields(
        {
            "id": strategy.ref,
            "uid": strategy.uid,
            "seq": strategy.seq,
            "topic": strategy.topic,
            "insight": strategy.insight,
            "lang": strategy.lang,
            "framework": strategy.framework,
            "helped": strategy.helped,
            "not_helped": strategy.not_helped,
            "agent": strategy.agent,
            "last_seen": iso(strategy.last_seen),
            "created_at": iso(strategy.created_at),
            "score": strategy.score,
            "notes": list(strategy.notes),
        }
    )


def strategy_page_fields(page: StrategyPage) -> Fields:
    """Return a page of strategies as JSON fields."""
    return {"strategies": [strategy_fields(strategy) for strategy in page], **rest_fields(page)}


def proposal_fields(proposal: StrategyProposal) -> Fields:
    """Return a strategy that is proposed as JSON fields."""
    return set_fields(
        {
            "topic": proposal.topic,
            "insight": proposal.insight,
            "lang": proposal.lang,
            "framework": proposal.framework,
            "evidence": list(proposal.evidence),
            "run_id": proposal.run_id,
            "task_id": proposal.task_id,
            "loop_id": proposal.loop_id,
        }
    )


def outcome_fields(judged: Solution | Strategy) -> Fields:
    """Return what was judged as JSON fields."""
    return solution_fields(judged) if isinstance(judged, Solution) else strategy_fields(judged)


def package_fields(package: Package) -> Fields:
    """Return a package as JSON fields, without what it holds."""
    return set_fields(
        {
            "id": package.ref,
            "uid": package.uid,
            "seq": package.seq,
            "run_id": package.run_id,
            "type": package.type,
            "priority": package.priority,
            "summary": package.summary,
            "path": package.path,
            "content_bytes": package.content_bytes,
            "consumers": list(package.consumers),
            "task_id": package.task_id,
            "agent": package.agent,
            "status": package.status,
            "superseded_by": None if package.superseded_by is None else Kind.PACKAGE.ref(package.superseded_by),
            "created_at": iso(package.created_at),
            "updated_at": iso(package.updated_at),
            "score": package.score,
            "notes": list(package.notes),
        }
    )


def package_page_fields(page: PackagePage) -> Fields:
    """Return a page of packages as JSON fields."""
    return {
        "run_id": page.run_id,
        "packages": [package_fields(package) for package in page],
        "by_priority": dict(page.by_priority),
        **rest_fields(page),
    }


def contents_fields(contents: Sequence[PackageContent]) -> Fields:
    """Return what packages hold as JSON fields; one without a text has a reason."""
    return {"packages": [_content(one) for one in contents]}


def _content(content: PackageContent) -> Fields:
    package = {} if content.package is None else package_fields(content.package)
    told = {"id": content.ref, "text": content.text, "reason": content.reason, "notes": list(content.notes)}
    return package | set_fields(told)


def briefing_fields(briefing: Briefing) -> Fields:
    """Return a briefing as JSON fields; what was left out by kind."""
    return set_fields(
        {
            "text": briefing.text,
            "tokens": briefing.tokens,
            "counter": briefing.counter,
            "budget": briefing.budget,
            "zone": briefing.zone,
            "role": briefing.role,
            "run_id": briefing.run_id,
            "task_id": briefing.task_id,
            "loop_id": briefing.loop_id,
            "iteration": briefing.iteration,
        }
    ) | {
        "items": [
            set_fields(
                {
                    "id": item.ref,
                    "kind": item.kind,
                    "section": item.section,
                    "priority": item.priority,
                    "is_shortened": item.is_shortened,
                    "file": item.file,
                }
            )
            for item in briefing.items
        ],
        "left_out": [
            {"kind": left.kind, "count": left.count, "critical": left.critical, "tool": left.tool}
            for left in briefing.left_out
        ],
        "notes": list(briefing.notes),
        "is_stuck": briefing.is_stuck,
        "is_recorded": briefing.is_recorded,
    }

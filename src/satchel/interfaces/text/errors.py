"""Errors and their solutions as text: reports, lists, and the confirmations of a solution and an outcome.

The answer to a report has the error's id and type, ``lang:``, ``new`` or how often it was ``met`` since when, and when
``last``; then the solution of the report, the list of the others, and similar errors, each with its likeness and its
best solution.

A solution's line has the id, standing, confidence in tenths, ``by`` agent, how often it ``helped`` or ``failed``, and
the times when it was added and ``changed``; its text follows below.
"""

from __future__ import annotations

from satchel.base.paging import KeptPage, Page
from satchel.base.text import shortened
from satchel.interfaces.text import lists
from satchel.interfaces.text.parts import content_lines, counted, outcome_counts, value_text
from satchel.interfaces.text.strategies import judged_text
from satchel.keep.patterns.records import KNOWN, MOST, ErrorPattern, Reported, SimilarError, Solution
from satchel.keep.strategies import Strategy

_FROM = f"{KNOWN} counts as known; each agent it helps adds 1"

_MAX_SHOWN = 10

_SHOWN_CHARS = 120

_SOLVED_BY = "report_outcome with id={} and solution records what does"


def reported_text(reported: Reported, solved_by: str = _SOLVED_BY) -> str:
    """Render the answer to a report: all that is known of the error, except the text that its reporter just sent."""
    when = lists.in_sentence(reported.pattern.last_seen)
    lines = [_head(reported.pattern, is_new=reported.is_new, when=when)]
    recorded = reported.recorded
    if recorded is not None:
        lines.append(f"recorded {_standing(recorded)}")
    others = [one for one in reported.solutions if recorded is None or one.id != recorded.id]
    if others:
        best = tuple(others[:_MAX_SHOWN])
        page = Page(best, len(best), 0, len(best))
        lines_of_best = [solution_line(solution) for solution in best]
        noun = "solution" if recorded is None else "other solution"
        lines.append(lists.list_text(noun, page, lines_of_best, (lists.NO_AGENT,), more=f", best first ({_FROM})"))
        more = len(others) - len(best)
        lines += lists.note_lines([f'{more} more: get_items(["{reported.pattern.ref}"]) shows all'] if more else [])
    elif recorded is None:
        lines.append(f"no solution is known yet; {solved_by.format(reported.pattern.ref)}")
    lines += (tried_line(one) for one in reported.tried[:_MAX_SHOWN])
    if reported.similar:
        lines.append("similar, not the same:")
        lines += (line for one in reported.similar for line in _similar_lines(one))
    return "\n".join([*lines, *lists.note_lines(reported.notes)])


def people_reported_text(reported: Reported) -> str:
    return reported_text(reported, "`satchel error outcome {} --solution TEXT` records what does")


def show_errors(page: KeptPage[ErrorPattern]) -> None:
    import click

    for pattern in page.items:
        click.echo("\n".join(pattern_lines(pattern, lists.local_time)))
    click.echo(lists.rest_text(len(page), page.total, "errors", page.next_offset), err=True)


def tried_line(fix: Solution) -> str:
    return f"tried {counted(fix.failed, 'time')}, did not help: {fix.ref} {shortened(fix.text)}"


def _similar_lines(one: SimilarError) -> list[str]:
    text = content_lines(shortened(one.message, _SHOWN_CHARS))
    line = f"{one.ref} {one.likeness} % alike ({', '.join(one.words)}), {value_text(one.error_type)}"
    if one.solution is None:
        return [f"{line}, no solution is known", *text]
    return [f"{line}, fixed by {_standing(one.solution)}", *text, *content_lines(shortened(one.solution.text))]


def pattern_lines(pattern: ErrorPattern, when: lists.When) -> list[str]:
    """Return an error in full: how often it was met, its first report, and every solution."""
    lines = [_head(pattern, is_new=False, when=when), *content_lines(pattern.example)]
    if not pattern.solutions:
        return [*lines, "no solution is known yet"]
    return [*lines, *(part for one in pattern.solutions for part in lists.single_lines(solution_line(one), when))]


def outcome_text(judged: Solution | Strategy) -> str:
    return solution_text(judged) if isinstance(judged, Solution) else judged_text(judged)


def solution_text(solution: Solution) -> str:
    confidence = _confidence(solution) + ("" if solution.confidence >= KNOWN else f" ({_FROM})")
    stands = ", ".join([confidence, *outcome_counts(solution.confirmed, solution.failed)])
    line = f"recorded {solution.ref} for {solution.pattern}: {stands}"
    return "\n".join([line, *lists.note_lines(solution.notes)])


def _head(pattern: ErrorPattern, *, is_new: bool, when: lists.When) -> str:
    last = f", last {when(pattern.last_seen)}" if pattern.occurrences > 1 else ""
    met = f"met {counted(pattern.occurrences, 'time')} since {when(pattern.created_at)}{last}"
    lang = "" if pattern.lang is None else f" lang:{value_text(pattern.lang)}"
    return f"{pattern.ref} {value_text(pattern.error_type)}{lang}, {'new' if is_new else met}"


def _standing(solution: Solution) -> str:
    return ", ".join([f"{solution.ref} {_confidence(solution)}", *outcome_counts(solution.confirmed, solution.failed)])


def _confidence(solution: Solution) -> str:
    return f"{solution.standing}, confidence {solution.confidence} of {MOST}"


def solution_line(solution: Solution) -> lists.Line:
    return lists.Line(
        start=f"{solution.ref} {_confidence(solution)}",
        cells=(lists.agent_cell(solution.agent),),
        own=outcome_counts(solution.confirmed, solution.failed),
        moment=solution.created_at,
        after=() if solution.updated_at == solution.created_at else (("changed", solution.updated_at),),
        below=tuple(content_lines(solution.text)),
    )

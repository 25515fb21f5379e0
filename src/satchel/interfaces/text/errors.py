"""Reported errors, their solutions and what became of them, as compact text.

A report's answer is the error's id and type, its ``lang:``, whether it is ``new`` or how often it was ``met`` since
when, and how long it is ``kept`` after which time; then the solution that came with it, and the list of the others.

A solution's line is its id, its standing, its confidence in tenths, its state unless nobody has tried it, ``by`` agent
where it differs from what the head says, how often it ``helped`` or ``failed``, when it was given, when it ``changed``;
its text stands below. The head of the list says from how many tenths on a solution is known.

Below stand the errors that are like a new one, each with its likeness and its best solution; they are not the same.

The answer to an outcome: ``y7 for x4: tentative, confidence 6 of 10 (known from 7; each agent it helps adds 1), helped
1 time``.
"""

from __future__ import annotations

from satchel.base.clock import DAY_MS, moment_text, span_in_words, year_of
from satchel.base.paging import Page
from satchel.base.text import shortened
from satchel.interfaces.text.lists import (
    NO_AGENT,
    Line,
    agent_cell,
    list_text,
    note_lines,
    single_lines,
)
from satchel.interfaces.text.parts import content_lines, counted, value_text
from satchel.keep.patterns.records import ACTIVE, KNOWN, MOST, STATES, ErrorPattern, Reported, SimilarError, Solution

_FROM = f"known from {KNOWN}; each agent it helps adds 1"
_UNTRIED = STATES[ACTIVE - 1]

_MAX_SHOWN = 10
"""So many solutions come with a report."""

_SHOWN_CHARS = 120
"""So much is shown of what a similar error says."""


_SOLVED_BY = "report_outcome with id={} and solution records what does"


def reported_text(reported: Reported, solved_by: str = _SOLVED_BY) -> str:
    """Say what is known of an error that was reported.

    All is there but uids, hash, own seqs, scores and states, which counts tell; what its reporter has itself is not
    repeated: the error's own text, and of the solution that came with it all but how it stands.
    """
    lines = [_met(reported.pattern, is_new=reported.is_new, year=year_of(reported.pattern.last_seen))]
    recorded = reported.recorded
    if recorded is not None:
        lines.append(f"recorded {_standing(recorded)}")
    others = [one for one in reported.solutions if recorded is None or one.id != recorded.id]
    if others:
        year = year_of(others[0].created_at)
        best = tuple(others[:_MAX_SHOWN])
        page = Page(best, len(best), 0, len(best))
        shown = [solution_line(solution, year) for solution in best]
        noun = "solution" if recorded is None else "other solution"
        lines.append(list_text(noun, page, shown, (NO_AGENT,), more=f", best first ({_FROM})"))
        more = len(others) - len(best)
        lines += note_lines([f'{more} more: get_items(["{reported.pattern.ref}"]) shows all'] if more else [])
    elif recorded is None:
        lines.append(f"no solution is known yet; {solved_by.format(reported.pattern.ref)}")
    if reported.similar:
        lines.append("similar, not the same:")
        lines += (line for one in reported.similar for line in _similar_lines(one))
    return "\n".join([*lines, *note_lines(reported.notes)])


def _similar_lines(one: SimilarError) -> list[str]:
    said = content_lines(shortened(one.message, _SHOWN_CHARS))
    line = f"{one.ref} {one.likeness} % alike, {value_text(one.error_type)}"
    if one.solution is None:
        return [f"{line}, no solution is known", *said]
    return [f"{line}, fixed by {_standing(one.solution)}", *said, *content_lines(shortened(one.solution.text))]


def pattern_lines(pattern: ErrorPattern, year: str) -> list[str]:
    """Return all of an error: how often it was met, its first report, and every solution."""
    lines = [_met(pattern, is_new=False, year=year), *content_lines(pattern.example)]
    if not pattern.solutions:
        return [*lines, "no solution is known yet"]
    return [*lines, *(part for one in pattern.solutions for part in single_lines(solution_line(one, year), year))]


def solution_text(solution: Solution, *, is_recorded: bool) -> str:
    """Say how a solution stands after it was recorded or judged, and what its author should know."""
    confidence = _confidence(solution) + ("" if solution.confidence >= KNOWN else f" ({_FROM})")
    stands = ", ".join([confidence, *outcome_counts(solution.confirmed, solution.failed)])
    line = f"{'recorded ' if is_recorded else ''}{solution.ref} for {solution.pattern}: {stands}"
    return "\n".join([line, *note_lines(solution.notes)])


def outcome_counts(helped: int, failed: int) -> tuple[str, ...]:
    """Return how often something helped and did not, each only where it did so at all."""
    told = (("helped", helped), ("failed", failed))
    return tuple(f"{what} {counted(count, 'time')}" for what, count in told if count)


def _met(pattern: ErrorPattern, *, is_new: bool, year: str) -> str:
    times = counted(pattern.occurrences, "time")
    met = "new" if is_new else f"met {times} since {moment_text(pattern.created_at, year)}"
    lang = "" if pattern.lang is None else f" lang:{value_text(pattern.lang)}"
    last = f"after its last report ({moment_text(pattern.last_seen, year)} UTC)"
    kept = f"kept {span_in_words(pattern.ttl_days * DAY_MS)} {last}"
    return f"{pattern.ref} {value_text(pattern.error_type)}{lang}, {met}, {kept}"


def _standing(solution: Solution) -> str:
    return ", ".join([_start(solution), *outcome_counts(solution.confirmed, solution.failed)])


def _start(solution: Solution) -> str:
    return f"{solution.ref} {_confidence(solution)}"


def _confidence(solution: Solution) -> str:
    return f"{solution.standing}, confidence {solution.confidence} of {MOST}"


def solution_line(solution: Solution, year: str) -> Line:
    """Return the line of a solution, with its text below."""
    changed = (f"changed {moment_text(solution.updated_at, year)}",)
    return Line(
        start=_start(solution),
        cells=(agent_cell(solution.agent),),
        own=outcome_counts(solution.confirmed, solution.failed),
        moment=solution.created_at,
        after=() if solution.updated_at == solution.created_at else changed,
        below=tuple(content_lines(solution.text)),
    )

"""Reported errors, their solutions and what became of them, as compact text.

A report's answer is the error's id and type, whether it is ``new`` or how often it was ``met`` since when, its
``lang:``, and how long it is ``kept`` after which time; then the solution that came with it, and the list of all.

A solution's line is its id, its standing, its confidence in tenths, its state, ``by`` agent where it differs from what
the head says, how often it ``helped:`` or ``failed:``, when it was given, when it ``changed``; its text stands below.
The head of the list says from how many tenths on a solution is known.

The answer to an outcome says the same in words: ``y7 tentative: 6 of 10, known from 7 on; confirmed helped:1 for x4``.
"""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.base.paging import Page
from satchel.interfaces.ledger.compact_lines import (
    NO_AGENT,
    Line,
    agent_cell,
    list_text,
    moment_text,
    note_lines,
    single_lines,
    span_text,
)
from satchel.interfaces.text_parts import content_lines, value_text, year_of
from satchel.keep.patterns.records import KNOWN, MOST, ErrorPattern, Reported, Solution

_FROM = f"known from {KNOWN} on"


def reported_text(reported: Reported) -> str:
    """Say what is known of an error that was reported.

    All is there but uids, hash, own seqs and scores; what its reporter has itself is not repeated: the error's own
    text, and that of the solution that came with it.
    """
    lines = [_met(reported.pattern, reported.is_new)]
    recorded = reported.recorded
    if recorded is not None:
        lines.append(f"recorded {_standing(recorded)}")
    if reported.solutions:
        year = year_of(reported.solutions[0].created_at)
        given = None if recorded is None else recorded.id
        page = Page(reported.solutions, len(reported.solutions), 0, len(reported.solutions))
        shown = [solution_line(solution, year, with_text=solution.id != given) for solution in reported.solutions]
        noun = "solution" if len(shown) == 1 else "solutions"
        lines.append(list_text(f"{noun}, best first, {_FROM}", page, shown, (NO_AGENT,)))
    else:
        lines.append("no solution is known yet")
    return "\n".join([*lines, *note_lines(reported.notes)])


def pattern_lines(pattern: ErrorPattern) -> list[str]:
    """Return all of an error: how often it was met, its first report, and every solution."""
    lines = [_met(pattern, is_new=False), *content_lines(pattern.example)]
    if not pattern.solutions:
        return [*lines, "no solution is known yet"]
    return [*lines, *(part for one in pattern.solutions for part in single_lines(solution_line(one, "")))]


def solution_text(solution: Solution, *, is_recorded: bool) -> str:
    """Say how a solution stands after it was recorded or judged, and what its author should know."""
    sure = f"{solution.confidence} of {MOST}" + ("" if solution.confidence >= KNOWN else f", {_FROM}")
    counts = outcome_counts(solution.confirmed, solution.failed)
    stands = " ".join([f"{solution.ref} {solution.standing}: {sure}; {solution.state}", *counts])
    return "\n".join(
        [f"{'recorded ' if is_recorded else ''}{stands} for {solution.pattern}", *note_lines(solution.notes)]
    )


def outcome_counts(helped: int, failed: int) -> tuple[str, ...]:
    """Return how often something helped and did not, each only where it did so at all."""
    return (*((f"helped:{helped}",) if helped else ()), *((f"failed:{failed}",) if failed else ()))


def _met(pattern: ErrorPattern, is_new: bool) -> str:
    times = "once" if pattern.occurrences == 1 else f"{pattern.occurrences} times"
    met = "new" if is_new else f"met {times} since {moment_text(pattern.created_at)}"
    lang = "" if pattern.lang is None else f", lang:{value_text(pattern.lang)}"
    kept = f"kept {span_text(pattern.ttl_days * DAY_MS)} after {moment_text(pattern.last_seen)} UTC"
    return f"{pattern.ref} {value_text(pattern.error_type)}, {met}{lang}, {kept}"


def _standing(solution: Solution) -> str:
    return " ".join([_start(solution), *outcome_counts(solution.confirmed, solution.failed)])


def _start(solution: Solution) -> str:
    return f"{solution.ref} {solution.standing} ({solution.confidence} of 10) {solution.state}"


def solution_line(solution: Solution, year: str, *, with_text: bool = True) -> Line:
    """Return the line of a solution, with its text below."""
    changed = (f"changed {moment_text(solution.updated_at, year)}",)
    return Line(
        start=_start(solution),
        cells=(agent_cell(solution.agent),),
        own=outcome_counts(solution.confirmed, solution.failed),
        moment=solution.created_at,
        after=() if solution.updated_at == solution.created_at else changed,
        below=tuple(content_lines(solution.text)) if with_text else (),
    )

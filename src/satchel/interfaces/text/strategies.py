"""Strategies as compact text: id, topic, ``lang:`` and ``framework:`` where it is not for any, and what was done."""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.interfaces.text.errors import outcome_counts
from satchel.interfaces.text.lists import NO_AGENT, Line, agent_cell, note_lines
from satchel.interfaces.text.parts import content_lines, ended_text, value_text
from satchel.keep.strategies import Strategy


def saved_text(strategy: Strategy) -> str:
    """Say that a strategy was saved, and what its author should know: which others say nearly the same."""
    line = f"saved {_named(strategy)} {agent_cell(strategy.agent) or NO_AGENT}"
    return "\n".join([line, *note_lines(strategy.notes)])


def judged_text(strategy: Strategy) -> str:
    """Say how often a strategy helped and did not."""
    return " ".join([_named(strategy), *outcome_counts(strategy.helped, strategy.not_helped)])


def strategy_line(strategy: Strategy) -> Line:
    """Return the line of a strategy, with what was done below."""
    heir = strategy.superseded_by
    return Line(
        start=_named(strategy),
        cells=(agent_cell(strategy.agent),),
        own=(
            *outcome_counts(strategy.helped, strategy.not_helped),
            *([] if heir is None else [ended_text(Kind.STRATEGY, strategy.id, heir)]),
        ),
        moment=strategy.created_at,
        below=tuple(content_lines(strategy.insight)),
    )


def _named(strategy: Strategy) -> str:
    parts = [strategy.ref, value_text(strategy.topic)]
    parts += [] if strategy.lang is None else [f"lang:{value_text(strategy.lang)}"]
    parts += [] if strategy.framework is None else [f"framework:{value_text(strategy.framework)}"]
    return " ".join(parts)

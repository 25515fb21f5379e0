"""Decisions as compact text: lists, the answer to setting some, and one with its history.

A decision's line is its id, its key and value, then only what differs from what the head or the heading says: layer,
``by`` agent, ``v`` and version, status, then ``r`` and revision above 1, tags behind one ``#``, scopes behind one
``@``, the time of its last change, and ``made`` with the time it was made where that is another. The rationale stands
below. A value is a JSON string where it could be misread: as a number, as further fields, or as more than one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from satchel.base.vocabulary import LAYERS
from satchel.interfaces.ledger.compact_lines import (
    NO_AGENT,
    NO_LAYER,
    Line,
    agent_cell,
    layer_cell,
    list_text,
    moment_text,
    names_text,
    note_lines,
)
from satchel.interfaces.text_parts import NONE, content_lines, json_line, quoted, value_text, year_of
from satchel.keep.decisions.records import (
    STATUSES,
    Decision,
    DecisionHistory,
    DecisionPage,
    DecisionState,
    Value,
)

_BLANKS = (NO_LAYER, NO_AGENT, None, None)
_MAX_SHOWN = 200
_ADVICE = "Update the similar one instead, or say in the rationale why both are needed."

_LIKE_A_NUMBER = re.compile(
    r"[-+]?(?:\d[\d_.,]*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)|true|false|null|none|-", re.IGNORECASE
)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|^\"| [#@]| (?:by |v|layer:)\"")
# a word at the end that a reader could take for a field, or for the first part of one
_FIELD_AT_END = re.compile(
    rf" (?:{'|'.join((*LAYERS, *STATUSES))}|layer:\S*|by|by \S+|v\d\S*|r\d+|made|\d{{4}}|\d{{8}}|\d{{6}}\.\d{{3}})\Z"
)


def decisions_text(page: DecisionPage) -> str:
    """Render a page of decisions for an agent; all is there but uid, own seq and score."""
    lists = any(len(decision.tags) > 1 or len(decision.scopes) > 1 for decision in page.decisions)
    year = year_of(page.decisions[0].updated_at) if page.decisions else ""
    lines = [decision_line(decision, year) for decision in page.decisions]
    return list_text("decisions #tags @scopes" if lists else "decisions", page, lines, _BLANKS)


def set_text(decisions: Sequence[Decision]) -> str:
    """Say what was set: key, id and revision, what each replaced, by whom and since when, and what looks like it."""
    lines = []
    for decision in decisions:
        line = f"set {decision.ref} {value_text(decision.key)} r{decision.revision}"
        below: Sequence[str] = ()
        if decision.replaced is not None:
            before = _told(decision.replaced, decision, value=shown_value, who=True)
            line += f", was {before.line} {moment_text(decision.replaced.set_at)} UTC"
            below = before.below
        lines += [line, *below, *note_lines(decision.notes)]
        lines += [
            f"like {similar.ref} {value_text(similar.key)}: {shown_value(similar.value)} ({similar.by} "
            f"{similar.likeness}%)"
            for similar in decision.similar
        ]
    if any(decision.similar for decision in decisions):
        lines.append(_ADVICE)
    return "\n".join(lines)


def history_text(history: DecisionHistory) -> str:
    """Render a decision in full, then what it was before, the newest first.

    A state says its revision, its value behind a colon and its other fields only where they differ from the state
    above it, when it was set, and ``until`` when only where that is not when the state above it was set. The first
    state of a later page has none above it and says all.
    """
    decision, states = history.decision, history.history
    year = year_of(decision.updated_at)
    earlier = len(states) if len(states) == states.total else f"{len(states)} of {states.total}"
    head = [f"decision with {earlier} earlier state{'s' * (states.total != 1)}"]
    head += ["newest first, what one leaves out is as above it"] if states.items else []
    head.append(f"{year} UTC")
    head += [f"offset {states.offset}"] if states.offset else []
    head += [f"next offset {states.next_offset}"] if states.next_offset is not None else []
    made = [] if decision.created_at == decision.updated_at else [f"made {moment_text(decision.created_at, year)}"]
    now = _told(decision, None)
    lines = [", ".join(head)]
    lines.append(
        " ".join([decision.ref, value_text(decision.key), now.line, moment_text(decision.updated_at, year), *made])
    )
    lines += now.below
    above: Decision | DecisionState | None = None if states.offset else decision
    until: int | None = None if states.offset else decision.updated_at
    for state in states:
        told = _told(state, above)
        fields = [told.line, moment_text(state.set_at, year)]
        fields += [] if state.replaced_at == until else [f"until {moment_text(state.replaced_at, year)}"]
        lines += [" ".join(fields), *told.below]
        above, until = state, state.set_at
    return "\n".join([*lines, *note_lines(decision.notes)])


def decision_value(value: Value) -> str:
    """Write a value so that a number can be told from a text, and its end from what follows it on the line."""
    if not isinstance(value, str):
        return json_line(value)
    if value.strip() != value or _LIKE_A_NUMBER.fullmatch(value) or _UNSAFE.search(value) or not value:
        return quoted(value)
    return quoted(value) if _FIELD_AT_END.search(value) else value


def shown_value(value: Value) -> str:
    """Write a value for an answer about something else; of a long one the beginning."""
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return f"{quoted(value[:_MAX_SHOWN])}... ({len(value):,} characters)"
    return decision_value(value)


class _Told(NamedTuple):
    """What is said of a state: one line without its time, and lines below."""

    line: str
    below: tuple[str, ...]


def _told(
    state: Decision | DecisionState,
    above: Decision | DecisionState | None,
    *,
    value: Callable[[Value], str] = decision_value,
    who: bool = False,
) -> _Told:
    """Say what a state was where it differs from the one above it; all that it has if there is none.

    Args:
        value: how its value is written.
        who: whether to name the agent even if it is the same.
    """
    parts = [f"r{state.revision}"]
    if above is None or decision_value(state.value) != decision_value(above.value):
        parts[0] += f": {value(state.value)}"
    cells = _cells(state)
    others = (None, None, None, None) if above is None else _cells(above)
    if who:
        others = (others[0], None, *others[2:])
    parts += [cell or blank or "" for cell, other, blank in zip(cells, others, _BLANKS, strict=True) if cell != other]
    if who and state.agent is None:
        parts.append(NO_AGENT)
    if state.rationale is None and above is not None and above.rationale is not None:
        parts.append("rationale:-")
    if state.tags != (above.tags if above else ()):
        parts += names_text("#", state.tags) or (f"#{NONE}",)
    if state.scopes != (above.scopes if above else ()):
        parts += names_text("@", state.scopes) or (f"@{NONE}",)
    if state.rationale is None or (above is not None and state.rationale == above.rationale):
        return _Told(" ".join(parts), ())
    return _Told(" ".join(parts), tuple(content_lines(state.rationale)))


def _cells(state: Decision | DecisionState) -> tuple[str | None, str | None, str, str]:
    # only before a digit can a v stand for nothing else
    version = value_text(state.version) if state.version[:1].isdecimal() else quoted(state.version)
    return (
        layer_cell(state.layer),
        agent_cell(state.agent),
        f"v{version}",
        state.status,
    )


def decision_line(decision: Decision, year: str) -> Line:
    """Return the line of a decision, with its rationale below."""
    made = decision.created_at
    return Line(
        start=f"{decision.ref} {value_text(decision.key)}: {decision_value(decision.value)}",
        cells=_cells(decision),
        own=(
            *((f"r{decision.revision}",) if decision.revision > 1 else ()),
            *names_text("#", decision.tags),
            *names_text("@", decision.scopes),
        ),
        moment=decision.updated_at,
        after=() if made == decision.updated_at else (f"made {moment_text(made, year)}",),
        below=() if decision.rationale is None else tuple(content_lines(decision.rationale)),
    )

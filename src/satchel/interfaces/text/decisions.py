"""Decisions as compact text: lists, the answer to setting some, and one with its history.

A decision's line is its id, its key and value, then only what differs from what the head or the heading says: layer,
``by`` agent, ``v`` and a version other than 1.0.0, a status other than active, then a ``revision`` above 1, tags behind
one ``#``, ``scopes:``, the time of its last change, and ``made`` with the time it was made where that is another. The
rationale stands below. A value that is a text is a JSON string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from satchel.base.clock import moment_text, year_of
from satchel.base.records import NamedTuple
from satchel.interfaces.text.lists import (
    NO_AGENT,
    NO_LAYER,
    TAGS_TOLD,
    Line,
    agent_cell,
    layer_cell,
    list_text,
    names_text,
    note_lines,
)
from satchel.interfaces.text.parts import (
    NONE,
    content_lines,
    json_line,
    place_in_list,
    plural,
    quoted,
    times_text,
    value_text,
)
from satchel.keep.decisions.records import (
    Decision,
    DecisionHistory,
    DecisionPage,
    DecisionState,
    Value,
)

_USUAL_VERSION, _USUAL_STATUS = "1.0.0", "active"
_BLANKS = (NO_LAYER, NO_AGENT, f"v{_USUAL_VERSION}", _USUAL_STATUS)
_MAX_SHOWN = 200
_ADVICE = "Update the similar one instead, or say in the rationale why both are needed."


def decisions_text(page: DecisionPage) -> str:
    """Render a page of decisions for an agent; all is there but uid, own seq and score."""
    year = year_of(page.decisions[0].updated_at) if page.decisions else ""
    lines = [decision_line(decision, year) for decision in page.decisions]
    more = TAGS_TOLD if any(len(decision.tags) > 1 for decision in page.decisions) else ""
    return list_text("decision", page, lines, _BLANKS, more)


def set_text(decisions: Sequence[Decision]) -> str:
    """Say what was set: key, id and revision, what each replaced, by whom and since when, and what looks like it."""
    lines = []
    for decision in decisions:
        line = f"set {decision.ref} {value_text(decision.key)}"
        line += f", revision {decision.revision}" if decision.revision > 1 else " (new)"
        line += (
            ", a draft: briefed as proposed; it binds once you or another sets it with status=active"
            if decision.status == "draft"
            else ""
        )
        below: Sequence[str] = ()
        if decision.replaced is not None:
            before = _told(decision.replaced, decision, value=shown_value, who=True)
            line += f"; was {before.line} {moment_text(decision.replaced.set_at, year_of(decision.updated_at))} UTC"
            below = before.below
        lines += [line, *below, *note_lines(decision.notes)]
        lines += [
            f"similar: {similar.ref} {value_text(similar.key)}={shown_value(similar.value)} "
            f"(its {similar.by} is {similar.likeness} % like this one)"
            for similar in decision.similar
        ]
    if any(decision.similar for decision in decisions):
        lines.append(_ADVICE)
    return "\n".join(lines)


def history_text(history: DecisionHistory) -> str:
    """Render a decision in full, then what it was before, the newest first.

    A state says its revision, its value behind a colon and its other fields only where they differ from the state
    above it, when it was set (without the day where the state above has the same one), and ``until`` when only where
    that is not when the state above it was set. The first state of a later page has none above it and says all.
    """
    decision, states = history.decision, history.history
    year = year_of(decision.updated_at)
    earlier = len(states) if len(states) == states.total else f"{len(states)} of {states.total}"
    head = [f"decision with {earlier} earlier {plural('state', states.total)}"]
    head += ["newest first, each says what differs from the one above"] if states.items else []
    head.append(times_text(year))
    head += place_in_list(states)
    made = [] if decision.created_at == decision.updated_at else [f"made {moment_text(decision.created_at, year)}"]
    now = _told(decision, None)
    lines = [", ".join(head)]
    lines.append(
        " ".join([decision.ref, value_text(decision.key), now.line, moment_text(decision.updated_at, year), *made])
    )
    lines += now.below
    above: Decision | DecisionState | None = None if states.offset else decision
    until: int | None = None if states.offset else decision.updated_at
    day = ""
    for state in states:
        told = _told(state, above)
        before, (day, time) = day, moment_text(state.set_at, year).split()
        fields = [told.line, *([day] if day != before else []), time]
        fields += [] if state.replaced_at == until else [f"until {moment_text(state.replaced_at, year)}"]
        lines += [" ".join(fields), *told.below]
        above, until = state, state.set_at
    return "\n".join([*lines, *note_lines(decision.notes)])


def decision_value(value: Value) -> str:
    """Write a value so that a number can be told from a text, and its end from what follows it on the line."""
    return json_line(value)


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
    parts = [f"revision {state.revision}"]
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
        parts += names_text("scopes:", state.scopes) or (f"scopes:{NONE}",)
    if state.rationale is None or (above is not None and state.rationale == above.rationale):
        return _Told(" ".join(parts), ())
    return _Told(" ".join(parts), tuple(content_lines(state.rationale)))


def _cells(state: Decision | DecisionState) -> tuple[str | None, str | None, str | None, str | None]:
    # only before a digit can a v stand for nothing else
    version = value_text(state.version) if "0" <= state.version[:1] <= "9" else quoted(state.version)
    return (
        layer_cell(state.layer),
        agent_cell(state.agent),
        None if state.version == _USUAL_VERSION else f"v{version}",
        None if state.status == _USUAL_STATUS else state.status,
    )


def decision_line(decision: Decision, year: str) -> Line:
    """Return the line of a decision, with its rationale below."""
    made = decision.created_at
    return Line(
        start=f"{decision.ref} {value_text(decision.key)}={decision_value(decision.value)}",
        cells=_cells(decision),
        own=(
            *((f"revision {decision.revision}",) if decision.revision > 1 else ()),
            *names_text("#", decision.tags),
            *names_text("scopes:", decision.scopes),
        ),
        moment=decision.updated_at,
        after=() if made == decision.updated_at else (f"made {moment_text(made, year)}",),
        below=() if decision.rationale is None else tuple(content_lines(decision.rationale)),
    )

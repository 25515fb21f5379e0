"""Decisions as text: lists, a decision with its history, and the confirmation of a change.

A decision's line has the id, the key and value, then layer, ``by`` agent (``rejected by`` of a draft that another
ended), ``v`` and a version other than 1.0.0, a status other than active, a ``revision`` above 1, tags after one ``#``,
``scopes:``, ``paths:``, the time of the last change, and ``made`` with the time of creation if that is another. The
rationale follows below. A text value is a JSON string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from satchel.base.clock import year_of
from satchel.base.line_diff import unified_diff
from satchel.base.paging import KeptPage
from satchel.base.records import NamedTuple
from satchel.interfaces.text import lists
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
    PROPOSED,
    STAYS,
    UNCHANGED,
    Decision,
    DecisionHistory,
    DecisionState,
    Value,
)

_USUAL_VERSION, _USUAL_STATUS = "1.0.0", "active"
_BLANKS = (lists.NO_LAYER, lists.NO_AGENT, f"v{_USUAL_VERSION}", _USUAL_STATUS)
_MAX_SHOWN = 200
# Of a text with more characters, an earlier state shows the words that changed.
_LONG = 120
_ADVICE = "Update the similar one instead, or give the reason why both are needed."

# 007, 1_000 and 3.10 are not how a number is written back, so they are names that happen to be digits
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?")
# So many digits are exact in a number of 64 bits.
_MOST_DIGITS = 15


def typed_value(text: str) -> Value:
    """Parse a value: a number if it would be written the same, else the text itself."""
    if not _is_number(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _is_number(text: str) -> bool:
    # a longer one would not come back as it was written; 16 digits are exact up to 2^53
    if not _NUMBER.fullmatch(text) or len(text) > _MOST_DIGITS + 4:
        return False
    return abs(int(text)) <= 2**53 if "." not in text else sum(map(str.isdigit, text)) <= _MOST_DIGITS


def value_cell(decision: Decision) -> str:
    """Return a value for a table; a text of digits is quoted, to differ from a number."""
    value = decision.value
    return f'"{value}"' if isinstance(value, str) and _is_number(value) else str(value)


def author_cell(decision: Decision) -> str | None:
    """Return who set a decision for a table; of a rejected draft who proposed it, and who rejected it."""
    return f"{decision.proposed_by}, rejected by {decision.agent}" if decision.is_rejected else decision.agent


def made_cell(decision: Decision) -> str | None:
    """Return the local time of creation for a table, if the decision was changed since."""
    made = lists.local_time(decision.created_at)
    return None if made == lists.local_time(decision.updated_at) else made


def decisions_text(page: KeptPage[Decision]) -> str:
    lines = [decision_line(decision) for decision in page.items]
    more = lists.TAGS_TOLD if any(len(decision.tags) > 1 for decision in page.items) else ""
    return lists.list_text("decision", page, lines, _BLANKS, more)


def says(note: str) -> bool:
    """Return whether :func:`set_text` says a note by itself."""
    return note in (UNCHANGED, PROPOSED) or STAYS in note


def set_text(decisions: Sequence[Decision], when: lists.When | None = None) -> str:
    lines = []
    for decision in decisions:
        is_unchanged = UNCHANGED in decision.notes
        line = f"{'unchanged' if is_unchanged else 'set'} {decision.ref} {value_text(decision.key)}"
        line += f", revision {decision.revision}" if decision.revision > 1 or is_unchanged else " (new)"
        if is_unchanged and when is not None:  # people may have asked for the value
            line += f": {_shortened_value(decision.value)}" + (f" ({decision.rationale})" if decision.rationale else "")
        where = ", ".join(decision.paths) if decision.paths else "everywhere"
        if decision.status == "draft":
            way = f"it binds {where} once another, who agrees, sets status=active"
            way = next((note for note in decision.notes if note != UNCHANGED and says(note)), way)
            # a draft is no news: only the author of what it would change gets a message
            is_told = when is not None or any(note.startswith("a message tells") for note in decision.notes)
            now = "" if is_told else " (send_message tells them now)"
            line += f", a draft: others get it at their next briefing{now}; {way}"
        elif not is_unchanged:
            line += f"; binds {where}" if decision.status == "active" else ", ended: it binds nobody"
        below: Sequence[str] = ()
        if decision.replaced is not None:
            before = _state_text(decision.replaced, decision, who=True)
            is_own_end = decision.status == "deprecated" and decision.replaced.agent == decision.agent
            at = when or lists.in_sentence(decision.updated_at)
            line += f"; was {before.line} {at(decision.replaced.set_at)}"
            below = () if is_own_end else before.below
        lines += [line, *below, *lists.note_lines([note for note in decision.notes if not says(note)])]
        lines += [
            f"similar: {similar.ref} {value_text(similar.key)}={_shortened_value(similar.value)} "
            f"(its {similar.by} is {similar.likeness} % like this one)"
            for similar in decision.similar
        ]
    if any(decision.similar for decision in decisions):
        lines.append(_ADVICE)
    return "\n".join(lines)


def history_text(history: DecisionHistory, when: lists.When | None = None) -> str:
    """Return a decision with its earlier states; without ``when`` times are UTC, and the first line says so."""
    states, year = history.history, year_of(history.decision.updated_at)
    earlier = len(states) if len(states) == states.total else f"{len(states)} of {states.total}"
    head = [f"decision with {earlier} earlier {plural('state', states.total)}"]
    head += ["newest first, each says what differs from the one above"] if states.items else []
    head += [] if when else [times_text(year)]
    head += place_in_list(states)
    lines = _history_lines(history, when or lists.utc(year))
    return "\n".join([", ".join(head), *lines, *lists.note_lines(history.decision.notes)])


def show_history(history: DecisionHistory) -> None:
    import click

    from satchel.interfaces.cli.common import warn_notes

    page = history.history
    click.echo("\n".join(_history_lines(history, lists.local_time)))
    click.echo(lists.rest_text(len(page), page.total, "earlier states", page.next_offset), err=True)
    warn_notes(history.decision.notes)


def _history_lines(history: DecisionHistory, when: lists.When) -> Iterator[str]:
    decision, states = history.decision, history.history
    made = [] if decision.created_at == decision.updated_at else [f"made {when(decision.created_at)}"]
    now = _state_text(decision, None)
    yield " ".join([decision.ref, value_text(decision.key), now.line, when(decision.updated_at), *made])
    yield from now.below
    above: Decision | DecisionState | None = None if states.offset else decision
    until: int | None = None if states.offset else decision.updated_at
    day = ""
    for state in states:
        text = _state_text(state, above)
        before, (day, time) = day, when(state.set_at).split()
        fields = [text.line, *([day] if day != before else []), time]
        fields += [] if state.replaced_at == until else [f"until {when(state.replaced_at)}"]
        yield " ".join(fields)
        yield from text.below
        above, until = state, state.set_at


def _shortened_value(value: Value) -> str:
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return f"{quoted(value[:_MAX_SHOWN])}... ({len(value):,} characters)"
    return json_line(value)


def _changed_words(old: str, new: str) -> str | None:
    # as `git diff --word-diff` writes it; None where a text is short, or little of it stayed
    if len(old) <= _LONG:
        return None
    before, after = ("\n".join([*text.split(), ""]) for text in (old, new))
    lines = unified_diff(before, after).splitlines()
    if not lines or 2 * sum(line[0] == "-" for line in lines) >= len(old.split()):
        return None
    runs = ((sign, " ".join(line[1:] for line in run)) for sign, run in groupby(lines, lambda line: line[0]))
    marks = {" ": "{}", "-": "[-{}-]", "+": "{{+{}+}}", "@": "…"}
    return " ".join(marks[sign].format(words) for sign, words in runs)


class _StateText(NamedTuple):
    line: str
    below: tuple[str, ...]


def _state_text(
    state: Decision | DecisionState,
    above: Decision | DecisionState | None,
    *,
    who: bool = False,
) -> _StateText:
    parts = [f"revision {state.revision}"]
    if above is None or json_line(state.value) != json_line(above.value):
        changed = None if above is None else _changed_words(str(state.value), str(above.value))
        whole = _shortened_value(state.value) if who else json_line(state.value)
        parts[0] += f": {whole if changed is None else f'changed in {quoted(changed)}'}"
    cells = _cells(state)
    others = (None, None, None, None) if above is None else _cells(above)
    if who:
        others = (others[0], None, *others[2:])
    parts += [cell or blank or "" for cell, other, blank in zip(cells, others, _BLANKS, strict=True) if cell != other]
    if who and state.agent is None:
        parts.append(lists.NO_AGENT)
    if state.rationale is None and above is not None and above.rationale is not None:
        parts.append("without a reason")
    for mark, name in (("#", "tags"), ("scopes:", "scopes"), ("paths:", "paths")):
        if (names := getattr(state, name)) != (getattr(above, name) if above else ()):
            parts += lists.names_text(mark, names) or (f"{mark}{NONE}",)
    if state.metadata != (above.metadata if above else {}):
        parts += lists.metadata_text(state.metadata) or (f"metadata:{NONE}",)
    if state.rationale is None or (above is not None and state.rationale == above.rationale):
        return _StateText(" ".join(parts), ())
    return _StateText(" ".join(parts), _why(state.rationale, "its reason was" if who else "because"))


def _why(rationale: str, label: str = "because") -> tuple[str, ...]:
    return tuple(content_lines(f"{label}: {rationale}"))


def _cells(state: Decision | DecisionState) -> tuple[str | None, str | None, str | None, str | None]:
    agent = lists.agent_cell(state.agent)
    # a v means a version only before a digit
    version = value_text(state.version) if "0" <= state.version[:1] <= "9" else quoted(state.version)
    return (
        lists.layer_cell(state.layer),
        f"rejected {agent}" if agent and getattr(state, "is_rejected", False) else agent,
        None if state.version == _USUAL_VERSION else f"v{version}",
        None if state.status == _USUAL_STATUS else state.status,
    )


def decision_line(decision: Decision) -> lists.Line:
    return lists.Line(
        start=f"{decision.ref} {value_text(decision.key)}={json_line(decision.value)}",
        cells=_cells(decision),
        own=(
            *(() if decision.proposed_by is None else (f"proposed by {value_text(decision.proposed_by)}",)),
            *((f"revision {decision.revision}",) if decision.revision > 1 else ()),
            *lists.names_text("#", decision.tags),
            *lists.names_text("scopes:", decision.scopes),
            *lists.names_text("paths:", decision.paths),
            *lists.metadata_text(decision.metadata),
        ),
        moment=decision.updated_at,
        after=() if decision.created_at == decision.updated_at else (("made", decision.created_at),),
        below=() if decision.rationale is None else _why(decision.rationale),
    )

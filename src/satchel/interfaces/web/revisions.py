"""The revisions of a decision, each with what it changed."""

from __future__ import annotations

from itertools import zip_longest

from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.interfaces.web.difference import Line, compare, lines_of
from satchel.interfaces.web.request import PageRequest
from satchel.keep.decisions.records import Decision, DecisionState

_REVISIONS = 10


class Revision(NamedTuple):
    """One revision of a decision.

    Attributes:
        lines: the difference from the one before; of the first the value, unless it is the current one.
        rationale: the new reason; empty where the old one stayed.
        set_at: milliseconds UTC.
        fields: the name, the old and the new text of whatever else changed.
    """

    number: int
    agent: str | None
    lines: tuple[Line, ...]
    rationale: str
    set_at: int
    fields: tuple[tuple[str, str, str], ...]


def revisions_of(request: PageRequest, current: Decision) -> Part[Revision]:
    """Return the revisions of a decision, the latest first."""
    first = request.number("revisions", 0)
    # one state more than is shown, to compare the last one with; the current state is not in the history
    limit, skipped = (_REVISIONS + 1, first - 1) if first else (_REVISIONS, 0)
    history = request.reader.decisions.get(current.key, limit=limit, offset=skipped).history
    states: list[Decision | DecisionState] = [*([] if first else [current]), *history.items]
    pairs = zip_longest(states[:_REVISIONS], states[1 : _REVISIONS + 1])
    revisions = tuple(_revision(state, before) for state, before in pairs if state is not None)
    return Part(revisions, history.total + 1, first, _REVISIONS)


def _revision(state: Decision | DecisionState, before: Decision | DecisionState | None) -> Revision:
    set_at = state.updated_at if isinstance(state, Decision) else state.set_at
    value = str(state.value)
    if before is None:
        # the page has the text of the current revision anyway
        lines = () if isinstance(state, Decision) else lines_of(value)
        return Revision(state.revision, state.agent, lines, state.rationale or "", set_at, ())
    fields = tuple(
        (name, old, new)
        for name in ("status", "version", "layer", "tags", "scopes", "paths")
        if (old := _text(getattr(before, name))) != (new := _text(getattr(state, name)))
    )
    lines = () if state.value == before.value else compare(str(before.value), value)
    rationale = "" if state.rationale == before.rationale else state.rationale or ""
    return Revision(state.revision, state.agent, lines, rationale, set_at, fields)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else "" if value is None else str(value)

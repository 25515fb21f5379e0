"""The project's decisions, and what each was before."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from satchel.base.errors import NotFound
from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import QUERY, Field
from satchel.keep.decisions.records import STATUSES, Decision, DecisionState

_FIELDS = (
    QUERY,
    Field("status", "Status", listing.choices(STATUSES, "any")),
    Field("layer", "Layer", listing.choices(LAYERS, "any")),
    Field("tag", "Tag"),
    Field("scope", "Scope"),
    Field("author", "Set by"),
)
_STATES = 10
"""Revisions on a page."""

State = Decision | DecisionState


class Revision(NamedTuple):
    """One revision of a decision.

    Attributes:
        value: the new value; None where it stayed.
        rationale: the new reason; None where the old one stayed.
        set_at: milliseconds UTC.
        fields: what else changed: the name, the old and the new text.
    """

    number: int
    agent: str | None
    value: str | None
    rationale: str | None
    set_at: int
    fields: tuple[tuple[str, str, str], ...]


def decisions(asked: Asked) -> Page:
    """Return the decisions, the newest first."""
    chosen = listing.passed(_FIELDS, listing.given(asked, _FIELDS), tag="tags", scope="scopes")
    offset = asked.number("offset", 0)
    part = asked.looking.decisions.find(**chosen, limit=listing.PER_PAGE, offset=offset)
    return listing.shown(asked, "Decisions", "decisions.html", "/decisions", _FIELDS, part)


def decision(asked: Asked) -> Page:
    """Return a decision with its history, the latest revision first."""
    opened = asked.looking.items.read([asked.path["ref"]]).items[0]
    if not isinstance(opened.record, Decision):
        raise NotFound(f"{opened.ref} is no decision", "The list of decisions shows those there are")
    offset = asked.number("offset", 0)
    # the states are the one that holds and those before; of the last one shown, what it replaced is needed too
    limit, skipped = (_STATES + 1, offset - 1) if offset else (_STATES, 0)
    found = asked.looking.decisions.get(opened.record.key, limit=limit, offset=skipped)
    one, past = found.decision, found.history
    states: list[State] = [*([] if offset else [one]), *past.items]
    revisions = tuple(
        _revision(state, before)
        for state, before in zip_longest(states[:_STATES], states[1 : _STATES + 1])
        if state is not None
    )
    part = Part(revisions, past.total + 1, offset, _STATES)
    more = {"decision": one, "item": opened}
    return listing.shown(asked, one.key, "decision.html", f"/decisions/{one.ref}", (), part, found, **more)


def _revision(state: State, before: State | None) -> Revision:
    set_at = state.updated_at if isinstance(state, Decision) else state.set_at
    if before is None:
        return Revision(state.revision, state.agent, str(state.value), state.rationale, set_at, ())
    fields = tuple(
        (name, was, now)
        for name in ("status", "version", "layer", "tags", "scopes")
        if (was := _told(getattr(before, name))) != (now := _told(getattr(state, name)))
    )
    value = None if state.value == before.value else str(state.value)
    rationale = None if state.rationale == before.rationale else state.rationale
    return Revision(state.revision, state.agent, value, rationale, set_at, fields)


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else "" if value is None else str(value)


PAGES: Mapping[str, View] = {"/decisions": decisions, "/decisions/{ref}": decision}

"""Drafts that propose to change a decision in force: a person's only a person accepts, an agent's another agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, Refused
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.find import likeness
from satchel.find.kind import Kind
from satchel.keep.decisions import records, tables
from satchel.keep.decisions.records import Decision, NewDecision
from satchel.keep.names import PERSONS, alike_form, find_agent, is_persons, look_of, shown_name
from satchel.keep.paths import globs_in, matches
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.decisions.updates import Setter

_PROPOSED = ("value", "tags", "scopes", "paths", "layer", "version", "rationale", "metadata")

_WISH = "proposes"  # in the metadata of a draft that proposes to end a decision
_END = "end"

_SEPARATORS = re.compile(r"[\s._-]+|[^\w\x00-\x7f]+")  # and all signs that are not ASCII, such as dashes
_DRAFTS = re.compile(r"(?:draft[\dlo]*)+")  # in a form 1 is l, and 0 is o


def key_of(decision: Decision) -> str:
    """Return the key of the one draft that proposes a change of a decision."""
    return f"{decision.key}{records.DRAFT_SUFFIX}"


def target(transaction: Transaction, project_id: int, key: str, *, exact: bool) -> Decision | None:
    """Return a person's decision that a draft with a key proposes to change, or None.

    The key is that of the draft, or unless ``exact`` one that looks like it or is nested, as in X-Draft_draft2.
    """
    wanted = _form(key, key)
    if not _DRAFTS.search(wanted):
        return None
    decided = _persons(transaction, project_id, key)
    if any(form == wanted and is_active for _, _, form, is_active in decided):
        return None
    # a draft that a person settled is theirs too: of what no longer binds, the shortest key is the decision's
    matches = [
        (is_active, len(form) if is_active else -len(form), f"{its_key}{records.DRAFT_SUFFIX}" == key, number)
        for number, its_key, form, is_active in decided
        if form and wanted.startswith(form) and _DRAFTS.fullmatch(wanted, len(form))
    ]
    decision = records.load_number(transaction, project_id, max(matches)[-1]) if matches else None
    return None if decision is None or (exact and key != key_of(decision)) else decision


def persons_alike(transaction: Transaction, project_id: int, key: str) -> Decision | None:
    """Return a person's decision whose key looks like this one, or None."""
    wanted = _form(key, key)
    numbers = (number for number, _, form, _ in _persons(transaction, project_id, key) if form == wanted != "")
    number = next(numbers, None)
    return None if number is None else records.load_number(transaction, project_id, number)


def draft_of(transaction: Transaction, project_id: int, key: str) -> str | None:
    """Return the key of the draft that an agent makes who decides a key like that of a person's decision, or None."""
    persons = target(transaction, project_id, key, exact=False)
    if persons is None and records.load(transaction, project_id, key) is None:
        persons = persons_alike(transaction, project_id, key)
    return None if persons is None else key_of(persons)


def of_import(transaction: Transaction, project_id: int, ref: str, now: int) -> records.ChangedDecision | None:
    """Return the change that an imported draft proposes of a person's decision; None if it proposes none."""
    draft = records.load_number(transaction, project_id, Kind.DECISION.number_of(ref))
    persons = None if draft is None else target(transaction, project_id, draft.key, exact=True)
    if draft is None or draft.status != "draft" or persons is None:
        return None
    number = find_agent(transaction, project_id, persons.agent)
    author = find_agent(transaction, project_id, draft.agent)
    assert number is not None
    before, draft = records.replaced_state(persons, now), replace(draft, updated_at=now)
    return records.ChangedDecision(project_id, number, author, before, draft, persons.key)


def _persons(transaction: Transaction, project_id: int, beside: str) -> list[tuple[int, str, str, bool]]:
    rows = transaction.all(
        f"SELECT id, key, status FROM decisions WHERE project_id = :project AND agent_id IN {PERSONS} ORDER BY id",
        {"project": project_id},
    )
    return [(number, key, _form(key, beside), status == records.ACTIVE) for number, key, status in rows]


def _form(key: str, beside: str) -> str:
    # in ASCII people tell tail from tall, in other scripts a sign passes for another
    is_plain = key.isascii() and beside.isascii()
    return _SEPARATORS.sub("", alike_form(key) if is_plain else look_of(key))


def refusal(key: str, persons: Decision) -> Refused:
    return Refused(
        f"{key} proposes a change of {persons.key}, which {persons.agent} decided; only a person accepts or rejects it",
        f"Leave it a draft, with status=draft, and ask {persons.agent} by a message",
    )


def accept_ref(ref: str, revision: int | None) -> str:
    """Return what `satchel accept` takes for a draft: from its second revision on the one that was shown, as d4@2."""
    return ref if revision in {None, 1} else f"{ref}@{revision}"


_SAME_HOUR_MS = 3_600_000
_MOST_OTHERS = 20
_WHOLE_CHARS = 2_000
_SHORT_CHARS = 120  # of a longer value the answer shows the words that changed


def refuse_second(transaction: Transaction, by: Setter, key: str, alike: Sequence[records.Similar]) -> None:
    """Refuse a draft like that of another agent: both may propose one thing at once.

    It is like one whose key has the same words in any order; and like one of the last hour whose key holds it or is
    held by it, as in new_argument and new_argument_style, or that is similar.
    """
    words = sorted(likeness.words_of(key))
    for one in alike:
        other = records.load(transaction, by.project_id, one.key)
        if other is None or other.status != "draft" or other.agent == by.actor.name:
            continue
        theirs = sorted(likeness.words_of(one.key))
        says_same = theirs == words or _holds(theirs, words)
        if theirs == words or by.now - other.updated_at <= _SAME_HOUR_MS:
            how = (
                f"whose key says the same as {key!r}" if says_same else f"whose {one.by} is {one.likeness} % like yours"
            )
            raise Conflict(
                f"nothing was stored: {other.agent or 'somebody unnamed'} has drafted {one.ref} {one.key!r}, {how}. "
                f"It says: {shortened(str(other.value), _WHOLE_CHARS)!r}",
                f"If you agree, set {one.key!r} with status=active; to change it, set it with your value and "
                "status=draft. If yours answers another question, let its key and value say so",
            )


def notes_on_others(transaction: Transaction, by: Setter, globs: Sequence[str]) -> tuple[str, ...]:
    """Return notes on other agents' drafts of the last hour for the same files, which may answer the same question."""
    rows = transaction.all(
        f"""
        SELECT d.id, d.key, d.paths, a.name FROM decisions d JOIN agents a ON a.id = d.agent_id
        WHERE d.project_id = :project AND d.status = {records.STATUSES.index("draft") + 1} AND d.agent_id <> :agent
            AND d.updated_at > :since
        ORDER BY d.id DESC LIMIT {_MOST_OTHERS}
        """,
        {"project": by.project_id, "agent": by.actor.number, "since": by.now - _SAME_HOUR_MS},
    )
    return tuple(
        f"{shown_name(name)} has drafted {Kind.DECISION.ref(number)} {key!r} for the same files: if it answers the "
        "same question, accept or revise it and retract yours (review_item)"
        for number, key, theirs, name in rows
        if any(matches(mine, one) or matches(one, mine) for mine in globs for one in globs_in(theirs))
    )


def _holds(one: Sequence[str], other: Sequence[str]) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 1 and set(short) <= set(long)


def ends(metadata: records.Metadata) -> bool:
    """Return whether the draft with this metadata proposes to end the decision."""
    return metadata.get(_WISH) == _END


def as_draft(current: Decision, wanted: Decision, new: NewDecision) -> NewDecision:
    """Return what an agent wanted as the draft that proposes it."""
    # a new value is no longer the wish to end
    is_kept = isinstance(new.value, records.Keep) or not isinstance(new.metadata, records.Keep)
    is_end = new.status == "deprecated" or (ends(wanted.metadata) and is_kept)
    what = "to end it" if is_end else "a change"
    notes: tuple[str, ...] = (f"{current.key} {records.STAYS}: this draft proposes {what}",)
    if is_persons(str(current.agent)):
        person = shown_name(str(current.agent))
        notes = (f"{current.key} was decided by {person} and stays: this draft proposes {what}", records.PROPOSED)
    return replace(
        as_prepared(wanted, new),
        key=key_of(current),
        status="draft",
        metadata=_without_wish(wanted) | ({_WISH: _END} if is_end else {}),
        expected_revision=None,
        notes=(*new.notes, *notes),
    )


def find_agreement(
    transaction: Transaction, by: Setter, new: NewDecision, before: Decision | None
) -> tuple[Decision, Decision] | None:
    """Return the draft that another agent accepts, and the decision of an agent that it changes; None for neither."""
    if before is None or new.status != "active" or not isinstance(new.value, records.Keep):
        return None
    key = new.key.removesuffix(records.DRAFT_SUFFIX)
    decision = before if key == new.key else records.load(transaction, by.project_id, key)
    if decision is None or decision.status != "active" or is_persons(str(decision.agent)):
        return None
    draft = before if key != new.key else records.load(transaction, by.project_id, key_of(decision))
    if draft is None or draft.status != "draft" or draft.agent == by.actor.name:
        return None
    return draft, decision


def as_accepted(current: Decision, draft: Decision | None, new: NewDecision) -> NewDecision:
    """Return a decision as its draft proposes it, but for the fields that are given."""
    accepted = replace(new, key=current.key, status="active", expected_revision=None)
    if draft is None:
        return accepted
    is_value_theirs = not isinstance(new.value, records.Keep)
    is_end = ends(draft.metadata) and not is_value_theirs
    value = new.value if is_value_theirs else draft.value
    # that of a rejected draft may be why it was rejected
    rationale = None if draft.status == "deprecated" else draft.rationale
    prepared = as_prepared(replace(draft, metadata=_without_wish(draft), rationale=rationale), accepted)
    others = "" if is_end else other_fields(current, prepared)
    change = str(value)
    if change != str(current.value) and len(str(current.value)) <= _SHORT_CHARS:
        change = f"{current.value} -> {change}"
    change = f"{current.value} ended" if is_end else change + (f" with {others}" if others else "")
    by = "" if is_value_theirs else f", as {draft.agent or 'somebody unnamed'} proposed"
    return replace(
        prepared,
        status="deprecated" if is_end else "active",
        notes=(*new.notes, f"{current.key}: {change}{by}"),
    )


def proposed_fields(current: Decision | records.DecisionState, draft: Decision) -> list[str]:
    """Return the names of the fields that a draft proposes to change; of one that proposes an end, status."""
    if ends(draft.metadata):
        return ["status"]
    return records.changed_fields(current, replace(draft, status=current.status))


def other_fields(current: Decision, proposed: Decision | NewDecision) -> str:
    """Return what a proposal changes besides a new value and its reason, as "other tags, paths"; empty for nothing."""
    shown = ("value", "rationale") if str(current.value) != str(proposed.value) else ()
    names = [name for name in records.changed_fields(current, proposed) if name not in shown]
    return f"other {', '.join(names)}" if names else ""


def as_prepared(decision: Decision, new: NewDecision) -> NewDecision:
    """Return what is set with the fields of a decision where it leaves them out."""
    fields = {name: getattr(decision, name) for name in _PROPOSED if isinstance(getattr(new, name), records.Keep)}
    return replace(new, **fields)


def _without_wish(decision: Decision) -> dict[str, str | float]:
    return {key: value for key, value in decision.metadata.items() if key != _WISH}


def end(
    transaction: Transaction, by: Setter, decision: Decision, *, is_accepted: bool = False
) -> tuple[records.ChangedDecision, ...]:
    """End the draft that proposes what a person accepted or decided themselves; return what its author is told of."""
    draft = records.load(transaction, by.project_id, key_of(decision))
    if draft is None or draft.status != "draft":
        return ()
    if is_accepted or (draft.value == decision.value and ends(draft.metadata) == (decision.status == "deprecated")):
        ended = tables.change(transaction, by, draft, replace(draft, status="deprecated"))
        number = find_agent(transaction, by.project_id, draft.agent)
        if number is not None:
            before = records.replaced_state(draft, by.now)
            return (records.ChangedDecision(by.project_id, number, by.actor.number, before, ended, decision.key),)
    return ()

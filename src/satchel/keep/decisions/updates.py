"""Setting of decisions: checked first, then written, with their predecessor and similar decisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from satchel.base.clock import moment_text, year_of
from satchel.base.errors import Conflict, InvalidInput, nearest
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.base.text import shortened
from satchel.find import likeness, near
from satchel.find.kind import Kind
from satchel.keep.decisions import proposals, records, tables
from satchel.keep.decisions.records import DEPRECATED, Decision, NewDecision
from satchel.keep.fields import metadata_in
from satchel.keep.names import (
    check_identifier,
    check_names,
    ensure_layer,
    ensure_name,
    find_agent,
    is_persons,
    shown_name,
)
from satchel.keep.paths import check_globs
from satchel.keep.projects import Workplace
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content, named_secret
from satchel.store.transaction import Transaction, set_of

_MAX_SIMILAR = 5
_MAX_KEYS = 2_000

FieldValue = TypeVar("FieldValue")


def prepare(new: NewDecision, workplace: Workplace) -> NewDecision:
    """Return a decision with its fields checked without the store, and notes on what was changed."""
    key = check_identifier(new.key, "key")
    limit = workplace.max_content_bytes
    notes: list[str] = []
    value = new.value
    if isinstance(value, str):
        content = check_content(value, "value", limit)
        value = content.text
        notes += content.notes
        secret = named_secret(key, value)
        if secret is not None:
            value = f"[redacted:{secret}]"
            notes.append(f"a secret was redacted ({secret})")
    elif not isinstance(value, records.Keep):
        value = _check_number(value)
    rationale = new.rationale
    if isinstance(rationale, str):
        if rationale.strip():
            content = check_content(rationale, "rationale", limit)
            rationale = content.text
            notes += content.notes
        else:
            rationale = None
    elif rationale is not None and not isinstance(rationale, records.Keep):
        raise InvalidInput(f"rationale must be text, not {type(rationale).__name__}", "Say why, or leave it out")
    scopes = _check_list(new.scopes, "scopes")
    if not isinstance(scopes, records.Keep):
        notes += [
            f"scope {scope!r} reads like a folder: give it as paths to bind its files"
            for scope in scopes
            if "/" in scope
        ]
    metadata = new.metadata or {}
    if not isinstance(metadata, records.Keep):
        from satchel.keep.texts import check_metadata  # imported here: few decisions have metadata

        text, metadata_notes = check_metadata(metadata)
        metadata = metadata_in(text)
        notes += metadata_notes
    if new.expected_revision is not None:
        check_whole("expected_revision", new.expected_revision, 2**31 - 1)
    return replace(
        new,
        key=key,
        value=value,
        tags=_check_list(new.tags, "tags"),
        scopes=scopes,
        paths=new.paths if isinstance(new.paths, records.Keep) else check_globs(new.paths or (), workplace),
        layer=_check_label(new.layer, "layer"),
        version=_check_label(new.version, "version"),
        status=_check_status(new.status),
        rationale=rationale,
        notes=tuple(dict.fromkeys(notes)),
        metadata=metadata,
        until=_check_label(new.until, "until"),
    )


def _check_number(value: object) -> records.Value:
    if isinstance(value, bool):
        raise InvalidInput(f"value {value} is neither text nor a number", f'Give it as text: "{str(value).lower()}"')
    if not isinstance(value, (int, float)):
        raise InvalidInput(
            f"value must be text or a number, not {type(value).__name__}",
            "Give lists and objects as their JSON text; to end a decision, set its status to deprecated",
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"value {value} is not a number that can be stored", "Give a finite number, or text")
    if isinstance(value, int) and abs(value) > records.LARGEST_WHOLE:
        raise InvalidInput("value is a whole number beyond 2^53, which cannot be stored exactly", "Give it as text")
    return records.value_of(None, float(value))


def _check_status(status: str | records.Keep) -> str | records.Keep:
    return status if isinstance(status, records.Keep) else records.STATUSES[records.status_number(status) - 1]


def _check_list(values: Sequence[str] | records.Keep | None, field: str) -> tuple[str, ...] | records.Keep:
    if isinstance(values, records.Keep):
        return values
    return () if values is None else check_names(values, field)


def _check_label(label: str | records.Keep | None, field: str) -> str | records.Keep | None:
    if label is None or isinstance(label, records.Keep):
        return label
    return check_identifier(label, field) if label != "" else None


class Setter(NamedTuple):
    """The author of decisions, where and when.

    Attributes:
        passes: tells whether it may change what a person wrote.
    """

    workplace: Workplace
    project_id: int
    actor: Actor
    now: int
    passes: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class SetResult:
    """Result of setting a decision, with the changes that others are told of."""

    decision: records.Decision
    changes: tuple[records.ChangedDecision, ...] = ()


def upsert(transaction: Transaction, by: Setter, new: NewDecision, similar: Sequence[int] = ()) -> SetResult:
    """Set a decision; one of a person only if the caller passes, else as a separate draft."""
    is_person = is_persons(by.actor.name)
    persons = proposals.target(transaction, by.project_id, new.key, exact=is_person)
    if persons is not None:
        new = replace(new, key=proposals.key_of(persons))
    before = records.load(transaction, by.project_id, new.key)
    _check_revision(new, before, by.now)
    if persons is not None and not is_person:
        if new.status == "active" or (new.status == "deprecated" and before is not None and is_persons(before.agent)):
            raise proposals.refusal(new.key, persons)
        if new.status != "deprecated":
            base = before if before is not None and before.status == "draft" else persons
            return _propose(transaction, by, new, persons, _resolve(transaction, by, new, base))
    elif persons is not None and _accepts(new, before):
        if not by.passes(persons.ref):
            raise proposals.refusal(new.key, persons)
        return _accept(transaction, by, new, before, persons)
    agreement = proposals.find_agreement(transaction, by, new, before)
    if agreement is not None:
        return _accept(transaction, by, new, *agreement)
    if before is None and not is_person:
        before = proposals.persons_alike(transaction, by.project_id, new.key)
        new = new if before is None else replace(new, key=before.key)
    if before is None:
        return _create(transaction, by, new, similar)
    wanted = _resolve(transaction, by, new, before)
    if before.status == "active" and new.status == "draft":
        return _propose(transaction, by, new, before, wanted)
    # in Python 1, 1.0 and True are the same, in metadata they are not
    if wanted == before and tables.metadata_text(wanted) == tables.metadata_text(before):
        return SetResult(replace(before, notes=(*new.notes, records.UNCHANGED)))
    if before.agent is not None and is_persons(before.agent) and not by.passes(before.ref):
        return _propose(transaction, by, new, before, wanted)
    after = tables.change(transaction, by, before, wanted)
    changes = proposals.end(transaction, by, after) if is_person else ()
    value_is_new = wanted.value != before.value
    bands = tables.value_bands(by.project_id, wanted.value)
    alike = _similar(transaction, by.project_id, None, wanted.value, bands, similar, before.id) if value_is_new else ()
    replaced = records.replaced_state(before, by.now)
    notes = new.notes
    if isinstance(new.rationale, records.Keep) and before.rationale is not None and wanted.rationale is None:
        dropped = shortened(before.rationale)
        notes = (*notes, f'the reason went with the old value: "{dropped}"; rationale=TEXT gives the new one')
    result = replace(after, notes=notes, replaced=replaced, similar=alike)
    previous = None if before.agent == by.actor.name else find_agent(transaction, by.project_id, before.agent)
    if previous is not None and previous != by.actor.number:
        changes += (records.ChangedDecision(by.project_id, previous, by.actor.number, replaced, result),)
    return _with_messages(result, changes)


def _with_messages(result: Decision, changes: tuple[records.ChangedDecision, ...]) -> SetResult:
    messages = (f"a message tells {shown_name(str(change.before.agent))}" for change in changes)
    return SetResult(replace(result, notes=tuple(dict.fromkeys((*result.notes, *messages)))), changes)


def _accepts(new: NewDecision, draft: Decision | None) -> bool:
    if draft is None:
        return new.status in {"active", records.KEEP} and not isinstance(new.value, records.Keep)
    return draft.status != "active" and _keep_or(new.status, draft.status) == "active"


def _accept(
    transaction: Transaction, by: Setter, new: NewDecision, draft: Decision | None, current: Decision
) -> SetResult:
    accepted = proposals.as_accepted(current, draft, new)
    result = upsert(transaction, by._replace(passes=lambda _: True), accepted)
    ended = proposals.end(transaction, by, result.decision, is_accepted=True)
    # the draft itself says nearly the same
    similar = tuple(one for one in result.decision.similar if one.key != proposals.key_of(current))
    return _with_messages(replace(result.decision, similar=similar), (*result.changes, *ended))


def _propose(transaction: Transaction, by: Setter, new: NewDecision, current: Decision, wanted: Decision) -> SetResult:
    new = proposals.as_draft(current, wanted, new)
    draft = records.load(transaction, by.project_id, check_identifier(new.key, "key"))
    if draft is None:
        made = _create(transaction, by, new, None).decision
    else:
        proposed = _resolve(transaction, by, new, draft)
        if proposed == draft and tables.metadata_text(proposed) == tables.metadata_text(draft):
            return SetResult(replace(draft, notes=(*new.notes, records.UNCHANGED)))
        if draft.status == "active" and is_persons(draft.agent):
            raise Conflict(
                f"{new.key} was decided by {draft.agent}, so it cannot propose a change of {current.key}",
                f"Ask {current.agent} by a message",
            )
        notes = new.notes
        former = draft.agent or "somebody unnamed"
        if draft.status == "active":
            notes = (*notes, f"{new.key} was active, set by {former}; it is a proposal now")
        elif draft.status == "draft" and draft.agent != by.actor.name:
            notes = (*notes, f"replaces the proposal of {former}")
        made = tables.change(transaction, by, draft, proposed)
        made = replace(made, notes=notes, replaced=records.replaced_state(draft, by.now))
    replaced: list[tuple[records.DecisionState, str | None]] = [(records.replaced_state(current, by.now), current.key)]
    if made.replaced is not None and made.replaced.status == "draft" and made.replaced.agent != by.actor.name:
        replaced.append((made.replaced, None))
    changes = tuple(
        records.ChangedDecision(by.project_id, number, by.actor.number, before, made, human_key)
        for before, human_key in replaced
        if (number := find_agent(transaction, by.project_id, before.agent)) not in {None, by.actor.number}
    )
    return _with_messages(made, changes)


def _create(transaction: Transaction, by: Setter, new: NewDecision, similar: Sequence[int] | None) -> SetResult:
    project_id = by.project_id
    if isinstance(new.value, records.Keep):
        raise InvalidInput(
            f"there is no decision {new.key!r} yet, so it needs a value",
            _suggestion(nearest_key(transaction, project_id, new.key)) + "Give value, or check the key",
        )
    blank = Decision(
        *(0, "", 0, new.key, new.value, records.STATUSES[0], records.DEFAULT_VERSION, 1, None, (), ()),
        *(by.actor.name, None, by.now, by.now),
    )
    wanted = _resolve(transaction, by, new, blank)
    bands = tables.bands_of(project_id, new.key, wanted.value)
    # the proposal of a change resembles what it changes
    alike = () if similar is None else _similar(transaction, project_id, new.key, wanted.value, bands, similar)
    if wanted.status == "draft" and not is_persons(by.actor.name):
        proposals.refuse_second(transaction, by, new.key, alike)
        notes = (*new.notes, *proposals.notes_on_others(transaction, by, wanted.paths))
    else:
        notes = new.notes
    spelt = _spelt_otherwise(transaction, project_id, new.key)
    if spelt is not None and spelt not in {one.key for one in alike}:
        notes = (*notes, f"{new.key} is new; did you mean {spelt}, which exists?")
    made = tables.create(transaction, by, wanted, bands)
    return SetResult(replace(made, notes=notes, similar=alike))


def _suggestion(key: str | None) -> str:
    return "" if key is None else f"Did you mean {key!r}? "


def _spelt_otherwise(transaction: Transaction, project_id: int, key: str) -> str | None:
    # differs only in case and separators
    squashed = "lower(key)"
    for separator in "_- .":
        squashed = f"replace({squashed}, '{separator}', '')"
    row = transaction.one(
        f"SELECT key FROM decisions WHERE project_id = :project AND {squashed} = :key ORDER BY id DESC LIMIT 1",
        {"project": project_id, "key": key.lower().translate(str.maketrans("", "", "_- ."))},
    )
    return None if row is None else str(row[0])


def nearest_key(transaction: Transaction, project_id: int, key: str) -> str | None:
    """Return the existing key most similar to a missing one, by words, else by letters among the newest."""
    words = likeness.words_of(key)
    alike = likeness.candidates(transaction, project_id, Kind.DECISION, likeness.key_bands(project_id, words))
    rows = transaction.all(f"SELECT key FROM decisions WHERE id IN {set_of(alike)}") if alike else []
    scored = [(likeness.key_likeness(words, likeness.words_of(other)), other) for (other,) in rows]
    percent, close = max(scored, default=(0, ""))
    if percent >= likeness.THRESHOLD:
        return close
    rows = transaction.all(
        "SELECT key FROM decisions WHERE project_id = :project ORDER BY id DESC LIMIT :most",
        {"project": project_id, "most": _MAX_KEYS},
    )
    return nearest(key, (row[0] for row in rows))


def _check_revision(new: NewDecision, before: Decision | None, now: int) -> None:
    expected, actual = new.expected_revision, 0 if before is None else before.revision
    if expected is None or expected == actual:
        return
    if before is None:
        raise Conflict(f"{new.key} does not exist, revision {expected} was expected", "Leave expected_revision out")
    who, value = before.agent or "somebody unnamed", _quoted(before.value)
    made = {"draft": f"drafted {value}", "deprecated": "ended it"}.get(before.status, f"set it to {value}")
    raise Conflict(
        f"{new.key} has revision {actual}, not {expected}: {who} {made} "
        f"at {moment_text(before.updated_at, year_of(now))} UTC",
        f"Read it again, then set it with expected_revision={actual} if your change still applies",
    )


def _resolve(transaction: Transaction, by: Setter, new: NewDecision, before: Decision) -> Decision:
    project_id, now = by.project_id, by.now

    def registered(table: str, names: Sequence[str] | records.Keep | None, before: tuple[str, ...]) -> tuple[str, ...]:
        if isinstance(names, records.Keep):
            return before
        spelled = {ensure_name(transaction, table, project_id, name, now)[1] for name in names or ()}
        return tuple(sorted(spelled, key=str.casefold))

    layer = before.layer
    if not isinstance(new.layer, records.Keep):
        layer = None if new.layer is None else ensure_layer(transaction, by.workplace, project_id, new.layer, now)[1]
    is_other = not isinstance(new.value, records.Keep) and new.value != before.value
    metadata = _keep_or(new.metadata, before.metadata) or {}
    if not isinstance(new.until, records.Keep):
        metadata = {key: value for key, value in metadata.items() if key != "until"}
        metadata |= {} if new.until is None else {"until": new.until}
    # a version and a rationale belong to their value
    return replace(
        before,
        value=_keep_or(new.value, before.value),
        status=_keep_or(new.status, before.status),
        version=_keep_or(new.version, None if is_other else before.version) or records.DEFAULT_VERSION,
        layer=layer,
        tags=registered("tags", new.tags, before.tags),
        scopes=registered("scopes", new.scopes, before.scopes),
        paths=before.paths if isinstance(new.paths, records.Keep) else tuple(new.paths or ()),
        metadata=metadata,
        rationale=_keep_or(new.rationale, None if is_other else before.rationale),
    )


def _keep_or(value: FieldValue | records.Keep, before: FieldValue) -> FieldValue:
    return before if isinstance(value, records.Keep) else value


def _similar(
    transaction: Transaction,
    project_id: int,
    key: str | None,
    value: records.Value,
    bands: likeness.Bands,
    looked_up: Sequence[int],
    itself: int | None = None,
) -> tuple[records.Similar, ...]:
    # deprecated decisions are no contradiction
    candidates = (*likeness.candidates(transaction, project_id, Kind.DECISION, bands), *looked_up)
    numbers = [number for number in dict.fromkeys(candidates) if number != itself]
    if not numbers:
        return ()
    key_words = () if key is None else likeness.words_of(key)
    value_words = likeness.words_of(value) if isinstance(value, str) else ()
    rows = transaction.all(
        "SELECT id, key, value_text, value_number FROM decisions "
        f"WHERE id IN {set_of(numbers)} AND status <> {DEPRECATED}"
    )
    similar: list[records.Similar] = []
    for number, other_key, text, amount in rows:
        if key == f"{other_key}_draft":  # as the refusal of a draft over an active decision advises
            continue
        alike = likeness.key_likeness(key_words, likeness.words_of(other_key)) if key_words else 0
        scores = [("key", alike)] if alike >= likeness.THRESHOLD else []
        alike = 0 if text is None else near.share_of_shorter(value_words, likeness.words_of(text))
        scores += [("value", alike)] if alike >= near.THRESHOLD else []
        if scores:
            by, best = max(scores, key=lambda score: score[1])
            similar.append(
                records.Similar(Kind.DECISION.ref(number), other_key, records.value_of(text, amount), by, best)
            )
    return tuple(sorted(similar, key=lambda one: (-one.likeness, one.key))[:_MAX_SIMILAR])


def similar_values(transaction: Transaction, project_id: int, new: NewDecision) -> tuple[int, ...]:
    """Return decisions with nearly the same value as one about to be set."""
    if not isinstance(new.value, str):
        return ()
    alike = near.by_search(transaction, project_id, Kind.DECISION, new.value, _values_of)
    return tuple(one.item for one in alike)


def _values_of(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    return dict(
        transaction.all(
            "SELECT id, value_text FROM decisions "
            f"WHERE value_text IS NOT NULL AND status <> {DEPRECATED} AND id IN {set_of(numbers)}"
        )
    )


_QUOTED_CHARS = 1_000


def _quoted(value: records.Value) -> str:
    text = str(value)
    return repr(shortened(text, _QUOTED_CHARS)) if isinstance(value, str) else text

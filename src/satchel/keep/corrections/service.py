"""Service that retracts and confirms items, and undoes corrections and other changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.base.text import check_name, fold, shortened
from satchel.base.vocabulary import HUMAN, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import constraints, events, kept, pins, projects, replacing
from satchel.keep.binding import UNCONFIRMED
from satchel.keep.constraints import Constraint
from satchel.keep.corrections import log, undoing
from satchel.keep.corrections.asking import ask_person, dispute
from satchel.keep.corrections.log import (
    CONFIRMED,
    RETRACTED,
    SUPERSEDED,
    Confirmed,
    Correction,
    Corrector,
    Retracted,
    Undone,
)
from satchel.keep.corrections.undoing import Change
from satchel.keep.decisions import records as decisions
from satchel.keep.decisions.records import Decision
from satchel.keep.decisions.service import Decisions
from satchel.keep.entries import updates as entries
from satchel.keep.entries.records import ENTRY_TYPES
from satchel.keep.kinds import KINDS, is_ref, read_ref
from satchel.keep.messages import updates as messages
from satchel.keep.names import check_agent, is_persons, shown_name
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.keep.projects import Service
from satchel.keep.sessions import actors
from satchel.keep.sessions.actors import acting, acting_named, persons_gate
from satchel.keep.strategies import Strategy
from satchel.keep.texts import Storable, check_content
from satchel.store.transaction import Transaction, update_row

_CORRECTABLE = (Kind.ENTRY, Kind.CONSTRAINT, Kind.STRATEGY)

# Advice for kinds that are corrected in other ways.
_ELSEWHERE: Mapping[Kind, str] = {
    Kind.DECISION: "Change it with set_decision, or end it with status=deprecated",
    Kind.PACKAGE: "Save a newer one that replaces it (supersedes)",
    Kind.ERROR_PATTERN: "Report what fixed it, or that a fix did not help, with report_outcome",
}


class Corrections(Service):
    """Retractions, confirmations and undo."""

    def retract(
        self, ref: str, reason: str | None = None, *, closes: bool = False, agent: str | None = None
    ) -> Retracted:
        """Retract a note, rule or strategy; it is kept, but hidden from searches by default.

        Only a person can retract what a person wrote and critical rules: an agent's call sends them a message instead.
        A message is withdrawn, if it is the caller's own and unread. Decisions are changed, not retracted, but for a
        draft of the caller's own: an agent's call sends a message to the one who set it, or to a person.

        Args:
            closes: refuses all but a bug or review issue, which is closed instead.

        Raises:
            NotFound: the project has no such item.
            InvalidInput, TooLarge: an argument is invalid, or the item's kind cannot be retracted.
        """
        work = self._workplace
        kind, number = self._decision_named(ref) or _parse_ref(ref, "retracted", Kind.DECISION, Kind.MESSAGE)
        cleaned = None if reason is None else check_content(reason, "reason", work.max_content_bytes)
        agent = check_agent(work, agent)
        if kind is Kind.DECISION and not closes:
            return self._retract_decision(number, cleaned, agent)
        with work.engine.write() as transaction:
            by = self._begin(transaction, agent)
            if closes and (kind is not Kind.ENTRY or not log.can_close(_load(by, kind, number))):
                raise InvalidInput(
                    f"{kind.ref(number)} is neither a bug nor a review issue: nothing else is closed",
                    "verdict=retract is for what is wrong or outdated, set_decision status=deprecated for decisions",
                )
            if kind is Kind.MESSAGE:
                return Retracted(kind.ref(number), kind_name(kind), None, _withdraw(by, number))
            record = _load(by, kind, number)
            text, notes = (None, ()) if cleaned is None else (cleaned.text, cleaned.notes)
            short = _short(record)
            if not _is_live(record):
                before = log.end_reason(transaction, kind, number, log.ending_of(record))
                return Retracted(record.ref, kind_name(kind), record, short, already=before)
            if not _may_end(by, record):
                message = ask_person(work, by, record, short, text)
                return Retracted(record.ref, kind_name(kind), record, short, done=False, asked=message, notes=notes)
            _end(by, (kind, number), text)
            correction = log.record(by, RETRACTED, (kind, number), reason=text)
            log.log_event(by, events.RETRACTION, (kind, number))
            record = _load(by, kind, number)
        return Retracted(record.ref, kind_name(kind), record, short, notes=notes, correction=correction)

    def _retract_decision(self, number: int, reason: Storable | None, agent: str | None) -> Retracted:
        with self._workplace.engine.write() as transaction:
            by = self._begin(transaction, agent)
            draft = decisions.load_number(transaction, by.project_id, number)
            if draft is None:
                raise _missing(Kind.DECISION, number)
            if draft.status != "draft" or by.name is None or draft.agent != by.name:
                return dispute(self._workplace, by, draft, reason)
        why = decisions.KEEP if reason is None else reason.text
        ended = Decisions(self._workplace).set(
            draft.key, status="deprecated", rationale=why, expected_revision=draft.revision, agent=agent
        )
        short = shortened(f"{draft.key}: {draft.value}")
        return Retracted(ended.ref, kind_name(Kind.DECISION), ended, short, notes=reason.notes if reason else ())

    def confirm(self, ref: str, evidence: str | None = None, *, agent: str | None = None) -> Confirmed:
        """Record that an agent has checked that a note or rule is true; each agent counts once, its author never.

        Raises:
            NotFound: the project has no such item.
            Conflict: it was replaced or retracted.
            InvalidInput: the id is invalid, there is no agent, or the item's kind cannot be confirmed.
        """
        work = self._workplace
        kind, number = _parse_ref(ref, "confirmed")
        if kind is Kind.STRATEGY:
            raise InvalidInput(f"{ref} is a strategy", f"Report that it helped with report_outcome id={ref}")
        cleaned = None if evidence is None else check_content(evidence, "evidence", work.max_content_bytes)
        agent = check_agent(work, agent)
        with work.engine.write() as transaction:
            by = self._begin(transaction, agent, doing="confirming")
            record = _load(by, kind, number)
            is_closed = not _is_live(record) and log.is_closed(record)
            if not (is_closed or _is_live(record)):
                ended = log.end_reason(transaction, kind, number, log.ending_of(record))
                raise Conflict(f"{record.ref} is no longer valid: {ended}", "Read what replaced it, if anything did")
            accepts = getattr(record, "unconfirmed", False)
            if accepts:
                if not by.passes(record.ref):
                    stated_by = shown_name(record.stated_by or "a person")
                    raise Refused(
                        f"{record.ref} is what {stated_by} stated: only a person can confirm it",
                        f"A person does with `satchel accept {record.ref}`",
                    )
                constraints.confirm(transaction, by.project_id, number)
            names = log.confirmers(transaction, kind, number)
            text, notes = (None, ()) if cleaned is None else (cleaned.text, cleaned.notes)
            correction = None
            # who reported a bug or issue may say that it was fixed; who closed it may not
            end = log.last_end(transaction, kind, number) if is_closed else None
            done_by = end.agent if end is not None else record.agent
            if done_by is not None and fold(done_by) == fold(str(by.name)):
                notes = (*notes, f"you {'closed' if is_closed else 'wrote'} {record.ref}: only others can confirm it")
            elif by.name in names:
                notes = (*notes, "you had confirmed it before")
            else:
                correction = log.record(by, CONFIRMED, (kind, number), reason=text)
                log.log_event(by, events.CONFIRMATION, (kind, number), {"accepted": True} if accepts else None)
                names = (*names, str(by.name))
        short = _short(record)
        return Confirmed(record.ref, kind_name(kind), names, short, notes, correction)

    def ended(self, ref: str) -> Correction | None:
        """Return the replacement or retraction of a note, rule or strategy, or None."""
        kind, number = _parse_ref(ref, "replaced")
        with projects.reading(self._workplace) as (transaction, project):
            if kept.load(KINDS[kind], transaction, project.id, number) is None:
                return None
            return log.last_end(transaction, kind, number)

    def undo(self, ref: str | None = None, *, correction: int | None = None, agent: str | None = None) -> Undone:
        """Undo the caller's last change: a correction, a write, a set decision, a pin or a message that nobody read.

        A retracted or replaced item is live again; its replacement is retracted, as a written item is. A decision
        returns to its previous revision; a new one is deprecated. With ``ref`` the caller's last change of that item is
        undone, whatever they did since. ``correction`` is the number of a correction, which must be the last of the
        caller's session, or without one of its agent or person.

        Raises:
            NotFound: there is nothing to undo.
            Conflict: someone else has changed the same item since, the caller did something later that cannot be
                undone, or the last correction has another number.
        """
        agent, item = check_agent(self._workplace, agent), None if ref is None else read_ref(ref)
        with self._workplace.engine.write() as transaction:
            by = self._begin(transaction, agent, doing="undoing")
            if correction is None:
                last, lasting = undoing.last_change(by, item)
                if lasting:
                    raise undoing.not_last(transaction, lasting, last)
            else:
                last = log.last_of(by, item)
                if last is not None and last.id != correction:
                    other = f"{_ACTIONS[last.action]} {last.kind.ref(last.item)}"
                    raise Conflict(
                        f"your last correction is another one now: it {other}",
                        "Nothing was changed; correct the current item",
                    )
            if last is None:
                raise NotFound("there is nothing to undo here", "What you write, set, pin or correct can be undone")
            if isinstance(last, Correction):
                return self._undo_correction(last, by)
            if last.action != undoing.SET:
                return self._undo_write(last, by)
            current = decisions.load_number(transaction, by.project_id, last.item)
            assert current is not None
        return self._restore(last, current.key, agent, by)

    def _undo_correction(self, last: Correction, by: Corrector) -> Undone:
        record = _load(by, last.kind, last.item)
        status = None
        if is_persons(last.agent):
            self._require_person(by, record.ref)
        elif last.action != CONFIRMED:
            _check_may_end(by, record)
        if last.action == CONFIRMED:
            is_stated = getattr(record, "stated_by", None) is not None
            if last.agent is not None and (is_stated or _was_accepted(by, last)):
                is_unconfirmed = not _has_other_person(by.transaction, last)
                constraints.confirm(by.transaction, by.project_id, last.item, unconfirmed=is_unconfirmed)
                status = (UNCONFIRMED if is_stated else "proposed") if is_unconfirmed else None
        else:
            _revive(last, by)
        seq = by.transaction.next_seq(by.project_id)
        update_row(by.transaction, "corrections", last.id, undone_at=by.now, seq=seq)
        undoing.log_undo(by, (last.kind, last.item), last.created_at)
        return Undone(record.ref, kind_name(last.kind), _ACTIONS[last.action], last.heir_ref, _short(record), status)

    def _undo_write(self, change: Change, by: Corrector) -> Undone:
        transaction, project_id, ref = by.transaction, by.project_id, change.kind.ref(change.item)
        if change.action == undoing.PINNED:
            self._require_person(by, ref)
            pins.forget(transaction, project_id, change.kind, change.item)
            undoing.log_undo(by, (change.kind, change.item), change.made_at)
            text = kept.texts(KINDS[change.kind], transaction, [change.item]).get(change.item, "")
            return Undone(ref, kind_name(change.kind), change.action, None, shortened(text))
        if change.kind is Kind.MESSAGE:
            text = _withdraw(by, change.item)
            return Undone(ref, kind_name(change.kind), change.action, None, text)
        record = _load(by, change.kind, change.item)
        if not _is_live(record):
            ended = log.end_reason(transaction, change.kind, change.item, log.ending_of(record))
            raise Conflict(f"{ref}, which you wrote last, is no longer valid: {ended}", "Nothing was changed")
        _check_may_end(by, record)
        from satchel.keep.documents.states import reopen  # imported here: only undo needs it

        if not reopen(self._workplace, transaction, project_id, (change.kind, change.item), change.made_at):
            _end_written(by, change)
            return Undone(ref, kind_name(change.kind), change.action, None, _short(record))
        undoing.log_undo(by, (change.kind, change.item), change.made_at)
        record = _load(by, change.kind, change.item)
        return Undone(ref, kind_name(change.kind), undoing.SET, None, _short(record))

    def _require_person(self, by: Corrector, ref: str) -> None:
        actors.require_person(self._workplace, f"take back what a person did with {ref}", agent=by.name)
        actors.record_passage(by.transaction, self._workplace, by.project_id, f"took back a change of {ref}", by.now)

    def _restore(self, change: Change, key: str, agent: str | None, by: Corrector) -> Undone:
        from satchel.keep.documents.states import reopen

        def taken_back(transaction: Transaction, project_id: int, now: Decision) -> None:
            # recorded in the same transaction, so that a concurrent undo cannot undo this one
            undoing.record_taken_back(by._replace(transaction=transaction), change._replace(revision=now.revision))
            reopen(self._workplace, transaction, project_id, (change.kind, change.item), change.made_at)

        service = Decisions(self._workplace, on_set=taken_back)
        try:
            restored = service.take_back(key, change.revision, agent=agent)
        except Conflict as error:
            raise Conflict(
                f"your last change set {change.kind.ref(change.item)} {key}, which somebody has changed since",
                f"Nothing was changed. Set {key} again if yours still holds; retract takes back an item by its id",
            ) from error
        short = shortened(f"{key}: {restored.value}")
        return Undone(restored.ref, kind_name(Kind.DECISION), change.action, None, short, restored.status)

    def _decision_named(self, ref: object) -> tuple[Kind, int] | None:
        # people know a decision by its key
        try:
            key = check_name(ref, "key")
        except InvalidInput:  # nor is it an id, which its check says
            return None
        if is_ref(key):
            return None
        with projects.reading(self._workplace) as (transaction, project):
            decision = decisions.load(transaction, project.id, key)
        return None if decision is None else (Kind.DECISION, decision.id)

    def _begin(self, transaction: Transaction, agent: str | None, doing: str | None = None) -> Corrector:
        # ``doing`` None needs no agent
        work = self._workplace
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        if doing is None:
            actor = acting(transaction, work, project.id, agent, now)
        else:
            actor, _, _ = acting_named(transaction, work, project.id, agent, now, doing)
        number, name = actor.number, actor.name
        if actor.session is not None and not actor.is_named:
            # a call without a name is of the session's agent, who might confirm its own notes otherwise
            first = "SELECT a.id, a.name FROM sessions s JOIN agents a ON a.id = s.agent_id WHERE s.id = :session"
            number, name = transaction.one(first, {"session": actor.session}) or (number, name)
        done = {"confirming": actors.CONFIRMED, "undoing": "took back a change of"}.get(doing or "", "changed")
        gate = persons_gate(transaction, work, project.id, agent, now, done)
        return Corrector(transaction, project.id, number, actor.session, gate, now, name)


def _revive(last: Correction, by: Corrector) -> None:
    transaction, project_id = by.transaction, by.project_id
    end = log.last_end(transaction, last.kind, last.item)
    if end is not None and end.id != last.id:
        raise Conflict(
            f"{last.kind.ref(last.item)} was corrected again since",
            f"Open it with get_items ids={last.kind.ref(last.item)}, and correct its current version "
            f"({log.describe(end)})",
        )
    heir: Any = None if last.heir is None else kept.load(KINDS[last.kind], transaction, project_id, last.heir)
    if heir is not None:
        if not _is_live(heir):
            raise Conflict(
                f"{heir.ref}, which replaced {last.kind.ref(last.item)}, is no longer valid: "
                f"{log.end_reason(transaction, last.kind, heir.id, log.ending_of(heir))}",
                "Correct the current item",
            )
        _check_may_end(by, heir)
        _end_written(by, Change(undoing.WRITTEN, last.kind, heir.id, by.now))
    if last.kind is Kind.CONSTRAINT:
        constraints.revive(transaction, project_id, last.item)
    elif last.kind is Kind.ENTRY:
        entries.revive(transaction, project_id, last.item)
    else:
        replacing.mark(transaction, project_id, last.kind, [last.item], None)


def _short(record: Any) -> str:
    if isinstance(record, Constraint):
        return shortened(record.text)
    if isinstance(record, Strategy):
        return shortened(f"{record.topic}: {record.insight}")
    return shortened(entries.labelled(ENTRY_TYPES.index(record.type) + 1, record.content))


def _may_end(by: Corrector, record: Any) -> bool:
    is_critical = getattr(record, "priority", None) == PRIORITIES[-1]
    return by.may_end(record.ref, _author(record), is_critical=is_critical)


def _check_may_end(by: Corrector, record: Any) -> None:
    if not _may_end(by, record):
        raise Refused(f"only a person ends {record.ref}", f"Ask with satchel's send_message to={HUMAN}")


def _withdraw(by: Corrector, number: int) -> str:
    ref = Kind.MESSAGE.ref(number)
    if not by.may_end(ref, by.name):
        raise Refused(f"only a person withdraws {ref}", f"Send a correction with reply_to={ref}")
    return shortened(messages.withdraw(by.transaction, by.project_id, by.agent, number, by.now))


def _is_live(record: Any) -> bool:
    return bool(record.active if isinstance(record, Constraint) else record.superseded_by is None)


def _end(by: Corrector, item: tuple[Kind, int], reason: str | None) -> None:
    if item[0] is Kind.CONSTRAINT:
        constraints.end(by.transaction, by.project_id, item[1], reason, by.agent, by.now)
    else:
        replacing.retract(by.transaction, by.project_id, *item)


def _end_written(by: Corrector, change: Change) -> None:
    _end(by, (change.kind, change.item), "taken back")
    # recorded without an author, so that the next undo does not undo this one
    nobody = by._replace(agent=None, session=None)
    log.record(nobody, RETRACTED, (change.kind, change.item), reason="taken back")
    undoing.record_taken_back(by, change)


def _was_accepted(by: Corrector, confirmation: Correction) -> bool:
    # whether the rule had waited for this confirmation
    if confirmation.kind is not Kind.CONSTRAINT:
        return False
    where = "project_id = :project AND kind = :kind AND item_kind = :of AND item_id = :item AND details IS NOT NULL"
    values = {"project": by.project_id, "kind": events.CONFIRMATION, "of": confirmation.kind.number}
    return by.transaction.one(f"SELECT 1 FROM events WHERE {where}", values | {"item": confirmation.item}) is not None


_ACTIONS = {SUPERSEDED: "replaced", RETRACTED: "retracted", CONFIRMED: "confirmed"}


def kind_name(kind: Kind) -> str:
    return KINDS[kind].name


def _parse_ref(ref: str, done: str, *also: Kind) -> tuple[Kind, int]:
    # the kind and number of a short id, or an error for kinds that are neither correctable nor in ``also``
    if not isinstance(ref, str):
        raise InvalidInput(f"the id must be text, not {type(ref).__name__}", "Give an id such as e14 or c7")
    if ref.strip().startswith(SOLUTION_LETTER):
        raise InvalidInput(f"{ref[:80]} is a solution, which cannot be {done}", _ELSEWHERE[Kind.ERROR_PATTERN])
    kind, number = read_ref(ref)
    if kind not in _CORRECTABLE and kind not in also:
        name = kind.noun
        remedy = _ELSEWHERE.get(kind, "Notes (e), rules (c) and strategies (s) are")
        if kind is Kind.DECISION and done == "confirmed":
            remedy += f"; a person accepts a draft with `satchel accept {ref}`"
        raise InvalidInput(f"{ref} is {'an' if name[0] in 'aeiou' else 'a'} {name}, which cannot be {done}", remedy)
    return kind, number


def _load(by: Corrector, kind: Kind, number: int) -> Any:
    record = kept.load(KINDS[kind], by.transaction, by.project_id, number)
    if record is None:
        raise _missing(kind, number)
    return record


def _missing(kind: Kind, number: int) -> NotFound:
    return NotFound(f"there is no {kind.noun} {kind.ref(number)} in this project", "Lists and searches show ids")


def _author(record: Any) -> str | None:
    author: str | None = record.author if isinstance(record, Constraint) else record.agent
    return author


def _has_other_person(transaction: Transaction, confirmation: Correction) -> bool:
    # whether a person confirmed the item by another confirmation
    active = log.of_item(transaction, confirmation.kind, confirmation.item)
    return any(one.action == CONFIRMED and is_persons(one.agent) and one.id != confirmation.id for one in active)

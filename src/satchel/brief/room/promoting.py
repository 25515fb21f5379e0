"""Making a decision of a note, and taking that back."""

from __future__ import annotations

from satchel.base.errors import NotFound
from satchel.brief.decision_change_notice import announcer
from satchel.brief.room.records import Promoted, PromotionUndone
from satchel.find.kind import Kind
from satchel.keep import events, projects, replacing
from satchel.keep.corrections import log
from satchel.keep.corrections.service import Corrections
from satchel.keep.decisions import Decisions
from satchel.keep.decisions import updates as decisions
from satchel.keep.decisions.records import KEEP, NewDecision
from satchel.keep.entries import queries as entry_queries
from satchel.keep.names import check_agent
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting, persons_gate


def promote(
    work: Workplace,
    ref: str,
    key: str,
    value: str | None,
    rationale: str | None,
    expected_revision: int | None,
    agent: str | None,
) -> Promoted:
    """Make a decision of a note; see :meth:`satchel.brief.room.service.Room.promote`."""
    number, agent = Kind.ENTRY.number_of(ref), check_agent(work, agent)
    with projects.writing(work) as (transaction, project, now):
        note = entry_queries.load(transaction, project.id, number)
        if note is None:
            raise NotFound(f"there is no note {Kind.ENTRY.ref(number)} in this project", "Searches show the ids")
        actor = acting(transaction, work, project.id, agent, now)
        by = log.Corrector(actor.number, actor.session, persons_gate(work, agent), now)
        item = (Kind.ENTRY, number)
        log.check_replaceable(transaction, project.id, item, by)
        said = note.content if value is None else value
        why = KEEP if rationale is None else rationale
        given = decisions.prepare(NewDecision(key, said, rationale=why, expected_revision=expected_revision), work)
        author = None if actor.number is None or actor.name is None else (actor.number, actor.name)
        done = decisions.upsert(transaction, work, project.id, author, given, now, by.passes)
        if done.overtaken is not None:
            announcer(work)(transaction, done.overtaken)
        replacing.retract(transaction, project.id, Kind.ENTRY, number)
        reason = f"decided as {done.decision.ref}"
        correction = log.record(transaction, project.id, log.RETRACTED, item, by, reason=reason)
        events.record(transaction, project.id, events.RETRACTION, now, by=actor, item=item)
    return Promoted(done.decision, note.ref, correction)


def take_back(work: Workplace, ref: str, revision: int, correction: int, agent: str | None) -> PromotionUndone:
    """Take a promotion back; see :meth:`satchel.brief.room.service.Room.take_back_promotion`."""
    undone = Corrections(work).undo(correction=correction, agent=agent)
    # in a transaction of its own: where the decision was changed since, the note holds again, and the error says why
    decision = Decisions(work, announcer(work)).take_back(ref, revision, agent=agent)
    return PromotionUndone(decision, undone.ref)

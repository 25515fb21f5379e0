"""The status of a project for people, and their actions on it."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import check_whole
from satchel.brief.announcements import announcer
from satchel.brief.room import conflicts, looking, marks, needs, since, states, threads, where
from satchel.brief.room.reading import Reading
from satchel.brief.room.records import (
    Conflicts,
    MarkedSeen,
    Needs,
    Promoted,
    PromotionUndone,
    Reached,
    Released,
    Since,
    Status,
    Where,
)
from satchel.brief.room.threads import SentMessages
from satchel.find.kind import Kind
from satchel.keep import events, following, kept, projects, replacing
from satchel.keep.corrections import log
from satchel.keep.corrections.service import Corrections
from satchel.keep.decisions import updates as decisions
from satchel.keep.decisions.records import KEEP, NewDecision
from satchel.keep.decisions.service import Decisions
from satchel.keep.entries.kind import ENTRY
from satchel.keep.files import claiming
from satchel.keep.messages import updates
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.names import check_agent, check_person, ensure_agent, is_persons
from satchel.keep.sessions.actors import acting, persons_gate, record_passage, require_person
from satchel.keep.sessions.team import find_team
from satchel.keep.strategies import Strategy
from satchel.store.transaction import Transaction

_MAX_SEQ = 2**62


class Room(Reading):
    """The status of a project for people, and their actions on it."""

    def reached(self) -> Reached:
        """Return the current cursor, for polling clients."""
        with projects.reading(self._workplace) as (transaction, project):
            return Reached(str(following.now(transaction, project)))

    def needs(self, person: str | None = None) -> Needs:
        """Return the needs of a person.

        Args:
            person: ``human:NAME``, or ``human``; None is the default agent if that is a person, else the local user.

        Raises:
            InvalidInput: not a person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            return needs.find(looking.begin(transaction, project.id, name, work.clock()))

    def since(self, person: str | None = None) -> Since:
        """Return the changes by others that a person has not seen.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            return since.find(looking.begin(transaction, project.id, name, work.clock()), project.seq)

    def see(
        self, refs: Sequence[str] | None = None, *, up_to: int | None = None, person: str | None = None
    ) -> MarkedSeen:
        """Mark some or all changes as seen by a person.

        Args:
            refs: refs from answers, or a kind of change for all of it: action, decision, rule, fix, files, correction.
                None is every change.
            up_to: the ``seq`` of the answer in which they were seen, so that later changes stay visible; None is now.
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: an argument is invalid.
            NotFound: the project has no such thing.
            Refused: the caller is not a person.
        """
        name, work = self._person(person), self._workplace
        wanted = () if refs is None else marks.check_refs(refs)
        if up_to is not None:
            check_whole("up_to", up_to, _MAX_SEQ)
        require_person(work, "mark changes as seen", "Leave it to the person")
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            project = project if project.id else projects.ensure(transaction, work, now)
            if up_to is not None and up_to > project.seq:
                raise InvalidInput(
                    f"change {up_to} does not exist yet; the last is {project.seq}",
                    "Give the seq of the answer that was seen",
                )
            reached = project.seq if up_to is None else up_to
            look = marks.begin_person(looking.begin(transaction, project.id, name, now))
            marks.mark(look, wanted, reached)
        return MarkedSeen(name, wanted, reached)

    def unsee(self, ref: str, *, person: str | None = None) -> bool:
        """Show one thing again that a person has marked as seen, or everything that the last :meth:`see` has marked.

        Args:
            ref: from an answer; ``everything:SEQ``, with the ``seq`` of that answer, for everything.
            person: as for :meth:`needs`.

        Returns:
            Whether it was marked on its own, not with its whole kind; of everything whether that is the last such mark
            and less than 10 minutes old.

        Raises:
            InvalidInput: not a ref.
            NotFound: the project has no such thing.
            Refused: the caller is not a person.
        """
        require_person(self._workplace, "mark changes as seen", "Leave it to the person")
        name, work = self._person(person), self._workplace
        with projects.writing(work) as (transaction, project, now):
            return marks.unmark(marks.begin_person(looking.begin(transaction, project.id, name, now)), ref)

    def promote(
        self,
        ref: str,
        key: str,
        value: str | None = None,
        *,
        rationale: str | None = None,
        expected_revision: int | None = None,
        agent: str | None = None,
    ) -> Promoted:
        """Make a decision from a note and retract the note, in one transaction.

        Args:
            ref: the short id of the note.
            key: of the decision, new or existing.
            value: of the decision; None is the text of the note.
            rationale: why.
            expected_revision: as :meth:`satchel.keep.decisions.service.Decisions.set` takes it.
            agent: who decides; None takes the default.

        Raises:
            InvalidInput, TooLarge: an argument is invalid.
            NotFound, Conflict, Refused: there is no such note, it is retracted or a person's, or the revision is
                another.
        """
        work, number = self._workplace, Kind.ENTRY.number_of(ref)
        agent = check_agent(work, agent)
        with projects.writing(work) as (transaction, project, now):
            note = kept.load(ENTRY, transaction, project.id, number)
            if note is None:
                raise NotFound(f"there is no note {Kind.ENTRY.ref(number)} in this project", "Searches show the ids")
            actor = acting(transaction, work, project.id, agent, now)
            gate = persons_gate(transaction, work, project.id, agent, now)
            by = log.Corrector(transaction, project.id, actor.number, actor.session, gate, now)
            item = (Kind.ENTRY, number)
            log.check_replaceable(by, item)
            new = NewDecision(
                key,
                note.content if value is None else value,
                rationale=KEEP if rationale is None else rationale,
                expected_revision=expected_revision,
            )
            setter = decisions.Setter(work, project.id, actor, now, by.passes)
            done = decisions.upsert(transaction, setter, decisions.prepare(new, work))
            for change in done.changes:
                announcer(work)(transaction, change)
            replacing.retract(transaction, project.id, Kind.ENTRY, number)
            reason = f"decided as {done.decision.ref}"
            correction = log.record(by, log.RETRACTED, item, reason=reason)
            events.record(transaction, project.id, events.RETRACTION, now, by=actor, item=item)
        return Promoted(done.decision, note.ref, correction)

    def take_back_promotion(
        self, ref: str, *, revision: int, correction: int, agent: str | None = None
    ) -> PromotionUndone:
        """Restore the note of a promotion, and the decision as it was before.

        Args:
            ref: the short id of the decision.
            revision, correction: from the promotion.
            agent: who undoes it; None takes the default.

        Raises:
            NotFound: there is no such decision or correction.
            Conflict: the decision was changed since, or the note was corrected again.
        """
        work = self._workplace
        undone = Corrections(work).undo(correction=correction, agent=agent)
        # in another transaction: if the decision was changed since, the note is restored all the same
        decision = Decisions(work, announcer(work)).take_back(ref, revision, agent=agent)
        return PromotionUndone(decision, undone.ref)

    def accept_proposal(self, ref: str, *, person: str | None = None) -> Strategy:
        """Save the strategy that a run proposes.

        Args:
            ref: the ref of the need.
            person: who accepts, as for :meth:`needs`.

        Raises:
            Conflict: it was accepted or rejected before.
            InvalidInput: not a proposal.
            NotFound: nothing is proposed there.
            Refused: the caller is not a person.
        """
        saved = self._decide_proposal(ref, person, accepts=True)
        assert saved is not None
        return saved

    def reject_proposal(self, ref: str, *, person: str | None = None) -> None:
        """Reject the strategy that a run proposes, for all persons.

        Raises:
            Conflict, InvalidInput, NotFound, Refused: as for :meth:`accept_proposal`.
        """
        self._decide_proposal(ref, person, accepts=False)

    def _decide_proposal(self, ref: str, person: str | None, *, accepts: bool) -> Strategy | None:
        from satchel.brief.room import needs_proposals

        require_person(self._workplace, "accept or reject a proposal", "Save a strategy of your own")
        name, work = self._person(person), self._workplace
        with projects.writing(work) as (transaction, project, now):
            look = marks.begin_person(looking.begin(transaction, project.id, name, now))
            done = needs_proposals.decide(look, work, ref, accepts=accepts)
            what = f"rejected {ref}" if done is None else f"accepted {ref} as {done.ref}"
            record_passage(transaction, work, project.id, what, now)
            return done

    def status(self, person: str | None = None) -> Status:
        """Return needs, agents at work, conflicts and changes in one snapshot.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            look = looking.begin(transaction, project.id, name, now)
            return Status(
                project.name,
                name,
                needs.find(look),
                find_team(transaction, project.id, None, now, states.find, is_all=False),
                conflicts.find(look, work),
                since.find(look, project.seq),
            )

    def where(self) -> Where:
        """Return the sessions, and their times at work in the last 24 hours."""
        work, caller = self._workplace, self._workplace.caller
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            own = None if caller is None else caller.find(transaction, project.id)
            return where.find(transaction, project.id, None if own is None else own.id, now)

    def conflicts(self) -> Conflicts:
        """Return the files that two sessions claim, want or have edited in the last hour, and the decisions and rules
        that two have changed in the last day.
        """
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            return conflicts.find(looking.begin(transaction, project.id, self._person(None), work.clock()), work)

    def sent(self, *, limit: int = 20, person: str | None = None) -> SentMessages:
        """Return the messages that a person sent, with who got and read them and the answer, the latest first.

        Args:
            limit: 1 to 100.
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person, or another number.
        """
        check_whole("limit", limit, 100, smallest=1)
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            return threads.sent_by(looking.begin(transaction, project.id, name, work.clock()), limit)

    def answer(self, ref: str, message: str, *, answered_by: str | None = None, person: str | None = None) -> Message:
        """Answer a message, unless somebody has answered it since it was read.

        Args:
            ref: its short id.
            message: as for :meth:`satchel.keep.messages.service.Messages.send`.
            answered_by: the short id of its last known answer; None for none.
            person: who answers, as for :meth:`needs`.

        Raises:
            Conflict: it was answered since; nothing was sent.
            InvalidInput, TooLarge: an argument is invalid.
            NotFound: the project has no such message.
            Refused: the caller is not a person.
        """
        require_person(self._workplace, "answer for a person", "Answer with satchel's send_message")
        return Messages(self._workplace).send(
            message, reply_to=ref, answered_by=answered_by or "", agent=self._person(person)
        )

    def release(self, session: str, path: str, expires_at: int, *, person: str | None = None) -> Released:
        """End a claim of a session, unless it has changed since it was read, and send a message to its holder.

        Args:
            session: the uid of the session, in hexadecimal.
            path: the claimed path, as the session's claims are listed.
            expires_at: the known end of the claim, in milliseconds UTC.
            person: who ends it, as for :meth:`needs`.

        Raises:
            Conflict: the claim has ended since, or was renewed.
            Refused: the caller is not a person.
        """
        work, by = self._workplace, self._person(person)
        check_whole("expires_at", expires_at, _MAX_SEQ)
        require_person(work, "end the claim of another", "Ask for the file with satchel's send_message")
        with projects.writing(work) as (transaction, project, now):
            number, name = ensure_agent(transaction, project.id, by, now)
            ended = claiming.release_by_person(transaction, project.id, session, path, expires_at, now, name)
            message = self._tell(transaction, number, ended, f"I released your claim on {ended.path}", now)
        return Released(ended.path, ended.agent, Kind.MESSAGE.ref(message), ended.ending)

    def restore_claim(self, ending: int, *, person: str | None = None) -> Released:
        """Restore a claim that a person ended in the last 10 minutes, and send its holder a message.

        Args:
            ending: from the answer that ended it.
            person: who restores it, as for :meth:`needs`.

        Raises:
            Conflict: it is too late, the holder's session has ended, or someone has claimed the place since.
            NotFound: no person has ended a claim with this number.
            Refused: the caller is not a person.
        """
        work, by = self._workplace, self._person(person)
        check_whole("ending", ending, _MAX_SEQ)
        require_person(work, "restore a claim", "Claim the file")
        with projects.writing(work) as (transaction, project, now):
            number, _ = ensure_agent(transaction, project.id, by, now)
            restored = claiming.restore_ended(transaction, project.id, ending, now)
            message = self._tell(transaction, number, restored, f"Your claim on {restored.path} is yours again", now)
        return Released(restored.path, restored.agent, Kind.MESSAGE.ref(message), ending)

    def _tell(
        self, transaction: Transaction, sender: int, claim: claiming.ReleasedByPerson, text: str, now: int
    ) -> int:
        work = self._workplace
        project = projects.find(transaction, work)
        return updates.post(transaction, work, project.id, text, now, by=sender, to=claim.number)

    def _person(self, person: str | None) -> str:
        default = self._workplace.agent
        return check_person(person or (default if is_persons(default) else self._workplace.person()))

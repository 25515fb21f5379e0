"""What a person looks at: what needs them, what has changed, who is where, what collides, what memory is worth."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole
from satchel.brief.room import collisions, looking, needs, promoting, seen, since, states, where
from satchel.brief.room.reading import Reading
from satchel.brief.room.records import (
    Collisions,
    Needs,
    Promoted,
    PromotionUndone,
    Reached,
    Released,
    Seen,
    Since,
    Status,
    Where,
)
from satchel.find.kind import Kind
from satchel.keep import following, projects
from satchel.keep.files import claiming
from satchel.keep.messages import updates
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.names import check_person, ensure_agent, is_persons
from satchel.keep.sessions.actors import require_person
from satchel.keep.sessions.team import Team, find_team
from satchel.keep.strategies import Strategy

_MAX_SEQ = 2**62


class Room(Reading):
    """What persons look at, and what they do about it."""

    def reached(self) -> Reached:
        """Return how far the project has come, for who asks again and again whether there is anything new."""
        with projects.reading(self._workplace) as (transaction, project):
            return Reached(str(following.now(transaction, project)))

    def needs(self, person: str | None = None) -> Needs:
        """Return what needs a person.

        Args:
            person: ``human:NAME``, or ``human``; None is the default agent if that is a person, else who works here.

        Raises:
            InvalidInput: it is no person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            if project is None:
                return Needs(name, (), 0, None, now)
            return needs.find(looking.begin(transaction, project.id, name, now))

    def since(self, person: str | None = None) -> Since:
        """Return what has changed that a person has not seen, but for what they did themselves.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: it is no person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            if project is None:
                return Since(name, (), (), 0, None, now)
            return since.find(looking.begin(transaction, project.id, name, now), project.seq)

    def see(self, refs: Sequence[str] | None = None, *, up_to: int | None = None, person: str | None = None) -> Seen:
        """Mark changes as seen by a person: some, or all.

        Args:
            refs: what answers call ``ref``, or a kind of change for all of that: action, decision, rule, fix, files,
                correction. None is every change.
            up_to: the ``seq`` of the answer that they were seen in, so that what has changed since is shown again; None
                is now.
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: something is not acceptable.
            NotFound: the project has no such thing.
            Refused: it is not a person who calls.
        """
        name, work = self._person(person), self._workplace
        wanted = () if refs is None else seen.check_refs(refs)
        if up_to is not None:
            check_whole("up_to", up_to, _MAX_SEQ)
        require_person(work, "mark changes as seen", "Leave it to the person")
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work) or projects.ensure(transaction, work, now)
            if up_to is not None and up_to > project.seq:
                raise InvalidInput(
                    f"the project has not reached the change {up_to}; it stands at {project.seq}",
                    "Give the seq of the answer that was seen",
                )
            reached = project.seq if up_to is None else up_to
            look = seen.begin_person(looking.begin(transaction, project.id, name, now))
            seen.mark(look, wanted, reached)
        return Seen(name, wanted, reached)

    def unsee(self, ref: str, *, person: str | None = None) -> bool:
        """Show one thing again that a person has marked as seen.

        Args:
            ref: what answers call ``ref``.
            person: as for :meth:`needs`.

        Returns:
            Whether it was marked, alone and not with all of its kind.

        Raises:
            InvalidInput: it is none.
            NotFound: the project has no such thing.
            Refused: it is not a person who calls.
        """
        require_person(self._workplace, "mark changes as seen", "Leave it to the person")
        name, work = self._person(person), self._workplace
        with projects.writing(work) as (transaction, project, now):
            return seen.unmark(seen.begin_person(looking.begin(transaction, project.id, name, now)), ref)

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
        """Make a decision of a note, which holds no more from then on: both, or neither.

        Args:
            ref: the short id of the note.
            key: of the decision, new or known.
            value: what is decided; None is what the note says.
            rationale: why.
            expected_revision: as :meth:`satchel.keep.decisions.service.Decisions.set` takes it.
            agent: who decides; None takes the default.

        Raises:
            InvalidInput, TooLarge: something is not acceptable.
            NotFound, Conflict, Refused: the note is not there, holds no more, or is a person's; or the revision is
                another.
        """
        return promoting.promote(self._workplace, ref, key, value, rationale, expected_revision, agent)

    def take_back_promotion(
        self, ref: str, *, revision: int, correction: int, agent: str | None = None
    ) -> PromotionUndone:
        """Let the note of a promotion hold again, and set the decision to what it was before.

        Args:
            ref: the short id of the decision.
            revision, correction: as the promotion gave them.
            agent: who takes it back; None takes the default.

        Raises:
            NotFound: there is no such decision or correction.
            Conflict: the decision was changed since, or the note is not what was corrected last.
        """
        return promoting.take_back(self._workplace, ref, revision, correction, agent)

    def accept_proposal(self, ref: str, *, person: str | None = None) -> Strategy:
        """Save the strategy that a run proposes.

        Args:
            ref: what the need calls ``ref``.
            person: who accepts, as for :meth:`needs`.

        Raises:
            Conflict: it was accepted or rejected before.
            InvalidInput: it is no proposal.
            NotFound: nothing is proposed there.
            Refused: it is not a person who calls.
        """
        saved = self._settle(ref, person, accepts=True)
        assert saved is not None
        return saved

    def reject_proposal(self, ref: str, *, person: str | None = None) -> None:
        """Pass a strategy over that a run proposes, for all persons. The arguments and errors are those of accepting.

        Raises:
            Conflict, InvalidInput, NotFound, Refused: as for :meth:`accept_proposal`.
        """
        self._settle(ref, person, accepts=False)

    def _settle(self, ref: str, person: str | None, *, accepts: bool) -> Strategy | None:
        from satchel.brief.room import needs_proposals

        require_person(self._workplace, "accept or reject a proposal", "Save a strategy of your own")
        name, work = self._person(person), self._workplace
        with projects.writing(work) as (transaction, project, now):
            look = seen.begin_person(looking.begin(transaction, project.id, name, now))
            return needs_proposals.settle(look, work, ref, accepts=accepts)

    def status(self, person: str | None = None) -> Status:
        """Return what needs a person, who is at work, what collides and what has changed, in one snapshot.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: it is no person.
        """
        name, work = self._person(person), self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            if project is None:
                at_work, conflicts = Team((), 0, 0, now), Collisions((), 0, now)
                asked, changes = Needs(name, (), 0, None, now), Since(name, (), (), 0, None, now)
                return Status(work.project_name or work.suggested_name, name, asked, at_work, conflicts, changes)
            look = looking.begin(transaction, project.id, name, now)
            return Status(
                project.name,
                name,
                needs.find(look),
                find_team(transaction, project.id, None, now, states.find, is_all=False),
                collisions.find(transaction, project.id, now),
                since.find(look, project.seq),
            )

    def where(self) -> Where:
        """Return who is where, and when they were at work in the last 24 hours."""
        work, caller = self._workplace, self._workplace.caller
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            if project is None:
                ended = (now // where.QUARTER_MS + 1) * where.QUARTER_MS
                return Where(Team((), 0, 0, now), (), ended - DAY_MS, ended)
            own = None if caller is None else caller.find(transaction, project.id)
            return where.find(transaction, project.id, None if own is None else own.id, now, ())

    def collisions(self) -> Collisions:
        """Return where two sessions claim, or have edited in the last hour, the same."""
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            now = work.clock()
            return Collisions((), 0, now) if project is None else collisions.find(transaction, project.id, now)

    def answer(self, ref: str, message: str, *, answered_by: str | None = None, person: str | None = None) -> Message:
        """Answer a message, unless somebody has answered it since it was looked at.

        Args:
            ref: its short id.
            message: as for :meth:`satchel.keep.messages.service.Messages.send`.
            answered_by: the short id of the last answer to it, as it was looked at; None for none.
            person: who answers, as for :meth:`needs`.

        Raises:
            Conflict: it was answered since; nothing was sent.
            InvalidInput, TooLarge: something is not acceptable.
            NotFound: the project has no such message.
            Refused: it is not a person who calls.
        """
        require_person(self._workplace, "answer for a person", "Answer with send_message")
        return Messages(self._workplace).send(
            message, reply_to=ref, answered_by=answered_by or "", agent=self._person(person)
        )

    def release(self, session: str, path: str, expires_at: int, *, person: str | None = None) -> Released:
        """End a claim of a session, unless somebody has changed it since it was looked at, and tell its holder.

        Args:
            session: the uid of the session, in hexadecimal.
            path: what is claimed, as the session's claims are listed.
            expires_at: until when the claim held when it was looked at, in milliseconds UTC.
            person: who ends it, as for :meth:`needs`.

        Raises:
            Conflict: the claim has ended since, or was renewed.
            Refused: it is not a person who calls.
        """
        work, by = self._workplace, self._person(person)
        check_whole("expires_at", expires_at, _MAX_SEQ)
        require_person(work, "end the claim of another", "Ask for the file with send_message")
        with projects.writing(work) as (transaction, project, now):
            number, name = ensure_agent(transaction, project.id, by, now)
            ended = claiming.release_by_person(transaction, project.id, session, path, expires_at, now, name)
            told = updates.post(
                transaction,
                project.id,
                sender_id=number,
                to_id=ended.number,
                type="warning",
                priority="medium",
                text=f"I released your claim on {ended.path}",
                now=now,
                retention=work.retention,
            )
        return Released(ended.path, ended.agent, Kind.MESSAGE.ref(told))

    def _person(self, person: str | None) -> str:
        default = self._workplace.agent
        return check_person(person or (default if is_persons(default) else self._workplace.person()))

"""The status of a project for people, and their actions on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import check_whole
from satchel.brief.room import (
    conflicts,
    histories,
    looking,
    marks,
    memory,
    needs,
    since,
    states,
    threads,
    where,
    worktrees,
)
from satchel.brief.room.histories import ErrorHistory, ItemHistory, PastBriefings
from satchel.brief.room.looking import Look
from satchel.brief.room.memory import Facets, Flagged, Spending
from satchel.brief.room.records import (
    Conflicts,
    MarkedSeen,
    Needs,
    Reached,
    Released,
    Since,
    Status,
    Where,
)
from satchel.brief.room.threads import SentMessages, Thread
from satchel.brief.room.worktrees import Worktrees
from satchel.find.kind import Kind
from satchel.keep import following, projects
from satchel.keep.files import claiming
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.messages import updates
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.names import check_person, ensure_agent, is_persons
from satchel.keep.projects import Project, Service
from satchel.keep.sessions.actors import require_person
from satchel.keep.sessions.team import find_team

_MAX_SEQ = 2**62
_MOST_BRIEFINGS = 100
_MARKING = ("mark changes as seen", "Leave it to the person")


class Room(Service):
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
        with self._look(self._person(person)) as (look, _):
            return needs.find(look)

    def since(self, person: str | None = None) -> Since:
        """Return the changes by others that a person has not seen.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person.
        """
        with self._look(self._person(person)) as (look, project):
            return since.find(look, project.seq)

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
        wanted = () if refs is None else marks.check_refs(refs)
        if up_to is not None:
            check_whole("up_to", up_to, _MAX_SEQ)
        with self._act(person, *_MARKING) as look:
            project = projects.find(look.transaction, self._workplace)
            if up_to is not None and up_to > project.seq:
                raise InvalidInput(
                    f"change {up_to} does not exist yet; the last is {project.seq}",
                    "Give the seq of the answer that was seen",
                )
            reached = project.seq if up_to is None else up_to
            marks.mark(look, wanted, reached)
        return MarkedSeen(look.person, wanted, reached)

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
        with self._act(person, *_MARKING) as look:
            return marks.unmark(look, ref)

    def status(self, person: str | None = None) -> Status:
        """Return needs, agents at work, conflicts and changes in one snapshot.

        Args:
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person.
        """
        with self._look(self._person(person)) as (look, project):
            return Status(
                project.name,
                look.person,
                needs.find(look),
                find_team(look.transaction, look.project_id, None, look.now, states.find, is_all=False),
                conflicts.find(look, self._workplace),
                since.find(look, project.seq),
            )

    def where(self) -> Where:
        """Return the sessions, and their times at work in the last 24 hours."""
        caller = self._workplace.caller
        with self._look() as (look, _):
            own = None if caller is None else caller.find(look.transaction, look.project_id)
            return where.find(look, None if own is None else own.id)

    def conflicts(self) -> Conflicts:
        """Return the files that two sessions claim, want or have edited in the last hour, and the decisions and rules
        that two have changed in the last day.
        """
        with self._look(self._person(None)) as (look, _):
            return conflicts.find(look, self._workplace)

    def sent(self, *, limit: int = 20, person: str | None = None) -> SentMessages:
        """Return the messages that a person sent, with who got and read them and the answer, the latest first.

        Args:
            limit: 1 to 100.
            person: as for :meth:`needs`.

        Raises:
            InvalidInput: not a person, or another number.
        """
        check_whole("limit", limit, 100, smallest=1)
        with self._look(self._person(person)) as (look, _):
            return threads.sent_by(look, limit)

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
        check_whole("expires_at", expires_at, _MAX_SEQ)
        with self._act(person, "end the claim of another", "Ask for the file with satchel's send_message") as look:
            ended = claiming.release_by_person(
                look.transaction, look.project_id, session, path, expires_at, look.now, look.person
            )
            return self._tell(look, ended, f"I released your claim on {ended.path}", ended.ending)

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
        check_whole("ending", ending, _MAX_SEQ)
        with self._act(person, "restore a claim", "Claim the file") as look:
            restored = claiming.restore_ended(look.transaction, look.project_id, ending, look.now)
            return self._tell(look, restored, f"Your claim on {restored.path} is yours again", ending)

    def thread(self, ref: str) -> Thread:
        """Return the thread of a message to anyone.

        Args:
            ref: the message's short id.

        Raises:
            InvalidInput: not the id of a message.
            NotFound: the project has no such message, or it has expired.
        """
        number = Kind.MESSAGE.number_of(ref)
        with self._look() as (look, _):
            return threads.one(look, number)

    def history(self, ref: str) -> ItemHistory:
        """Return the history of an item: corrections, replacement and deliveries.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: not an id.
            NotFound: the project has no such item.
        """
        item = read_ref(ref)
        with self._look() as (look, _):
            return histories.of_item(look, *item)

    def error(self, ref: str) -> ErrorHistory:
        """Return an error with all its solutions, the reports on them, and where it was met.

        Args:
            ref: its short id.

        Raises:
            InvalidInput: not the id of an error.
            NotFound: the project has no such error, or it has expired.
        """
        number = Kind.ERROR_PATTERN.number_of(ref)
        with self._look() as (look, _):
            return histories.of_error(look, number)

    def spending(self, days: int = 14) -> Spending:
        """Return the tokens added to the context of agents, day by day.

        Args:
            days: how many, 1 to 90; today is the last.

        Raises:
            InvalidInput: it is another number.
        """
        check_whole("days", days, memory.MOST_DAYS, smallest=1)
        with self._look() as (look, _):
            return memory.count_spending(look, days)

    def facets(self, kind: str | None = None) -> Facets:
        """Return the number of items of the project's memory by kind, state, tag, file and author.

        Args:
            kind: the only kind whose states, tags, files and authors are counted.

        Raises:
            InvalidInput: memory has no such kind.
        """
        names = {KINDS[one].name: one for one in memory.MEMORY}
        if kind is not None and kind not in names:
            raise unknown_name("kind", kind, names)
        with self._look() as (look, project):
            return memory.count(look, project, self._workplace, None if kind is None else names[kind])

    def flags(self, refs: Sequence[str]) -> Flagged:
        """Return which items are confirmed, stale, pinned, and how many sessions got them.

        Args:
            refs: 1 to 100 short ids.

        Raises:
            InvalidInput: not ids, or too many.
        """
        check_whole("refs", len(refs), memory.MOST_FLAGGED, smallest=1)
        wanted = list(dict.fromkeys(map(read_ref, refs)))
        with self._look() as (look, _):
            return memory.flags(look, self._workplace, wanted)

    def selected(self, what: str, tag: str = "") -> tuple[str, ...]:
        """Return the short ids of the newest items of a state or tag, or of the items that most sessions got.

        Args:
            what: stale, unconfirmed, draft, pinned, used, or tag.
            tag: the tag, if that is asked for.

        Raises:
            InvalidInput: what is another word.
        """
        if what not in memory.SELECTIONS:
            raise unknown_name("what", what, memory.SELECTIONS)
        with self._look() as (look, _):
            return memory.select(look, self._workplace, what, tag)

    def briefings(self, session: str | None = None, *, limit: int = 20) -> PastBriefings:
        """Return what was added to the context of a session, with the items, the latest first.

        Args:
            session: its uid, in hexadecimal; None is every session.
            limit: 1 to 100.

        Raises:
            InvalidInput: an argument is invalid.
        """
        check_whole("limit", limit, _MOST_BRIEFINGS, smallest=1)
        uid = None if session is None else _check_uid(session)
        with self._look() as (look, _):
            return histories.briefings(look, uid, limit)

    def worktrees(self) -> Worktrees:
        """Return the worktrees of the last day, with their commits and what is not committed there."""
        with self._look() as (look, _):
            return worktrees.find(look, self._workplace)

    def _tell(self, look: Look, claim: claiming.ReleasedByPerson, text: str, ending: int) -> Released:
        retention = self._workplace.retention
        number = updates.post(
            look.transaction, look.project_id, text, look.now, retention, sender=look.number, to=claim.number
        )
        return Released(claim.path, claim.agent, Kind.MESSAGE.ref(number), ending)

    def _person(self, person: str | None) -> str:
        default = self._workplace.agent
        return check_person(person or (default if is_persons(default) else self._workplace.person()))

    @contextmanager
    def _look(self, person: str | None = None) -> Iterator[tuple[Look, Project]]:
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            if person is None:
                yield looking.of_nobody(transaction, project.id, work.clock()), project
            else:
                yield looking.begin(transaction, project.id, person, work.clock()), project

    @contextmanager
    def _act(self, person: str | None, what: str, remedy: str) -> Iterator[Look]:
        require_person(self._workplace, what, remedy)
        name = self._person(person)
        with projects.writing(self._workplace) as (transaction, project, now):
            look = looking.begin(transaction, project.id, name, now)
            number, person_name = ensure_agent(transaction, project.id, name, now)
            yield look._replace(number=number, person=person_name)


def _check_uid(session: str) -> str:
    try:
        return bytes.fromhex(session).hex()
    except ValueError:
        raise InvalidInput(f"{session[:80]!r} is no uid of a session", "Give it as the team lists it") from None

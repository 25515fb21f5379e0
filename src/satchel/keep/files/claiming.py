"""Claim requests: one attempt in a transaction, waiting for others, the record of a refusal, the end by a person."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from satchel.base.clock import span_in_words
from satchel.base.errors import Busy, Conflict, InvalidInput, NotFound, SatchelError
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.keep import events, expiry, projects
from satchel.keep.expiry import end_claims
from satchel.keep.files import claims
from satchel.keep.files.claims import Claimant, ClaimRefused, Terms
from satchel.keep.files.places import Place
from satchel.keep.files.records import Claimed
from satchel.keep.presence import is_anyone_refused, is_anyone_waiting
from satchel.keep.projects import POLL_SECONDS, Workplace
from satchel.keep.sessions.actors import UNKNOWN, acting_named, reading
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_content
from satchel.store.transaction import Transaction, first_number

DOING = "claiming files"

_MAX_MINUTES = 7 * 24 * 60
_MAX_REASON_CHARS = 600


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A request to claim places.

    Attributes:
        agent: the chosen name, if any.
        wanted: the places, and whether their files exist.
        shared: those of them to be claimed shared.
    """

    agent: str | None
    wanted: Mapping[Place, bool | None]
    terms: Terms
    shared: frozenset[Place] = frozenset()

    @property
    def places(self) -> list[Place]:
        return list(self.wanted)


def check_minutes(minutes: int) -> int:
    if minutes == 0 and not isinstance(minutes, (bool, float)):
        raise InvalidInput("minutes 0 would end the claim at once", f"Give 1 to {_MAX_MINUTES}; releasing ends a claim")
    check_whole("minutes", minutes, _MAX_MINUTES, smallest=1)
    return minutes


def check_reason(reason: object, limit: int) -> tuple[str, tuple[str, ...]]:
    content = check_content(reason, "reason", limit)
    line = " ".join(content.text.split())
    if len(line) > _MAX_REASON_CHARS:
        raise InvalidInput(f"reason has {len(line)} characters", f"At most {_MAX_REASON_CHARS} are allowed")
    return line, content.notes


def try_claim(transaction: Transaction, work: Workplace, request: ClaimRequest, waiter: int | None = None) -> Claimed:
    """Claim all requested places, or raise ClaimRefused if others hold or are next to get any of them.

    ``waiter`` is the number of a call that has waited.
    """
    now = work.clock()
    project = projects.ensure(transaction, work, now)
    actor, _, _ = acting_named(transaction, work, project.id, request.agent, now, DOING)
    places = request.places
    expiry.end_expired(transaction, project.id, now)
    by = Claimant(transaction, project.id, actor, now)
    overlaps = claims.find_overlaps(by, places, request.shared)
    if overlaps.blocking:
        from satchel.keep.files import refusals  # imported here: few claims are refused

        refusals.refuse(transaction, places, overlaps, now)
    if is_anyone_waiting(transaction, project.id):
        from satchel.keep.files import waiters

        waiters.refuse_out_of_turn(by, places, waiter, request.shared)
    claimed = claims.grant(by, request.wanted, overlaps, request.terms, request.shared)
    if is_anyone_refused(transaction, project.id):
        from satchel.keep.files import refusals

        refusals.remove_claimed(by, places)
    expiry.sweep_now_and_then(work.engine, transaction, project.id, now)
    return replace(claimed, claimed_at=now)


def record_refusal(work: Workplace, request: ClaimRequest, refused: ClaimRefused) -> int:
    """Record a refusal, if possible, and return how many others wait for the places."""
    from satchel.keep.files import refusals, waiters

    with suppress(SatchelError), projects.writing(work) as (transaction, project, now):
        # the session is notified later; a refusal does not register an agent
        if work.caller is not None:
            work.caller.ensure(transaction, work, project.id, now)
        actor = reading(transaction, work, project.id, request.agent)
        agent_id = None if actor.number == UNKNOWN else actor.number
        by = Claimant(transaction, project.id, actor._replace(number=agent_id), now)
        refusals.log(by, list(request.wanted), work.worktree, refused.holders)
        refusals.add(by, refused.places, request.shared)
        return sum(
            any(place.clashes(other) for place in refused.places for other in one.places)
            for one in waiters.load(transaction, project.id, now)
            if not claims.is_actor(actor, one.actor.number or 0, one.actor.session)
        )
    return 0


class ReleasedByPerson(NamedTuple):
    """A claim that a person released, with the name and number of its former holder, and the number of the event."""

    path: str
    agent: str
    number: int
    ending: int


def release_by_person(
    transaction: Transaction, project_id: int, session: str, path: str, expires_at: int, now: int, by: str
) -> ReleasedByPerson:
    """Release a session's claim on a path, or raise Conflict if it has ended or been renewed.

    ``session`` is the session's uid in hexadecimal, ``expires_at`` the expiry that the person saw.
    """
    try:
        uid = bytes.fromhex(session)
    except ValueError:
        uid = b""
    rows = transaction.all(
        """
        SELECT c.id, a.name, a.id, c.expires_at, c.automatic FROM file_claims c
        JOIN agents a ON a.id = c.agent_id JOIN sessions s ON s.id = c.session_id
        WHERE c.project_id = :project AND s.uid = :session AND c.path = :path AND c.expires_at > :now
        """,
        {"project": project_id, "session": uid, "path": path, "now": now},
    )
    if not rows:
        raise Conflict(f"the claim on {path} has already ended", "Nothing was changed; there is nothing left to do")
    for _, agent, _, until, is_automatic in rows:
        # hooks renew automatic claims every minute, so a new expiry means nothing
        if until != expires_at and not is_automatic:
            raise Conflict(
                f"{agent} has renewed the claim on {path} for {span_in_words(until - now)}",
                "Nothing was changed; release it again to end it anyway",
            )
    end_claims(transaction, [row[0] for row in rows], events.RELEASE, now, by=by)
    last = "SELECT max(seq) FROM events WHERE project_id = :project"
    ending = first_number(transaction, last, {"project": project_id})
    return ReleasedByPerson(path, rows[0][1], rows[0][2], ending)


# How long a person can restore a claim that a person has ended.
UNDO_MS = 10 * 60_000


def restore_ended(transaction: Transaction, project_id: int, ending: int, now: int) -> ReleasedByPerson:
    """Restore a claim that a person has ended, as its holder had it.

    Raises NotFound if there is no such end, and Conflict if it is too long ago, the claim would have expired, its
    session has ended, or someone has claimed its place since.
    """
    row = transaction.one(
        """
        SELECT e.details, e.created_at, e.session_id, e.agent_id, a.name FROM events e
        JOIN agents a ON a.id = e.agent_id
        WHERE e.seq = :seq AND e.project_id = :project AND e.kind = :kind
        """,
        {"seq": ending, "project": project_id, "kind": events.RELEASE},
    )
    details = {} if row is None else json.loads(row[0] or "{}")
    if row is None or not details.get("by") or "began" not in details:
        raise NotFound(f"no claim was ended by a person with number {ending}", "Give the number of the answer")
    _, at, session, agent, name = row
    path = details["path"]
    if details.get("is_undone"):
        raise Conflict(f"the claim on {path} was restored before", "Nothing was changed")
    if now - at > UNDO_MS:
        raise Conflict(f"the claim on {path} ended more than 10 minutes ago", f"Nothing was changed; {name} claims it")
    if details["until"] <= now:
        raise Conflict(f"the claim on {path} would have expired by now", f"Nothing was changed; {name} claims it")
    if session is None or claims.find_ended_sessions(transaction, {session}, now):
        raise Conflict(f"the session of {name} has ended since", "Nothing was changed; nobody would hold the claim")
    place = Place(path, details.get("worktree"), bool(details.get("is_key")))
    shared = [place] if details.get("shared") else []
    by = Claimant(transaction, project_id, Actor(agent, name, session), now)
    overlaps = claims.find_overlaps(by, [place], shared)
    since = [*overlaps.blocking, *(one for one in overlaps.mine if one.place == place)]
    if since:
        raise Conflict(f"{since[0].claim.agent} has claimed {since[0].claim.path} since", "Nothing was changed")
    expiry.end_expired(transaction, project_id, now)
    expiry.claim_again(transaction, project_id, session, agent, details, details["began"], now)
    undone = json.dumps({**details, "is_undone": True}, ensure_ascii=False, separators=(",", ":"))
    transaction.run("UPDATE events SET details = :details WHERE seq = :seq", {"details": undone, "seq": ending})
    return ReleasedByPerson(path, name, agent, ending)


# Interval of checks without a new commit: a killed holder writes nothing.
_LOOK_SECONDS = 1.0


class _QueuePlace(NamedTuple):
    number: int
    project_id: int
    actor: Actor
    since: int


def wait_for_claim(work: Workplace, seats: threading.Semaphore, request: ClaimRequest, seconds: int) -> Claimed:
    """Claim all requested places as soon as they are free, within ``seconds``.

    ``seats`` limits the connection's waiting calls. Raises ClaimRefused after that time or without a seat, and
    Interrupted if the call is cancelled.
    """
    from satchel.keep.files import waiters

    has_seat = seats.acquire(blocking=False)
    try:
        place = _first_try(work, request, seconds, may_wait=has_seat)
        if isinstance(place, Claimed):
            return place
        claimed = None
        try:
            claimed = _wait(work, request, place, seconds)
        finally:
            if claimed is None:
                with suppress(SatchelError), work.engine.write() as transaction:
                    waiters.remove(transaction, place.number)
        return claimed
    finally:
        if has_seat:
            seats.release()


def _first_try(work: Workplace, request: ClaimRequest, seconds: int, *, may_wait: bool) -> Claimed | _QueuePlace:
    # claims at once, or else joins the queue
    from satchel.keep.files import waiters

    with work.engine.write() as transaction:
        try:
            return try_claim(transaction, work, request)
        except ClaimRefused as refused:
            if not may_wait:
                raise ClaimRefused(
                    "too many calls of this connection are already waiting for claims, so this one did not wait; "
                    f"{refused.problem}",
                    refused.remedy,
                    refused.places,
                    refused.holders,
                ) from None
        now = work.clock()
        project = projects.ensure(transaction, work, now)
        # a waiting agent is registered, so that others can see and ask it
        actor, _, _ = acting_named(transaction, work, project.id, request.agent, now, DOING)
        until = now + seconds * 1_000
        number = waiters.add(Claimant(transaction, project.id, actor, now), request.places, until, request.shared)
    return _QueuePlace(number, project.id, actor, now)


def _wait(work: Workplace, request: ClaimRequest, place: _QueuePlace, seconds: int) -> Claimed:
    deadline = time.monotonic() + seconds
    look_at, changes_at = 0.0, 0
    with work.engine.watch() as is_changed:
        while (remaining := deadline - time.monotonic()) > 0:
            if is_changed() or time.monotonic() >= look_at or work.clock() >= changes_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                with work.engine.read() as transaction:
                    changes_at = _changes_at(transaction, work, request, place)
                if changes_at <= 0:
                    with suppress(ClaimRefused, Busy):
                        return _take(work, request, place)
            time.sleep(min(POLL_SECONDS, remaining))
        try:
            return _take(work, request, place)
        except ClaimRefused as refused:
            problem = refused.problem.replace("nothing was claimed", f"nothing was claimed within {seconds} s", 1)
            raise ClaimRefused(problem, refused.remedy, refused.places, refused.holders) from None


def _changes_at(transaction: Transaction, work: Workplace, request: ClaimRequest, place: _QueuePlace) -> int:
    # when the first obstacle expires; 0 without any
    from satchel.keep.files import waiters

    by = Claimant(transaction, place.project_id, place.actor, work.clock())
    overlaps = claims.find_overlaps(by, request.places, request.shared)
    if overlaps.blocking:
        return min(lease.claim.expires_at for lease in overlaps.blocking)
    first = waiters.next_waiter(by, request.places, place.number, request.shared)
    return 0 if first is None else first.expires_at


def _take(work: Workplace, request: ClaimRequest, place: _QueuePlace) -> Claimed:
    from satchel.keep.files import waiters

    with work.engine.write() as transaction:
        claimed = try_claim(transaction, work, request, place.number)
        waiters.remove(transaction, place.number)
    return replace(claimed, waited_ms=max(0, claimed.claimed_at - place.since))

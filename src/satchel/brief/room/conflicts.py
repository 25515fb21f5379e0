"""Conflicts: files that different sessions claim, want or have edited, and decisions and rules that two changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from satchel.base.clock import DAY_MS
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look, of_nobody, once, once_a_minute, value_text
from satchel.brief.room.records import Conflicts, FileConflict, ItemConflict, ItemVersion, Need, Party
from satchel.find.kind import Kind
from satchel.keep.decisions.records import ACTIVE
from satchel.keep.files import claims, refusals, waiters
from satchel.keep.files.claims import Lease
from satchel.keep.files.places import Place
from satchel.keep.names import PERSONS, is_persons, shown_name
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction, grouped, set_of

# How long an edit may conflict.
RECENT_MS = 3_600_000

# How many are shown.
MOST = 50

_MOST_PAIRS = 1_000
# How many claims and edits are read, newest first.
_LOOKED_AT = 1_000

_CLAIMS = f"""
    SELECT c.path, c.is_key, c.worktree, c.agent_id, a.name, c.session_id, c.exclusive, c.created_at, c.expires_at,
        s.uid, s.branch
    FROM file_claims c JOIN agents a ON a.id = c.agent_id LEFT JOIN sessions s ON s.id = c.session_id
    WHERE c.project_id = :project AND c.expires_at > :now AND s.ended_at IS NULL
    ORDER BY c.expires_at DESC LIMIT {_LOOKED_AT}
"""
_EDITS = f"""
    SELECT f.path, 0, c.worktree, c.agent_id, a.name, c.session_id, 1, c.created_at, NULL, s.uid, s.branch
    FROM (
        SELECT * FROM file_changes WHERE project_id = :project AND created_at > :since AND expires_at > :now
        ORDER BY created_at DESC, id DESC LIMIT {_LOOKED_AT}
    ) c JOIN files f ON f.id = c.file_id LEFT JOIN agents a ON a.id = c.agent_id
    LEFT JOIN sessions s ON s.id = c.session_id ORDER BY c.created_at DESC, c.id DESC
"""


class _Hold(NamedTuple):
    place: Place
    agent: int | None
    name: str | None
    session: int | None
    exclusive: bool
    began_at: int
    expires_at: int | None
    uid: bytes | None
    branch: str | None

    @property
    def worker(self) -> tuple[str, int]:
        return ("session", self.session) if self.session is not None else ("agent", self.agent or 0)

    def is_of(self, other: _Hold) -> bool:
        if self.session is not None and other.session is not None:
            return self.session == other.session
        return self.agent == other.agent

    def party(self) -> Party:
        kind, uid = "edit" if self.expires_at is None else "claim", None if self.uid is None else self.uid.hex()
        place, ends = self.place, self.expires_at
        return Party(kind, place.path, self.name, uid, self.branch, place.worktree, self.exclusive, self.began_at, ends)


def find(look: Look, work: Workplace) -> Conflicts:
    """Return the conflicts, each file once: those in one worktree first, then the latest.

    One party is at work. Others may have ended where their edit is not committed, unless the session continues theirs.
    """
    same_tree, of_files = _find_parties(look, work.root)
    live = {path: [one for one in some if (one.expires_at or look.now + 1) > look.now] for path, some in of_files}
    by_path = {path: some for path, some in live.items() if len(some) > 1}
    for need in find_wanted(look, MOST, of_persons=True, gone_on=True):
        if need.place is not None and need.began_at is not None:
            same_tree |= {need.place}
            _add_wish(by_path.setdefault(need.place, []), need, look.now)
    files = [
        FileConflict(path, path in same_tree, tuple(sorted(of_file, key=lambda one: one.began_at)))
        for path, of_file in by_path.items()
    ]
    files.sort(key=lambda one: (not one.same_tree, -one.parties[-1].began_at, one.path))
    items = (*_decisions(look), *_rules(look))
    return Conflicts(tuple(files[:MOST]), len(files), items, look.now)


@once_a_minute
def _find_parties(look: Look, root: str | None) -> tuple[frozenset[str], tuple[tuple[str, list[Party]], ...]]:
    transaction, now = look.transaction, look.now
    values = {"project": look.project_id, "now": now, "since": now - RECENT_MS}
    holds = [_hold(row) for row in transaction.all(_CLAIMS, values)]
    edits: dict[tuple[tuple[str, int], Place], _Hold] = {}
    for one in map(_hold, transaction.all(_EDITS, values)):
        edits.setdefault((one.worker, one.place), one)
    holds += edits.values()
    orphaned, _ = orphaned_and_uids(look, {one.session for one in holds if one.session is not None})
    pairs: set[tuple[frozenset[tuple[str, int]], str]] = set()
    parties: dict[str, dict[tuple[str, int], _Hold]] = {}
    same_tree: set[str] = set()
    # the first of a pair is covered by the second, so that its path is the narrower one
    for pair in _overlaps(holds):
        path = pair[0].place.path
        over = [one for one in pair if one.session in orphaned]
        if len(over) == 2 or any(one.expires_at is None and _is_committed(one.place, root) for one in over):
            continue
        if over and _are_of_chain(transaction, pair[0].session, pair[1].session):
            continue
        pairs.add((frozenset(one.worker for one in pair), path))
        same_tree |= {path} if pair[0].place.worktree == pair[1].place.worktree else set()
        for one in pair:
            earlier = parties.setdefault(path, {}).get(one.worker)
            if earlier is None or earlier.expires_at is None:
                parties[path][one.worker] = one
        if len(pairs) >= _MOST_PAIRS:
            break
    of_files = ((path, [one.party() for one in of_file.values()]) for path, of_file in parties.items())
    return frozenset(same_tree), tuple(of_files)


def _add_wish(parties: list[Party], need: Need, now: int) -> None:
    holder = (need.holder_session, need.holder)
    if all((one.session, one.agent) != holder for one in parties):
        path, began = need.held_path or need.place or "", need.held_began_at or now
        parties.append(Party("claim", path, need.holder, need.holder_session, None, None, True, began, need.held_until))
    if all((one.session, one.agent) != (need.session, need.agent) for one in parties):
        kind = "waiting" if need.kind == "waiting" else "refused"
        began = need.began_at or now
        parties.append(Party(kind, need.place or "", need.agent, need.session, None, None, True, began, None))


_MOST_ITEMS = 20

_IS_ANOTHERS = """CASE WHEN x.session_id IS NULL OR {one}.session_id IS NULL THEN x.agent_id <> {one}.agent_id
    ELSE x.session_id <> {one}.session_id END"""


def _decisions(look: Look) -> Iterator[ItemConflict]:
    # a draft binds nobody: it is a need of the person
    rows = look.rows(
        f"""
        SELECT x.id, x.key, h.value_text, h.value_number, b.name, t.uid, h.set_at,
            x.value_text, x.value_number, a.name, s.uid, x.updated_at
        FROM decisions x JOIN decision_history h ON h.decision_id = x.id AND h.revision = (
            SELECT max(p.revision) FROM decision_history p
            WHERE p.decision_id = x.id AND {_IS_ANOTHERS.format(one="p")})
        JOIN agents a ON a.id = x.agent_id JOIN agents b ON b.id = h.agent_id
        LEFT JOIN sessions s ON s.id = x.session_id LEFT JOIN sessions t ON t.id = h.session_id
        WHERE x.project_id = :project AND x.updated_at > :after AND x.agent_id NOT IN {PERSONS}
            AND x.status = {ACTIVE}
            AND (x.value_text IS DISTINCT FROM h.value_text OR x.value_number IS DISTINCT FROM h.value_number)
        ORDER BY 12 DESC LIMIT {_MOST_ITEMS}
        """,
        after=look.now - DAY_MS,
    )
    for number, key, *before, was_by, was_in, was_at, text, amount, agent, session, at in rows:
        yield ItemConflict(
            Kind.DECISION.ref(number),
            key,
            ItemVersion(shortened(value_text(*before), LINE_CHARS), was_by, was_in and was_in.hex(), was_at),
            ItemVersion(shortened(value_text(text, amount), LINE_CHARS), agent, session and session.hex(), at),
        )


def _rules(look: Look) -> Iterator[ItemConflict]:
    from satchel.keep.corrections.log import SUPERSEDED  # imported here: states of agents need only claims

    rows = look.rows(
        f"""
        SELECT n.id, o.text, b.name, o.created_at, n.text, a.name, s.uid, c.created_at FROM (
            SELECT * FROM (
                SELECT * FROM corrections WHERE project_id = :project ORDER BY seq DESC LIMIT {_LOOKED_AT}
            ) AS newest WHERE action = {SUPERSEDED} AND item_kind = {Kind.CONSTRAINT.number} AND undone_at IS NULL
            ORDER BY id DESC LIMIT {_MOST_ITEMS}
        ) c JOIN constraints o ON o.id = c.item_id JOIN constraints n ON n.id = c.heir_id
        JOIN agents b ON b.id = o.created_by JOIN agents a ON a.id = n.created_by
        LEFT JOIN sessions s ON s.id = c.session_id
        WHERE c.created_at > :after AND a.id <> b.id AND a.id NOT IN {PERSONS}
        """,
        after=look.now - DAY_MS,
    )
    for number, before, was_by, was_at, text, agent, session, at in rows:
        first = ItemVersion(shortened(before, LINE_CHARS), was_by, None, was_at)
        second = ItemVersion(shortened(text, LINE_CHARS), agent, session and session.hex(), at)
        yield ItemConflict(Kind.CONSTRAINT.ref(number), first.text, first, second)


def _overlaps(holds: list[_Hold]) -> Iterator[tuple[_Hold, _Hold]]:
    by_path = grouped(((one.place.is_key, one.place.path), one) for one in holds)
    for one in holds:
        for path in _covering(one.place):
            for other in by_path.get((one.place.is_key, path), ()):
                if not one.is_of(other) and (one.exclusive or other.exclusive):
                    yield one, other


@lru_cache(maxsize=2 * _LOOKED_AT)
def _covering(place: Place) -> tuple[str, ...]:
    if place.is_key:
        return (place.path,)
    steps = place.path.removesuffix("**").rstrip("/").split("/") if place.is_folder else place.path.split("/")
    folders = ["/".join(steps[:depth]) + "/**" for depth in range(1, len(steps) + 1)]
    return tuple(dict.fromkeys([place.path, *reversed(folders), "**"]))


def _is_committed(place: Place, root: str | None) -> bool:
    from satchel.brief.room.worktrees import uncommitted_of  # imported here: few projects have such edits

    uncommitted = uncommitted_of(root, place.worktree)
    return uncommitted is not None and place.path not in uncommitted


def _are_of_chain(transaction: Transaction, one: int | None, other: int | None) -> bool:
    return other in joining.sessions_before(transaction, one) or one in joining.sessions_before(transaction, other)


def _hold(row: tuple) -> _Hold:  # type: ignore[type-arg] # as rows are
    path, is_key, worktree, agent, name, session, exclusive, *others = row
    return _Hold(Place(path, worktree or None, bool(is_key)), agent, name, session, bool(exclusive), *others)


class _Wish(NamedTuple):
    kind: str
    actor: Actor
    places: tuple[Place, ...]
    exclusive: bool
    began_at: int
    has_gone_on: bool = False


def find_wanted(look: Look, most: int, *, of_persons: bool = False, gone_on: bool = False) -> list[Need]:
    """Return needs for claims that are waited for, or were refused to sessions still at work, while they are held.

    What was refused counts until its session has edited other files, or got another prompt.
    ``of_persons`` adds what persons hold and was refused to sessions since ended, since the agent does not ask again;
    ``gone_on`` adds what persons hold and was refused to sessions that have gone on.
    """
    wanted = _find_wanted(of_nobody(look.transaction, look.project_id, look.now), most)
    needs: dict[tuple[str | None, str | None], Need] = {}
    for need, has_ended, has_gone_on in wanted:
        is_held_by_person = is_persons(need.holder)
        is_over = (has_ended and not of_persons) or (has_gone_on and not gone_on)
        if not (has_ended or has_gone_on) or (is_held_by_person and not is_over):
            needs.setdefault((need.agent, need.place), need)
    return list(needs.values())


@once
def _find_wanted(look: Look, most: int) -> list[tuple[Need, bool, bool]]:
    # with whether the session that wants it has ended, and has gone on
    wishes = _wishes(look, most)
    if not wishes:
        return []
    places = list(dict.fromkeys(place for wish in wishes for place in wish.places))
    leases = claims.load_overlapping(look.transaction, look.project_id, places, look.now)
    sessions = [one.actor.session for one in wishes] + [one.session for one in leases]
    orphaned, uids = orphaned_and_uids(look, {number for number in sessions if number is not None})
    live = [one for one in leases if one.session not in orphaned]
    needs: list[tuple[Need, bool, bool]] = []
    for wish in wishes:
        for place in wish.places:
            holder = next((one for one in live if _conflicts(one, wish, place)), None)
            if holder is None:
                continue
            text = shortened(f"{place.path} is held by {shown_name(holder.claim.agent)}", LINE_CHARS)
            severity = "high" if wish.kind == "waiting" else "medium"
            actor, claim = wish.actor, holder.claim
            need = Need(
                *(wish.kind, severity, text, None, uids.get(actor.session or 0), actor.name, wish.began_at),
                ("release", "answer") if actor.name else ("release",),
                key=_wish_key(actor.name, place.path),
                place=place.path,
                holder=claim.agent,
                holder_session=uids.get(holder.session or 0),
                held_path=claim.path,
                held_until=claim.expires_at,
                held_began_at=claim.created_at,
            )
            needs.append((need, wish.actor.session in orphaned, wish.has_gone_on))
    return needs


def _wish_key(agent: str | None, path: str) -> str:
    from hashlib import blake2b

    return f"claim-{blake2b(chr(0).join((agent or '', path)).encode(), digest_size=8).hexdigest()}"


# Who was refused has gone on: edited other files, or got another prompt.
_HAS_GONE_ON = """
    SELECT 1 FROM file_changes WHERE session_id = :session AND created_at > :since
    UNION ALL SELECT 1 FROM sessions WHERE id = :session AND turn_ended_at > :since AND seen_at > turn_ended_at LIMIT 1
"""


def _wishes(look: Look, most: int) -> list[_Wish]:
    waiting = waiters.load(look.transaction, look.project_id, look.now)[:most]
    wishes = [_Wish("waiting", one.actor, one.places, one.exclusive, one.created_at) for one in waiting]
    for one, session in refusals.newest(look.transaction, look.project_id, look.now, most):
        has_gone_on = bool(look.rows(_HAS_GONE_ON, session=session, since=one.refused_at))
        actor = Actor(None, one.agent or None, session)
        wishes.append(_Wish("refusal", actor, (one.place,), one.exclusive, one.refused_at, has_gone_on))
    return wishes


def _conflicts(lease: Lease, wish: _Wish, place: Place) -> bool:
    if not place.clashes(lease.place) or not (wish.exclusive or lease.claim.exclusive):
        return False
    # a refusal is over once the claim that caused it has ended, whoever claims the file later
    if wish.kind == "refusal" and lease.claim.created_at > wish.began_at:
        return False
    if wish.actor.session is not None and lease.session is not None:
        return lease.session != wish.actor.session
    return lease.claim.agent != wish.actor.name


def orphaned_and_uids(look: Look, numbers: set[int]) -> tuple[set[int], dict[int, str]]:
    if not numbers:
        return set(), {}
    loaded = joining.load(look.transaction, f"s.id IN {set_of(numbers)}", {})
    orphaned = {one.state.id for one in loaded if joining.is_gone(one, look.now)}
    return orphaned, {one.state.id: one.state.uid.hex() for one in loaded}

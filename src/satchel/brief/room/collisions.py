"""Collisions: overlapping claims and recent edits of different sessions, in all worktrees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from satchel.base.records import NamedTuple
from satchel.brief.room.records import Collision, Collisions, Touch
from satchel.keep.files.places import Place
from satchel.keep.sessions import joining
from satchel.store.transaction import Transaction, grouped, set_of

RECENT_MS = 3_600_000
"""How long an edit may collide."""

MOST = 50
"""How many are shown."""

_MOST_PAIRS = 1_000
_LOOKED_AT = 1_000
"""How many claims and edits are read, newest first."""

_CLAIMS = f"""
    SELECT c.path, c.is_key, c.agent_id, a.name, c.session_id, c.worktree, c.exclusive, c.created_at, c.expires_at
    FROM file_claims c JOIN agents a ON a.id = c.agent_id
    WHERE c.project_id = :project AND c.expires_at > :now ORDER BY c.expires_at DESC LIMIT {_LOOKED_AT}
"""
_EDITS = f"""
    SELECT f.path, 0, c.agent_id, a.name, c.session_id, COALESCE(c.worktree, ''), 1, c.created_at, NULL
    FROM (
        SELECT * FROM file_changes WHERE project_id = :project AND created_at > :since AND expires_at > :now
        ORDER BY created_at DESC, id DESC LIMIT {_LOOKED_AT}
    ) c JOIN files f ON f.id = c.file_id LEFT JOIN agents a ON a.id = c.agent_id
    ORDER BY c.created_at DESC, c.id DESC
"""


class _Hold(NamedTuple):
    """A claim, or the last edit of a file by one worker."""

    place: Place
    agent: int | None
    name: str | None
    session: int | None
    exclusive: bool
    began_at: int
    expires_at: int | None

    @property
    def worker(self) -> tuple[str, int]:
        """A session, or without one an agent."""
        return ("session", self.session) if self.session is not None else ("agent", self.agent or 0)

    def is_of(self, other: _Hold) -> bool:
        """Return whether both are of one session, or of one agent if either has no session."""
        if self.session is not None and other.session is not None:
            return self.session == other.session
        return self.agent == other.agent


def find(transaction: Transaction, project_id: int, now: int) -> Collisions:
    """Return the collisions, each pair of workers once for each file."""
    values = {"project": project_id, "now": now, "since": now - RECENT_MS}
    claimed = [_hold(row) for row in transaction.all(_CLAIMS, values)]
    over, uids = _ended_and_uids(transaction, claimed)
    holds = [one for one in claimed if one.session not in over]
    edits: dict[tuple[tuple[str, int], Place], _Hold] = {}
    for one in map(_hold, transaction.all(_EDITS, values)):
        edits.setdefault((one.worker, one.place), one)
    holds += edits.values()
    uids |= _ended_and_uids(transaction, list(edits.values()))[1]
    pairs: dict[tuple[frozenset[tuple[str, int]], str], tuple[_Hold, _Hold]] = {}
    # the first of a pair is covered by the second, so that its path is the narrower one
    for pair in _overlaps(holds):
        key = frozenset(one.worker for one in pair), pair[0].place.path
        if key not in pairs or _claims(pair) > _claims(pairs[key]):
            pairs[key] = pair
        if len(pairs) >= _MOST_PAIRS:
            break
    latest = sorted(pairs.items(), key=lambda one: (-max(hold.began_at for hold in one[1]), one[0][1]))
    items = tuple(_collision(path, pair, uids) for (_, path), pair in latest[:MOST])
    return Collisions(items, len(pairs), now)


def _overlaps(holds: list[_Hold]) -> Iterator[tuple[_Hold, _Hold]]:
    """Yield the pairs of different workers with a common file or key; at least one claim is exclusive."""
    by_path = grouped(((one.place.is_key, one.place.path), one) for one in holds)
    for one in holds:
        for path in _covering(one.place):
            for other in by_path.get((one.place.is_key, path), ()):
                if not one.is_of(other) and (one.exclusive or other.exclusive):
                    yield one, other


def _claims(pair: tuple[_Hold, _Hold]) -> int:
    return sum(one.expires_at is not None for one in pair)


@lru_cache(maxsize=2 * _LOOKED_AT)
def _covering(place: Place) -> tuple[str, ...]:
    """Return the paths of claims that cover a place, itself first."""
    if place.is_key:
        return (place.path,)
    steps = place.path.removesuffix("**").rstrip("/").split("/") if place.is_folder else place.path.split("/")
    folders = ["/".join(steps[:depth]) + "/**" for depth in range(1, len(steps) + 1)]
    return tuple(dict.fromkeys([place.path, *reversed(folders), "**"]))


def _ended_and_uids(transaction: Transaction, holds: list[_Hold]) -> tuple[set[int], dict[int, str]]:
    numbers = {one.session for one in holds if one.session is not None}
    if not numbers:
        return set(), {}
    loaded = joining.load(transaction, f"s.id IN {set_of(numbers)}", {})
    ended = {one.state.id for one in loaded if one.state.ended_at is not None}
    return ended, {one.state.id: one.state.uid.hex() for one in loaded}


def _hold(row: tuple) -> _Hold:  # type: ignore[type-arg] # as rows are
    path, is_key, agent, name, session, worktree, exclusive, began, expires = row
    return _Hold(Place(path, worktree or None, bool(is_key)), agent, name, session, bool(exclusive), began, expires)


def _collision(path: str, pair: tuple[_Hold, _Hold], uids: dict[int, str]) -> Collision:
    first, second = sorted(pair, key=lambda one: one.began_at)
    same_tree = first.place.worktree == second.place.worktree
    return Collision(path, _touch(first, uids), _touch(second, uids), same_tree)


def _touch(one: _Hold, uids: dict[int, str]) -> Touch:
    return Touch(
        "edit" if one.expires_at is None else "claim",
        one.place.path,
        one.name,
        uids.get(one.session or 0),
        one.place.worktree,
        one.exclusive,
        one.began_at,
        one.expires_at,
    )

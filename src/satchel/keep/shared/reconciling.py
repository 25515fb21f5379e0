"""Rules for each text, given the repository, the local item and the texts seen before."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from satchel.base.errors import InvalidInput
from satchel.base.git_trees import Author
from satchel.base.records import replace
from satchel.base.text import check_name, nameable
from satchel.base.vocabulary import HUMAN
from satchel.keep.shared.known import BOTH, CHANGED, NEW, SAME_KEY, TextState
from satchel.keep.shared.markdown import SharedText
from satchel.keep.shared.world import RepositoryText, World


class Incoming(NamedTuple):
    """A text that is news here.

    Attributes:
        is_committed: whether the default branch has it; otherwise it is an edit in this worktree.
        why: its reason to wait, as numbered by :mod:`satchel.keep.shared.known`; 0 for a tombstone.
    """

    found: RepositoryText
    is_committed: bool
    why: int


def incoming(
    uid: str,
    world: World,
    state: TextState | None,
    ours: bytes | None,
    seen: Collection[tuple[str, bytes]],
    *,
    is_on_default: bool,
    has_same_key: bool,
) -> Incoming | None:
    """Return an item's text if it is news here, else None.

    A text of the default branch is news if it was never seen, or changed there since the last reading, even back to an
    earlier state: git's history distinguishes an old copy from a revert. A text only in the worktree is news if it was
    never seen and belongs to the default branch. ``ours`` and ``seen`` are digests; ``has_same_key`` tells whether
    another local item has its key.
    """
    in_step = None if state is None else state.in_step
    committed, here = world.committed.get(uid), world.here.get(uid)
    file, is_committed = None, True
    if committed is not None:
        digest = committed.text.digest
        is_moved = world.changed is not None and uid in world.changed and (state is None or digest != state.tip)
        waits = state is not None and state.waiting == digest
        if digest not in {ours, in_step} and (is_moved or waits or (uid, digest) not in seen):
            file = committed
    if file is None and here is not None and is_on_default:
        digest = here.text.digest
        is_same = committed is not None and committed.text.digest == digest
        if not is_same and digest not in {ours, in_step} and (uid, digest) not in seen:
            file, is_committed = here, False
    if file is None:
        return None
    if file.text.is_gone:
        return Incoming(file, is_committed, 0)
    if ours is None:
        return Incoming(file, is_committed, SAME_KEY if has_same_key else NEW)
    return Incoming(file, is_committed, CHANGED if in_step == ours else BOTH)


def may_write(
    uid: str, world: World, state: TextState, ours: bytes, seen: Collection[tuple[str, bytes]], *, is_on_default: bool
) -> bool:
    """Return whether a shared item's local text may overwrite its file in this worktree.

    It may if the item changed since both were in step, or if the accepted text was normalized; never over unseen
    changes, if the default branch already has it, without a file, or on another branch over anything not in step.
    """
    here, committed = world.here.get(uid), world.committed.get(uid)
    if here is None or (committed is not None and committed.text.digest == ours):
        return False
    digest = here.text.digest
    if digest == ours or here.text.is_gone:
        return False
    if ours == state.in_step:
        return digest == state.taken
    is_seen = (uid, digest) in seen or digest == state.in_step
    return is_seen and (is_on_default or digest in {state.in_step, state.taken})


def as_revision(
    text: SharedText, stood: int | None, author: Author | None, now: int, *, is_committed: bool
) -> SharedText:
    """Return a text with its author and time; a hand-edited one is attributed to the last committer, or to the user.

    ``stood`` is the time of the text last in step: programs set a later one when they change a text.
    """
    if stood is None or text.time > stood:
        return text
    if not is_committed:
        return replace(text, author=HUMAN, time=max(now, stood + 1))
    if author is None:
        return replace(text, author=HUMAN, time=stood + 1)
    return replace(text, author=_as_name(author.name), time=max(author.time, stood + 1))


def _as_name(name: str) -> str:
    try:
        return check_name("".join(filter(str.isprintable, nameable(name)))[:200], "author")
    except InvalidInput:
        return HUMAN


def later(first: SharedText, second: SharedText) -> SharedText:
    """Return the later of two texts, the same in every clone."""
    return max(first, second, key=lambda one: (one.time, one.digest))

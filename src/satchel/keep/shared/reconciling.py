"""What becomes of each text: pure rules over what the repository says, what is here, and what was seen before."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from satchel.base.errors import InvalidInput
from satchel.base.git_trees import Author
from satchel.base.records import replace
from satchel.base.text import check_name, nameable
from satchel.base.vocabulary import HUMAN
from satchel.keep.shared.known import BOTH, CHANGED, NEW, SAME_KEY, Known
from satchel.keep.shared.markdown import SharedText
from satchel.keep.shared.world import Found, World


class Incoming(NamedTuple):
    """A text that is news here.

    Attributes:
        is_committed: whether the default branch has it; else it is an edit in this worktree.
        why: as :mod:`satchel.keep.shared.known` numbers it; 0 for a tombstone.
    """

    found: Found
    is_committed: bool
    why: int


def incoming(
    uid: str,
    world: World,
    known: Known | None,
    ours: bytes | None,
    seen: Collection[tuple[str, bytes]],
    *,
    is_on_default: bool,
    has_same_key: bool,
) -> Incoming | None:
    """Return the text of an item that is news here, or None.

    What the default branch says is news where it was never seen, or where it was changed there since it was read last,
    be it back to what it was before: git's history tells an old copy from one that somebody brought back. What stands
    in the worktree alone is news where it was never seen and belongs to the default branch.

    Args:
        ours: the digest of our text; None where the item is not here.
        seen: the uids and digests of the texts that were seen.
        has_same_key: whether another item here has its key.
    """
    in_step = None if known is None else known.in_step
    committed, here = world.committed.get(uid), world.here.get(uid)
    found, is_committed = None, True
    if committed is not None:
        digest = committed.text.digest
        is_moved = world.changed is not None and uid in world.changed and (known is None or digest != known.tip)
        waits = known is not None and known.waiting == digest
        if digest not in {ours, in_step} and (is_moved or waits or (uid, digest) not in seen):
            found = committed
    if found is None and here is not None and is_on_default:
        digest = here.text.digest
        is_same = committed is not None and committed.text.digest == digest
        if not is_same and digest not in {ours, in_step} and (uid, digest) not in seen:
            found, is_committed = here, False
    if found is None:
        return None
    if found.text.is_gone:
        return Incoming(found, is_committed, 0)
    if ours is None:
        return Incoming(found, is_committed, SAME_KEY if has_same_key else NEW)
    return Incoming(found, is_committed, CHANGED if in_step == ours else BOTH)


def may_write(
    uid: str, world: World, known: Known, ours: bytes, seen: Collection[tuple[str, bytes]], *, is_on_default: bool
) -> bool:
    """Whether our text of a shared item goes into its file in this worktree.

    It does where ours was changed since both were last in step, or says in another way what was taken from the file;
    never over what was not seen, where the default branch has ours already, where there is no file, or, on another
    branch, over anything but what was last in step.
    """
    here, committed = world.here.get(uid), world.committed.get(uid)
    if here is None or (committed is not None and committed.text.digest == ours):
        return False
    digest = here.text.digest
    if digest == ours or here.text.is_gone:
        return False
    if ours == known.in_step:
        return digest == known.taken
    is_seen = (uid, digest) in seen or digest == known.in_step
    return is_seen and (is_on_default or digest in {known.in_step, known.taken})


def as_revision(
    text: SharedText, stood: int | None, author: Author | None, now: int, *, is_committed: bool
) -> SharedText:
    """Return a text as it is taken: one that a person edited by hand is theirs, as of when they did.

    Args:
        stood: the time in the text that was last in step; a program that changes a text gives it a later one.
        author: who changed the file last, as git has it.
        now: milliseconds UTC, when one was edited that is not committed.
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
    """Return which of two texts holds, the same in every clone: the later one."""
    return max(first, second, key=lambda one: (one.time, one.digest))

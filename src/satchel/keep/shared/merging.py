"""Rules that choose between versions of a text: which one is news, which may be written, and merges of two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from satchel.base.clock import iso
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.git_commands import Author
from satchel.base.records import replace
from satchel.base.text import check_name, nameable
from satchel.base.vocabulary import HUMAN, OURS, THEIRS
from satchel.keep.shared.folder import Folder
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.markdown import SharedText, parse, render, sides
from satchel.keep.shared.repository import Repository, RepositoryText
from satchel.keep.shared.states import BOTH, CHANGED, NEW, TextState


class Incoming(NamedTuple):
    """A text that is news here.

    Attributes:
        is_committed: whether the default branch has it; otherwise it is an edit in this worktree.
        why: its reason to wait, as numbered by :mod:`satchel.keep.shared.states`; 0 for a tombstone.
    """

    file: RepositoryText
    is_committed: bool
    why: int


def find_news(
    uid: str,
    repository: Repository,
    state: TextState | None,
    ours: bytes | None,
    sightings: Collection[tuple[str, bytes]],
    *,
    is_on_default: bool,
) -> Incoming | None:
    """Return an item's text if it is news here, else None.

    A text of the default branch is news if it was never seen, or changed there since the last reading, even back to an
    earlier state: git's history distinguishes an old copy from a revert. A text only in the worktree is news if it was
    never seen and belongs to the default branch. ``ours`` and ``sightings`` are digests.
    """
    in_step = None if state is None else state.in_step
    committed, here = repository.committed.get(uid), repository.here.get(uid)
    file, is_committed = None, True
    if committed is not None:
        digest = committed.text.digest
        is_moved = (
            repository.changed is not None and uid in repository.changed and (state is None or digest != state.tip)
        )
        waits = state is not None and state.waiting == digest
        if digest not in {ours, in_step} and (is_moved or waits or (uid, digest) not in sightings):
            file = committed
    if file is None and here is not None and is_on_default:
        digest = here.text.digest
        is_same = committed is not None and committed.text.digest == digest
        if not is_same and digest not in {ours, in_step} and (uid, digest) not in sightings:
            file, is_committed = here, False
    if file is None:
        return None
    if file.text.is_gone:
        return Incoming(file, is_committed, 0)
    if ours is None:
        return Incoming(file, is_committed, NEW)
    return Incoming(file, is_committed, CHANGED if in_step == ours else BOTH)


def may_write(
    uid: str,
    repository: Repository,
    state: TextState,
    ours: bytes,
    sightings: Collection[tuple[str, bytes]],
    *,
    is_on_default: bool,
) -> bool:
    """Return whether a shared item's local text may overwrite its file in this worktree.

    It may if the item changed since both were in step, or if the accepted text was normalized; never over unseen
    changes, if the default branch already has it, without a file, or on another branch over anything not in step.
    """
    here, committed = repository.here.get(uid), repository.committed.get(uid)
    if here is None or (committed is not None and committed.text.digest == ours):
        return False
    digest = here.text.digest
    if digest == ours or here.text.is_gone:
        return False
    if ours == state.in_step:
        return digest == state.taken
    is_seen = (uid, digest) in sightings or digest == state.in_step
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


def resolve(folder: Folder, names: Sequence[str], way: str, *, dry_run: bool) -> tuple[str, ...]:
    """Resolve git's conflict markers in the named files and return their paths.

    ``way`` is one of :data:`satchel.base.vocabulary.RESOLUTIONS`.
    """
    made: dict[str, bytes] = {}
    for name in names:
        data = folder.read(name)
        both = None if data is None else sides(data)
        if both is None:
            raise Conflict(
                f"{folder.display_path(name)}: its conflict markers are incomplete", "Resolve it in an editor"
            )
        try:
            if way == OURS:
                text = parse(both[0])
            elif way == THEIRS:
                text = parse(both[1])
            else:
                text = merged(parse(both[0]), parse(both[1]))
        except BrokenText as error:
            raise Conflict(
                f"{folder.display_path(name)}: one side is not a valid item ({error.problem})",
                "Resolve it in an editor",
            ) from None
        made[name] = render(text)
    if not dry_run:
        for name, data in made.items():
            folder.write(name, data)
    return tuple(folder.display_path(name) for name in made)


def merged(ours: SharedText, theirs: SharedText) -> SharedText:
    """Return the later of two texts with the other one's words below it, for a person to edit.

    The order of arguments does not matter. If one is a tombstone, the later text is returned unchanged.
    """
    last = later(ours, theirs)
    other = theirs if last is ours else ours
    if ours.uid != theirs.uid or last.is_gone or other.is_gone or last.digest == other.digest:
        return last
    other_words = _words(other)
    if other_words == _words(last):
        return last
    who = "" if other.author is None else f" by {other.author}"
    below = f"Also written{who}, {iso(other.time)[:10]}:\n\n{other_words}"
    if last.kind == "decision":
        return replace(last, sections=("\n\n".join((*last.sections, below)),))
    if last.kind == "error_pattern":
        solutions = dict(zip(last.fields.get("solutions", ()), last.sections, strict=False))
        solutions |= {
            uid: one
            for uid, one in zip(other.fields.get("solutions", ()), other.sections, strict=False)
            if uid not in solutions
        }
        return replace(last, fields={**last.fields, "solutions": [*solutions]}, sections=tuple(solutions.values()))
    return replace(last, body=f"{last.body}\n\n{below}")


def _words(text: SharedText) -> str:
    value = text.fields.get("value")
    return "\n\n".join((text.body if value is None else str(value), *text.sections))

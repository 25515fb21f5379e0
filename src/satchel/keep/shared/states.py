"""A clone's record of each shared text: seen, in step, or waiting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel.base.clock import iso
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.git_commands import Author
from satchel.base.records import dataclass, replace
from satchel.base.text import check_name, nameable
from satchel.base.vocabulary import HUMAN, OURS, THEIRS
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.shared import items
from satchel.keep.shared.folder import Folder
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.items import Mask
from satchel.keep.shared.markdown import SHAPES, SharedText, parse, render, sides
from satchel.keep.shared.repository import Repository, RepositoryText
from satchel.store.transaction import Transaction, set_of

NEW, CHANGED, BOTH, SAME_KEY = 1, 2, 3, 4
# reasons to wait: a new item, a changed one, one changed on both sides, or one whose key another item has
WHYS = (NEW, CHANGED, BOTH, SAME_KEY)

_COLUMNS = ("uid", "kind", "file", "in_step", "taken", "tip", "waiting", "why", "ours", "seq", "stood", "merged")
_UPSERT = f"""
    INSERT INTO shared_texts (project_id, {", ".join(_COLUMNS)})
    VALUES (:project, {", ".join(f":{name}" for name in _COLUMNS)})
    ON CONFLICT (project_id, uid) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
"""


@dataclass(frozen=True, slots=True)
class TextState:
    """State of one shared text; the table describes each column.

    Attributes:
        merged: whether its item was merged into another one, so that its file becomes a tombstone.
    """

    uid: str
    kind: str
    file: str | None = None
    in_step: bytes | None = None
    taken: bytes | None = None
    tip: bytes | None = None
    waiting: bytes | None = None
    why: int | None = None
    ours: bytes | None = None
    seq: int | None = None
    stood: int | None = None
    merged: bool = False

    @property
    def is_shared(self) -> bool:
        return self.in_step is not None

    def at_rest(self) -> TextState:
        return replace(self, waiting=None, why=None)


class LocalItem(NamedTuple):
    """A local item: its number, change number, and the digest and text it would share."""

    kind: str
    number: int
    seq: int
    digest: bytes
    text: SharedText | None


def load_states(transaction: Transaction, project_id: int) -> dict[str, TextState]:
    rows = transaction.all(
        f"SELECT {', '.join(_COLUMNS)} FROM shared_texts WHERE project_id = :project", {"project": project_id}
    )
    names = _COLUMNS[1:-1]
    return {
        row[0].hex(): TextState(row[0].hex(), **dict(zip(names, row[1:-1], strict=True)), merged=bool(row[-1]))
        for row in rows
    }


def save_states(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> None:
    transaction.many(
        _UPSERT,
        [
            {"project": project_id}
            | {name: getattr(state, name) for name in _COLUMNS}
            | {"uid": bytes.fromhex(state.uid), "merged": int(state.merged)}
            for state in states
        ],
    )


def load_sightings(transaction: Transaction, project_id: int) -> set[tuple[str, bytes]]:
    rows = transaction.all("SELECT uid, digest FROM shared_seen WHERE project_id = :project", {"project": project_id})
    return {(uid.hex(), digest) for uid, digest in rows}


def add_sightings(transaction: Transaction, project_id: int, texts: Iterable[tuple[str, bytes]]) -> None:
    transaction.many(
        "INSERT INTO shared_seen (project_id, uid, digest) VALUES (:project, :uid, :digest) ON CONFLICT DO NOTHING",
        [{"project": project_id, "uid": bytes.fromhex(uid), "digest": digest} for uid, digest in texts],
    )


def load_items(
    transaction: Transaction, project_id: int, states: Mapping[str, TextState], uids: Iterable[str], mask: Mask
) -> dict[str, LocalItem]:
    """Return the local items by uid; those unchanged since their last reading are not read again."""
    by_uid: dict[str, LocalItem] = {}
    if not uids:
        return by_uid
    these = set_of(map(bytes.fromhex, uids))
    for kind in SHAPES:
        rows = transaction.all(
            f"SELECT id, uid, seq FROM {LINE_KINDS[kind].table} WHERE project_id = :project AND uid IN {these}",
            {"project": project_id},
        )
        stale: list[int] = []
        seqs: dict[int, int] = {}
        for number, raw, seq in rows:
            before = states.get(raw.hex())
            if before is not None and before.ours is not None and before.seq == seq:
                by_uid[raw.hex()] = LocalItem(kind, number, seq, before.ours, None)
            else:
                stale.append(number)
                seqs[number] = seq
        for number, text in texts_of(transaction, project_id, kind, stale, mask).items():
            by_uid[text.uid] = LocalItem(kind, number, seqs[number], text.digest, text)
    return by_uid


def texts_of(
    transaction: Transaction, project_id: int, kind: str, numbers: Sequence[int], mask: Mask
) -> dict[int, SharedText]:
    by_number: dict[int, SharedText] = {}
    for first in range(0, len(numbers), 500):
        lines = lines_of(transaction, project_id, kind, numbers[first : first + 500])
        by_number |= {number: items.text_of(line, mask) for number, line in lines.items()}
    return by_number


def text_at(transaction: Transaction, project_id: int, local: LocalItem, mask: Mask) -> SharedText:
    if local.text is not None:
        return local.text
    return texts_of(transaction, project_id, local.kind, [local.number], mask)[local.number]


def find_same_key(transaction: Transaction, project_id: int, text: SharedText) -> tuple[int, str] | None:
    key = LINE_KINDS[text.kind].key
    if key is None or text.is_gone:
        return None
    row = transaction.one(
        f"SELECT id, uid FROM {LINE_KINDS[text.kind].table} WHERE project_id = :project AND {key[0]} = :key",
        {"project": project_id, "key": text.fields[key[1]]},
    )
    return None if row is None or row[1].hex() == text.uid else (int(row[0]), row[1].hex())


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
    """Return a text with its author and time; a hand-edited one is attributed to the last committer, or to the user."""
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
    """Resolve git's conflict markers in files by one of the ``RESOLUTIONS`` and return their paths."""
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
    """Return the later of two texts with the other's words below it, whatever their order; tombstones stay."""
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

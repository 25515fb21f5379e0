"""A clone's record of each shared text: seen, in step, or waiting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.clock import iso
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.git_commands import Author
from satchel.base.records import NamedTuple, replace
from satchel.base.text import check_name, nameable
from satchel.base.vocabulary import HUMAN, OURS, THEIRS
from satchel.keep.shared.folder import Folder
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.markdown import SharedText, parse, render, sides
from satchel.store.transaction import Transaction, put_rows

NEW, CHANGED, BOTH, SAME_KEY = 1, 2, 3, 4
# reasons to wait: a new item, a changed one, one changed on both sides, or one whose key another item has
WHYS = (NEW, CHANGED, BOTH, SAME_KEY)


class TextState(NamedTuple):
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
        return self._replace(waiting=None, why=None)


def load_states(transaction: Transaction, project_id: int) -> dict[str, TextState]:
    rows = transaction.all(
        f"SELECT {', '.join(TextState._fields)} FROM shared_texts WHERE project_id = :project", {"project": project_id}
    )
    return {uid.hex(): TextState(uid.hex(), *rest) for uid, *rest in rows}


def save_states(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> None:
    rows = [
        {**state._asdict(), "project_id": project_id, "uid": bytes.fromhex(state.uid), "merged": int(state.merged)}
        for state in states
    ]
    put_rows(transaction, "shared_texts", ("project_id", "uid"), rows)


def load_sightings(transaction: Transaction, project_id: int) -> set[tuple[str, bytes]]:
    rows = transaction.all("SELECT uid, digest FROM shared_seen WHERE project_id = :project", {"project": project_id})
    return {(uid.hex(), digest) for uid, digest in rows}


def add_sightings(transaction: Transaction, project_id: int, texts: Iterable[tuple[str, bytes]]) -> None:
    transaction.many(
        "INSERT INTO shared_seen (project_id, uid, digest) VALUES (:project, :uid, :digest) ON CONFLICT DO NOTHING",
        [{"project": project_id, "uid": bytes.fromhex(uid), "digest": digest} for uid, digest in texts],
    )


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

"""Resolution of files with git's conflict markers."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import iso
from satchel.base.errors import Conflict
from satchel.base.records import replace
from satchel.keep.shared.folder import Folder
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.markdown import SharedText, parse, render, sides
from satchel.keep.shared.names import OURS, THEIRS
from satchel.keep.shared.reconciling import later


def resolve(folder: Folder, names: Sequence[str], way: str, *, dry_run: bool) -> tuple[str, ...]:
    """Resolve git's conflict markers in the named files and return their paths.

    ``way`` is one of :data:`satchel.keep.shared.names.WAYS`.
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

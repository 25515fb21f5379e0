"""Files in which git has left the texts of two branches: explained, and resolved as a person says."""

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
    """Resolve git's conflict markers in files.

    Args:
        names: files that hold some.
        way: one of :data:`satchel.keep.shared.names.WAYS`.

    Returns:
        The paths of the files.

    Raises:
        Conflict: one cannot be resolved by that, since a side is no text of the item; none was written.
        Refused: one cannot be written.
    """
    made: dict[str, bytes] = {}
    for name in names:
        data = folder.read(name)
        both = None if data is None else sides(data)
        if both is None:
            raise Conflict(f"{folder.shown(name)}: its conflict markers are not whole", "Resolve it in an editor")
        try:
            if way == OURS:
                text = parse(both[0])
            elif way == THEIRS:
                text = parse(both[1])
            else:
                text = merged(parse(both[0]), parse(both[1]))
        except BrokenText as error:
            raise Conflict(
                f"{folder.shown(name)}: what one side has is no text of an item ({error.problem})",
                "Resolve it in an editor",
            ) from None
        made[name] = render(text)
    if not dry_run:
        for name, data in made.items():
            folder.write(name, data)
    return tuple(folder.shown(name) for name in made)


def merged(ours: SharedText, theirs: SharedText) -> SharedText:
    """Return a text that says what both say: the later one's, with the other's below it, for a person to edit.

    Which side is which does not matter. Where one says that the item is no longer shared, the later one stands.
    """
    last = later(ours, theirs)
    other = theirs if last is ours else ours
    if ours.uid != theirs.uid or last.is_gone or other.is_gone or last.digest == other.digest:
        return last
    said = _said(other)
    if said == _said(last):
        return last
    who = "" if other.author is None else f" by {other.author}"
    below = f"Also said{who}, {iso(other.time)[:10]}:\n\n{said}"
    if last.kind == "decision":
        return replace(last, sections=("\n\n".join((*last.sections, below)),))
    if last.kind == "error_pattern":
        known = dict(zip(last.fields.get("solutions", ()), last.sections, strict=False))
        known |= {
            uid: one
            for uid, one in zip(other.fields.get("solutions", ()), other.sections, strict=False)
            if uid not in known
        }
        return replace(last, fields={**last.fields, "solutions": [*known]}, sections=tuple(known.values()))
    return replace(last, body=f"{last.body}\n\n{below}")


def _said(text: SharedText) -> str:
    value = text.fields.get("value")
    return "\n\n".join((text.body if value is None else str(value), *text.sections))

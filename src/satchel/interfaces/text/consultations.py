"""One consultation as compact text.

The first line says with whom, which conversation and turn, what the turn cost, and the address that is asked; the
answer stands below it, every line behind a space, so that nothing in it can pass for what follows: where the files are,
what was searched for, what was held back and why, and notes. Of a turn that was only planned the files are named; of
another they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import content_lines, value_text

if TYPE_CHECKING:
    from satchel.consult.consultation import Consultation
    from satchel.consult.conversation_records import ListedFile
    from satchel.consult.records import HeldBack

_MAX_NAMED = 50


def consultation_text(done: Consultation) -> str:
    """Render a consultation for an agent."""
    answer = [] if done.answer is None else content_lines(done.answer)
    return "\n".join([cost_line(done), *answer, *rest_lines(done)])


def cost_line(done: Consultation) -> str:
    """Say with whom a turn was, at which address, and what it added to the window, or would add."""
    who = f"{done.assistant} {value_text(done.conversation)} turn {done.turn}"
    counts = f"{done.sent_tokens:,} tokens, {done.saved_tokens:,} saved; window {done.held_tokens:,} of"
    if done.answer is None:
        return f"nothing was sent; {who} would send {counts} {done.window_tokens:,}; address {done.address}"
    counted = (("in", done.input_tokens), ("out", done.output_tokens))
    billed = [f"{count:,} {way}" for way, count in counted if count is not None]
    paid = f"; the provider counted {', '.join(billed)}" if billed else ""
    return f"{who}: sent {counts} {done.window_tokens:,}{paid}; address {done.address}"


def rest_lines(done: Consultation) -> list[str]:
    """Return what is to be known beside the answer."""
    lines = []
    if done.answer is None:
        lines += part_lines("inline", done.inline) + part_lines("overflow", done.overflow)
        lines += [f"attachments {len(done.attachments)}: {paths_text(done.attachments)}"] if done.attachments else []
    elif done.paths:
        counts = (("inline", done.inline), ("overflow", done.overflow), ("attachments", done.attachments))
        lines.append("files: " + ", ".join(f"{len(files)} {part}" for part, files in counts if files))
    if done.queries:
        lines.append(f"searched: {' '.join(value_text(query) for query in done.queries)}")
    if done.cited:
        lines.append(f"cited: {paths_text(done.cited)}")
    lines += held_back_lines(done.held_back)
    lines += [] if done.kept is None else [done.kept.told]
    return [*lines, *note_lines(done.notes)]


def part_lines(part: str, files: Iterable[ListedFile], most: int | None = _MAX_NAMED) -> list[str]:
    """Return a line for a part of the split, or for each reason that files are in it for."""
    groups: dict[str | None, list[str]] = {}
    for file in files:
        groups.setdefault(file.why, []).append(file.path)
    return [
        f"{part} {len(paths)}{'' if why is None else f' ({why})'}: {paths_text(paths, most)}"
        for why, paths in groups.items()
    ]


def held_back_lines(held: Iterable[HeldBack]) -> list[str]:
    """Return a line for each reason that files were held back for."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in held:
        groups.setdefault((one.reason, one.detail), []).append(one.path)
    return [f"held back ({reason}: {detail}): {paths_text(paths)}" for (reason, detail), paths in groups.items()]


def paths_text(paths: Sequence[str], most: int | None = _MAX_NAMED) -> str:
    """Name files; of very many the first, and how many more there are."""
    shown = paths if most is None else paths[:most]
    more = f" and {len(paths) - len(shown):,} more" if len(shown) < len(paths) else ""
    return " ".join(value_text(path) for path in shown) + more

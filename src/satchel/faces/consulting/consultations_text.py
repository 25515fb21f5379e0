"""One consultation as compact text.

The first line says with whom, which conversation and turn, and what the turn cost; the answer stands below it, every
line behind a space, so that nothing in it can pass for what follows: where the files are, what was searched for, what
was held back and why, and notes. Of a turn that was only planned the files are named; of another they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from satchel.faces.ledger.lines import note_lines
from satchel.faces.text_parts import content_lines, value_text

if TYPE_CHECKING:
    from satchel.consult.records import HeldBack
    from satchel.consult.service import Consultation
    from satchel.faces.consulting.asking import Kept

_MOST_NAMED = 50


def consultation_text(done: Consultation, kept: Kept | None = None) -> str:
    """Render a consultation for an agent."""
    answer = [] if done.answer is None else content_lines(done.answer)
    return "\n".join([cost_line(done), *answer, *rest_lines(done, kept)])


def cost_line(done: Consultation) -> str:
    """Say with whom a turn was and what it added to the window, or would add."""
    who = f"{done.assistant} {value_text(done.session_id)} turn {done.turn}"
    counts = f"{done.sent_tokens:,} tokens, {done.saved_tokens:,} saved; window {done.held_tokens:,} of"
    if done.answer is None:
        return f"nothing was sent; {who} would send {counts} {done.window_tokens:,}"
    return f"{who}: sent {counts} {done.window_tokens:,}"


def rest_lines(done: Consultation, kept: Kept | None = None) -> list[str]:
    """Return what is to be known beside the answer."""
    lines = []
    if done.answer is None:
        for name, paths in (("inline", done.inline), ("overflow", done.overflow)):
            lines += [f"{name} {len(paths)}: {paths_text(paths)}"] if paths else []
    elif done.inline or done.overflow:
        lines.append(f"files: {len(done.inline)} inline, {len(done.overflow)} overflow")
    if done.queries:
        lines.append(f"searched: {' '.join(value_text(query) for query in done.queries)}")
    if done.cited:
        lines.append(f"cited: {paths_text(done.cited)}")
    lines += held_back_lines(done.held_back)
    lines += [] if kept is None else [kept.told]
    return [*lines, *note_lines((*done.notes, *(() if kept is None else kept.notes)))]


def held_back_lines(held: Iterable[HeldBack]) -> list[str]:
    """Return a line for each reason that files were held back for."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in held:
        groups.setdefault((one.reason, one.detail), []).append(one.path)
    return [f"held back ({reason}: {detail}): {paths_text(paths)}" for (reason, detail), paths in groups.items()]


def paths_text(paths: Sequence[str], most: int | None = _MOST_NAMED) -> str:
    """Name files; of very many the first, and how many more there are."""
    shown = paths if most is None else paths[:most]
    more = f" and {len(paths) - len(shown):,} more" if len(shown) < len(paths) else ""
    return " ".join(value_text(path) for path in shown) + more

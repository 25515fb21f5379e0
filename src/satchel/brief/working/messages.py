"""Unread messages in the answers of hooks."""

from __future__ import annotations

from satchel.base.text import shortened
from satchel.brief.working.hook_context import HookContext, ItemVersion, fitting
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.sessions import updates

_LEAST_MS = 60_000
"""The least time between messages in answers."""

_MOST = 5
_CHARS = 220


def unread(context: HookContext, budget: int) -> tuple[list[str], list[ItemVersion]]:
    """Return lines on unread messages that the agent did not get, and their items; at most once a minute."""
    from satchel.keep.messages.presence import is_any_alive

    if not is_any_alive(context.transaction, context.project_id, context.now):
        return [], []
    last = context.transaction.one("SELECT told_at FROM sessions WHERE id = :id", {"id": context.actor.session})
    if last is not None and last[0] is not None and 0 <= context.now - last[0] < _LEAST_MS:
        return [], []
    from satchel.keep.messages.visibility import Reader, newest_unseen

    assert context.actor.number is not None
    is_delivered, values = deliveries.was_delivered(context.project_id, context.actor, Kind.MESSAGE, "m.id")
    reader = Reader(context.project_id, context.actor.number, context.now)
    rows = newest_unseen(context.transaction, reader, is_delivered, values, _MOST)
    if not rows:
        return [], []
    row_of = {_line(row): row for row in rows}
    selected = fitting(list(row_of), budget)
    if not selected:
        row_of = {_line(rows[0], _CHARS // 3): rows[0]}
        selected = fitting(list(row_of), budget)
    if not selected:
        return [], []
    updates.change(context.transaction, context.actor.session or 0, {"told_at": context.now})
    return selected, [(Kind.MESSAGE.number, row_of[line][0], row_of[line][1]) for line in selected]


def _line(row: tuple[int, int, str | None, str], chars: int = _CHARS) -> str:
    number, _seq, sender, text = row
    ref, short = Kind.MESSAGE.ref(number), shortened(text, chars)
    whole = f' (in full: get_items(["{ref}"]))' if short.endswith("…") and not text.rstrip().endswith("…") else ""
    return f"Message {ref} from {sender or 'Satchel'}: {short}{whole}"

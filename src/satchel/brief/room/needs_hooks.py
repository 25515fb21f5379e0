"""Failing hooks of clients."""

from __future__ import annotations

import json

from satchel.base.clock import DAY_MS
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.brief.room.records import Need
from satchel.brief.room.seen import hook_ref
from satchel.keep import events
from satchel.keep.moving.marks import HOOK

_LOOKED_AT = 500


def find(look: Look) -> list[Need]:
    """Return the hooks that failed in the last day, have not worked since, and whose last fault is unseen."""
    rows = look.rows(
        f"""
        SELECT e.seq, e.details, e.created_at, s.seq FROM events e
        LEFT JOIN seen s ON s.person_id = :me AND s.kind = {HOOK} AND s.item_id = e.seq
        WHERE e.project_id = :project AND e.kind = {events.HOOK_FAILED} AND e.created_at > :after
        ORDER BY e.created_at DESC, e.seq DESC LIMIT {_LOOKED_AT}
        """,
        after=look.now - DAY_MS,
    )
    faults: dict[str, list[tuple[int, dict[str, object], int]]] = {}
    over: set[str] = set()
    for number, details, at, seen_seq in rows:
        fields = {} if details is None else json.loads(details)
        hook = str(fields.get("hook") or "a hook")
        if fields.get("works") or seen_seq is not None:
            over.add(hook)
        elif hook not in over:
            faults.setdefault(hook, []).append((number, fields, at))
    return [_need(hook, *faults_of[0][:2], faults_of[-1][2]) for hook, faults_of in faults.items()]


def _need(hook: str, number: int, fields: dict[str, object], began: int) -> Need:
    times = fields.get("times")
    often = f", {times} times or more within the hour" if isinstance(times, int) and times > 1 else ""
    text = shortened(f"{hook} fails{often}: {fields.get('problem') or 'unknown reason'}", LINE_CHARS)
    client, _, event = hook.partition(" ")
    remedy = f"satchel hook --explain {client} {event}".rstrip() + " or satchel doctor shows why"
    key = f"hook-{''.join(one if one.isalnum() else '-' for one in hook)}"
    return Need("hook", "high", text, hook_ref(number), None, None, began, ("see",), remedy=remedy, key=key)

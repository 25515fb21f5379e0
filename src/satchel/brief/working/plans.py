"""Plans that a person has approved; each session stores its last one."""

from __future__ import annotations

from satchel.base.errors import InvalidInput, SatchelError, TooLarge
from satchel.base.text import shortened
from satchel.brief.working.hook_context import HookContext
from satchel.find.kind import Kind
from satchel.keep.entries import updates
from satchel.keep.entries.records import NewEntry, Prepared, Writer
from satchel.keep.entries.structured import PLAN, is_plan
from satchel.keep.loop_scope import OF_ATTEMPTS

_STEP_CHARS = 160


def store(context: HookContext, plan: str) -> int | None:
    """Store a plan as a scratchpad of the session in place of the one before, redacted and cut to the limit.

    Returns:
        The id of the note; None if the plan is empty or unchanged.
    """
    transaction, session = context.transaction, context.actor.session
    rows = transaction.all(
        f"SELECT id, content FROM context WHERE session_id = :session AND {OF_ATTEMPTS.format('')} "
        "ORDER BY created_at DESC, id DESC",
        {"session": session},
    )
    before = next(((number, content) for number, content in rows if is_plan(content)), None)
    prepared = _prepared(context, plan, None if before is None else Kind.ENTRY.ref(before[0]))
    if prepared is None or (before is not None and before[1] == prepared.content):
        return None
    writer = Writer(context.project_id, context.run, context.actor.number, context.now, session)
    try:
        ((number, _, _),) = updates.insert(transaction, writer, [prepared], [None])
    except SatchelError:  # the previous plan may not be replaceable
        return None
    return number


def _prepared(context: HookContext, plan: str, before: str | None) -> Prepared | None:
    text = plan.strip()
    most = context.work.max_content_bytes
    while text:
        heading = next((line.strip("#*- ") for line in text.splitlines() if line.strip("#*- ")), "")
        content = {"iteration": 0, "next_step": shortened(heading, _STEP_CHARS), PLAN: text}
        try:
            return updates.prepare(NewEntry("scratchpad", content, supersedes=before), context.work, lambda *_: None)
        except TooLarge:
            # escapes make JSON longer than the text
            text = text.encode(errors="ignore")[:most].decode(errors="ignore").strip()
            most = most * 3 // 4
        except InvalidInput:
            return None
    return None

"""Plans that a person has approved: each session keeps its last one."""

from __future__ import annotations

from satchel.base.errors import InvalidInput, SatchelError, TooLarge
from satchel.base.text import shortened
from satchel.brief.working.scene import Scene
from satchel.find.kind import Kind
from satchel.keep.entries import updates
from satchel.keep.entries.records import NewEntry, Prepared, Writer
from satchel.keep.entries.structured import PLAN, is_plan
from satchel.keep.loop_scope import OF_ATTEMPTS

_STEP_CHARS = 160


def keep(scene: Scene, plan: str) -> int | None:
    """Keep a plan as a scratchpad of the session, in place of the one before: so the team sees what it is about.

    It is redacted, and cut where it is longer than a note may be.

    Returns:
        The number of the note; None where there is nothing to keep, or it is kept already.
    """
    transaction, session = scene.transaction, scene.actor.session
    rows = transaction.all(
        f"SELECT id, content FROM context WHERE session_id = :session AND {OF_ATTEMPTS.format('')} "
        "ORDER BY created_at DESC, id DESC",
        {"session": session},
    )
    before = next(((number, content) for number, content in rows if is_plan(content)), None)
    prepared = _prepared(scene, plan, None if before is None else Kind.ENTRY.ref(before[0]))
    if prepared is None or (before is not None and before[1] == prepared.content):
        return None
    writer = Writer(scene.project_id, scene.run, scene.actor.number, scene.now, session)
    try:
        ((number, _, _),) = updates.insert(transaction, writer, [prepared], [None])
    except SatchelError:  # the one before may not be replaced
        return None
    return number


def _prepared(scene: Scene, plan: str, before: str | None) -> Prepared | None:
    text = plan.strip()
    most = scene.work.max_content_bytes
    while text:
        heading = next((line.strip("#*- ") for line in text.splitlines() if line.strip("#*- ")), "")
        content = {"iteration": 0, "next_step": shortened(heading, _STEP_CHARS), PLAN: text}
        try:
            return updates.prepare(NewEntry("scratchpad", content, supersedes=before), scene.work, lambda *_: None)
        except TooLarge:
            # what stands between quotation marks in JSON is longer than the text
            text = text.encode(errors="ignore")[:most].decode(errors="ignore").strip()
            most = most * 3 // 4
        except InvalidInput:
            return None
    return None

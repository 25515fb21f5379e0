"""Commands: when one fails its error is reported and a fix shown; when it succeeds what fixed it is learned."""

from __future__ import annotations

import re

from satchel.base.errors import InvalidInput, TooLarge
from satchel.base.text import shortened
from satchel.brief.working.scene import Scene, Shown, fitting
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.loop_scope import LoopScope
from satchel.keep.patterns import loops, meeting, preparing, updates
from satchel.keep.patterns.records import KNOWN, TENTATIVE, ErrorPattern, Solution

_MOST_CHARS = 8_000
"""So much of an output is read, its end."""

_COMMAND_CHARS = 500
_FIX_CHARS = 400
_ERROR_CHARS = 160
_KEPT_MS = 12 * 3_600_000
"""After so long a command that succeeds says nothing about its failure."""

_OWED_MS = 10 * 60_000
"""So long after a command failed its fix is still said, where the client carried no text before."""

_ENDED_BY_PERSON = 130
_ASKING = re.compile(
    r"(?:grep|egrep|fgrep|rg|ag|diff|cmp|test|\[|which|command|type|find|pgrep|git (?:grep|diff|show-ref)|ls|stat)\b"
)
"""Commands whose failure is an answer: nothing was found, or two files differ."""

_FOLDER = re.compile(r"cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_SETTING = re.compile(r"[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+")
_PROGRAM = re.compile(r"[\w.@+-]+")


def key_of(command: str) -> str:
    """Return what a command is known by: without the folder it goes to, variables it sets, and merged streams."""
    text = " ".join(command.split())
    while (found := _FOLDER.match(text) or _SETTING.match(text)) is not None:
        text = text[found.end() :]
    return text.removesuffix("2>&1").strip()[:_COMMAND_CHARS]


def is_error(command: str, status: int | None, output: str) -> bool:
    """Whether a failure is an error that is worth keeping: not one that is an answer, silent, or a person's doing."""
    if not output.strip() or status == _ENDED_BY_PERSON:
        return False
    return not (_ASKING.match(key_of(command)) and (status or 1) == 1)


def fail(scene: Scene, command: str, status: int | None, output: str, budget: int) -> tuple[list[str], list[Shown]]:
    """Report the error of a command that failed; return its known fix, or the most similar error, and what is shown.

    Args:
        status: its exit status, or None where that is not known.
        budget: tokens.
    """
    if not is_error(command, status, output):
        return [], []
    transaction = scene.transaction
    new = _prepared(command, status, output, scene.work.max_content_bytes)
    if new is None:
        return [], []
    met = meeting.meet(
        transaction, scene.project_id, new, scene.now, agent=scene.actor.number, session=scene.actor.session
    )
    if met.is_new:
        updates.index(transaction, scene.project_id, met.number, is_new=True)
    loops.note(transaction, _loop(scene), met.number, scene.now)
    pattern = updates.load(transaction, scene.project_id, met.number, scene.now)
    assert pattern is not None
    lines, shown = _told(scene, pattern, budget)
    advised = _advised(pattern)
    transaction.execute(
        """
        INSERT INTO failed_commands (session_id, command, pattern_id, solution_id, created_at)
        VALUES (:session, :command, :pattern, :solution, :now)
        ON CONFLICT (session_id, command) DO UPDATE SET
            pattern_id = excluded.pattern_id, created_at = excluded.created_at,
            solution_id = CASE WHEN pattern_id = excluded.pattern_id
                THEN COALESCE(excluded.solution_id, solution_id) ELSE excluded.solution_id END
        """,
        {
            "session": scene.actor.session,
            "command": key_of(command),
            "pattern": met.number,
            "solution": advised[0].id if advised and lines else None,
            "now": scene.now,
        },
    )
    return lines, shown


def owed(scene: Scene, budget: int) -> tuple[list[str], list[Shown]]:
    """Return the fix of the last command that failed while the client carried no text, and what is shown.

    Args:
        budget: tokens.
    """
    values = {"session": scene.actor.session, "since": scene.now - _OWED_MS}
    row = scene.transaction.one(
        """
        SELECT command, pattern_id FROM failed_commands
        WHERE session_id = :session AND solution_id IS NULL AND created_at >= :since
        ORDER BY created_at DESC LIMIT 1
        """,
        values,
    )
    pattern = None if row is None else updates.load(scene.transaction, scene.project_id, row[1], scene.now)
    if row is None or pattern is None or not (advised := _advised(pattern)):
        return [], []
    lines, shown = _told(scene, pattern, budget)
    if lines:
        scene.transaction.execute(
            "UPDATE failed_commands SET solution_id = :solution WHERE session_id = :session AND command = :command",
            values | {"solution": advised[0].id, "command": row[0]},
        )
    return lines, shown


def succeed(scene: Scene, command: str) -> None:
    """Learn from a command that failed before: the fix that was shown helped, else what the agent says it attempted."""
    transaction, session = scene.transaction, scene.actor.session
    values = {"session": session, "command": key_of(command)}
    row = transaction.one(
        "SELECT pattern_id, solution_id, created_at FROM failed_commands "
        "WHERE session_id = :session AND command = :command",
        values,
    )
    if row is None:
        return
    transaction.execute("DELETE FROM failed_commands WHERE session_id = :session AND command = :command", values)
    pattern, solution, failed_at = row
    if scene.now - failed_at > _KEPT_MS:
        return
    if solution is not None:
        updates.hear(
            transaction, scene.project_id, solution, scene.actor.number, scene.now, session=session, helped=True
        )
        loops.settle(transaction, _loop(scene), pattern, solution)
        return
    from satchel.brief import fixes

    fixes.learn_from_command(transaction, _loop(scene), pattern, failed_at, scene.now)


def has_failed(scene: Scene, command: str) -> bool:
    """Whether a command failed in this session and has not succeeded since."""
    values = {"session": scene.actor.session, "command": key_of(command)}
    found = "SELECT 1 FROM failed_commands WHERE session_id = :session AND command = :command"
    return scene.transaction.one(found, values) is not None


def _loop(scene: Scene) -> LoopScope:
    return LoopScope(scene.project_id, scene.run, None, None, scene.actor.number, scene.actor.session)


def _prepared(command: str, status: int | None, output: str, limit: int) -> preparing.Prepared | None:
    """Return the report of a failure, or None where it cannot be told apart from others."""
    from satchel.keep.patterns import saying

    text = output[-_MOST_CHARS:].strip()
    said = saying.read(text)
    program = _PROGRAM.search(key_of(command).partition(" ")[0].rpartition("/")[2])
    ended = f"exit {status}" if status is not None else "failed"
    kind = said.error_type or f"{program[0] if program else 'command'} {ended}"
    try:
        return preparing.prepare(kind[:100], text, None, None, None, None, None, limit)
    except (InvalidInput, TooLarge):
        return None


def _advised(pattern: ErrorPattern) -> list[Solution]:
    return [one for one in pattern.solutions if one.confidence >= TENTATIVE]


def _told(scene: Scene, pattern: ErrorPattern, budget: int) -> tuple[list[str], list[Shown]]:
    """Return what is known of an error, once in a window unless it changes."""
    got = deliveries.delivered(scene.transaction, scene.window).get(Kind.ERROR_PATTERN.number, {})
    advised = _advised(pattern)
    if advised and pattern.id in got:
        return [], []
    if advised:
        best = advised[0]
        how = "known" if best.confidence >= KNOWN else "reported once, not confirmed"
        times = f"{pattern.occurrences} time{'s' * (pattern.occurrences > 1)}"
        lines = fitting(
            [
                f"Satchel: this error is {pattern.ref}, met {times}. A fix ({best.ref}, {how}"
                f"{f', by {best.agent}' if best.agent else ''}):",
                shortened(best.text, _FIX_CHARS),
            ],
            budget,
        )
        return (lines, [(Kind.ERROR_PATTERN.number, pattern.id, pattern.seq)]) if len(lines) > 1 else ([], [])
    from satchel.keep.patterns.similar import similar_to

    for one in similar_to(scene.transaction, scene.project_id, pattern, scene.now):
        fix = one.solution
        if fix is None or fix.pattern_id in got:
            continue
        lines = fitting(
            [
                f"Satchel: this error is new. Similar ({one.likeness} %) is {one.ref} {one.error_type}: "
                f"{shortened(one.message, _ERROR_CHARS)}",
                f"What fixed that ({fix.ref}): {shortened(fix.text, _FIX_CHARS)}",
            ],
            budget,
        )
        if len(lines) > 1:
            return lines, [(Kind.ERROR_PATTERN.number, fix.pattern_id, fix.seq)]
    return [], []

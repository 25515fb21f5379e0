"""Commands: when one fails its error is reported and a fix shown; when it succeeds what fixed it is learned."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from satchel.base.errors import InvalidInput, NotFound, TooLarge
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.working.scene import SOLUTION, Scene, Shown, fitting
from satchel.find.kind import Kind
from satchel.keep import deliveries
from satchel.keep.loop_scope import LoopScope
from satchel.keep.patterns import loops, meeting, preparing, updates
from satchel.keep.patterns.records import KNOWN, TENTATIVE, ErrorPattern, Solution

_MOST_CHARS = 8_000
"""So much of an output is read, its end."""

_FIX_CHARS = 400
_ERROR_CHARS = 160
_KEPT_MS = 12 * 3_600_000
"""After so long a command that succeeds says nothing about its failure."""

_OWED_MS = 10 * 60_000
"""So long after a command failed its fix is still said, where the client carried no text before."""

_ENDED_BY_PERSON = 130
_ASKING = re.compile(
    r"(?:grep|egrep|fgrep|rg|ag|diff|cmp|test|\[|which|command|type|find|pgrep|git (?:grep|diff|show-ref)|ls|stat)"
    r"(?![\w-])"
)
"""Commands whose failure is an answer: nothing was found, or two files differ."""

_FOLDER = re.compile(r"cd\s+(\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*&&\s*")
_SETTING = re.compile(r"[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+")
_PROGRAM = re.compile(r"[\w.@+-]+")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_PLAIN = re.compile(r"&&|\d*>&[\d-]|&>>?")
_COMPOUND = re.compile(r"[|;&\n]|(?:^|\s)!\s")
_WORD = re.compile(r"[^\W_]{4,}")
_ANY_FIX = frozenset("install update upgrade with from this that then before after when python file command".split())
_SECRET_BEFORE = re.compile(r"(?:-----END [A-Z ]*-----|</private>)")
_SECRET_BEGINS = ("-----BEGIN", "<private>")


class _Placed(NamedTuple):
    """A command without the folder that it goes to first, and that folder."""

    folder: str
    text: str


def _placed(cwd: str, command: str) -> _Placed:
    text = command.strip()
    while (found := _FOLDER.match(text)) is not None:
        cwd = os.path.join(cwd, found[1].strip("\"'"))  # noqa: PTH118 -- text, which need not exist
        text = text[found.end() :]
    return _Placed(os.path.normpath(cwd), text.removesuffix("2>&1").strip())


def _program_of(command: str) -> str:
    """Return a command from the name of its program on: without a folder that it goes to, and variables it sets."""
    text = _placed("", command).text
    while (found := _SETTING.match(text)) is not None:
        text = text[found.end() :]
    return text


def key_of(scene: Scene, cwd: str, command: str) -> str:
    """Return what a command is known by: a digest of who runs it, in which folder, and its text, which is not kept."""
    from hashlib import blake2b

    folder, text = _placed(cwd, command)
    named = f"{scene.actor.number}\0{folder}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=16).hexdigest()


def says_all(command: str) -> bool:
    """Whether the status of a command is that of all its parts: not where one stands in a pipe, or behind another."""
    bare = _PLAIN.sub(" ", _QUOTED.sub("''", _placed("", command).text))
    return _COMPOUND.search(bare) is None


def is_error(command: str, status: int | None, output: str) -> bool:
    """Whether a failure is an error that is worth keeping: not one that is an answer, silent, or a person's doing."""
    if not output.strip() or status == _ENDED_BY_PERSON:
        return False
    return not (_ASKING.match(_program_of(command)) and (status or 1) == 1)


def fail(
    scene: Scene, cwd: str, command: str, status: int | None, output: str, budget: int
) -> tuple[list[str], list[Shown]]:
    """Report the error of a command that failed; return its known fix, or the most similar error, and what is shown.

    Args:
        cwd: the folder that it was run in.
        status: its exit status, or None where that is not known.
        budget: tokens.
    """
    if not is_error(command, status, output):
        return [], []
    transaction = scene.transaction
    new = _prepared(command, status, output, scene.work.max_content_bytes)
    if new is None:
        return [], []
    met = meeting.record(
        transaction, scene.project_id, new, scene.now, agent=scene.actor.number, session=scene.actor.session
    )
    if met.is_new:
        updates.index(transaction, met.number, is_new=True)
    loops.note(transaction, _loop(scene), met.number, scene.now)
    pattern = updates.load(transaction, scene.project_id, met.number, scene.now)
    assert pattern is not None
    lines, shown = _told(scene, pattern, budget)
    if says_all(command):
        # a fix that was shown before and acted on has not helped, or was not what was done: it is credited no more
        transaction.run(
            """
            INSERT INTO failed_commands (session_id, command, pattern_id, solution_id, created_at)
            VALUES (:session, :command, :pattern, :solution, :now)
            ON CONFLICT (session_id, command) DO UPDATE SET
                pattern_id = excluded.pattern_id, created_at = excluded.created_at, acted_at = NULL,
                solution_id = CASE
                    WHEN failed_commands.pattern_id = excluded.pattern_id AND failed_commands.acted_at IS NULL
                    THEN COALESCE(excluded.solution_id, failed_commands.solution_id) ELSE excluded.solution_id END
            """,
            {
                "session": scene.actor.session,
                "command": key_of(scene, cwd, command),
                "pattern": met.number,
                "solution": _shown_of(pattern, shown),
                "now": scene.now,
            },
        )
    return lines, shown


def _shown_of(pattern: ErrorPattern, shown: list[Shown]) -> int | None:
    """Return which of the solutions of an error was shown, if any."""
    own = {one.id for one in pattern.solutions}
    return next((number for kind, number, _ in shown if kind == SOLUTION and number in own), None)


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
    if row is None or pattern is None or not (advised := _advised(pattern)) or _was_told(scene, advised[0].id):
        return [], []
    lines, shown = _told(scene, pattern, budget)
    if lines:
        scene.transaction.run(
            "UPDATE failed_commands SET solution_id = :solution WHERE session_id = :session AND command = :command",
            values | {"solution": _shown_of(pattern, shown), "command": row[0]},
        )
    return lines, shown


def _was_told(scene: Scene, solution: int) -> bool:
    """Whether an agent of the session was told a fix: what a subagent has is not owed to who started it."""
    row = scene.transaction.one(
        """
        SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE w.session_id = :session AND d.kind = :kind AND d.item_id = :solution LIMIT 1
        """,
        {"session": scene.actor.session, "kind": SOLUTION, "solution": solution},
    )
    return row is not None


def last(scene: Scene, budget: int) -> tuple[list[str], list[Shown]]:
    """Return what is known of the error that the agent reported last in its session, and what is shown.

    Args:
        budget: tokens.
    """
    row = scene.transaction.one(
        """
        SELECT pattern_id FROM error_reports WHERE session_id = :session AND agent_id = :agent
        ORDER BY created_at DESC, id DESC LIMIT 1
        """,
        {"session": scene.actor.session, "agent": scene.actor.number},
    )
    pattern = None if row is None else updates.load(scene.transaction, scene.project_id, row[0], scene.now)
    return ([], []) if pattern is None else _told(scene, pattern, budget)


def succeed(scene: Scene, cwd: str, command: str) -> None:
    """Learn from a command that failed before: the fix that was shown helped, else what the agent says it attempted.

    The fix is credited only where something was done since it was shown: a file was edited, or a command was run that
    shares a word with it. A command that fails and then succeeds by itself teaches nothing.
    """
    transaction, session = scene.transaction, scene.actor.session
    rows = transaction.all(
        """
        SELECT f.command, f.pattern_id, f.solution_id, f.created_at, f.acted_at, s.solution
        FROM failed_commands f LEFT JOIN error_solutions s ON s.id = f.solution_id WHERE f.session_id = :session
        """,
        {"session": session},
    )
    if not rows:
        return
    key = key_of(scene, cwd, command)
    _act_on(scene, [(row[0], row[5]) for row in rows if row[0] != key and row[4] is None and row[5]], command)
    own = next((row for row in rows if row[0] == key), None)
    if own is None or not says_all(command):
        return
    _, pattern, solution, failed_at, acted_at, _ = own
    values = {"session": session, "command": key}
    transaction.run("DELETE FROM failed_commands WHERE session_id = :session AND command = :command", values)
    if scene.now - failed_at > _KEPT_MS:
        return
    if solution is None:
        from satchel.brief import fixes

        fixes.learn_from_command(transaction, _loop(scene), pattern, failed_at, scene.now)
    elif acted_at is not None:
        with suppress(NotFound):  # it has expired meanwhile
            updates.record_outcome(
                transaction, scene.project_id, solution, scene.actor.number, scene.now, session=session, helped=True
            )
            loops.settle(transaction, _loop(scene), pattern, solution)


def _act_on(scene: Scene, shown: list[tuple[str, str]], command: str) -> None:
    """Record that a command was run that has to do with fixes that were shown.

    Args:
        shown: the commands that failed, each with the fix that was shown for it.
    """
    said = _words(command)
    keys = [key for key, fix in shown if said & _words(fix)]
    scene.transaction.many(
        "UPDATE failed_commands SET acted_at = :now WHERE session_id = :session AND command = :command",
        [{"session": scene.actor.session, "command": key, "now": scene.now} for key in keys],
    )


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _ANY_FIX


def _loop(scene: Scene) -> LoopScope:
    return LoopScope(scene.project_id, scene.run, None, None, scene.actor.number, scene.actor.session)


def _prepared(command: str, status: int | None, output: str, limit: int) -> preparing.Prepared | None:
    """Return the report of a failure, or None where it cannot be told apart from others."""
    from satchel.keep.patterns import saying

    text = _ending(output)
    said = saying.read(text)
    program = _PROGRAM.search(_program_of(command).split(None, 1)[0].rpartition("/")[2] if command.strip() else "")
    ended = f"exit {status}" if status is not None else "failed"
    kind = said.error_type or f"{program[0] if program else 'command'} {ended}"
    try:
        return preparing.prepare(kind[:100], text, None, None, None, None, None, limit)
    except (InvalidInput, TooLarge):
        return None


def _ending(output: str) -> str:
    """Return the last lines of an output, without a line, a key or a private part of which they have only the end."""
    text = output[-_MOST_CHARS:]
    if len(text) < len(output):
        _, newline, rest = text.partition("\n")
        text = rest if newline else text[-_MOST_CHARS // 2 :]
        cut = max((found.end() for found in _SECRET_BEFORE.finditer(text) if _has_lost_begin(text, found)), default=0)
        text = text[cut:]
    return text.strip()


def _has_lost_begin(text: str, end: re.Match[str]) -> bool:
    before = text[: end.start()]
    begins, ends = _SECRET_BEGINS[end[0].startswith("<")], end[0][:8]
    return before.rfind(begins) <= before.rfind(ends)


def _advised(pattern: ErrorPattern) -> list[Solution]:
    return [one for one in pattern.solutions if one.confidence >= TENTATIVE]


def _told(scene: Scene, pattern: ErrorPattern, budget: int) -> tuple[list[str], list[Shown]]:
    """Return what is known of an error; a fix is shown once in a window."""
    delivered = deliveries.delivered(scene.transaction, scene.window)
    got, fixes = delivered.get(Kind.ERROR_PATTERN.number, {}), delivered.get(SOLUTION, {})
    advised = _advised(pattern)
    if advised:
        best = advised[0]
        if best.id in fixes or got.get(pattern.id, -1) >= best.seq:
            return [], []
        how = "known to help" if best.confidence >= KNOWN else "not confirmed yet"
        times = f"{pattern.occurrences} time{'s' * (pattern.occurrences > 1)}"
        lines = fitting(
            [
                f"Satchel: this error is {pattern.ref}, met {times}. A fix ({best.ref}"
                f"{f' by {best.agent}' if best.agent else ''}, {how}):",
                shortened(best.text, _FIX_CHARS),
            ],
            budget,
        )
        if len(lines) < 2:
            return [], []
        return lines, [(Kind.ERROR_PATTERN.number, pattern.id, pattern.seq), (SOLUTION, best.id, best.seq)]
    from satchel.keep.patterns.similar import similar_to

    for one in similar_to(scene.transaction, scene.project_id, pattern, scene.now):
        fix = one.solution
        if fix is None or fix.id in fixes or got.get(fix.pattern_id, -1) >= fix.seq:
            continue
        lines = fitting(
            [
                f"Satchel: no fix of this error is known. Similar ({one.likeness} %) is {one.ref} {one.error_type}: "
                f"{shortened(one.message, _ERROR_CHARS)}",
                f"What fixed that ({fix.ref}): {shortened(fix.text, _FIX_CHARS)}",
            ],
            budget,
        )
        if len(lines) > 1:
            return lines, [(Kind.ERROR_PATTERN.number, fix.pattern_id, fix.seq), (SOLUTION, fix.id, fix.seq)]
    return [], []

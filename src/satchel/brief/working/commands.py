"""Failed commands, whose errors are reported with a known fix, and later successes, which teach the fix."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from satchel.base.errors import InvalidInput, NotFound, TooLarge
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.fields import by
from satchel.brief.working.hook_context import HookContext, ItemVersion, fitting
from satchel.find.kind import Kind
from satchel.keep import deliveries, events
from satchel.keep.loop_scope import LoopScope
from satchel.keep.patterns import reports, updates
from satchel.keep.patterns.records import KNOWN, TENTATIVE, ErrorPattern, Solution

# How much of the end of an output is read.
_MOST_CHARS = 8_000

# How much is stored of a command that passes after it had failed.
_MOST_STORED_CHARS = 72

_FIX_CHARS = 400
_ERROR_CHARS = 160
# How long a success counts for an earlier failure of the command.
_KEPT_MS = 12 * 3_600_000

# How long after a failure its fix is still shown, if the client passed no text at the time.
_PENDING_MS = 10 * 60_000

_ENDED_BY_PERSON = 130
# Commands whose failure is an answer: no results, no such file, or two files differ.
_ASKING = re.compile(
    r"(?:grep|egrep|fgrep|rg|ag|diff|cmp|test|\[|which|command|type|find|pgrep|ls|stat|cat|head|tail|wc|cd"
    r"|git (?:grep|diff|show-ref))(?![\w-])"
)

# A path that does not exist, and options that a program does not take.
_MISSING = re.compile(r"(?i)no such file or directory|FileNotFoundError|ENOENT|(?:file|directory|path) not found")
_USAGE = re.compile(r"(?i)usage: |(?:.{1,60}: )?(?:error: )?(?:unrecognized arguments|no such option|unknown option)\b")
# A refusal or wrong usage of Satchel itself, or that there is no such program here.
_OF_SATCHEL = re.compile(
    r"(?m)^error \[(?:invalid_input|refused|unconfirmed|not_found|conflict)\]: "
    r"|satchel: (?:command )?not found|satchel: No such file or directory"
)
_SATCHEL = re.compile(r"(?:\S*/|uv run |python\S* -m )?satchel\b")
_TOKEN = re.compile(r"[^\s'\"`:,;()=\[\]]+")

# Programs that show texts of others.
_READING = frozenset("cat head tail less more sed awk echo printf journalctl git".split())

# Texts of which an output with an error holds one, in lower case.
_FAILURE = ("error", "exception", "panic", "fatal", "failed", "cannot", "not found", "denied", "undefined")

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


class _Command(NamedTuple):
    folder: str
    text: str


def _resolve(cwd: str, command: str) -> _Command:
    text = command.strip()
    while (match := _FOLDER.match(text)) is not None:
        cwd = os.path.join(cwd, match[1].strip("\"'"))  # noqa: PTH118 -- text, which need not exist
        text = text[match.end() :]
    return _Command(os.path.normpath(cwd), text.removesuffix("2>&1").strip())


def _program_of(command: str) -> str:
    text = _resolve("", command).text
    while (match := _SETTING.match(text)) is not None:
        text = text[match.end() :]
    return text


def key_of(context: HookContext, cwd: str, command: str) -> str:
    """Return the key of a command: a digest of its agent, folder and text, so that the text is not stored."""
    from hashlib import blake2b

    folder, text = _resolve(cwd, command)
    key = f"{context.actor.number}\0{folder}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(key, digest_size=16).hexdigest()


def first_words(text: str) -> str:
    """Return what is stored of a command or a commit's subject: its first words on one line, with secrets redacted."""
    from satchel.redaction import redact

    return shortened(redact(text).text, _MOST_STORED_CHARS)


def is_simple(command: str) -> bool:
    """Return whether a command's status covers all its parts, so not that of a pipe or a list."""
    bare = _PLAIN.sub(" ", _QUOTED.sub("''", _resolve("", command).text))
    return _COMPOUND.search(bare) is None


def is_error(command: str, status: int | None, output: str) -> bool:
    """Return whether a failure is worth storing.

    Not worth it are a search without results, silence, a person's interrupt, and what Satchel's own commands refuse.
    """
    if not output.strip() or status == _ENDED_BY_PERSON:
        return False
    if _SATCHEL.match(_program_of(command)) and _OF_SATCHEL.search(output):
        return False
    return not (_ASKING.match(_program_of(command)) and (status or 1) <= 2)


def is_slip(command: str, output: str) -> bool:
    """Return whether the error is of the command itself: a path in it that does not exist, or its options."""
    lines = output.strip().splitlines()
    if any(_USAGE.match(line) for line in lines):
        return True
    missing = [line for line in lines if _MISSING.search(line)]
    paths = {os.path.normpath(one) for line in missing[-1:] for one in _TOKEN.findall(line)}
    names = {os.path.normpath(one) for one in _TOKEN.findall(_program_of(command))[1:]}
    return any(path == name or path.endswith(f"/{name}") for path in paths for name in names)


def fail(
    context: HookContext, cwd: str, command: str, status: int | None, output: str, budget: int
) -> tuple[list[str], list[ItemVersion]]:
    """Report the error of a failed command; return lines on its fix or the most similar error, and their items."""
    if not is_error(command, status, output):
        return [], []
    transaction = context.transaction
    kind, text = command_error(command, status, output)
    try:
        new = reports.prepare(kind, text, None, None, None, None, None, context.work.max_content_bytes)
    except (InvalidInput, TooLarge):
        return [], []
    if is_slip(command, text) and updates.load(transaction, context.project_id, new.hash, context.now) is None:
        return [], []
    recorded = reports.record(_reporter(context), new)
    if recorded.is_new:
        updates.index(transaction, recorded.number, is_new=True)
    updates.note(transaction, _loop(context), recorded.number, context.now)
    loaded = updates.load_with_tried(transaction, context.project_id, recorded.number, context.now)
    assert loaded is not None
    pattern, tried = loaded
    lines, items = _render(context, pattern, budget, tried=tried, recorded=recorded)
    if is_simple(command):
        # a fix that was shown before and acted on has not helped: it gets no credit any more
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
                "session": context.actor.session,
                "command": key_of(context, cwd, command),
                "pattern": recorded.number,
                "solution": _solution_in(pattern, items),
                "now": context.now,
            },
        )
    return lines, items


def find_error(
    context: HookContext, command: str, output: str, budget: int, *, has_succeeded: bool
) -> tuple[list[str], list[ItemVersion]]:
    """Return lines on the fix of a known error in the output of a command whose status does not tell of it.

    Nothing new is recorded: the output of a command that did not fail may mention any error.
    """
    ending = output[-_MOST_CHARS:].lower()
    if not any(text in ending for text in _FAILURE) or (has_succeeded and is_simple(command)):
        return [], []
    if _program_of(command).partition(" ")[0] in _READING or not is_error(command, 1, output):
        return [], []
    kind, text = command_error(command, None, output)
    with suppress(InvalidInput, TooLarge):
        new = reports.prepare(kind, text, None, None, None, None, None, context.work.max_content_bytes)
        pattern = updates.load(context.transaction, context.project_id, new.hash, context.now)
        if pattern is not None and _advised(pattern):
            return _render(context, pattern, budget)
    return [], []


def _solution_in(pattern: ErrorPattern, items: list[ItemVersion]) -> int | None:
    own = {one.id for one in pattern.solutions}
    return next((number for kind, number, _ in items if kind == deliveries.SOLUTION and number in own), None)


def pending_fix(context: HookContext, budget: int) -> tuple[list[str], list[ItemVersion]]:
    """Return the fix of the last command that failed while the client passed no text to the model, and its items."""
    values = {"session": context.actor.session, "since": context.now - _PENDING_MS}
    row = context.transaction.one(
        """
        SELECT command, pattern_id FROM failed_commands
        WHERE session_id = :session AND solution_id IS NULL AND created_at >= :since
        ORDER BY created_at DESC LIMIT 1
        """,
        values,
    )
    pattern = None if row is None else updates.load(context.transaction, context.project_id, row[1], context.now)
    if row is None or pattern is None or not (advised := _advised(pattern)) or _was_delivered(context, advised[0].id):
        return [], []
    lines, items = _render(context, pattern, budget)
    if lines:
        context.transaction.run(
            "UPDATE failed_commands SET solution_id = :solution WHERE session_id = :session AND command = :command",
            values | {"solution": _solution_in(pattern, items), "command": row[0]},
        )
    return lines, items


def _was_delivered(context: HookContext, solution: int) -> bool:
    row = context.transaction.one(
        """
        SELECT 1 FROM windows w JOIN deliveries d ON d.window_id = w.id
        WHERE w.session_id = :session AND d.kind = :kind AND d.item_id = :solution LIMIT 1
        """,
        {"session": context.actor.session, "kind": deliveries.SOLUTION, "solution": solution},
    )
    return row is not None


def last(context: HookContext, budget: int) -> tuple[list[str], list[ItemVersion]]:
    """Return lines on the error that the agent reported last in its session, and their items."""
    row = context.transaction.one(
        """
        SELECT pattern_id FROM error_reports WHERE session_id = :session AND agent_id = :agent
        ORDER BY created_at DESC, id DESC LIMIT 1
        """,
        {"session": context.actor.session, "agent": context.actor.number},
    )
    pattern = None if row is None else updates.load(context.transaction, context.project_id, row[0], context.now)
    return ([], []) if pattern is None else _render(context, pattern, budget)


def succeed(context: HookContext, cwd: str, command: str) -> list[str]:
    """Learn from a command that failed before: the shown fix helped, else the agent's attempts are the fix.

    Return the question what fixed it, if files were edited since and nothing tells.

    A shown fix counts only if something was done since: a file was edited, or a command was run that shares a word with
    it. A command that fails and then succeeds without a change teaches nothing.
    """
    transaction, session = context.transaction, context.actor.session
    rows = transaction.all(
        """
        SELECT f.command, f.pattern_id, f.solution_id, f.created_at, f.acted_at, s.solution
        FROM failed_commands f LEFT JOIN error_solutions s ON s.id = f.solution_id WHERE f.session_id = :session
        """,
        {"session": session},
    )
    if not rows:
        return []
    key = key_of(context, cwd, command)
    _mark_acted(context, [(row[0], row[5]) for row in rows if row[0] != key and row[4] is None and row[5]], command)
    own = next((row for row in rows if row[0] == key), None)
    if own is None or not is_simple(command):
        return []
    _, pattern, solution, failed_at, acted_at, _ = own
    values = {"session": session, "command": key}
    transaction.run("DELETE FROM failed_commands WHERE session_id = :session AND command = :command", values)
    if context.now - failed_at > _KEPT_MS:
        return []
    details = {"command": first_words(_program_of(command))}
    events.record(transaction, context.project_id, events.RECOVERY, context.now, by=context.actor, details=details)
    if solution is None:
        from satchel.brief import after_write

        after_write.learn_from_command(transaction, _loop(context), pattern, failed_at, context.now)
        ref = Kind.ERROR_PATTERN.ref(pattern)
        return [_QUESTION.format(ref, ref)] if acted_at is not None and not _has_fix(context, pattern) else []
    if acted_at is not None:
        with suppress(NotFound):  # it may have expired
            updates.record_outcome(_reporter(context), solution, helped=True)
            updates.settle(transaction, _loop(context), pattern, solution)
    return []


_QUESTION = (
    "Satchel: this command failed with {}, for which no fix is known, and passes after your edits. What fixed it? "
    'Record it with satchel\'s report_outcome id={} solution="..."'
)


def _has_fix(context: HookContext, pattern: int) -> bool:
    sql = "SELECT 1 FROM error_solutions WHERE pattern_id = :pattern LIMIT 1"
    return context.transaction.one(sql, {"pattern": pattern}) is not None


def _mark_acted(context: HookContext, fixes: list[tuple[str, str]], command: str) -> None:
    words = _words(command)
    keys = [key for key, fix in fixes if words & _words(fix)]
    context.transaction.many(
        "UPDATE failed_commands SET acted_at = :now WHERE session_id = :session AND command = :command",
        [{"session": context.actor.session, "command": key, "now": context.now} for key in keys],
    )


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _ANY_FIX


def _reporter(context: HookContext) -> updates.Reporter:
    actor = context.actor
    return updates.Reporter(context.transaction, context.project_id, actor.number, actor.session, context.now)


def _loop(context: HookContext) -> LoopScope:
    return LoopScope(context.project_id, context.run, None, None, context.actor.number, context.actor.session)


def command_error(command: str, status: int | None, output: str) -> tuple[str, str]:
    """Return the type and message under which the error of a failed command is reported."""
    from satchel.keep.patterns import saying

    text = _ending(output)
    program = _PROGRAM.search(_program_of(command).split(None, 1)[0].rpartition("/")[2] if command.strip() else "")
    ended = f"exit {status}" if status is not None else "failed"
    kind = saying.read(text).error_type or f"{program[0] if program else 'command'} {ended}"
    return kind[:100], text


def _ending(output: str) -> str:
    text = output[-_MOST_CHARS:]
    if len(text) < len(output):
        _, newline, rest = text.partition("\n")
        text = rest if newline else text[-_MOST_CHARS // 2 :]
        cut = max((match.end() for match in _SECRET_BEFORE.finditer(text) if _has_lost_begin(text, match)), default=0)
        text = text[cut:]
    return text.strip()


def _has_lost_begin(text: str, end: re.Match[str]) -> bool:
    before = text[: end.start()]
    begins, ends = _SECRET_BEGINS[end[0].startswith("<")], end[0][:8]
    return before.rfind(begins) <= before.rfind(ends)


def _advised(pattern: ErrorPattern) -> list[Solution]:
    return [one for one in pattern.solutions if one.confidence >= TENTATIVE]


def _render(
    context: HookContext,
    pattern: ErrorPattern,
    budget: int,
    *,
    tried: Sequence[Solution] = (),
    recorded: reports.Recorded | None = None,
) -> tuple[list[str], list[ItemVersion]]:
    delivered = deliveries.delivered(context.transaction, context.window)
    got, fixes = delivered.get(Kind.ERROR_PATTERN.number, {}), delivered.get(deliveries.SOLUTION, {})
    advised = _advised(pattern)
    if advised:
        best = advised[0]
        if best.id in fixes or got.get(pattern.id, -1) >= best.seq:
            return [], []
        how = "known to help" if best.confidence >= KNOWN else "not confirmed yet"
        times = f"{pattern.occurrences} time{'s' * (pattern.occurrences > 1)}"
        words = f" by its words ({', '.join(recorded.words)})" if recorded is not None and recorded.words else ""
        author = f" {by(best.agent)}" if best.agent else ""
        # on one line, since a fix on its own could pass for what Satchel says of another
        line = (
            f"Satchel: this error is {pattern.ref}{words}, met {times}. "
            f"A fix ({best.ref}{author}, {how}): {shortened(best.text, _FIX_CHARS)}"
        )
        if not fitting([line], budget):
            return [], []
        return [line], [(Kind.ERROR_PATTERN.number, pattern.id, pattern.seq), (deliveries.SOLUTION, best.id, best.seq)]
    from satchel.keep.patterns.similar import similar_to

    failed = [one for one in tried if one.id not in fixes]
    items = [(deliveries.SOLUTION, one.id, one.seq) for one in failed]
    lines = [f"Satchel: no fix of {pattern.ref} is known."]
    lines += (
        f"Tried {one.failed} time{'s' * (one.failed > 1)}, did not help: {shortened(one.text, _FIX_CHARS)}"
        for one in failed
    )
    near = recorded.near if recorded is not None and recorded.is_new else None
    for one in similar_to(context.transaction, context.project_id, pattern, context.now, near):
        fix = one.solution
        if fix is not None and fix.id not in fixes and got.get(fix.pattern_id, -1) < fix.seq:
            lines += (
                f"Similar ({one.likeness} %: {', '.join(one.words)}) is {one.ref} {one.error_type}: "
                f"{shortened(one.message, _ERROR_CHARS)}",
                f"What fixed that ({fix.ref}): {shortened(fix.text, _FIX_CHARS)}",
            )
            items += ((Kind.ERROR_PATTERN.number, fix.pattern_id, fix.seq), (deliveries.SOLUTION, fix.id, fix.seq))
            break
    fits = len(fitting(lines, budget)) == len(lines)
    return (lines, items) if items and fits else ([], [])

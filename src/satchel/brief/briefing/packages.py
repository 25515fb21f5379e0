"""Packages, messages, error solutions and strategies as sources of a briefing."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import DAY_MS
from satchel.base.text import shortened
from satchel.brief.briefing.ranking import HIGH, LOW, MEDIUM, base_score_sql
from satchel.brief.briefing.records import CRITICAL, Candidate
from satchel.brief.briefing.sources import ANY_PRIORITY, BriefingContext, New, Source, candidates, loading
from satchel.brief.fields import answer_mark, by, joined, name_text, quoted
from satchel.find.kind import Kind
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.messages.visibility import ALIVE, ARMS, IS_MINE, UNREAD
from satchel.keep.packages.records import TYPES
from satchel.keep.patterns.records import KNOWN, TENTATIVE, WEAK, as_met, ask_solutions, by_pattern
from satchel.store.transaction import Asking, Row, set_of

# A package unchanged for so long ranks as low, unless it is critical.
STALE_DAYS = 30

_MAX_ERROR_CHARS = 120
_CONSUMERS = "SELECT 1 FROM package_consumers k WHERE k.package_id = c.id"
_IS_FOR_ROLE = f"EXISTS ({_CONSUMERS} AND k.role = :role)"
_ARE_FOR_ROLE = "c.id IN (SELECT k.package_id FROM package_consumers k WHERE k.role = :role)"
_IS_STALE, _IS_FRESH = (f"c.updated_at {how} :now - {STALE_DAYS * DAY_MS}" for how in ("<", ">="))
_PACKAGE_PRIORITY = f"CASE WHEN c.priority < {CRITICAL} AND {_IS_STALE} THEN 1 ELSE c.priority END"


def packages(context: BriefingContext) -> Source:
    """Return the live packages of the project: those for this role or any, and every critical one."""
    live, role = "c.project_id = :project AND c.superseded_by IS NULL", context.request.role
    pinned, is_open = set_of(context.pinned.get(Kind.PACKAGE.number, ())), f"NOT EXISTS ({_CONSUMERS})"
    # a list of those for the role is faster for counting all, a look-up of each for finding the first
    others = f"c.priority = {CRITICAL} OR c.id IN {pinned} OR {is_open}"
    every, each = (
        "" if role is None else f" AND ({others} OR {for_role})" for for_role in (_ARE_FOR_ROLE, _IS_FOR_ROLE)
    )
    of_task = "c.task_id = :task AND c.run_id = :run" if context.is_run_chosen else "c.task_id = :task"
    rank, rank_of_role = (
        base_score_sql(_PACKAGE_PRIORITY, of_task, for_role, "c.updated_at") for for_role in (_IS_FOR_ROLE, "TRUE")
    )
    return Source(
        name="packages",
        section="packages",
        kind=Kind.PACKAGE,
        tool="get_packages",
        changed_at="c.updated_at",
        reminds=True,
        where=live + every,
        narrowed=live,
        # packages of no task and for no role rank by priority, then by age: an index has that order, which PostgreSQL
        # uses only if superseded_by is named too, although that is null
        orders=(
            ("c.updated_at DESC, c.id DESC", f"c.priority = {CRITICAL}"),
            *([(f"{rank} DESC, c.id DESC", of_task + each)] if context.loop.task_id is not None else []),
            *([(f"{rank_of_role} DESC, c.id DESC", _ARE_FOR_ROLE)] if role is not None else []),
            (
                "c.superseded_by DESC, c.priority DESC, c.updated_at DESC, c.id DESC",
                f"{ANY_PRIORITY} AND {_IS_FRESH}{each}",
            ),
            ("c.updated_at DESC, c.id DESC", f"{ANY_PRIORITY} AND {_IS_STALE}{each}"),
        ),
        priority=_PACKAGE_PRIORITY,
        may_be_critical=True,
        load=loading(
            f"c.type, {_PACKAGE_PRIORITY}, c.summary, c.content_path, c.task_id, r.run_id, a.name, c.updated_at, "
            f"{_IS_FOR_ROLE}",
            "context_packages c LEFT JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.producer_id",
            _package,
        ),
        tokens=24,
    )


def _package(context: BriefingContext, new: New, row: Row) -> Candidate:
    number, _seq, kind, priority, summary, path, task, run_id, agent, changed, is_for_role = row
    problem = None if path is None else _unreadable(path, context.workplace.files_root)
    return new(
        group="packages (get_packages opens them)",
        head=joined(TYPES[kind - 1], by(agent), other_task(context, task), name_text(path)),
        text=summary if problem is None else f"{summary} (its file {problem})",
        priority=priority,
        changed_at=changed,
        is_of_task=is_task(context, task, run_id),
        is_for_role=bool(is_for_role),
        file=path,
        subject=path or Kind.PACKAGE.ref(number),
    )


def _unreadable(path: str, files_root: str | None) -> str | None:
    from satchel.keep.packages import contents

    return contents.unreadable(path, files_root, contents.MAX_BYTES)


# the condition on the pattern covers the project; one on the solution would need another look-up
_IS_SOLVED, _IS_TENTATIVE, _IS_KNOWN = (
    f"EXISTS (SELECT 1 FROM error_solutions s WHERE s.pattern_id = c.id AND s.confidence >= {least})"
    for least in (WEAK, TENTATIVE, KNOWN)
)
_WAS_MET = """
    c.id IN (SELECT r.pattern_id FROM error_reports r WHERE r.run_id = :run
        AND (r.loop_id = :loop OR r.task_id = :task))
"""
_PATTERN_PRIORITY = f"CASE WHEN {_IS_KNOWN} THEN {HIGH} WHEN {_IS_TENTATIVE} THEN {MEDIUM} ELSE {LOW} END"
_LAST_SEEN = "c.last_seen DESC, c.id DESC"


def error_patterns(context: BriefingContext) -> Source:
    """Return the errors with a solution; a weak one is shown if there is no better one."""
    alive = "c.project_id = :project AND c.expires_at > :now"
    may_be_met = context.loop.task_id is not None or context.loop.loop_id is not None
    return Source(
        name="error patterns",
        section="errors",
        kind=Kind.ERROR_PATTERN,
        tool="report_error",
        changed_at="c.last_seen",
        where=f"{alive} AND {_IS_SOLVED}",
        narrowed=alive,
        orders=(
            *(((_LAST_SEEN, f"{_IS_SOLVED} AND {_WAS_MET}"),) if may_be_met else ()),
            (_LAST_SEEN, _IS_KNOWN),
            (_LAST_SEEN, _IS_TENTATIVE),
            (_LAST_SEEN, _IS_SOLVED),
        ),
        priority=_PATTERN_PRIORITY,
        load=_load_patterns,
        tokens=24,
    )


def _load_patterns(
    context: BriefingContext, source: Source, numbers: Sequence[int], notes: list[str]
) -> Asking[list[Candidate]]:
    solutions = ask_solutions(context.transaction, context.loop.project_id, numbers, WEAK)
    rows = context.transaction.ask(
        f"""
        SELECT c.id, c.seq, c.error_type, c.message, c.example, c.last_seen, {_WAS_MET}, c.occurrences
        FROM error_patterns c WHERE c.id IN {set_of(numbers)}
        """,
        context.values,
    )
    yield rows
    fixes = by_pattern(solutions)

    def pattern(new: New, row: Row) -> Candidate:
        number, _seq, error_type, message, example, last_seen, was_met, times = row
        best = fixes[number][0]
        what = f"{error_type}: {shortened(as_met(message, example), _MAX_ERROR_CHARS)}"
        priority, certainty = (
            (HIGH, "")
            if best.confidence >= KNOWN
            else (MEDIUM, " (tentative)")
            if best.confidence >= TENTATIVE
            else (LOW, " (weak)")
        )
        return new(
            group="fixes",
            head=f"{quoted(what) if ' -> ' in what or what.startswith(chr(34)) else what} -> {best.ref}{certainty}",
            text=best.text,
            priority=priority,
            changed_at=last_seen,
            is_of_task=bool(was_met),
            subject=f"{error_type}: {message}",
            times=times,
        )

    return candidates(source, rows.all(), pattern, notes)


def strategies(_context: BriefingContext) -> Source:
    """Return the strategies that helped at least as often as not, the most helpful first."""
    return Source(
        name="strategies",
        section="errors",
        kind=Kind.STRATEGY,
        where="c.project_id = :project AND c.superseded_by IS NULL AND c.helped - c.not_helped >= 0",
        orders=(("c.helped - c.not_helped DESC, c.last_seen DESC, c.id DESC", ""),),
        priority=str(MEDIUM),
        load=loading(
            "c.topic, c.insight, c.helped, c.last_seen",
            "strategies c",
            _strategy,
        ),
        tokens=16,
    )


def _strategy(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, topic, insight, helped, last_seen = row
    return new(
        group="strategies",
        head=name_text(topic) or "",
        text=insight,
        priority=MEDIUM,
        changed_at=last_seen,
        times=1 + helped,
    )


def messages(context: BriefingContext) -> Source:
    """Return unread messages to the agent and to all."""
    is_known = context.loop.author is not None and context.loop.author != -1
    to_all = "m.project_id = :project AND m.to_agent_id IS NULL"
    # each arm uses another index
    arms = [arm.replace("m.", "c.") for arm in (ARMS if is_known else (to_all,))]
    return Source(
        name="messages",
        section="messages",
        kind=Kind.MESSAGE,
        tool="get_messages",
        where=f"{IS_MINE if is_known else to_all} AND {ALIVE} AND {UNREAD}".replace("m.", "c.")
        if context.loop.author is not None
        else "",
        narrowed=f"{ALIVE} AND {UNREAD}".replace("m.", "c."),
        orders=tuple(("c.priority DESC, c.created_at DESC, c.id DESC", arm) for arm in arms),
        priority="c.priority",
        may_be_critical=True,
        load=loading(
            "c.type, c.priority, c.message, c.payload IS NOT NULL, a.name, c.to_agent_id, c.created_at, q.message, "
            "(SELECT max(r.id) FROM agent_messages r WHERE r.reply_to = c.id)",
            "agent_messages c LEFT JOIN agents a ON a.id = c.from_agent_id "
            "LEFT JOIN agent_messages q ON q.id = c.reply_to",
            _message,
        ),
        tokens=12,
    )


def _message(_context: BriefingContext, new: New, row: Row) -> Candidate:
    _number, _seq, kind, priority, text, has_payload, agent, to, created, question, answer = row
    return new(
        group="messages",
        head=joined(
            None if MESSAGE_TYPES[kind - 1] == "info" else MESSAGE_TYPES[kind - 1],
            by(agent),
            "to all" if to is None else None,
            "with payload" if has_payload else None,
            answer_mark(question),
            None if answer is None else f"answered by {Kind.MESSAGE.ref(answer)}",
        ),
        text=text,
        priority=priority,
        changed_at=created,
        is_for_role=to is not None,
    )


def is_task(context: BriefingContext, task: str | None, run_id: str) -> bool:
    """Return whether a task is the agent's own, also by its run if one was chosen."""
    is_of_run = not context.is_run_chosen or run_id == context.run.run_id
    return task is not None and task == context.loop.task_id and is_of_run


def other_task(context: BriefingContext, task: str | None) -> str | None:
    return None if task is None or task == context.loop.task_id else f"task {name_text(task)}"

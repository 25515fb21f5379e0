"""Entries: write, read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.client import Satchel
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Object, Operation, Parameter, items_of
from satchel.keep.entries.records import ENTRY_TYPES, NewEntry

if TYPE_CHECKING:
    from satchel.keep.entries.records import Entry

_NOTE = (
    Parameter(
        "type",
        choices=ENTRY_TYPES,
        # report_error finds fixes, set_decision binds, and the prompt `analyse` tells how to write an analysis
        rare=("error", "decision", "codebase_analysis"),
        required=True,
        option="TYPE",
        metavar="TYPE",
        left_out="discovery",
    ),
    Parameter(
        "content",
        str | Object,
        about="Text; for these types an object, of which a bug or issue needs the description, a verdict passed:\n"
        'scratchpad {"done": false, "attempted": ["longer timeout"], "next_step": "mock the clock", "blockers": [], '
        '"test_status": "2 failed", "iteration": 2}\n'
        'bug {"description": "hangs on 0", "severity": "low"}: or medium, high, critical\n'
        'review_issue {"description": "no test", "suggestion": "add one", "severity": "low", "issue_type": '
        '"dead-code"}: or over-engineering, missing-error-handling, pattern-violation, spec-intent-mismatch, '
        "architecture-concern\n"
        'review_verdict {"passed": true, "summary": "98 pass", "intent_satisfied": true, "change": "f12 to f17"}',
        required=True,
        option="CONTENT",
        reads="stdin",
    ),
    parameters.NEW_TASK,
    parameters.NEW_LOOP.but(unlisted=True),
    Parameter("file", about="The file it is about: a.py, or a.py:12-20", facts="cited"),
    Parameter("line", int, help="The line in that file.", unlisted=True),
    parameters.SUPERSEDES,
)


def _write(
    satchel: Satchel,
    *,
    entries: list[dict[str, Any]] | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    **note: object,
) -> tuple[Entry, ...]:
    new = [NewEntry(**one) for one in items_of("write_context", _NOTE, note, "entries", entries)]
    return satchel.entries.write_many(new, run_id=run_id, agent=agent)


OPERATIONS = (
    Operation(
        tool="write_context",
        toolset="context",
        title="Save a note",
        about="Save a note for other agents and later sessions; returns its id. discovery: what others need "
        "to know; scratchpad: your progress; bug: a defect outside your task; review_issue: a flaw in another's "
        "change; review_verdict: your judgement of it. Whoever claims, holds or changed the file is told.",
        found_by="remember memory notes save store learn progress scratchpad share",
        always_shown=True,
        command=("write",),
        help="Store a note. CONTENT is text, for structured types JSON; without it, or as -, it is read from standard "
        "input.\n\nTYPE is discovery, bug, error, decision, review_issue, review_verdict, scratchpad or "
        "codebase_analysis; left out, it is discovery.",
        examples=(
            'write "Sessions live in src/auth.py" --file src/auth.py',
            'write scratchpad \'{"done": false, "next_step": "run the tests"}\' --task T1 --agent planner',
        ),
        parameters=(
            *_NOTE,
            Parameter(
                "entries", list[Object], about="Several at once, each with type and content", option=None, unlisted=True
            ),
            parameters.RUN,
            parameters.AGENT,
        ),
        run=_write,
        writes=True,
        items="entries",
        text=text.entries.written_text,
        shown=text.entries.written_text,
        shows_notes=True,
        fields=text.entries.written_fields,
    ),
    Operation(
        tool="read_context",
        toolset="lists",
        title="Read notes",
        about="Notes, newest first or by search.",
        found_by="memory notes remember recall history what did the others do context from other agents",
        command=("read",),
        help="Read notes, newest first, or those that match WORDS best. Any text is a valid search.",
        examples=("read where do sessions live --type discovery",),
        parameters=(
            parameters.QUERY,
            parameters.QUERY.but(name="search", option=None, passed_as="query", unlisted=True),
            parameters.TYPES.but(choices=ENTRY_TYPES),
            parameters.AUTHOR,
            parameters.TASK,
            parameters.LOOP,
            parameters.FILE,
            parameters.STATUS,
            parameters.RUN_READ,
            *parameters.CHANGES,
            Parameter("tokens", bool, help="Say how many tokens the answer costs an agent.", for_people=True),
        ),
        run=services.entries.read,
        cites=True,
        items="entries",
        text=text.entries.entries_text,
        shown=text.entries.show_entries,
    ),
)

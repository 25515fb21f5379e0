"""Entries: write, read, prune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.vocabulary import LIVENESS
from satchel.client import Satchel
from satchel.interfaces.operations.declaration import Object, Operation, Parameter
from satchel.interfaces.operations.parameters import (
    AGENT,
    AUTHOR,
    CHANGES,
    FILE,
    LOOP,
    QUERY,
    RUN,
    RUN_READ,
    TASK,
    TYPES,
)
from satchel.keep.entries import ENTRY_TYPES, NewEntry
from satchel.keep.entries.service import DEFAULT_KEEP

if TYPE_CHECKING:
    from satchel.keep.entries import Entry

_NOTE = (
    Parameter("type", choices=ENTRY_TYPES, required=True, option="TYPE", metavar="TYPE"),
    Parameter(
        "content",
        str | Object,
        about="Text; of a review_issue {description, issue_type, suggestion}, review_verdict {passed, "
        "summary, intent_satisfied}, scratchpad {iteration, done, next_step, ...}, codebase_analysis {summary, ...}",
        required=True,
        option="CONTENT",
        reads="stdin",
    ),
    Parameter("task_id", help="The task it belongs to."),
    Parameter("loop_id", help="The loop it belongs to."),
    Parameter("file", about="Also with its line, as a.py:12", help="The file it is about, also as FILE:LINE."),
    Parameter("line", int, help="The line in that file."),
)


def _write(
    satchel: Satchel,
    *,
    entries: list[dict[str, Any]] | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    **note: object,
) -> tuple[Entry, ...]:
    """Keep one note, or several in one transaction."""
    from satchel.interfaces.operations.batches import items_of

    new = [NewEntry(**one) for one in items_of("write_context", _NOTE, note, "entries", entries)]
    return satchel.entries.write_many(new, run_id=run_id, agent=agent)


OPERATIONS = (
    Operation(
        tool="write_context",
        toolset="context",
        about="Keep a note (type, content, ...) or several (entries) for other agents.",
        command=("write",),
        help="Keep a note. CONTENT is text, for structured types JSON; without it, or as -, it is read from standard "
        "input.\n\nTYPE is discovery, error, decision, review_issue, review_verdict, scratchpad or codebase_analysis.",
        examples=('write discovery "Sessions live in src/auth.py" --file src/auth.py --agent planner',),
        parameters=(*_NOTE, Parameter("entries", list[Object], option=None), RUN, AGENT),
        run=_write,
        writes=True,
        items="entries",
        text="compact:kept_text",
        shown="cli.common:show_kept",
        fields="compact:kept_fields",
    ),
    Operation(
        tool="read_context",
        toolset="context",
        about="Notes, newest first or by search.",
        command=("read",),
        help="Read notes, newest first, or those that match WORDS best. Any text is a valid search.",
        examples=("read where do sessions live --type discovery",),
        parameters=(
            QUERY,
            TYPES,
            AUTHOR,
            TASK,
            LOOP,
            FILE,
            Parameter("status", choices=LIVENESS, default="live"),
            RUN_READ,
            *CHANGES,
            Parameter("tokens", bool, help="Say how many tokens the answer costs an agent.", for_people=True),
        ),
        run="entries.read",
        items="entries",
        text="compact:page_text",
        shown="cli.lines:show_entries",
    ),
    Operation(
        command=("prune",),
        help="Remove the oldest notes of a run. The live analysis and the current review stay.",
        examples=("prune --keep 200 --preview",),
        parameters=(
            Parameter("keep", int, help="The newest to keep per type and loop.", default=DEFAULT_KEEP),
            RUN,
        ),
        run="entries.prune",
        writes=True,
        destructive=True,
        shown="cli.confirmations:pruned",
        asks="cli.confirmations:prune_question",
    ),
)

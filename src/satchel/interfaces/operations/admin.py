"""Status, costs, configuration, and the removal of old or unwanted items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from satchel.base.config_keys import Config
    from satchel.client import Satchel
    from satchel.keep.housekeeping.clearing import Cleared
    from satchel.keep.housekeeping.usage import Activity, NamesInUse


def _clear(
    satchel: Satchel,
    *,
    messages_hours: int | None = None,
    file_changes_hours: int | None = None,
    conversations_days: int | None = None,
    confirm: bool = False,
    dry_run: bool | None = None,
    progress: Callable[..., None] | None = None,
) -> Cleared:
    return satchel.housekeeping.clear(
        messages_hours,
        file_changes_hours,
        dry_run=not confirm if dry_run is None else dry_run,
        conversations_days=conversations_days,
        progress=progress,
    )


def _by(satchel: Satchel, *, by: str) -> NamesInUse | Activity:
    return satchel.housekeeping.names_in_use() if by == "tag" else satchel.housekeeping.activity()


def _config(satchel: Satchel) -> Config:
    return satchel.config


_SUMMARY = Operation(
    tool="get_layer_summary",
    toolset="admin",
    about="Per layer of the architecture: active decisions and rules, file changes of the last hour.",
    found_by="layers overview summary architecture",
    run=services.housekeeping.layer_summary,
    text=text.housekeeping.summary_text,
    fields=text.housekeeping.summary_fields,
    timed=True,
)

_MEMORY = Operation(run=services.housekeeping.memory_use, text=text.housekeeping.memory_text, names_files=False)

_COUNT_BY = Parameter(
    "by",
    help="Count what each agent did in the last 7 days, or the uses of tags, scopes, layers and categories.",
    choices=("agent", "tag"),
    unlisted=True,
)

_USAGE = Operation(
    parameters=(_COUNT_BY.but(required=True),), run=_by, text=text.housekeeping.usage_text, names_files=False
)

_PRUNE = Operation(
    run=services.entries.prune,
    parameters=(
        Parameter(
            "keep", int, help="How many to keep per type and loop; `context.max_per_loop` if it is set, else 500."
        ),
        parameters.RUN,
    ),
    writes=True,
    destructive=True,
    shown=text.entries.pruned_text,
    asks=text.entries.prune_question,
)

_COMPACT = Operation(
    run=services.housekeeping.compact,
    writes=True,
    streams=text.housekeeping.compact,
    shown=text.housekeeping.compacted_text,
    names_files=False,
    only_here="The file of the store is rewritten: run it on the machine that has the store",
)

OPERATIONS = (
    _SUMMARY,
    Operation(
        tool="get_stats",
        toolset="admin",
        about="How much is kept.",
        found_by="statistics size counts store",
        command=("stats",),
        help="Count what the project keeps, and what that costs on disk.",
        examples=("stats", "stats --by agent", "stats --by tag", "stats --layers", "stats --memory"),
        parameters=(
            _COUNT_BY,
            Parameter(
                "layers", bool, help="Count, layer by layer, what holds and what was just changed.", for_people=True
            ),
            Parameter(
                "memory",
                bool,
                help="Count what became of what was briefed, and show what nobody has confirmed.",
                for_people=True,
            ),
        ),
        run=services.housekeeping.statistics,
        text=text.housekeeping.statistics_text,
        shown=text.housekeeping.people_statistics_text,
        names_files=False,
        instead={"by": _USAGE, "layers": _SUMMARY, "memory": _MEMORY},
    ),
    Operation(
        tool="clear_old_data",
        toolset="admin",
        about="Delete old messages, file changes, conversations, expired claims and errors; only says what would go "
        "unless confirm is true.",
        found_by="delete old clean up remove expired",
        idempotent=True,
        command=("clear",),
        help="""Delete old messages, file changes and conversations, and expired claims and errors.

--notes deletes the oldest notes of a run instead; its current analysis and review stay. --compact deletes nothing: it
merges the search index and gives unused space back to the disk.""",
        examples=("clear --messages-hours 48 --dry-run", "clear --notes --keep 200 --dry-run", "clear --compact"),
        parameters=(
            Parameter("messages_hours", int, about="Messages this old, even unread; default what has expired"),
            Parameter("file_changes_hours", int, about="File changes this old"),
            Parameter("conversations_days", int, about="Conversations unused so long"),
            Parameter("confirm", bool, about="True deletes", option=None),
            Parameter("notes", bool, help="Delete the oldest notes of a run instead.", for_people=True),
            Parameter("compact", bool, help="Give unused space back to the disk instead.", for_people=True),
        ),
        run=_clear,
        writes=True,
        destructive=True,
        reports=True,
        text=text.housekeeping.cleared_text,
        shown=text.housekeeping.people_cleared_text,
        asks=text.housekeeping.clear_question,
        instead={"notes": _PRUNE, "compact": _COMPACT},
    ),
    Operation(
        tool="get_config",
        toolset="admin",
        about="Every setting: value, source, meaning.",
        found_by="settings configuration options",
        run=_config,
        of_program=True,
        text=text.housekeeping.config_text,
        fields=text.housekeeping.config_fields,
        names_files=False,
    ),
    Operation(
        command=("forget",),
        help="""Permanently delete one item, such as a leaked secret: its rows, search text, and the bytes they took.

Anything with an id such as e812: of any kind that can be found, a decision with its whole history, an error with its
solutions, or one solution such as y7; with each, the record of who was given it. The whole file is rewritten, which
takes seconds on a large store. Backups are not changed: those that still hold the item are listed, for you to
delete.""",
        examples=("forget e812",),
        parameters=(Parameter("id", required=True, option="ID", passed_as="ref"),),
        run=services.housekeeping.forget,
        writes=True,
        destructive=True,
        fields=text.housekeeping.forgotten_fields,
        shown=text.housekeeping.forgotten_text,
        asks=text.housekeeping.forget_question,
        only_here="The whole file of the store is rewritten, in which other projects may lie, and the backups beside "
        "it are looked through: run it where the store is. Over a server, `satchel retract` says that it is wrong",
    ),
)

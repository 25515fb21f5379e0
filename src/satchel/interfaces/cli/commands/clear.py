"""``satchel clear``."""

from __future__ import annotations

from functools import partial

import click

from satchel.interfaces.cli.common import json_option, opened, progress, show_json, store_options
from satchel.interfaces.cli.tables import counted
from satchel.keep.housekeeping import Cleared


@click.command()
@click.option("--messages-hours", type=int, metavar="N", help="Messages of this age. Default: what has expired.")
@click.option(
    "--file-changes-hours", type=int, metavar="N", help="File changes of this age. Default: what has expired."
)
@click.option(
    "--conversations-days", type=int, metavar="N", help="Conversations without a turn for so long. Default: expired."
)
@click.option("--yes", is_flag=True, help="Remove without asking; --json alone only previews.")
@click.option("--preview", is_flag=True, help="Only say what would be removed.")
@store_options
@json_option
def command(
    messages_hours: int | None,
    file_changes_hours: int | None,
    conversations_days: int | None,
    yes: bool,
    preview: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Remove old messages, file changes and conversations, and claims and error patterns that ran out.

    \b
    Example:
      satchel clear --messages-hours 48 --preview
    """
    with opened(db, project) as satchel:
        clear = partial(
            satchel.housekeeping.clear, messages_hours, file_changes_hours, conversations_days=conversations_days
        )
        cleared = clear()
        something = any(
            (cleared.messages, cleared.file_changes, cleared.conversations, cleared.claims, cleared.error_patterns)
        )
        if not preview and something and (yes or (not as_json and _agreed(cleared))):
            with progress("clearing", quiet=as_json) as told:
                cleared = clear(preview=False, progress=told)
    if as_json:
        show_json(cleared)
    else:
        click.echo(_outcome(cleared, something=something, preview=preview))


def _agreed(cleared: Cleared) -> bool:
    return click.confirm(f"Remove {_counted(cleared)}?", err=True)


def _outcome(cleared: Cleared, *, something: bool, preview: bool) -> str:
    if not something:
        return "nothing is old enough to be removed"
    if not cleared.done:
        return f"would remove {_counted(cleared)}" if preview else "nothing was removed"
    return f"removed {_counted(cleared)}"


def _counted(cleared: Cleared) -> str:
    messages, changes = counted(cleared.messages, "message"), counted(cleared.file_changes, "file change")
    over = f"{counted(cleared.claims, 'claim')} and {counted(cleared.error_patterns, 'error pattern')} that ran out"
    return f"{messages}, {changes}, {counted(cleared.conversations, 'conversation')}, {over}"

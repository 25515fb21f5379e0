"""``satchel prune``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import json_option, opened, run_option, show_json, store_options
from satchel.keep.entries.service import DEFAULT_KEEP


@click.command()
@click.option("--keep", type=int, default=DEFAULT_KEEP, show_default=True, help="The newest to keep per type and loop.")
@click.option("--yes", is_flag=True, help="Remove without asking; --json alone only previews.")
@click.option("--preview", is_flag=True, help="Only say what would be removed.")
@run_option
@store_options
@json_option
def command(
    keep: int,
    yes: bool,
    preview: bool,
    run_id: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Remove the oldest notes of a run. The live analysis and the current review stay.

    \b
    Example:
      satchel prune --keep 200 --preview
    """
    with opened(db, project, run_id=run_id) as satchel:
        result = satchel.entries.prune(keep=keep, preview=True)
        if not preview and result.total and (yes or (not as_json and _agreed(result.total, result.run_id))):
            result = satchel.entries.prune(keep=keep, run_id=result.run_id)
    if as_json:
        show_json(result)
        return
    counts = ", ".join(f"{count} {name}" for name, count in result.removed) or "nothing"
    click.echo(f"{'removed' if result.done else 'would remove'} {counts} from run {result.run_id}")


def _agreed(total: int, run_id: str) -> bool:
    return click.confirm(f"Remove {total} entries from run {run_id}?", err=True)

"""``satchel stats``."""

from __future__ import annotations

import click

from satchel.faces.cli.common import json_option, opened, show_json, size_text, store_options


@click.command()
@store_options
@json_option
def command(db: str | None, project: str | None, as_json: bool) -> None:
    """Count what the project keeps, and what that costs on disk.

    \b
    Example:
      satchel stats
    """
    with opened(db, project, read_only=True) as satchel:
        statistics = satchel.housekeeping.statistics()
    if as_json:
        show_json(statistics)
        return
    if statistics.project is None:
        click.echo(f"nothing was written yet; the store will be {statistics.file}")
        return
    click.echo(f"project {statistics.project}, seq {statistics.seq}")
    click.echo(f"{statistics.runs} runs ({statistics.active_runs} active), {statistics.agents} agents")
    widest = max((count for _, count in statistics.entries), default=1)
    for name, count in statistics.entries:
        click.echo(f"  {name:<18}{count:>9,}  {click.style('━' * max(1, round(24 * count / widest)), fg='cyan')}")
    click.echo(f"{statistics.total_entries:,} entries, {statistics.superseded:,} of them superseded")
    each = f", {statistics.bytes_per_entry:,} bytes per entry" if statistics.bytes_per_entry else ""
    click.echo(f"{statistics.file}: {size_text(statistics.size_bytes)}{each}")
    if statistics.other_projects:
        click.echo(f"{statistics.other_projects} other projects share this store")

"""``satchel stats``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import json_option, opened, show_json, size_text, store_options
from satchel.interfaces.cli.tables import counted
from satchel.keep.housekeeping import LayerSummary


@click.command()
@click.option("--layers", is_flag=True, help="Count, layer by layer, what holds and what was just changed.")
@store_options
@json_option
def command(layers: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Count what the project keeps, and what that costs on disk.

    \b
    Examples:
      satchel stats
      satchel stats --layers
    """
    with opened(db, project, read_only=True) as satchel:
        if layers:
            _show_layers(satchel.housekeeping.layer_summary(), as_json=as_json)
            return
        statistics = satchel.housekeeping.statistics()
    if as_json:
        show_json(statistics)
        return
    if statistics.project is None:
        click.echo(f"nothing was written yet; the store will be {statistics.file}")
        return
    click.echo(f"project {statistics.project}, seq {statistics.seq}")
    runs, agents = counted(statistics.runs, "run"), counted(statistics.agents, "agent")
    click.echo(f"{runs} ({statistics.active_runs} active), {agents}")
    widest = max((count for _, count in statistics.entries), default=1)
    for name, count in statistics.entries:
        click.echo(f"  {name:<18}{count:>9,}  {click.style('━' * max(1, round(24 * count / widest)), fg='cyan')}")
    click.echo(f"{statistics.total_entries:,} entries, {statistics.superseded:,} of them superseded")
    for noun, counts in (
        ("decision", statistics.decisions),
        ("constraint", statistics.constraints),
        ("package", statistics.packages),
    ):
        click.echo(f"{counted(sum(count for _, count in counts), noun)} ({_listed(counts)})")
    ledger = (
        counted(statistics.messages, "message"),
        counted(statistics.file_changes, "file change"),
        counted(statistics.claims, "claim"),
    )
    click.echo(", ".join(ledger))
    learned = (
        f"{counted(statistics.error_patterns, 'error pattern')} with {counted(statistics.solutions, 'solution')}",
        counted(statistics.strategies, "strategy", "strategies"),
        counted(statistics.deliveries, "delivery", "deliveries"),
    )
    click.echo(", ".join(learned))
    texts = f"{size_text(statistics.turn_bytes)}, contents {size_text(statistics.content_bytes)}"
    click.echo(
        f"{counted(statistics.conversations, 'conversation')} of {counted(statistics.turns, 'turn')} ({texts}), "
        f"{statistics.sent_tokens:,} tokens sent, {statistics.saved_tokens:,} saved, "
        f"{counted(statistics.vector_stores, 'vector store')} recorded"
    )
    click.echo(f"{counted(statistics.tags, 'tag')}, {counted(statistics.scopes, 'scope')}")
    each = f", {statistics.bytes_per_item:,} bytes per item" if statistics.bytes_per_item else ""
    click.echo(f"{statistics.file}: {size_text(statistics.size_bytes)}{each}")
    if statistics.other_projects:
        click.echo(f"{statistics.other_projects} other projects share this store")


def _show_layers(summary: LayerSummary, *, as_json: bool) -> None:
    from satchel.interfaces.admin_text import summary_fields
    from satchel.interfaces.cli.tables import local_time, show_table

    if as_json:
        show_json(summary_fields(summary))
        return
    show_table(
        ("layer", "active decisions", "active constraints", "file changes"),
        [
            (row.layer or "(none)", row.active_decisions, row.active_constraints, row.recent_file_changes)
            for row in summary.rows
        ],
    )
    click.echo(f"file changes are those since {local_time(summary.changes_since)}", err=True)


def _listed(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts)

"""What people are told of a store: its counts, and what was removed or is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from satchel.interfaces.cli.common import progress, size_text
from satchel.interfaces.text.parts import content_lines, counted
from satchel.interfaces.text.tables import local_time, show_table
from satchel.keep.housekeeping import Cleared, Forgotten, LayerSummary, Statistics

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.store.upkeep import Shrunk

_MAX_SHOWN = 400


def statistics_lines(statistics: Statistics) -> str:
    """Say what a project holds and what that costs on disk."""
    if statistics.project is None:
        place = "" if statistics.location is None else f"; the store will be {statistics.location}"
        return f"nothing was written yet{place}"
    widest = max((count for _, count in statistics.entries), default=1)
    bars = [
        f"  {name:<18}{count:>9,}  {click.style('━' * max(1, round(24 * count / widest)), fg='cyan')}"
        for name, count in statistics.entries
    ]
    of_states = (
        ("decision", statistics.decisions),
        ("constraint", statistics.constraints),
        ("package", statistics.packages),
    )
    said = {"entry", *(noun for noun, _ in of_states)}
    others = [counted(count, name.replace("_", " ")) for name, count in statistics.kinds if name not in said]
    texts = f"{size_text(statistics.turn_bytes)}, contents {size_text(statistics.content_bytes)}"
    each = f", {statistics.bytes_per_item:,} bytes per item" if statistics.bytes_per_item else ""
    neighbours = f"{statistics.other_projects} other projects share this store"
    size = "" if statistics.size_bytes is None else size_text(statistics.size_bytes)
    return "\n".join(
        [
            f"project {statistics.project}",
            f"{counted(statistics.runs, 'run')} ({statistics.active_runs} active), "
            f"{counted(statistics.agents, 'agent')}, {counted(statistics.persons, 'person')}",
            *bars,
            f"{statistics.total_entries:,} entries, {statistics.superseded:,} of them superseded",
            *(f"{counted(sum(count for _, count in counts), noun)} ({_listed(counts)})" for noun, counts in of_states),
            ", ".join(others),
            f"{counted(statistics.claims, 'claim')}, {counted(statistics.solutions, 'solution')}, "
            f"{counted(statistics.deliveries, 'delivery')}",
            f"{counted(statistics.conversations, 'conversation')} of {counted(statistics.turns, 'turn')} ({texts}), "
            f"{statistics.sent_tokens:,} tokens sent, {statistics.saved_tokens:,} saved, "
            f"{counted(statistics.vector_stores, 'vector store')} recorded",
            *(
                [f"{counted(statistics.tags, 'own tag')}, {counted(statistics.scopes, 'scope')}"]
                if statistics.tags or statistics.scopes
                else []
            ),
            *([] if statistics.location is None else [f"{statistics.location}: {size}{each}"]),
            *([neighbours] if statistics.other_projects else []),
        ]
    )


def show_layers(summary: LayerSummary) -> None:
    """Print what each layer holds as a table."""
    show_table(
        ("layer", "active decisions", "active constraints", "file changes"),
        [
            (row.layer or "(none)", row.active_decisions, row.active_constraints, row.recent_file_changes)
            for row in summary.rows
        ],
    )
    click.echo(f"file changes are those since {local_time(summary.changes_since)}", err=True)


def may_clear(would: Cleared) -> str | None:
    """Return the question whether to clear, or None where nothing is old."""
    return f"Remove {_cleared_counts(would)}?" if _is_something(would) else None


def cleared(cleared: Cleared) -> str:
    """Say what was removed, or would be."""
    if not _is_something(cleared):
        return "nothing is old enough to be removed"
    counts = _cleared_counts(cleared)
    return f"removed {counts}" if cleared.done else f"nothing was removed; it would be {counts}"


def compact(satchel: Satchel, *, quiet: bool) -> Shrunk:
    """Compact the store, with a progress bar."""
    with progress("compacting", quiet=quiet):
        return satchel.housekeeping.compact()


def compacted(done: Shrunk) -> str:
    """Say how large the store was and is."""
    if not done.wal_emptied:
        click.echo("another process is still reading deleted data; compact again when it has finished", err=True)
    if done.out_of_reach is not None:
        click.echo(done.out_of_reach, err=True)
    return f"{size_text(done.before)} before, {size_text(done.after)} after"


def may_forget(would: Forgotten) -> str:
    """Return the question whether to forget an item, with the item."""
    return f"{_item(would)}\nRemove it for good?"


def forgotten(item: Forgotten) -> str:
    """Say whether an item was removed, and where it still is; what was removed may be a secret, and is not shown."""
    left = [str(file) for file in item.still_in]
    if item.done:
        lines = [f"{item.ref} {item.kind} removed"]
        lines += [f"It is still in {counted(len(left), 'backup')}; delete them too:", *left] if left else []
    else:
        lines = [_item(item), "Nothing was removed; this would be removed for good."]
        lines += [f"It would remain in {counted(len(left), 'backup')}:", *left] if left else []
    lines += [f"could not look into {file}" for file in item.unreadable]
    if item.done and not item.wal_emptied:
        click.echo(
            "its bytes may still lie in the store: run `satchel clear --compact` when no other process reads it",
            err=True,
        )
    if item.out_of_reach is not None:
        click.echo(item.out_of_reach, err=True)
    return "\n".join(lines)


def _item(item: Forgotten) -> str:
    return "\n".join([f"{item.ref} {item.kind}:", *content_lines(item.text[:_MAX_SHOWN])])


def _is_something(cleared: Cleared) -> bool:
    counts = (cleared.messages, cleared.file_changes, cleared.conversations, cleared.claims, cleared.error_patterns)
    return any(counts)


def _cleared_counts(cleared: Cleared) -> str:
    messages, changes = counted(cleared.messages, "message"), counted(cleared.file_changes, "file change")
    over = f"{counted(cleared.claims, 'claim')} and {counted(cleared.error_patterns, 'error pattern')} that ran out"
    return f"{messages}, {changes}, {counted(cleared.conversations, 'conversation')}, {over}"


def _listed(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts)

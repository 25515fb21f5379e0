"""``satchel import``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.interfaces.cli.common import json_option, progress, show_json, store_options
from satchel.interfaces.cli.opening import opened

if TYPE_CHECKING:
    from satchel.keep.importing import Imported, KindImported

_MAX_SHOWN = 20
_WORDS = {"file_changes": "file changes", "error_patterns": "error patterns"}


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--from", "tool", type=click.Choice(["sqlew", "bazinga"]), help="The tool that PATH is a store of.")
@click.option("--source-project", metavar="NAME", help="The project to take, where PATH holds several.")
@click.option("--dry-run", is_flag=True, help="Only say what would be taken.")
@store_options
@json_option
def command(
    path: Path,
    tool: str | None,
    source_project: str | None,
    dry_run: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Take over what `satchel export` wrote, or the store of another tool, at PATH.

    An export is known by its first line, and may come from any project. Where an item was changed on both sides since,
    the later state holds, and the other is kept.

    Of sqlew: decisions with history, constraints, messages, file changes. Of bazinga, whose PATH may be a folder that
    holds bazinga/bazinga.db: sessions as runs, packages and who was given them, error patterns with what solved them,
    strategies.

    PATH is only read. Doing it again adds what is missing here; what was changed here meanwhile is left alone and
    listed, as is all that could not be read.

    \b
    Examples:
      satchel import project.jsonl
      satchel import --from sqlew .sqlew/sqlew.db --dry-run
      satchel import --from bazinga .
    """
    with opened(db, project, read_only=dry_run) as satchel, progress("importing", quiet=as_json) as told:
        if tool is None:
            result = satchel.moving.import_file(path.absolute(), dry_run=dry_run, progress=told)
        else:
            take = satchel.importing.sqlew if tool == "sqlew" else satchel.importing.bazinga
            result = take(path.absolute(), source_project=source_project, dry_run=dry_run, progress=told)
    if as_json:
        show_json(result)
    else:
        _show(result)


def _show(result: Imported) -> None:
    whose = f", project {result.source_project}" if result.source_project is not None else ""
    click.echo(f"{'imported from' if result.done else 'would import from'} {result.source} ({result.format}{whose})")
    for kind in result.kinds:
        if kind.rows:
            click.echo(f"  {_WORDS.get(kind.kind, kind.kind)}: {_counts(kind)}")
    for note in result.notes:
        click.echo(f"note: {note}")
    for conflict in result.conflicts[:_MAX_SHOWN]:
        click.echo(f"left alone: {conflict.ref} {conflict.item}: {conflict.reason}")
    _more(len(result.conflicts))
    for trouble in result.troubles[:_MAX_SHOWN]:
        word = "left out" if trouble.left_out else "changed"
        click.echo(f"{word}: {trouble.table} {trouble.row}: {trouble.reason}")
    _more(len(result.troubles))
    if result.not_taken:
        listed = ", ".join(f"{name} ({rows})" for name, rows in result.not_taken)
        click.echo(f"not taken, because nothing here corresponds to it: {listed}")


def _counts(kind: KindImported) -> str:
    counted = (
        ("new", kind.added),
        ("updated", kind.updated),
        ("here already", kind.present),
        ("left alone", kind.conflicts),
        ("not readable", kind.left_out),
    )
    return f"{kind.rows}: " + ", ".join(f"{count} {word}" for word, count in counted if count)


def _more(total: int) -> None:
    if total > _MAX_SHOWN:
        click.echo(f"... and {total - _MAX_SHOWN} more; --json lists all")

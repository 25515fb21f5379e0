"""``satchel forget``."""

from __future__ import annotations

from dataclasses import replace

import click

from satchel.interfaces.cli.common import json_option, opened, progress, show_json, store_options
from satchel.interfaces.text_parts import content_lines


@click.command()
@click.argument("ref", metavar="ID")
@click.option("--yes", is_flag=True, help="Remove without asking; --json alone only previews.")
@click.option("--preview", is_flag=True, help="Only say what would be removed.")
@store_options
@json_option
def command(ref: str, yes: bool, preview: bool, db: str | None, project: str | None, as_json: bool) -> None:
    """Remove one item for good, as for a leaked secret: its rows, its search text, and the bytes they took.

    Anything with an id such as e812: a note, a decision with its whole history, a constraint, a message, a file
    change, a package, a strategy, an error with its solutions, or one solution such as y7; with each, the record of who
    was given it. The whole file is rewritten, which takes seconds on a large store. Backups are not changed: those that
    still hold the item are listed, for you to delete.

    \b
    Example:
      satchel forget e812
    """
    with opened(db, project) as satchel:
        found = satchel.housekeeping.forget(ref, preview=True)
        # who has decided needs no look at it: it may be a secret, and the output of a command is often kept
        is_asked = preview or not yes
        if not as_json:
            click.echo(f"{found.ref} {found.kind}{':' if is_asked else ''}")
        if not as_json and is_asked:
            click.echo("\n".join(content_lines(found.text[:400])))
        if not preview and (yes or (not as_json and click.confirm("Remove it for good?", err=True))):
            with progress("forgetting", quiet=as_json):
                found = satchel.housekeeping.forget(ref)
    if as_json:
        show_json(replace(found, text="") if found.done else found)
        return
    click.echo("removed" if found.done else "not removed")
    for file in found.still_in:
        click.echo(f"still in {file}")
    for file in found.unreadable:
        click.echo(f"could not look into {file}")
    if found.done and not found.wal_emptied:
        click.echo(
            "its bytes may still lie in the file or its WAL: run `satchel compact` when no other process uses them",
            err=True,
        )

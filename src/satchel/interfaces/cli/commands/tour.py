"""``satchel tour``."""

from __future__ import annotations

from pathlib import Path

import click

from satchel.base.errors import InvalidInput
from satchel.base.paths import is_database
from satchel.interfaces.cli.common import json_option, show_json


@click.command()
@click.argument("repository", required=False, type=click.Path(path_type=Path))
@click.option("--commits", type=int, default=60, show_default=True, help="How many commits to read, 5 to 1000.")
@click.option("--keep", metavar="FILE", type=click.Path(path_type=Path), help="Keep the tour's store in this new file.")
@click.option("--db", metavar="URL", help="Take it on a server, over a new schema of this PostgreSQL database.")
@json_option
def command(repository: Path | None, commits: int, keep: Path | None, db: str | None, as_json: bool) -> None:
    """Watch two agents share what they know: real servers, a real history, under a minute.

    Takes the git repository you stand in, or REPOSITORY; where there is next to no history, a bundled sample. Two
    servers start over stdio as two agents of one run. They write what the history says, then one finds what the other
    wrote; they decide and keep off each other's file; one fails, and the other is warned before it fails the same way.
    Your own store is not touched.

    --db takes the same tour on a team's server: `satchel serve` starts at a free port, over a schema of its own in the
    database, which is removed at the end.

    \b
    Examples:
      satchel tour ~/src/some-project
      satchel tour --db postgresql://me@localhost/scratch
    """
    from satchel.interfaces.cli.tour.guide import guide

    if db is not None and not is_database(db):
        raise InvalidInput("--db names no PostgreSQL database", "Leave it out, or give postgresql://USER@HOST/DATABASE")
    result = guide(repository, Path.cwd(), commits, keep, (lambda _: None) if as_json else click.echo, db)
    if as_json:
        show_json(result)

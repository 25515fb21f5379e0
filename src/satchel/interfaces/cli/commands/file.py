"""``satchel file``: record, list, check, claim, claims, release."""

from __future__ import annotations

import click

from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.cli.common import (
    agent_option,
    change_options,
    json_option,
    opened,
    page_options,
    show_json,
    store_options,
    tell,
    warn_notes,
)
from satchel.keep.files.records import CHANGES, FileChangePage


@click.group()
def command() -> None:
    """Record edits, and claim files so that no two agents edit the same one.

    \b
    Example:
      satchel file claim src/auth/ --agent builder --why "new token refresh"
    """


@command.command()
@click.argument("file")
@click.argument("change", type=click.Choice(CHANGES))
@click.option("--description", metavar="TEXT", help="What was done.")
@click.option("--layer", metavar="NAME", help="Such as business or data.")
@agent_option
@store_options
@json_option
def record(
    file: str,
    change: str,
    description: str | None,
    layer: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Record that a file was created, modified or deleted.

    \b
    Example:
      satchel file record src/auth.py modified --description "refresh tokens" --agent builder
    """
    from satchel.interfaces.ledger.files_text import recorded_text
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent) as satchel:
        made = satchel.files.record(file, change, description=description, layer=layer)
        if as_json:
            show_json(fields_of(made))
        else:
            click.echo(recorded_text(made))
        tell(satchel, [made.file])


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--file", metavar="PATH", help="Only this file, or with / at its end all in this folder.")
@click.option("--change", type=click.Choice(CHANGES), help="Only this kind of change.")
@click.option("--by", "author", metavar="AGENT", help="Only what this agent did.")
@click.option("--layer", metavar="NAME", help="Only this layer.")
@change_options
@store_options
@json_option
def list_changes(
    words: tuple[str, ...],
    file: str | None,
    change: str | None,
    author: str | None,
    layer: str | None,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List recorded edits, the newest first, or what matches WORDS best.

    \b
    Example:
      satchel file list --file src/auth/ --since 2h
    """
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, read_only=True) as satchel:
        page = satchel.files.changes(
            file=file,
            change=change,
            author=author,
            layer=layer,
            since=since,
            after_seq=after_seq,
            query=" ".join(words) if words else None,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(fields_of(page, "changes"))
        else:
            _show_changes(page)
        tell(satchel, [one.file for one in page])


def _show_changes(page: FileChangePage) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.changes:
        show_table(
            ("id", "file", "change", "by", "when", "layer", "worktree", "what"),
            [
                (
                    one.ref,
                    one.file,
                    one.change,
                    one.agent,
                    local_time(one.created_at),
                    one.layer,
                    one.worktree,
                    one.description,
                )
                for one in page
            ],
        )
    click.echo(rest_text(len(page), page.total, "file changes", page.next_offset), err=True)
    warn_notes(page.notes)


@command.command()
@click.argument("file")
@click.option(
    "--window",
    "window_seconds",
    type=int,
    metavar="SECONDS",
    default=300,
    show_default=True,
    help="How long a change counts; 0: only claims.",
)
@agent_option
@store_options
@json_option
def check(
    file: str, window_seconds: int, agent: str | None, db: str | None, project: str | None, as_json: bool
) -> int | None:
    """Say whether a file is another's to edit: who, since when, until when. Leaves with status 4 if it is.

    \b
    Example:
      satchel file check src/auth.py --agent builder && $EDITOR src/auth.py
    """
    from satchel.interfaces.cli.confirmations import locked
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent, read_only=True) as satchel:
        lock = satchel.files.check_lock(file, window_seconds=window_seconds)
    if as_json:
        show_json(fields_of(lock))
    else:
        click.echo(locked(lock))
    return ERROR_KINDS["conflict"].exit_status if lock.locked else None


@command.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--shared", is_flag=True, help="Others may claim them too, if they share as well.")
@click.option("--minutes", type=int, metavar="N", help="How long, 1 to 10080. Default: claims.minutes.")
@click.option("--why", "reason", metavar="TEXT", help="What for.")
@agent_option
@store_options
@json_option
def claim(
    paths: tuple[str, ...],
    shared: bool,
    minutes: int | None,
    reason: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Claim files, or with / at the end whole folders: all of them or none. Claiming again renews.

    \b
    Example:
      satchel file claim src/auth.py tests/auth/ --agent builder --minutes 45
    """
    from satchel.interfaces.cli import confirmations
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent) as satchel:
        claimed = satchel.files.claim(paths, exclusive=not shared, minutes=minutes, reason=reason)
        if as_json:
            show_json(fields_of(claimed))
        else:
            click.echo(confirmations.claimed(claimed))
            warn_notes(claimed.notes)
        tell(satchel)


@command.command()
@click.option("--by", "author", metavar="AGENT", help="Only this agent's.")
@click.option("--path", metavar="PATH", help="Only those that cover this path.")
@page_options
@store_options
@json_option
def claims(
    author: str | None, path: str | None, limit: int, offset: int, db: str | None, project: str | None, as_json: bool
) -> None:
    """List who has claimed what, and until when.

    \b
    Example:
      satchel file claims --path src/auth.py
    """
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, read_only=True) as satchel:
        page = satchel.files.claims(author=author, path=path, limit=limit, offset=offset)
    if as_json:
        show_json(fields_of(page, "claims"))
        return
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.items:
        show_table(
            ("path", "by", "how", "since", "until", "worktree", "what for"),
            [
                (
                    one.path,
                    one.agent,
                    "exclusive" if one.exclusive else "shared",
                    local_time(one.created_at),
                    local_time(one.expires_at),
                    one.worktree,
                    one.reason,
                )
                for one in page
            ],
        )
    click.echo(rest_text(len(page), page.total, "claims", page.next_offset), err=True)
    warn_notes(page.notes)


@command.command()
@click.argument("paths", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All of the agent's claims in this worktree.")
@agent_option
@store_options
@json_option
def release(
    paths: tuple[str, ...], everything: bool, agent: str | None, db: str | None, project: str | None, as_json: bool
) -> None:
    """Give claims back.

    \b
    Example:
      satchel file release src/auth.py --agent builder
    """
    from satchel.interfaces.ledger.files_text import released_text
    from satchel.interfaces.to_json import fields_of

    if bool(paths) == everything:
        raise click.UsageError("name at least one of PATHS, or give --all")
    with opened(db, project, agent=agent) as satchel:
        released = satchel.files.release(None if everything else paths)
        if as_json:
            show_json(fields_of(released))
        else:
            click.echo(released_text(released))
        tell(satchel)

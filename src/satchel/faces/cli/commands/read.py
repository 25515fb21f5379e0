"""``satchel read``."""

from __future__ import annotations

import click

from satchel.base.paging import ORDERS
from satchel.base.vocabulary import LIVENESS
from satchel.faces.cli.common import filter_options, json_option, opened, run_option, show_json, store_options


@click.command()
@click.argument("words", nargs=-1)
@filter_options
@click.option("--after-seq", type=int, metavar="N", help="Only what changed after this number, in that order.")
@click.option("--status", type=click.Choice(LIVENESS), default="live", show_default=True)
@click.option("--order", type=click.Choice(ORDERS), help="By time. Default: newest first, or best first for words.")
@click.option("--tokens", "with_tokens", is_flag=True, help="Say how many tokens the answer costs.")
@run_option
@store_options
@json_option
def command(
    words: tuple[str, ...],
    types: tuple[str, ...],
    author: str | None,
    task_id: str | None,
    loop_id: str | None,
    file: str | None,
    since: str | None,
    after_seq: int | None,
    status: str,
    order: str | None,
    limit: int,
    offset: int,
    with_tokens: bool,
    run_id: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Read the notes of a run, newest first, or those that match WORDS best. Any text is a valid search.

    \b
    Example:
      satchel read where do sessions live --type discovery
    """
    from satchel.faces.compact import page_text

    with opened(db, project, run_id=run_id, read_only=True) as satchel:
        page = satchel.entries.read(
            types=types or None,
            agent=author,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            search=" ".join(words) if words else None,
            since=since,
            after_seq=after_seq,
            status=status,
            order=order,
            limit=limit,
            offset=offset,
        )
        encoding = satchel.config.tokens_encoding
    text = page_text(page)
    count = None
    if with_tokens:
        from satchel.base.tokens import token_counter

        count = token_counter(encoding).measure(text)
    if as_json:
        from satchel.faces.plain import page_fields

        show_json(page_fields(page) | ({"answer_tokens": count} if count else {}))
        return
    click.echo(text)
    if count is not None:
        click.echo(f"{count.tokens} tokens ({count.counter}{'' if count.exact else ', not exact'})", err=True)

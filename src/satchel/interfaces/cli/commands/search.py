"""``satchel search``."""

from __future__ import annotations

import click

from satchel.base.vocabulary import LIVENESS
from satchel.interfaces.cli.common import filter_options, json_option, opened, show_json, store_options
from satchel.keep.finding import Found


@click.command()
@click.argument("words", nargs=-1)
@filter_options
@click.option("--like", metavar="ID", help="Find more like this item instead.")
@click.option("--operators", is_flag=True, help="WORDS use AND, OR, NOT or -, prefix*, phrases and parentheses.")
@click.option("--run", "run_id", metavar="ID", help="Only this run. Default: all of the project.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--status", type=click.Choice(LIVENESS), default="all", show_default=True)
@click.option("--explain", is_flag=True, help="Say how each score came about.")
@store_options
@json_option
def command(
    words: tuple[str, ...],
    like: str | None,
    operators: bool,
    run_id: str | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    author: str | None,
    task_id: str | None,
    loop_id: str | None,
    file: str | None,
    since: str | None,
    status: str,
    limit: int,
    offset: int,
    explain: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Search everything the project keeps, in all runs. Any text is a valid search; best first.

    \b
    Example:
      satchel search where do sessions expire
    """
    from satchel.interfaces.found_text import explanation_text, result_line
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, read_only=True) as satchel:
        page = satchel.finding.search(
            " ".join(words) if words or like is None else None,
            like=like,
            syntax="operators" if operators else "natural",
            run_id=run_id,
            kinds=kinds or None,
            types=types or None,
            author=author,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            since=since,
            status=status,
            limit=limit,
            offset=offset,
            explain=explain,
        )
    if as_json:
        show_json(fields_of(page, "results"))
        return
    rest = f"; --offset {page.next_offset} shows more" if page.next_offset is not None else ""
    click.echo(f"{len(page.results)} of {page.total} results{rest}")
    for result in page.results:
        click.echo(click.style(result_line(result), dim=True))
        click.echo(f"  {_marked(result)}")
        if result.explanation is not None:
            click.echo("\n".join(f"    {line}" for line in explanation_text(result.explanation).splitlines()))
    for note in page.notes:
        click.echo(note, err=True)


def _marked(result: Found) -> str:
    text, place, pieces = result.snippet.text, 0, []
    for start, end in result.snippet.marks:
        pieces += [text[place:start], click.style(text[start:end], fg="green", bold=True)]
        place = end
    return "".join([*pieces, text[place:]])

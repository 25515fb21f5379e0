"""``satchel write``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import (
    agent_option,
    given_or_read,
    json_option,
    opened,
    run_option,
    show_json,
    store_options,
)


@click.command()
@click.argument("type")
@click.argument("content", required=False)
@click.option("--task", "task_id", metavar="ID", help="The task it belongs to.")
@click.option("--loop", "loop_id", metavar="ID", help="The loop it belongs to.")
@click.option("--file", metavar="PATH", help="The file it is about.")
@click.option("--line", type=int, help="The line in that file.")
@run_option
@agent_option
@store_options
@json_option
def command(
    type: str,  # noqa: A002 -- the field's own name
    content: str | None,
    task_id: str | None,
    loop_id: str | None,
    file: str | None,
    line: int | None,
    run_id: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Keep a note. CONTENT is text, for structured types JSON; without it, or as -, it is read from standard input.

    TYPE is discovery, error, decision, review_issue, review_verdict, scratchpad or codebase_analysis.

    \b
    Example:
      satchel write discovery "Sessions live in src/auth.py" --file src/auth.py --agent planner
    """
    from satchel.interfaces.compact import written_text

    content = given_or_read(content, "content")
    with opened(db, project, run_id=run_id, agent=agent) as satchel:
        entry = satchel.entries.write(type, content, task_id=task_id, loop_id=loop_id, file=file, line=line)
    if as_json:
        show_json(entry)
    else:
        click.echo(written_text([entry]))

"""``satchel learn``: error, errors, outcome, strategy, strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click

from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.commands import learn_strategies
from satchel.interfaces.cli.common import (
    agent_option,
    change_options,
    given_or_read,
    json_option,
    opened,
    run_option,
    show_json,
    store_options,
    tell,
    warn_notes,
)

if TYPE_CHECKING:
    from satchel.keep.patterns.records import ErrorPattern, ErrorPatternPage

_STATES = ("active", "confirmed", "demoted", "unsolved")
_STATUSES = ("offered", "all")


@click.group()
def command() -> None:
    """Report errors and learn what fixed them, say whether that helped, and save strategies that worked.

    \b
    Example:
      satchel learn error ModuleNotFoundError "No module named 'requests'" --lang python
    """


@command.command()
@click.argument("error_type", metavar="TYPE")
@click.argument("message", required=False)
@click.option("--stack-file", "stack", type=click.File(errors="replace"), metavar="FILE", help="The stack trace.")
@click.option("--hint", "hints", multiple=True, metavar="TEXT", help="Ranks solutions that share words; repeatable.")
@click.option("--lang", metavar="NAME", help="The programming language. Default: any.")
@click.option("--solution", metavar="TEXT", help="What fixed it, if that is known.")
@click.option("--loop", "loop_id", metavar="ID", help="The loop it was met in; what makes that succeed is its fix.")
@click.option("--task", "task_id", metavar="ID", help="The task of that loop.")
@click.option("--ttl-days", type=int, metavar="DAYS", help="How long it is kept after its last report. Default: 90.")
@run_option
@agent_option
@store_options
@json_option
def error(
    error_type: str,
    message: str | None,
    stack: TextIO | None,
    hints: tuple[str, ...],
    lang: str | None,
    solution: str | None,
    loop_id: str | None,
    task_id: str | None,
    ttl_days: int | None,
    run_id: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Report an error and see what fixed it before. Without MESSAGE, or with -, it is read from standard input.

    \b
    Example:
      satchel learn error TS2307 "Cannot find module 'zod'" --lang typescript --stack-file build.log
    """
    from satchel.interfaces.briefing.errors_text import reported_text
    from satchel.interfaces.to_json import fields_of

    message = given_or_read(message, "message")
    trace = None if stack is None else stack.read()
    with opened(db, project, agent=agent) as satchel:
        reported = satchel.patterns.report(
            error_type,
            message,
            stack=trace,
            hints=hints,
            lang=lang,
            solution=solution,
            task_id=task_id,
            loop_id=loop_id,
            run_id=run_id,
            ttl_days=ttl_days,
        )
        if as_json:
            show_json(fields_of(reported))
        else:
            click.echo(reported_text(reported))
        tell(satchel)


@command.command()
@click.argument("words", nargs=-1)
@click.option("--lang", metavar="NAME", help="Only errors of this language, and of any.")
@click.option("--type", "error_type", metavar="TYPE", help="Only errors of this type.")
@click.option("--state", type=click.Choice(_STATES), help="Only those with a solution in this state, or none.")
@click.option(
    "--status",
    type=click.Choice(_STATUSES),
    default="offered",
    show_default=True,
    help="all: with solutions that are only observed.",
)
@change_options
@store_options
@json_option
def errors(
    words: tuple[str, ...],
    lang: str | None,
    error_type: str | None,
    state: str | None,
    status: str,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List the errors that were met with their solutions, the newest first, or what matches WORDS best.

    \b
    Example:
      satchel learn errors --lang python --state unsolved
    """
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, read_only=True) as satchel:
        page = satchel.patterns.find(
            query=" ".join(words) if words else None,
            lang=lang,
            error_type=error_type,
            state=state,
            status=status,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(fields_of(page, "patterns"))
        else:
            _show(page)
        tell(satchel)


def _show(page: ErrorPatternPage) -> None:
    from satchel.interfaces.cli.tables import rest_text, show_table

    if page.patterns:
        show_table(
            (
                *("id", "type", "error", "lang", "met", "last", "kept until"),
                *("solution", "state", "helped", "by", "fixed by"),
            ),
            [row for pattern in page for row in _rows(pattern)],
        )
    click.echo(rest_text(len(page), page.total, "errors", page.next_offset), err=True)
    warn_notes(page.notes)


def _rows(pattern: ErrorPattern) -> list[tuple[object, ...]]:
    """Return a row for each solution; what is said of the error stands in the first alone."""
    from satchel.interfaces.cli.tables import local_day

    told = (
        pattern.ref,
        pattern.error_type,
        pattern.message,
        pattern.lang,
        f"{pattern.occurrences}x",
        local_day(pattern.last_seen),
        local_day(pattern.expires_at),
    )
    fixes: list[tuple[object, ...]] = [
        (
            f"{one.ref} {one.standing} {one.confidence}/10",
            one.state,
            f"{one.confirmed} of {one.confirmed + one.failed}",
            one.agent,
            one.text,
        )
        for one in pattern.solutions
    ]
    first, *more = fixes or [(None,) * 5]
    return [(*told, *first), *((*(None,) * len(told), *fix) for fix in more)]


@command.command()
@click.argument("ref", metavar="ID")
@click.option("--helped/--failed", "helped", default=True, help="Whether the error was gone. Default: it helped.")
@click.option("--solution", metavar="TEXT", help="For an error: what fixed it.")
@agent_option
@store_options
@json_option
def outcome(
    ref: str,
    helped: bool,
    solution: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Say whether a solution (ID as y7) or a strategy (s3) helped, or with --solution what fixed an error (x4).

    \b
    Examples:
      satchel learn outcome y7 --failed
      satchel learn outcome x4 --solution "Install it into the environment that runs the tests"
    """
    from satchel.interfaces.briefing.errors_text import solution_text
    from satchel.interfaces.briefing.outcomes import judge, outcome_text
    from satchel.interfaces.to_json import fields_of

    if solution is not None and not helped:
        raise InvalidInput("--solution says what fixed an error, --failed that nothing was", "Leave one of them out")
    with opened(db, project, agent=agent) as satchel:
        if solution is None:
            otherwise = "Give one such as y7 or s3; an error needs --solution"
            judged = judge(satchel, ref, helped, agent=None, otherwise=otherwise)
            fields, text = fields_of(judged), outcome_text(judged)
        else:
            recorded = satchel.patterns.solve(ref, solution)
            fields, text = fields_of(recorded), solution_text(recorded, is_recorded=True)
        if as_json:
            show_json(fields)
        else:
            click.echo(text)
        tell(satchel)


command.add_command(learn_strategies.strategy)
command.add_command(learn_strategies.strategies)

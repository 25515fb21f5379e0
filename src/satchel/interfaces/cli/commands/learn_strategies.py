"""The part of ``satchel learn`` that is about strategies: strategy, strategies."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from satchel.interfaces.cli.common import (
    agent_option,
    change_options,
    json_option,
    opened,
    show_json,
    store_options,
    tell,
    warn_notes,
)

if TYPE_CHECKING:
    from satchel.brief.extraction import StrategyProposal
    from satchel.keep.strategies import StrategyPage

_FOR_PROPOSALS = {"from_run", "db", "project", "as_json"}


@click.command()
@click.argument("topic")
@click.argument("insight")
@click.option("--lang", metavar="NAME", help="The programming language. Default: any.")
@click.option("--framework", metavar="NAME", help="The framework. Default: any.")
@agent_option
@store_options
@json_option
def strategy(
    topic: str,
    insight: str,
    lang: str | None,
    framework: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Save an approach that worked: what it is about, and what to do and why.

    \b
    Example:
      satchel learn strategy token-refresh "Refresh before expiry, not on 401: no request fails" --lang python
    """
    from satchel.interfaces.briefing.strategies_text import saved_text
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent) as satchel:
        saved = satchel.strategies.save(topic, insight, lang=lang, framework=framework)
        if as_json:
            show_json(fields_of(saved))
        else:
            click.echo(saved_text(saved))
        tell(satchel)


@click.command()
@click.argument("words", nargs=-1)
@click.option("--topic", metavar="NAME", help="Only this topic.")
@click.option("--lang", metavar="NAME", help="Only those for this language, or for any.")
@click.option("--framework", metavar="NAME", help="Only those for this framework, or for any.")
@click.option("--by", "author", metavar="AGENT", help="Only what this agent saved.")
@click.option(
    "--from-run", metavar="RUN", help="Instead: what could be learnt from a run, with the command that saves it."
)
@change_options
@store_options
@json_option
@click.pass_context
def strategies(
    context: click.Context,
    words: tuple[str, ...],
    topic: str | None,
    lang: str | None,
    framework: str | None,
    author: str | None,
    from_run: str | None,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List strategies, those that helped most often first, or what matches WORDS best.

    \b
    Examples:
      satchel learn strategies --lang python --framework django
      satchel learn strategies --from-run r1
    """
    from satchel.interfaces.to_json import fields_of

    if from_run is not None:
        _refuse_list_options(context)
        _propose(from_run, db, project, as_json)
        return
    with opened(db, project, read_only=True) as satchel:
        page = satchel.strategies.find(
            query=" ".join(words) if words else None,
            topic=topic,
            lang=lang,
            framework=framework,
            author=author,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(fields_of(page, "strategies"))
        else:
            _show(page)
        tell(satchel)


def _refuse_list_options(context: click.Context) -> None:
    """Refuse what would be passed over in silence."""
    for option in context.command.params:
        name = option.name or ""
        if name not in _FOR_PROPOSALS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            given = option.opts[0] if isinstance(option, click.Option) else name.upper()
            raise click.UsageError(f"{given} is for a list; --from-run proposes what could be learnt", context)


def _propose(run_id: str, db: str | None, project: str | None, as_json: bool) -> None:
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, read_only=True) as satchel:
        proposals = satchel.learning.strategies(run_id)
        if as_json:
            shown = [fields_of(one) | {"command": _saving(one, db, project)} for one in proposals]
            show_json({"run_id": run_id, "proposals": shown})
        else:
            for one in proposals:
                places = (("task", one.task_id), ("loop", one.loop_id))
                about = "".join(f"{name} {value}, " for name, value in places if value is not None)
                click.echo(f"{one.topic} ({about}from {', '.join(one.evidence)})")
                click.echo("  " + one.insight.replace("\n", "\n  "))
                click.echo(f"  {_saving(one, db, project)}")
            click.echo(f"{len(proposals)} proposed, none saved", err=True)
        tell(satchel)


def _saving(proposal: StrategyProposal, db: str | None, project: str | None) -> str:
    """Return the command that saves a proposal in the store that it is from."""
    options = {"--lang": proposal.lang, "--framework": proposal.framework, "--db": db, "--project": project}
    given = [part for name, value in options.items() if value is not None for part in (name, value)]
    texts = [proposal.topic, proposal.insight]
    if any(text.startswith("-") for text in texts):
        texts.insert(0, "--")
    return shlex.join(["satchel", "learn", "strategy", *given, *texts])


def _show(page: StrategyPage) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.strategies:
        show_table(
            ("id", "topic", "insight", "lang", "framework", "helped", "did not", "by", "last", "saved"),
            [
                (
                    one.ref,
                    one.topic,
                    one.insight,
                    one.lang,
                    one.framework,
                    one.helped,
                    one.not_helped,
                    one.agent,
                    local_time(one.last_seen),
                    local_time(one.created_at),
                )
                for one in page
            ],
            usual={"helped": "0", "did not": "0"},
        )
    click.echo(rest_text(len(page), page.total, "strategies", page.next_offset), err=True)
    warn_notes(page.notes)

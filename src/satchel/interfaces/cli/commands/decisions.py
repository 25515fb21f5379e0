"""``satchel decisions``."""

from __future__ import annotations

import click
from click.core import ParameterSource

from satchel.base.paging import MATCHES
from satchel.interfaces.cli.common import (
    change_options,
    json_option,
    opened,
    show_json,
    store_options,
    tell,
    warn_notes,
)
from satchel.interfaces.cli.values import number, shown_value
from satchel.keep.decisions import STATUSES, Decision, DecisionHistory, DecisionPage, DecisionState
from satchel.keep.decisions.records import DEFAULT_VERSION

_FOR_ONE = {"key", "limit", "offset", "db", "project", "as_json"}
_STATE = ("value", "status", "layer", "tags", "scopes", "version", "rev", "by")
_USUAL = {"status": STATUSES[0], "version": DEFAULT_VERSION, "rev": "1"}


@click.command()
@click.argument("words", nargs=-1)
@click.option("--key", metavar="KEY", help="Show this decision with its history instead.")
@click.option("--status", type=click.Choice(STATUSES), help="Default: all of them.")
@click.option("--layer", metavar="NAME", help="Only this layer.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only with this tag; may be repeated.")
@click.option("--match", type=click.Choice(MATCHES), default="any", show_default=True, help="Any or all of the tags.")
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="Only with one of these scopes.")
@click.option("--min", "minimum", type=number, metavar="N", help="Only numbers from N.")
@click.option("--max", "maximum", type=number, metavar="N", help="Only numbers up to N.")
@click.option("--by", "author", metavar="AGENT", help="Only what this agent set.")
@change_options
@store_options
@json_option
def command(
    words: tuple[str, ...],
    key: str | None,
    status: str | None,
    layer: str | None,
    tags: tuple[str, ...],
    match: str,
    scopes: tuple[str, ...],
    minimum: float | None,
    maximum: float | None,
    author: str | None,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List what was decided, the newest first, or what matches WORDS best; or one decision with its history.

    \b
    Examples:
      satchel decisions --tag security --status active
      satchel decisions how long do sessions live
      satchel decisions --key session_ttl
    """
    from satchel.interfaces.to_json import fields_of

    if key is not None:
        _refuse_filters()
    with opened(db, project, read_only=True) as satchel:
        if key is not None:
            history = satchel.decisions.get(key, limit=limit, offset=offset)
            if as_json:
                show_json(fields_of(history))
            else:
                _show_history(history)
            tell(satchel)
            return
        page = satchel.decisions.find(
            query=" ".join(words) if words else None,
            status=status,
            layer=layer,
            tags=tags or None,
            match=match,
            scopes=scopes or None,
            minimum=minimum,
            maximum=maximum,
            author=author,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(fields_of(page, "decisions"))
        else:
            _show(page)
        tell(satchel)


def _refuse_filters() -> None:
    """Refuse what has no meaning for one decision, rather than pass over it."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if given and name not in _FOR_ONE:
            shown = option.opts[0] if isinstance(option, click.Option) else name.upper()
            raise click.UsageError(f"--key shows one decision; {shown} is for a list")


def _show(page: DecisionPage) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.decisions:
        show_table(
            ("id", "key", *_STATE, "set", "made", "why"),
            [
                (
                    one.ref,
                    one.key,
                    *_state(one),
                    local_time(one.updated_at),
                    made if (made := local_time(one.created_at)) != local_time(one.updated_at) else None,
                    one.rationale,
                )
                for one in page
            ],
            usual=_USUAL,
        )
    click.echo(rest_text(len(page), page.total, "decisions", page.next_offset), err=True)
    warn_notes(page.notes)


def _show_history(history: DecisionHistory) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    now, page = history.decision, history.history
    rows = [(*_state(now), local_time(now.updated_at), "now", now.rationale)]
    rows += [(*_state(one), local_time(one.set_at), local_time(one.replaced_at), one.rationale) for one in page]
    click.echo(f"{now.ref} {now.key}, made {local_time(now.created_at)}")
    show_table((*_STATE, "set", "until", "why"), rows, usual=_USUAL)
    click.echo(rest_text(len(page), page.total, "earlier states", page.next_offset), err=True)
    warn_notes(now.notes)


def _state(state: Decision | DecisionState) -> tuple[object, ...]:
    return (
        shown_value(state.value),
        state.status,
        state.layer,
        ", ".join(state.tags),
        ", ".join(state.scopes),
        state.version,
        state.revision,
        state.agent,
    )

"""``satchel constraint``: add, list, deactivate."""

from __future__ import annotations

import click

from satchel.base.paging import MATCHES
from satchel.base.vocabulary import PRIORITIES
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
from satchel.keep.constraints import ConstraintPage

_STATUSES = ("active", "inactive", "all")


@click.group()
def command() -> None:
    """Add, list and deactivate constraints: rules that the project must respect.

    \b
    Example:
      satchel constraint add "No request takes longer than 200 ms" --category performance --priority high
    """


@command.command()
@click.argument("text")
@click.option("--category", metavar="NAME", default="architecture", show_default=True, help="Such as security.")
@click.option("--priority", type=click.Choice(PRIORITIES), default="medium", show_default=True)
@click.option("--layer", metavar="NAME", help="Such as business or data.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="May be repeated.")
@agent_option
@store_options
@json_option
def add(
    text: str,
    category: str,
    priority: str,
    layer: str | None,
    tags: tuple[str, ...],
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Add a rule.

    \b
    Example:
      satchel constraint add "Passwords are never logged" --category security --priority critical
    """
    from satchel.interfaces.ledger.to_json import constraint_fields

    with opened(db, project, agent=agent) as satchel:
        made = satchel.constraints.add(text, category=category, priority=priority, layer=layer, tags=tags)
        if as_json:
            show_json(constraint_fields(made))
        else:
            click.echo(f"added {made.ref} ({made.category}, {made.priority})")
            warn_notes(made.notes)
        tell(satchel)


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--category", metavar="NAME", help="Only this category.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="Only this priority or a higher one.")
@click.option("--layer", metavar="NAME", help="Only this layer.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only with this tag; may be repeated.")
@click.option("--match", type=click.Choice(MATCHES), default="any", show_default=True, help="Of the tags.")
@click.option("--status", type=click.Choice(_STATUSES), default="active", show_default=True)
@click.option("--by", "author", metavar="AGENT", help="Only what this agent added.")
@change_options
@store_options
@json_option
def list_constraints(
    words: tuple[str, ...],
    category: str | None,
    priority: str | None,
    layer: str | None,
    tags: tuple[str, ...],
    match: str,
    status: str,
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
    """List the rules that hold, the most urgent first, or what matches WORDS best.

    \b
    Example:
      satchel constraint list --layer data --priority high
    """
    from satchel.interfaces.ledger.to_json import constraint_page_fields

    with opened(db, project, read_only=True) as satchel:
        page = satchel.constraints.find(
            query=" ".join(words) if words else None,
            category=category,
            priority=priority,
            layer=layer,
            tags=tags or None,
            match=match,
            status=status,
            author=author,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(constraint_page_fields(page))
        else:
            _show(page)
        tell(satchel)


def _show(page: ConstraintPage) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.constraints:
        show_table(
            (
                "id",
                "priority",
                "category",
                "rule",
                "layer",
                "tags",
                "by",
                "added",
                "status",
                "ended",
                "ended by",
                "reason",
            ),
            [
                (
                    one.ref,
                    one.priority,
                    one.category,
                    one.text,
                    one.layer,
                    ", ".join(one.tags),
                    one.agent,
                    local_time(one.created_at),
                    "active" if one.active else "inactive",
                    None if one.deactivated_at is None else local_time(one.deactivated_at),
                    one.deactivated_by,
                    one.reason,
                )
                for one in page
            ],
            usual={"status": "active"},
        )
    click.echo(rest_text(len(page), page.total, "constraints", page.next_offset), err=True)
    warn_notes(page.notes)


@command.command()
@click.argument("ref", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why it does not hold any more.")
@agent_option
@store_options
@json_option
def deactivate(
    ref: str, reason: str | None, agent: str | None, db: str | None, project: str | None, as_json: bool
) -> None:
    """Say that a rule does not hold any more; it stays findable.

    \b
    Example:
      satchel constraint deactivate c7 --reason "the gateway does it now"
    """
    from satchel.interfaces.cli.confirmations import deactivated
    from satchel.interfaces.ledger.to_json import constraint_fields

    with opened(db, project, agent=agent) as satchel:
        changed = satchel.constraints.deactivate(ref, reason)
        if as_json:
            show_json(constraint_fields(changed))
        else:
            click.echo(deactivated(changed))
            warn_notes(changed.notes)
        tell(satchel)

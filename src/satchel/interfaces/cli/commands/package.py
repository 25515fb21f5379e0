"""``satchel package``: save, list, show, priority."""

from __future__ import annotations

import click

from satchel.base.errors import ERROR_KINDS
from satchel.base.vocabulary import LIVENESS, PRIORITIES
from satchel.find.kind import Kind
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
from satchel.keep.packages import EVENTS, TYPES, PackagePage
from satchel.keep.packages.records import DEFAULT_PRIORITY, DEFAULT_TYPE


@click.group()
def command() -> None:
    """Save, list and show packages: files and texts worth handing to other agents.

    \b
    Example:
      satchel package save "How tokens are refreshed" --path docs/tokens.md --priority high
    """


@command.command()
@click.argument("summary")
@click.option("--path", metavar="FILE", help="A file of the project; it is read anew each time.")
@click.option("--content", metavar="TEXT", help="A text to keep instead; - reads it from standard input.")
@click.option("--type", "package_type", type=click.Choice(TYPES), default=DEFAULT_TYPE, show_default=True)
@click.option("--priority", type=click.Choice(PRIORITIES), default=DEFAULT_PRIORITY, show_default=True)
@click.option("--task", "task_id", metavar="ID", help="The task it belongs to. Default: the whole run.")
@click.option("--for", "consumers", multiple=True, metavar="ROLE", help="A role it is meant for; may be repeated.")
@click.option("--supersedes", metavar="ID", help="The package that this one replaces.")
@run_option
@agent_option
@store_options
@json_option
def save(
    summary: str,
    path: str | None,
    content: str | None,
    package_type: str,
    priority: str,
    task_id: str | None,
    consumers: tuple[str, ...],
    supersedes: str | None,
    run_id: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Save a package: SUMMARY says in one line what is in it.

    \b
    Examples:
      satchel package save "Why the login test fails" --path docs/login.md --type investigation --for developer
      git diff | satchel package save "The state before the move" --content - --type handoff
    """
    from satchel.interfaces.briefing.packages_text import saved_text
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, run_id=run_id, agent=agent) as satchel:
        saved = satchel.packages.save(
            summary,
            path=path,
            content=None if content is None else given_or_read(content, "content"),
            type=package_type,
            priority=priority,
            task_id=task_id,
            consumers=consumers,
            supersedes=supersedes,
        )
        if as_json:
            show_json(fields_of(saved))
        else:
            click.echo(saved_text(saved))
        tell(satchel, [saved.path] if saved.path is not None else [])


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="May be repeated.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="Only this priority or a higher one.")
@click.option("--task", "task_id", metavar="ID", help="Only those of this task, or of the whole run.")
@click.option("--role", metavar="NAME", help="Only those meant for this role, or for any.")
@click.option("--by", "author", metavar="AGENT", help="Only what this agent produced.")
@click.option("--status", type=click.Choice(LIVENESS), default="live", show_default=True)
@change_options
@run_option
@store_options
@json_option
def list_packages(
    words: tuple[str, ...],
    types: tuple[str, ...],
    priority: str | None,
    task_id: str | None,
    role: str | None,
    author: str | None,
    status: str,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    run_id: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List a run's packages, the most urgent first, or what matches WORDS best.

    \b
    Example:
      satchel package list --priority high --role developer
    """
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, run_id=run_id, read_only=True) as satchel:
        page = satchel.packages.find(
            query=" ".join(words) if words else None,
            types=types or None,
            priority=priority,
            task_id=task_id,
            role=role,
            author=author,
            status=status,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
        if as_json:
            show_json(fields_of(page, "packages"))
        else:
            _show(page)
        tell(satchel, [one.path for one in page if one.path is not None])


def _show(page: PackagePage) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.packages:
        show_table(
            (
                *("id", "priority", "type", "summary", "file", "bytes", "task", "for", "by"),
                *("saved", "changed", "superseded by"),
            ),
            [
                (
                    one.ref,
                    one.priority,
                    one.type,
                    one.summary,
                    one.path,
                    one.content_bytes,
                    one.task_id,
                    ", ".join(one.consumers),
                    one.agent,
                    local_time(one.created_at),
                    None if one.updated_at == one.created_at else local_time(one.updated_at),
                    None if one.superseded_by is None else Kind.PACKAGE.ref(one.superseded_by),
                )
                for one in page
            ],
        )
    counts = f" ({', '.join(f'{count} {priority}' for priority, count in page.by_priority)})"
    click.echo(
        rest_text(len(page), page.total, "packages" + counts * bool(page.by_priority), page.next_offset), err=True
    )
    warn_notes(page.notes)


@command.command()
@click.argument("refs", nargs=-1, required=True, metavar="ID...")
@click.option("--max-bytes", type=int, metavar="N", help="The largest to show. Default: context.max_content_kib.")
@store_options
@json_option
def show(
    refs: tuple[str, ...], max_bytes: int | None, db: str | None, project: str | None, as_json: bool
) -> int | None:
    """Print what packages hold; what each is goes to stderr. Leaves with status 3 if one cannot be shown.

    \b
    Example:
      satchel package show p7 > handoff.md
    """
    from satchel.interfaces.briefing.packages_text import content_notes, contents_fields

    with opened(db, project, read_only=True) as satchel:
        contents = satchel.packages.read_many(refs, max_bytes)
        if as_json:
            show_json(contents_fields(contents))
        else:
            for one in contents:
                if one.package is not None and one.text is not None:
                    who = "" if one.package.agent is None else f" by {one.package.agent}"
                    click.echo(f"{one.ref} {one.package.type}{who}: {one.package.summary}", err=True)
                    click.echo(one.text)
            warn_notes(content_notes(contents))
        tell(
            satchel, [one.package.path for one in contents if one.package is not None and one.package.path is not None]
        )
    return ERROR_KINDS["not_found"].exit_status if any(one.text is None for one in contents) else None


@command.command("priority")
@click.argument("ref", metavar="ID")
@click.argument("priority", type=click.Choice(PRIORITIES), required=False)
@click.option("--event", type=click.Choice(EVENTS), help="What happened, instead: changes the priority by rule.")
@agent_option
@store_options
@json_option
def set_priority(
    ref: str,
    priority: str | None,
    event: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Say how urgent a package is, by hand or because of an event.

    \b
    Examples:
      satchel package priority p7 critical
      satchel package priority p7 --event resolved
    """
    from satchel.interfaces.briefing.packages_text import changed_text
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent) as satchel:
        if priority is not None and event is None:
            changed = satchel.packages.set_priority(ref, priority)
        elif event is not None and priority is None:
            changed = satchel.packages.react(ref, event)
        else:
            raise click.UsageError("give either PRIORITY or --event")
        if as_json:
            show_json(fields_of(changed))
        else:
            click.echo(changed_text(changed))
        tell(satchel)

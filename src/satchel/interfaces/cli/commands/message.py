"""``satchel message``: send, list, read."""

from __future__ import annotations

import click

from satchel.base.errors import InvalidInput
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
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
from satchel.keep.messages.records import MESSAGE_TYPES, Message


@click.group()
def command() -> None:
    """Send messages between agents, list an agent's, and mark them read.

    \b
    Example:
      satchel message send "The schema has changed, pull first" --to builder --agent planner --priority high
    """


@command.command()
@click.argument("text")
@click.option("--to", metavar="AGENT", help="Who it is for. Default: everyone.")
@click.option("--type", "message_type", type=click.Choice(MESSAGE_TYPES), default="info", show_default=True)
@click.option("--priority", type=click.Choice(PRIORITIES), default="medium", show_default=True)
@click.option("--payload", metavar="JSON", help="Anything that goes with it, as JSON.")
@click.option("--reply-to", metavar="ID", help="The message it answers; it goes to whoever sent that.")
@agent_option
@store_options
@json_option
def send(
    text: str,
    to: str | None,
    message_type: str,
    priority: str,
    payload: str | None,
    reply_to: str | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Send a message.

    \b
    Example:
      satchel message send "May I change src/auth.py?" --to builder --type request --agent planner
    """
    from satchel.interfaces.cli import confirmations
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent) as satchel:
        message = satchel.messages.send(
            text, to=to, type=message_type, priority=priority, payload=_parsed(payload), reply_to=reply_to
        )
        if as_json:
            show_json(fields_of(message))
        else:
            click.echo(confirmations.sent(message))
            warn_notes(message.notes)
        tell(satchel)


def _parsed(payload: str | None) -> object:
    if payload is None:
        return None
    import json

    try:
        return json.loads(payload)
    except ValueError as error:
        raise InvalidInput(f"--payload is no JSON ({error})", 'Give it as in {"file": "src/auth.py"}') from error


@command.command("list")
@click.argument("words", nargs=-1)
@click.option("--unread", is_flag=True, help="Only those not read yet.")
@click.option("--type", "types", multiple=True, type=click.Choice(MESSAGE_TYPES), help="May be repeated.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="Only this priority or a higher one.")
@click.option("--from", "sender", metavar="AGENT", help="Only from this agent.")
@click.option("--thread", metavar="ID", help="The whole thread that this message belongs to.")
@change_options
@agent_option
@store_options
@json_option
def list_messages(
    words: tuple[str, ...],
    unread: bool,
    types: tuple[str, ...],
    priority: str | None,
    sender: str | None,
    thread: str | None,
    since: str | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List the messages for an agent and for everyone, the newest first. Listing marks nothing as read.

    \b
    Example:
      satchel message list --agent builder --unread
    """
    from satchel.interfaces.to_json import fields_of

    with opened(db, project, agent=agent, read_only=True) as satchel:
        page = satchel.messages.inbox(
            unread=unread,
            types=types or None,
            priority=priority,
            sender=sender,
            thread=thread,
            query=" ".join(words) if words else None,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
    if as_json:
        show_json(fields_of(page, "messages"))
        return
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.messages:
        show_table(
            ("id", "read", "priority", "type", "from", "to", "sent", "message", "payload", "answers", "thread"),
            [
                (
                    one.ref,
                    _read(one, page.agent),
                    one.priority,
                    one.type,
                    one.sender,
                    one.to or "everyone",
                    local_time(one.created_at),
                    one.message,
                    None if one.payload is None else _shown(one.payload),
                    None if one.reply_to is None else Kind.MESSAGE.ref(one.reply_to),
                    None if one.thread in {one.id, one.reply_to} else Kind.MESSAGE.ref(one.thread),
                )
                for one in page
            ],
        )
    click.echo(
        f"{rest_text(len(page), page.total, f'messages for {page.agent}', page.next_offset)}; {page.unread} unread",
        err=True,
    )
    warn_notes(page.notes)


def _read(message: Message, reader: str) -> str:
    from satchel.interfaces.cli.tables import local_time

    if message.sender == reader:
        return "(own)"
    return "new" if message.read_at is None else local_time(message.read_at)


def _shown(payload: object) -> str:
    import json

    return json.dumps(payload, ensure_ascii=False)


@command.command()
@click.argument("refs", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="All that are unread.")
@agent_option
@store_options
@json_option
def read(
    refs: tuple[str, ...], everything: bool, agent: str | None, db: str | None, project: str | None, as_json: bool
) -> None:
    """Mark messages as read, for one agent.

    \b
    Example:
      satchel message read m4 m5 --agent builder
    """
    from satchel.interfaces.ledger.messages_text import marked_text
    from satchel.interfaces.to_json import fields_of

    if bool(refs) == everything:
        raise click.UsageError("name the ID of at least one message, or give --all")
    with opened(db, project, agent=agent) as satchel:
        marked = satchel.messages.mark_read(list(refs) or None, everything=everything)
        if as_json:
            show_json(fields_of(marked))
        else:
            click.echo(marked_text(marked))
        tell(satchel)

"""``satchel conversations``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.common import json_option, opened, page_options, show_json, store_options, tell, warn_notes

if TYPE_CHECKING:
    from satchel.base.paging import Page
    from satchel.client import Satchel
    from satchel.consult.conversation_records import ListedConversation


@click.command()
@click.option("--session", "session_id", metavar="NAME", help="Only this conversation, with its files.")
@click.option("--model", "assistant", metavar="MODEL", help="Only those with this model.")
@click.option("--reset", metavar="NAME", help="Forget this conversation; its next question begins anew.")
@click.option("--yes", is_flag=True, help="Forget without asking; --json alone only previews.")
@page_options
@store_options
@json_option
def command(
    session_id: str | None,
    assistant: str | None,
    reset: str | None,
    yes: bool,
    limit: int,
    offset: int,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """List conversations with other models, the newest first, and say who could be asked.

    \b
    Examples:
      satchel conversations --session auth
      satchel conversations --reset auth
    """
    from satchel.interfaces.consulting.conversations_text import assistants_line
    from satchel.interfaces.consulting.to_json import conversations_fields

    if reset is not None:
        if session_id is not None:
            raise InvalidInput("--session and --reset were given", "Name the conversation once, with --reset")
        with opened(db, project, read_only=False) as satchel:
            _reset(satchel, reset, assistant, yes=yes, as_json=as_json)
            tell(satchel)
        return
    if yes:
        raise InvalidInput("--yes is for --reset", "Leave it out, or name a conversation to reset")
    with opened(db, project, read_only=True) as satchel:
        page = satchel.consulting.conversations.list(
            session_id=session_id, assistant=assistant, limit=limit, offset=offset
        )
        states = satchel.consulting.providers()
        if as_json:
            show_json(conversations_fields(page, states))
        else:
            _show(page, with_files=session_id is not None)
            warn_notes([assistants_line(states)])
        tell(satchel)


def _reset(satchel: Satchel, name: str, assistant: str | None, *, yes: bool, as_json: bool) -> None:
    from satchel.interfaces.consulting.conversations_text import reset_text
    from satchel.interfaces.consulting.to_json import reset_fields

    found = satchel.consulting.find(name, assistant)
    question = f"Forget {found.key.session_id} with {found.key.assistant}, {found.turns} turns?"
    done = yes or (not as_json and click.confirm(question, err=True))
    if done:
        satchel.consulting.conversations.reset(found.key)
    if as_json:
        show_json(reset_fields(found, done=done))
    else:
        click.echo(reset_text(found, done=done))


def _show(page: Page[ListedConversation], *, with_files: bool) -> None:
    from satchel.interfaces.cli.tables import local_time, rest_text, show_table

    if page.items:
        show_table(
            (
                *("session", "model", "turns", "inline", "overflow"),
                *("holds", "sent", "saved", "answers", "began", "last", "in it now"),
            ),
            [
                (
                    one.key.session_id,
                    one.key.assistant,
                    one.turns,
                    sum(not file.is_removed for file in one.inline),
                    sum(not file.is_removed for file in one.overflow),
                    f"{one.held_tokens:,}",
                    f"{one.sent_tokens:,}",
                    f"{one.saved_tokens:,}",
                    f"{one.answer_tokens:,}",
                    local_time(one.created_at),
                    local_time(one.updated_at),
                    None if one.lease is None else one.lease.holder,
                )
                for one in page.items
            ],
        )
    if with_files and any(one.inline or one.overflow for one in page.items):
        click.echo()
        show_table(
            ("model", "file", "place", "tokens", "why", "state"),
            [
                (
                    one.key.assistant,
                    file.path,
                    "inline" if file.why is None else "overflow",
                    f"{file.tokens:,}",
                    file.why,
                    "removed" if file.is_removed else None,
                )
                for one in page.items
                for file in (*one.inline, *one.overflow)
            ],
        )
    click.echo(rest_text(len(page.items), page.total, "conversations", page.next_offset), err=True)

"""Messages, and the sessions at work in the project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from satchel.base.errors import SatchelError
from satchel.interfaces import line
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import FULL, Operation, Parameter

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.keep.messages.records import MessagePage

_TYPES = ("decision", "warning", "request", "info")


def correct_addressee(error: SatchelError, values: dict[str, Any]) -> dict[str, Any] | None:
    """Ask whether a message to an unknown name is meant for a similar one."""
    import click

    suggestion = re.match(r"Did you mean '(.+)'\?", error.remedy or "")
    if suggestion is None or not click.confirm(f"{error.problem}. Send it to {suggestion[1]}?", err=True):
        return None
    return values | {"to": suggestion[1]}


def _read(
    satchel: Satchel, *, detail: str | None = None, wait_seconds: int = 0, agent: str | None = None, **filters: Any
) -> MessagePage:
    from satchel.interfaces.text.messages import messages_text
    from satchel.interfaces.text.parts import fitting

    page = satchel.messages.inbox(wait_seconds=wait_seconds, agent=agent, **filters)
    if detail not in {None, FULL}:
        return page
    page = fitting(page, messages_text)
    return satchel.messages.read(page)


def _list_sent(satchel: Satchel, *, agent: str | None = None, **filters: Any) -> MessagePage:
    return satchel.messages.inbox(sender="me", agent=agent, **filters)


_INBOX = (
    parameters.QUERY,
    Parameter("unread", bool, help="Only those not read yet."),
    Parameter(
        "wait_seconds",
        int,
        about="Wait for a message, a freed file or other news, 0 to 45",
        help="Wait so long for an unread one, 0 to 45; then only unread ones are listed.",
        default=0,
        option="--wait",
    ),
    Parameter("types", list[str], choices=_TYPES, unlisted=True),
    parameters.MIN_PRIORITY.but(unlisted=True),
    Parameter(
        "from",
        about="The sender; me: what you sent, and who read it",
        help="Only from this agent, or this client's agents; me: what one sent oneself, and who read that.",
        metavar="AGENT",
        passed_as="sender",
    ),
    Parameter("thread", about="Thread of this message, as m12", metavar="ID"),
    *parameters.CHANGES,
    parameters.AGENT_UNLISTED,
)

_LINE = Operation(run=line.counted, shown=line.show, names_files=False, lists_messages=True)


OPERATIONS = (
    Operation(
        tool="send_message",
        toolset="messages",
        about="Tell or ask another agent, your user (human), or all. Says whether they are active.",
        found_by="message tell ask notify reply chat another agent",
        command=("message", "send"),
        help="Send a message.",
        examples=('message send "May I change src/auth.py?" --to builder --type request --agent planner',),
        parameters=(
            Parameter("message", required=True, option="TEXT..."),
            Parameter(
                "to",
                about="An agent of get_team, or human; default all, for a reply its sender",
                help="Who it is for. Default: everyone, for a reply its sender.",
                metavar="AGENT",
            ),
            Parameter(
                "type",
                about="request: a question, or a review of f12 to f14; default info",
                choices=_TYPES,
                rare=("decision",),
                default="info",
            ),
            parameters.PRIORITY,
            Parameter(
                "payload",
                dict | list | str | float | bool,
                help="Anything that goes with it, as JSON.",
                metavar="JSON",
                unlisted=True,
            ),
            Parameter("reply_to", about="Message you answer, as m12", help="The message it answers.", metavar="ID"),
            Parameter(
                "answer_minutes",
                int,
                about="How long you can wait for the answer; they see it",
                option="--answer-within",
                metavar="MINUTES",
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=services.messages.send,
        writes=True,
        corrects=correct_addressee,
        text=text.messages.sent_text,
    ),
    Operation(
        tool="get_messages",
        toolset="messages",
        about="Messages to you or to all, newest first or by search. Shown in full they count as read.",
        found_by="messages inbox unread replies thread what did the others say",
        parameters=_INBOX,
        run=_read,
        passes_detail=True,
        writes=True,
        items="messages",
        text=text.messages.messages_text,
    ),
    Operation(
        command=("message", "list"),
        help="List the messages for an agent and for everyone, the newest first; `satchel message sent` lists yours. "
        "What is shown to you counts as read, except questions, which wait for your answer.",
        examples=("message list --agent builder --unread",),
        parameters=_INBOX,
        run=services.messages.inbox,
        items="messages",
        shown=text.messages.show_inbox,
        lists_messages=True,
        shows_messages=True,
    ),
    Operation(
        command=("message", "sent"),
        help="List the messages that you sent, the newest first, with who has read them.",
        examples=("message sent", "message sent --agent planner --since 1d"),
        parameters=(parameters.QUERY, *parameters.CHANGES, parameters.AGENT),
        run=_list_sent,
        items="messages",
        shown=text.messages.show_sent,
        lists_messages=True,
    ),
    Operation(
        command=("message", "read"),
        help="Mark messages as read, for one agent.",
        examples=("message read m4 m5 --agent builder",),
        parameters=(
            Parameter("ids", list[str], option="ID...", passed_as="refs"),
            Parameter("all", bool, help="All that are unread.", passed_as="everything"),
            parameters.AGENT,
        ),
        run=services.messages.mark_read,
        writes=True,
        prepare=parameters.one_of("ids", "name the ID of at least one message, or give --all"),
        text=text.messages.marked_text,
    ),
    Operation(
        tool="get_team",
        toolset="messages",
        title="Who is at work",
        about="Who is at work: each agent's client, branch, task, claims, last scratchpad and state.",
        found_by="who is editing who else is working team agents online what are the others doing what did the "
        "others do context from other agents",
        command=("who",),
        help="Show the sessions of clients in this project: who works in each, where, at which task, what they claim, "
        "and where they left off. Of those that are gone the last 8 hours are shown.",
        examples=("who", "who --all", "who --line"),
        parameters=(
            Parameter("all", bool, about="Also those who left in the last 14 days"),
            Parameter(
                "line",
                bool,
                help="One line for a prompt: how many are at work, are stuck, and wait unread.",
                for_people=True,
            ),
            *parameters.UNLISTED_FILTERS,
        ),
        instead={"line": _LINE},
        run=services.sessions.team,
        items="sessions",
        text=text.team.team_text,
        shown=text.team.show_team,
        names_files=False,
    ),
)

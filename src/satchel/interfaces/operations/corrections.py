"""Corrections: review, retract, confirm, undo, pin; and proposals, which a person accepts or rejects."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.base.errors import ERROR_KINDS, SatchelError
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.keep.corrections.log import Confirmed, Retracted

_ITEM = Parameter("id", required=True, option="ID", passed_as="ref")


def _review(
    satchel: Satchel, ref: str, *, verdict: str, evidence: str | None = None, agent: str | None = None
) -> Confirmed | Retracted:
    if verdict == "confirm":
        return satchel.corrections.confirm(ref, evidence, agent=agent)
    return satchel.corrections.retract(ref, evidence, closes=verdict == "close", agent=agent)


def _ask_for_older(error: SatchelError, values: dict[str, Any]) -> dict[str, Any] | None:
    older = re.match(r"`satchel undo (\w+)` takes back (.+)", error.remedy or "")
    if older is None:
        return None
    import click

    question = f"{error.problem}. Take back {older[2]}?"
    if not click.confirm(question, err=True):
        click.echo("nothing was changed", err=True)
        raise SystemExit(1)
    return values | {"id": older[1]}


_PROPOSALS = (
    Parameter("refs", list[str], option="REF...", metavar="REF"),
    Parameter("all", bool, help="All that others shared."),
)

_settling = partial(
    Operation,
    writes=True,
    names_files=False,
    text=text.sharing.settled_text,
    shows_notes=True,
    status=lambda settled: ERROR_KINDS["incomplete"].exit_status if settled.failed else None,
)

_REFS = (
    "\n\nREF is the id of a decision or a rule, as `satchel status` prints it (d4@2: d4 while it has revision 2); the "
    "id, file or beginning of the uid of a shared text (`satchel share --list`); or a place such as AGENTS.md:12, or "
    "a document (`satchel import docs`). Only a person decides."
)


OPERATIONS = (
    Operation(
        tool="review_item",
        toolset="context",
        title="Confirm, close or retract an item",
        about="Judge a note or rule; write_context reviews code. confirm what you checked, close a settled bug or "
        "review_issue, retract what is wrong or outdated, or your own draft or unread message. For a user's rule, "
        "the user is asked. To replace one, pass supersedes when writing; set_decision ends a decision.",
        found_by="confirm verified true correct agree still valid wrong outdated disagree dispute delete remove forget "
        "withdraw invalid rule no longer holds retract close bug",
        idempotent=True,
        parameters=(
            Parameter("id", about="Such as e14 or c7", required=True, passed_as="ref"),
            Parameter("verdict", choices=("confirm", "close", "retract"), required=True),
            Parameter("evidence", about="What shows it: a test, a line, a reason"),
            parameters.AGENT_UNLISTED,
        ),
        run=_review,
        writes=True,
        text=text.items.reviewed_text,
    ),
    Operation(
        command=("retract",),
        help="Mark a note, rule or strategy as no longer true. It is kept but hidden from search; `satchel undo` "
        "restores it. For a decision that another agent set: ask that agent to change it.",
        examples=('retract c7 --why "the gateway does it now"',),
        parameters=(
            _ITEM,
            Parameter("reason", help="Why it is no longer true.", option="--why"),
            parameters.AGENT_UNLISTED,
        ),
        run=services.corrections.retract,
        writes=True,
        text=text.items.retracted_text,
    ),
    Operation(
        command=("confirm",),
        help="Confirm that a note or rule is right; each agent counts once.",
        examples=('confirm e14 --evidence "tests/test_auth.py passes" --agent builder',),
        parameters=(
            _ITEM,
            Parameter("evidence", help="What shows that it is right."),
            parameters.AGENT_UNLISTED,
        ),
        run=services.corrections.confirm,
        writes=True,
        text=text.items.confirmed_text,
    ),
    Operation(
        command=("undo",),
        help="Undo your last change: what you wrote or added is retracted, a message that nobody has read is "
        "withdrawn, a decision gets its last value back, what you pinned, retracted, replaced or confirmed is so no "
        "more. Refused where somebody else has changed it since, or where you did something later that cannot be "
        "undone: name the older change by ID.",
        examples=("undo", "undo e14"),
        parameters=(Parameter("id", option="ID", passed_as="ref"), parameters.AGENT),
        run=services.corrections.undo,
        writes=True,
        corrects=_ask_for_older,
        text=text.items.undone_text,
    ),
    Operation(
        command=("pin",),
        help="Put a note, decision, rule, strategy or package into every briefing, as critical items are. Only a "
        "person pins.",
        examples=("pin d12", "pin --remove d12", "pin --list"),
        parameters=(
            _ITEM,
            parameters.AGENT,
            Parameter("remove", bool, help="Remove the pin of ID."),
            Parameter("list", bool, help="List what is pinned, the newest pin first."),
        ),
        run=services.pins.pin,
        writes=True,
        text=text.items.pinned_text,
        instead={
            "remove": Operation(
                run=services.pins.unpin, parameters=(_ITEM, parameters.AGENT), writes=True, text=text.items.pinned_text
            ),
            "list": Operation(
                run=services.pins.list,
                parameters=(*parameters.UNLISTED_FILTERS, *parameters.HISTORY_PAGE),
                items="pins",
                text=text.items.pins_text,
                names_files=False,
            ),
        },
    ),
    _settling(
        run=services.settling.accept,
        parameters=_PROPOSALS,
        command=("accept",),
        help="Let what is proposed hold; its author gets a message. What it replaces is kept in its history. Of a "
        f"whole document what hides characters, comments or secrets is left out.{_REFS}",
        examples=("accept d2", "accept c4 AGENTS.md:12", "accept --all"),
    ),
    _settling(
        run=services.settling.reject,
        parameters=(
            *_PROPOSALS,
            Parameter("reason", help="The reason, which the author of a decision or rule gets.", option="--why"),
        ),
        command=("reject",),
        help="Reject what is proposed; its author gets a message. Shared texts and documents propose it again once it "
        f"changes there.{_REFS}",
        examples=('reject d2 --why "the gateway closes at 300"', "reject CONTRIBUTING.md"),
    ),
)

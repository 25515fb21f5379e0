"""Proposals: accept and reject drafts, unconfirmed rules, shared texts, texts of documents and strategies of runs."""

from __future__ import annotations

from functools import partial

from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.operations import services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

_PARAMETERS = (
    Parameter("refs", list[str], option="REF...", metavar="REF"),
    Parameter("all", bool, help="All that others shared."),
)

_operation = partial(
    Operation,
    writes=True,
    names_files=False,
    text=text.sharing.settled_text,
    shows_notes=True,
    status=lambda settled: ERROR_KINDS["incomplete"].exit_status if settled.failed else None,
)

_REFS = (
    "\n\nREF is the id of a decision or a rule, as `satchel status` prints it (d4@2: d4 while it has revision 2); the "
    "id, file or beginning of the uid of a shared text (`satchel share --list`); a place such as AGENTS.md:12, or a "
    "document (`satchel import docs`); or a proposed strategy (proposal:5). Only a person decides."
)

OPERATIONS = (
    _operation(
        run=services.settling.accept,
        parameters=_PARAMETERS,
        command=("accept",),
        help="Let what is proposed hold; its author gets a message. What it replaces is kept in its history. Of a "
        f"whole document what hides characters, comments or secrets is left out.{_REFS}",
        examples=("accept d2", "accept c4 AGENTS.md:12", "accept --all"),
    ),
    _operation(
        run=services.settling.reject,
        parameters=(
            *_PARAMETERS,
            Parameter("reason", help="Why; the author of a decision or rule is told.", option="--why"),
        ),
        command=("reject",),
        help="Reject what is proposed; its author gets a message. Shared texts and documents propose it again once it "
        f"changes there.{_REFS}",
        examples=('reject d2 --why "the gateway closes at 300"', "reject CONTRIBUTING.md"),
    ),
)

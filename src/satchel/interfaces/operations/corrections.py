"""Corrections: retract, confirm, undo."""

from __future__ import annotations

from satchel.interfaces.operations import services, text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import AGENT, AGENT_UNLISTED, HISTORY_PAGE, UNLISTED_FILTERS

_ITEM = Parameter("id", required=True, option="ID", passed_as="ref")

OPERATIONS = (
    Operation(
        tool="retract",
        toolset="context",
        title="Retract an item",
        about="Say that a note, rule or strategy is wrong or holds no more; to replace it, write with supersedes. "
        "Dispute a decision: who set it is asked to change it.",
        found_by="wrong outdated disagree dispute delete remove forget withdraw invalid rule no longer holds",
        idempotent=True,
        command=("retract",),
        help="Mark a note, rule or strategy as no longer true. It is kept but hidden from search; `satchel undo` "
        "restores it. For a decision that another agent set: ask that agent to change it.",
        examples=('retract c7 --reason "the gateway does it now"',),
        parameters=(
            Parameter("id", about="Such as e14, c7", required=True, option="ID", passed_as="ref"),
            Parameter("reason", about="Why", help="Why it is no longer true.", metavar="TEXT"),
            AGENT_UNLISTED,
        ),
        run=services.corrections.retract,
        writes=True,
        text=text.corrections.retracted_text,
    ),
    Operation(
        tool="confirm",
        toolset="context",
        title="Confirm an item",
        about="Say that another's note or rule is right, once you saw it hold.",
        found_by="confirm verified true correct agree still valid",
        idempotent=True,
        command=("confirm",),
        help="Confirm that a note or rule is right; each agent counts once.",
        examples=("confirm e14 --agent builder",),
        parameters=(
            Parameter("id", about="Such as e14", required=True, option="ID", passed_as="ref"),
            AGENT_UNLISTED,
        ),
        run=services.corrections.confirm,
        writes=True,
        text=text.corrections.confirmed_text,
    ),
    Operation(
        command=("undo",),
        help="Undo your last change: what you wrote or added is retracted, a decision gets its last value back, what "
        "you pinned, retracted, replaced or confirmed is so no more. Refused where somebody else has changed it since.",
        examples=("undo",),
        parameters=(AGENT,),
        run=services.corrections.undo_change,
        writes=True,
        text=text.corrections.undone_text,
    ),
    Operation(
        command=("pin",),
        help="Put a note, decision, rule, strategy or package into every briefing, as critical items are. Only a "
        "person pins.",
        examples=("pin d12", "pin --remove d12", "pin --list"),
        parameters=(
            _ITEM,
            AGENT,
            Parameter("remove", bool, help="Remove the pin of ID."),
            Parameter("list", bool, help="List what is pinned, the newest pin first."),
        ),
        run=services.pins.pin,
        writes=True,
        text=text.corrections.pinned_text,
        instead={
            "remove": Operation(
                run=services.pins.unpin, parameters=(_ITEM, AGENT), writes=True, text=text.corrections.pinned_text
            ),
            "list": Operation(
                run=services.pins.list,
                parameters=(*UNLISTED_FILTERS, *HISTORY_PAGE),
                items="pins",
                text=text.corrections.pins_text,
                names_files=False,
            ),
        },
    ),
)

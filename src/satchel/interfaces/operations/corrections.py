"""Corrections: retract, confirm, undo."""

from __future__ import annotations

from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import AGENT, AGENT_UNLISTED, HISTORY_PAGE

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
        help="Say that a note, rule or strategy holds no more. It stays, and is found only when it is asked for; "
        "satchel undo takes that back. Of a decision that another agent set: ask who set it to change it.",
        examples=('retract c7 --reason "the gateway does it now"',),
        parameters=(
            Parameter("id", about="Such as e14, c7", required=True, option="ID", passed_as="ref"),
            Parameter("reason", about="Why", help="Why it holds no more.", metavar="TEXT"),
            AGENT_UNLISTED,
        ),
        run="corrections.retract",
        writes=True,
        text="corrections_text:retracted_text",
    ),
    Operation(
        tool="confirm",
        toolset="context",
        title="Confirm an item",
        about="Say that another's note or rule is right, once you saw it hold.",
        found_by="confirm verified true correct agree still valid",
        idempotent=True,
        command=("confirm",),
        help="Say that a note or rule is right; each agent counts once.",
        examples=("confirm e14 --agent builder",),
        parameters=(
            Parameter("id", about="Such as e14", required=True, option="ID", passed_as="ref"),
            AGENT_UNLISTED,
        ),
        run="corrections.confirm",
        writes=True,
        text="corrections_text:confirmed_text",
    ),
    Operation(
        command=("undo",),
        help="Take back the last thing that you retracted, replaced or confirmed: in this session of a client, else "
        "as this agent or person.",
        examples=("undo",),
        parameters=(AGENT,),
        run="corrections.undo",
        writes=True,
        text="corrections_text:undone_text",
    ),
    Operation(
        command=("pin",),
        help="Let a note, decision, rule, strategy or package stand in every briefing, as what is critical does. Only "
        "a person pins.",
        examples=("pin d12",),
        parameters=(Parameter("id", required=True, option="ID", passed_as="ref"), AGENT),
        run="pins.pin",
        writes=True,
        text="corrections_text:pinned_text",
    ),
    Operation(
        command=("unpin",),
        help="Let an item rank as it would without a pin.",
        examples=("unpin d12",),
        parameters=(Parameter("id", required=True, option="ID", passed_as="ref"), AGENT),
        run="pins.unpin",
        writes=True,
        text="corrections_text:pinned_text",
    ),
    Operation(
        command=("pins",),
        help="List what is pinned and holds, the newest pin first.",
        examples=("pins",),
        parameters=HISTORY_PAGE,
        run="pins.list",
        items="pins",
        text="corrections_text:pins_text",
        names_files=False,
    ),
)

"""Operations for the control room and other programs, without tool or command."""

from __future__ import annotations

from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import AGENT

_PERSON = Parameter("person", about="human:NAME, or human; default who calls")
_REF = Parameter("ref", about="The item's short id", required=True)

OPERATIONS = (
    Operation(run="room.needs", parameters=(_PERSON,), names_files=False),
    Operation(run="room.since", parameters=(_PERSON,), names_files=False),
    Operation(run="room.where", names_files=False),
    Operation(run="room.status", parameters=(_PERSON,), names_files=False),
    Operation(run="room.collisions", names_files=False),
    Operation(run="room.reached", names_files=False),
    Operation(
        run="room.threads",
        parameters=(
            Parameter("agent", about="Only threads in which it sent or got a message"),
            Parameter("before", about="What the answer before calls before, for the threads that follow"),
            Parameter("limit", int, about="1 to 50"),
        ),
        names_files=False,
    ),
    Operation(run="room.thread", parameters=(_REF,), names_files=False),
    Operation(run="room.history", parameters=(_REF,), names_files=False),
    Operation(run="room.error", parameters=(_REF,), names_files=False),
    Operation(
        run="room.runs",
        parameters=(
            Parameter("status", choices=("active", "completed", "failed")),
            Parameter("limit", int, about="0 to 500"),
            Parameter("offset", int, about="How many to skip"),
        ),
        names_files=False,
    ),
    Operation(
        run="room.spending",
        parameters=(Parameter("days", int, about="Number of days, 1 to 90; default 14"),),
        names_files=False,
    ),
    Operation(
        run="room.see",
        parameters=(
            Parameter(
                "refs",
                list[str],
                about="What answers call id, or action, decision, rule, fix, files or correction for all of that; "
                "default every change",
            ),
            Parameter("up_to", int, about="The seq of the answer that was seen; default now"),
            _PERSON,
        ),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.answer",
        parameters=(
            Parameter("ref", required=True, about="The message"),
            Parameter("message", required=True),
            Parameter("answered_by", about="The last answer to it, as seen; default none was there"),
            _PERSON,
        ),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.release",
        parameters=(
            Parameter("session", required=True, about="uid of the session that holds the claim"),
            Parameter("path", required=True),
            Parameter("expires_at", int, required=True, about="Until when it held as it was seen, milliseconds UTC"),
            _PERSON,
        ),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.accept_proposal",
        parameters=(Parameter("ref", required=True, about="The ref of the need"), _PERSON),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.reject_proposal",
        parameters=(Parameter("ref", required=True, about="The ref of the need"), _PERSON),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.unsee",
        parameters=(Parameter("ref", required=True, about="What answers call id"), _PERSON),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="messages.mark_unread",
        parameters=(Parameter("refs", list[str], required=True, about="Messages"), AGENT),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.promote",
        parameters=(
            Parameter("id", about="Of the note, such as e14", required=True, passed_as="ref"),
            Parameter("key", about="Of the decision", required=True),
            Parameter("value", about="What is decided; default what the note says"),
            Parameter("rationale", about="Why"),
            Parameter("expected_revision", int, about="Only if the decision is at this revision; 0: only if it is new"),
            AGENT,
        ),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="room.take_back_promotion",
        parameters=(
            Parameter("id", about="Of the decision", required=True, passed_as="ref"),
            Parameter("revision", int, about="That the promotion made", required=True),
            Parameter("correction", int, about="That the promotion made", required=True),
            AGENT,
        ),
        writes=True,
        names_files=False,
    ),
    Operation(
        run="decisions.take_back",
        parameters=(
            Parameter("id", about="Its id or key", required=True, passed_as="key"),
            Parameter("revision", int, about="That the change to take back made", required=True),
            AGENT,
        ),
        writes=True,
        names_files=False,
    ),
)

"""What a person looks at every few minutes: for the control room and other programs, without tool or command."""

from __future__ import annotations

from satchel.interfaces.operations.declaration import Operation, Parameter

_PERSON = Parameter("person", about="human:NAME, or human; default who calls, else human")

OPERATIONS = (
    Operation(run="room.needs", parameters=(_PERSON,), names_files=False),
    Operation(run="room.since", parameters=(_PERSON,), names_files=False),
    Operation(run="room.where", names_files=False),
    Operation(run="room.collisions", names_files=False),
    Operation(
        run="room.see",
        parameters=(
            Parameter(
                "refs",
                list[str],
                about="What answers call id, or decision, rule, fix, files or correction for all of that; "
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
)

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
        run="room.memory",
        parameters=(
            Parameter("days", int, about="Of how many days, 1 to 90; default 14"),
            Parameter("by", about="moment or agent; default moment"),
        ),
        names_files=False,
    ),
    Operation(
        run="room.preview",
        parameters=(
            Parameter("agent", about="Whose briefing; default an agent without a name"),
            Parameter("moment", about="briefing, clear, resume, compaction, subagent or prompt; default briefing"),
            Parameter("role"),
            Parameter("task_id"),
            Parameter("query", about="What the agent is about to do, or the prompt"),
            Parameter("budget", int, about="Tokens"),
        ),
        names_files=False,
    ),
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
)

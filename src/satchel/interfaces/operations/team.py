"""Sessions at work in the project."""

from __future__ import annotations

from satchel.interfaces import line
from satchel.interfaces.operations import services, text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import UNLISTED_FILTERS

_LINE = Operation(run=line.counted, shown=line.show, names_files=False, lists_messages=True)

OPERATIONS = (
    Operation(
        tool="get_team",
        toolset="messages",
        title="Who is at work",
        about="Who is at work: each agent's client, branch, task, claims, last scratchpad, state and since when.",
        found_by="who is editing who else is working team agents online what are the others doing what did the "
        "others do context from other agents",
        command=("who",),
        help="Show the sessions of clients in this project: who works in each, where, at which task, what they claim, "
        "and where they left off. Of those that are gone the last 8 hours are shown.",
        examples=("who", "who --all", "who --line"),
        parameters=(
            Parameter(
                "all",
                bool,
                about="Also those who left in the last 14 days",
                help="All of the last 14 days, gone ones too.",
            ),
            Parameter(
                "line",
                bool,
                help="One line for a prompt: how many are at work, are stuck, and wait unread.",
                for_people=True,
            ),
            *UNLISTED_FILTERS,
        ),
        instead={"line": _LINE},
        run=services.sessions.team,
        items="sessions",
        text=text.team.team_text,
        shown=text.team.show_team,
        names_files=False,
    ),
)

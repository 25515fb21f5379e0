"""Who is at work in the project."""

from __future__ import annotations

from satchel.interfaces.operations.declaration import Operation, Parameter

OPERATIONS = (
    Operation(
        tool="get_team",
        toolset="messages",
        about="Who else is at work: agents, client, branch, task, claimed files, last scratchpad, last seen.",
        command=("who",),
        help="Show the sessions of clients in this project: who works in each, where, at which task, what they claim, "
        "and where they left off. Of those that are gone the last 8 hours are shown.",
        examples=("who", "who --all"),
        parameters=(
            Parameter(
                "all", bool, about="Of the last 14 days, gone ones too", help="All of the last 14 days, gone ones too."
            ),
        ),
        run="sessions.team",
        items="sessions",
        text="team_text:team_text",
        shown="team_text:show_team",
        names_files=False,
    ),
)

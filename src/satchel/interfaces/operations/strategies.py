"""Strategies: save, list, propose from a run."""

from __future__ import annotations

from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter, Table

_FROM_RUN = Parameter(
    "from_run",
    help="Instead: what could be learnt from a run, with the command that saves it.",
    metavar="RUN",
    passed_as="run_id",
    for_people=True,
)

OPERATIONS = (
    Operation(
        tool="save_strategy",
        toolset="packages",
        about="Save an approach that worked, for all later work.",
        found_by="lesson learned best practice approach strategy",
        command=("strategy", "save"),
        help="Save an approach that worked: what it is about, and what to do and why.",
        examples=('strategy save token-refresh "Refresh before expiry, not on 401: no request fails" --lang python',),
        parameters=(
            Parameter("topic", about="What it is for", required=True, option="TOPIC"),
            Parameter("insight", about="What to do and why it works", required=True, option="INSIGHT"),
            Parameter("lang", about="Programming language; default any"),
            Parameter("framework", about="Default any"),
            parameters.SUPERSEDES,
            parameters.AGENT_UNLISTED,
        ),
        run=services.strategies.save,
        writes=True,
        text=text.strategies.saved_text,
    ),
    Operation(
        command=("strategy", "list"),
        help="List strategies, those that helped most often first, or what matches WORDS best.",
        examples=("strategy list --lang python --framework django", "strategy list --from-run r1"),
        parameters=(
            parameters.QUERY,
            Parameter("topic", help="Only this topic."),
            Parameter("lang", help="Only those for this language, or for any."),
            Parameter("framework", help="Only those for this framework, or for any."),
            parameters.AUTHOR,
            parameters.STATUS,
            _FROM_RUN,
            *parameters.CHANGES,
        ),
        run=services.strategies.find,
        instead={
            "from_run": Operation(
                parameters=(_FROM_RUN,),
                run=services.learning.strategies,
                shown=text.strategies.show_proposals,
                fields=text.strategies.proposals_fields,
            )
        },
        items="strategies",
        shown=Table(
            "id=ref, topic, insight, lang, framework, helped, did not=not_helped, by=agent, last=last_seen, "
            "saved=created_at",
            usual={"helped": "0", "did not": "0"},
        ),
    ),
)

"""Rules: add, list."""

from __future__ import annotations

from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter, Table


def _person(name: str | None) -> str:
    from satchel.keep.names import shown_name

    return "" if name is None else shown_name(name)


BINDING = Operation(
    parameters=(
        Parameter("file", unlisted=True, required=True, option="FILE", facts="lines", or_words=True),
        *parameters.HISTORY_PAGE,
    ),
    run=services.constraints.binding,
    text=text.rules.binding_text,
    shown=text.rules.show_binding,
)

OPERATIONS = (
    Operation(
        tool="add_constraint",
        toolset="constraints",
        title="Add a rule",
        about="Add a rule that every agent must keep to; briefings show it.",
        found_by="rules constraints must never always policy guideline",
        command=("rule", "add"),
        help="Add a rule.",
        examples=('rule add "Passwords are never logged" --category security --priority critical',),
        parameters=(
            Parameter("text", required=True, option="TEXT"),
            Parameter("category", help="Such as security.", default="general"),
            parameters.PRIORITY.but(rare=("critical",)),  # stored as high, unless a person adds it
            parameters.NEW_PATHS,
            parameters.NEW_LAYER.but(unlisted=True),
            parameters.NEW_TAGS.but(unlisted=True),
            parameters.NEW_METADATA,
            parameters.UNTIL,
            parameters.SUPERSEDES,
            Parameter("stated_by", about="Only for your user's own words", choices=("user",)),
            Parameter(
                "for",
                about="me: your user; it binds only their sessions",
                help="A preference of yours: it binds your sessions only.",
                choices=("me",),
                passed_as="only_for",
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=services.constraints.add,
        writes=True,
        text=text.rules.added_text,
    ),
    Operation(
        tool="get_constraints",
        toolset="lists",
        title="Get rules",
        about="The rules that hold here, most urgent first or by search; with file=PATH what binds it, decisions too.",
        found_by="rules constraints policy guidelines must never",
        command=("rule", "list"),
        help="List the rules that hold, the most urgent first, or what matches WORDS best; of a FILE, or a folder/, "
        "the rules and decisions that bind it.",
        examples=("rule list --layer data --priority high", "rule list src/api/auth.py"),
        parameters=(
            BINDING.parameters[0].but(required=False),
            parameters.QUERY,
            Parameter("category", help="Only this category."),
            parameters.MIN_PRIORITY,
            parameters.LAYER,
            parameters.TAGS,
            parameters.MATCH,
            Parameter("status", about="inactive: ended", choices=("active", "inactive", "all"), default="active"),
            parameters.METADATA,
            parameters.AUTHOR.but(unlisted=True),
            *parameters.CHANGES,
        ),
        run=services.constraints.find,
        instead={"file": BINDING},
        items="constraints",
        text=text.rules.constraints_text,
        shown=Table(
            "id=ref, priority, category, rule=text, layer, paths, tags, metadata, by=agent, stated by, only for, "
            "confirmed, added=created_at, status, ended=deactivated_at, ended by=deactivated_by, reason",
            {
                "metadata": text.rules.metadata_cell,
                "stated by": lambda one: _person(one.stated_by),
                "only for": lambda one: _person(one.for_person),
                "confirmed": text.rules.confirmed_cell,
                "status": lambda one: "active" if one.active else "inactive",
            },
            usual={"status": "active", "confirmed": ""},
            noun="rules",
        ),
    ),
)

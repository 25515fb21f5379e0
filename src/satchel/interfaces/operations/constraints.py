"""Constraints: add, list, deactivate."""

from __future__ import annotations

from satchel.interfaces.operations.declaration import Group, Operation, Parameter, Table
from satchel.interfaces.operations.parameters import (
    AGENT_UNLISTED,
    AUTHOR,
    CHANGES,
    LAYER,
    MATCH,
    MIN_PRIORITY,
    NEW_LAYER,
    NEW_TAGS,
    PRIORITY,
    QUERY,
    TAGS,
)

GROUP = Group(
    "Add, list and deactivate constraints: rules that the project must respect.",
    ('constraint add "No request takes longer than 200 ms" --category performance --priority high',),
)

OPERATIONS = (
    Operation(
        tool="add_constraint",
        toolset="constraints",
        title="Add a rule",
        about="Add a rule that every agent must keep to; critical ones are in every briefing.",
        found_by="rules constraints must never always policy guideline",
        command=("constraint", "add"),
        help="Add a rule.",
        examples=('constraint add "Passwords are never logged" --category security --priority critical',),
        parameters=(
            Parameter("text", required=True, option="TEXT"),
            Parameter(
                "category",
                about="architecture, security, performance or your own",
                help="Such as security.",
                default="architecture",
            ),
            PRIORITY,
            NEW_LAYER,
            NEW_TAGS,
            AGENT_UNLISTED,
        ),
        run="constraints.add",
        writes=True,
        text="ledger.constraints_text:added_text",
        shown="cli.confirmations:constraint_added",
    ),
    Operation(
        tool="get_constraints",
        toolset="constraints",
        title="Get rules",
        about="The rules that hold here, most urgent first or by search.",
        found_by="rules constraints policy guidelines must never",
        command=("constraint", "list"),
        help="List the rules that hold, the most urgent first, or what matches WORDS best.",
        examples=("constraint list --layer data --priority high",),
        parameters=(
            QUERY,
            Parameter("category", help="Only this category."),
            MIN_PRIORITY,
            LAYER,
            TAGS,
            MATCH,
            Parameter(
                "status",
                about="inactive: those that no longer hold",
                choices=("active", "inactive", "all"),
                default="active",
            ),
            AUTHOR,
            *CHANGES,
        ),
        run="constraints.find",
        items="constraints",
        text="ledger.constraints_text:constraints_text",
        shown=Table(
            {
                "id": "ref",
                "priority": "priority",
                "category": "category",
                "rule": "text",
                "layer": "layer",
                "tags": "tags",
                "by": "agent",
                "added": "created_at",
                "status": "cli.shown:state_of",
                "ended": "deactivated_at",
                "ended by": "deactivated_by",
                "reason": "reason",
            },
            usual={"status": "active"},
        ),
    ),
    Operation(
        tool="deactivate_constraint",
        toolset="constraints",
        title="End a rule",
        about="Say that a rule no longer holds; it stays findable.",
        found_by="remove rule constraint no longer holds",
        idempotent=True,
        command=("constraint", "deactivate"),
        help="Say that a rule does not hold any more; it stays findable.",
        examples=('constraint deactivate c7 --reason "the gateway does it now"',),
        parameters=(
            Parameter("id", about="Such as c7", required=True, option="ID", passed_as="ref"),
            Parameter("reason", about="Why", help="Why it does not hold any more.", metavar="TEXT"),
            AGENT_UNLISTED,
        ),
        run="constraints.deactivate",
        writes=True,
        text="ledger.constraints_text:deactivated_text",
        shown="cli.confirmations:deactivated",
    ),
)

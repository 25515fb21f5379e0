"""Packages: files and texts that agents hand to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base import vocabulary
from satchel.base.errors import ERROR_KINDS, InvalidInput
from satchel.interfaces.operations.declaration import Group, Operation, Parameter, Table
from satchel.interfaces.operations.parameters import (
    AGENT_UNLISTED,
    AUTHOR,
    CHANGES,
    MIN_PRIORITY,
    NEW_TASK,
    PRIORITY,
    QUERY,
    RUN,
    RUN_READ,
    STATUS,
    TASK,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.client import Satchel
    from satchel.keep.packages import Package, PackageContent, PackagePage

_TYPES = ("research", "failures", "decisions", "handoff", "investigation")
_EVENTS = ("error", "blocker", "finding", "resolved", "stale")

GROUP = Group(
    "Save, list and show packages: files and texts worth handing to other agents.",
    ('package save "How tokens are refreshed" --path docs/tokens.md --priority high',),
)


def _with_content(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("content") != "-":
        return given
    from satchel.interfaces.cli.common import given_or_read

    return given | {"content": given_or_read("-", "content")}


def _change(
    satchel: Satchel,
    *,
    ref: str,
    priority: str | None = None,
    event: str | None = None,
    agent: str | None = None,  # noqa: ARG001 -- who acts learns what waits; a priority has no author
) -> Package:
    if priority is not None and event is None:
        return satchel.packages.set_priority(ref, priority)
    if event is not None and priority is None:
        return satchel.packages.react(ref, event)
    raise InvalidInput("give either a priority or an event", "One of them changes how urgent the package is")


def show_packages(page: PackagePage) -> None:
    """Print a page of packages as a table, and how many there are of each priority."""
    from satchel.find.kind import Kind
    from satchel.interfaces.cli.tables import local_time, show_list

    columns = Table(
        {
            "id": "ref",
            "priority": "priority",
            "type": "type",
            "summary": "summary",
            "file": "path",
            "bytes": "content_bytes",
            "task": "task_id",
            "for": "consumers",
            "run": "run_id",
            "by": "agent",
            "saved": "created_at",
            "changed": lambda one: None if one.updated_at == one.created_at else local_time(one.updated_at),
            "superseded by": lambda one: None if one.superseded_by is None else Kind.PACKAGE.ref(one.superseded_by),
        },
        usual={"run": page.run_id or vocabulary.MAIN_RUN},
    )
    counts = ", ".join(f"{count} {priority}" for priority, count in page.by_priority)
    show_list(page, f"packages ({counts})" if counts else "packages", columns)


def show_contents(contents: Sequence[PackageContent]) -> None:
    """Print what packages hold, and to stderr what each is."""
    import click

    from satchel.interfaces.briefing.packages_text import content_notes
    from satchel.interfaces.cli.common import warn_notes

    for one in contents:
        if one.package is not None and one.text is not None:
            who = "" if one.package.agent is None else f" by {one.package.agent}"
            click.echo(f"{one.ref} {one.package.type}{who}: {one.package.summary}", err=True)
            click.echo(one.text)
    warn_notes(content_notes(contents))


_SHOW = Operation(
    command=("package", "show"),
    help="Print what packages hold; what each is goes to stderr. Leaves with status 3 if one cannot be shown.",
    examples=("package show p7 > handoff.md",),
    parameters=(
        Parameter(
            "packages", list[str], about="Ids of those to read, as p3", required=True, option="ID...", passed_as="refs"
        ),
        Parameter("max_bytes", int, about="Of each", help="The largest to show. Default: context.max_content_kib."),
    ),
    run="packages.read_many",
    text="items_text:contents_text",
    shown="operations.packages:show_contents",
    fields="briefing.packages_text:contents_fields",
    names_files=lambda contents: [one.package and one.package.path for one in contents],
    status=lambda contents: ERROR_KINDS["not_found"].exit_status if any(one.text is None for one in contents) else None,
)
_SET_PRIORITY = Operation(
    command=("package", "priority"),
    help="Say how urgent a package is, by hand or because of an event.",
    examples=("package priority p7 critical", "package priority p7 --event resolved"),
    parameters=(
        Parameter(
            "package",
            about="Its id, as p3, with its new priority or an event",
            required=True,
            option="ID",
            passed_as="ref",
        ),
        Parameter("priority", choices=vocabulary.PRIORITIES, option="PRIORITY"),
        Parameter(
            "event",
            unlisted=True,
            help="What happened, instead: changes the priority by rule.",
            choices=_EVENTS,
        ),
        AGENT_UNLISTED,
    ),
    run=_change,
    writes=True,
    text="briefing.packages_text:changed_text",
    names_files=False,
)

OPERATIONS = (
    Operation(
        tool="save_package",
        toolset="packages",
        title="Save a package",
        about="Hand a file (path) or a longer text (content) to other agents; or change the priority of one (package).",
        found_by="handoff hand over artifact file share report",
        command=("package", "save"),
        help="Save a package: SUMMARY says in one line what is in it.",
        examples=(
            'package save "Why the login test fails" --path docs/login.md --type investigation --for developer',
            'git diff | satchel package save "The state before the move" --content - --type handoff',
        ),
        parameters=(
            Parameter("summary", about="One line", required=True, option="SUMMARY"),
            Parameter(
                "path",
                about="A file of the project",
                help="A file of the project; it is read again each time.",
                metavar="FILE",
                facts="package",
            ),
            Parameter(
                "content",
                about="The text, instead of path",
                help="A text to keep instead; - reads it from standard input.",
                metavar="TEXT",
            ),
            Parameter("type", choices=_TYPES, default="research"),
            PRIORITY,
            NEW_TASK.but(help="The task it belongs to. Default: the whole run."),
            Parameter(
                "consumers",
                list[str],
                about="Roles; default any",
                help="A role it is meant for; may be repeated.",
                option="--for",
                metavar="ROLE",
            ),
            Parameter(
                "supersedes",
                about="The package it replaces, as p3",
                help="The package that this one replaces.",
                metavar="ID",
            ),
            RUN,
            AGENT_UNLISTED,
        ),
        run="packages.save",
        writes=True,
        prepare=_with_content,
        text="briefing.packages_text:saved_text",
        names_files=lambda saved: [saved.path],
        instead={"package": _SET_PRIORITY},
    ),
    Operation(
        tool="get_packages",
        toolset="packages",
        title="Get packages",
        about="Files and texts that agents handed over, most urgent first or by search; with packages what those hold.",
        found_by="handoff handed over artifacts files reports",
        command=("package", "list"),
        help="List packages, the most urgent first, or what matches WORDS best.",
        examples=("package list --priority high --role developer",),
        parameters=(
            QUERY,
            Parameter("types", list[str], help="May be repeated.", choices=_TYPES, unlisted=True),
            MIN_PRIORITY.but(unlisted=True),
            TASK.but(help="Only those of this task, or of the whole run."),
            Parameter(
                "role",
                unlisted=True,
                help="Only those meant for this role, or for any.",
            ),
            AUTHOR.but(help="Only what this agent produced."),
            STATUS.but(unlisted=True),
            *CHANGES,
            RUN_READ,
        ),
        run="packages.find",
        items="packages",
        text="briefing.packages_text:packages_text",
        shown="operations.packages:show_packages",
        names_files=lambda page: [one.path for one in page],
        instead={"packages": _SHOW},
    ),
    _SHOW,
    _SET_PRIORITY,
)

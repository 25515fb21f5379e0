"""Packages: files and texts that agents pass to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base import vocabulary
from satchel.base.errors import ERROR_KINDS, InvalidInput
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.keep.packages.records import Package

_TYPES = ("research", "failures", "decisions", "handoff", "investigation")
_EVENTS = ("error", "blocker", "finding", "resolved", "stale")


def _with_content(values: dict[str, Any]) -> dict[str, Any]:
    if values.get("content") != "-":
        return values
    from satchel.interfaces.cli.common import given_or_read

    return values | {"content": given_or_read("-", "content")}


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
    run=services.packages.read_many,
    text=text.items.contents_text,
    shown=text.packages.show_contents,
    fields=text.packages.contents_fields,
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
            "event", unlisted=True, help="What happened, instead: changes the priority by rule.", choices=_EVENTS
        ),
        parameters.AGENT_UNLISTED,
    ),
    run=_change,
    writes=True,
    text=text.packages.changed_text,
    names_files=False,
)

OPERATIONS = (
    Operation(
        tool="save_package",
        toolset="packages",
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
            Parameter("path", about="A file of the project", metavar="FILE", facts="package"),
            Parameter(
                "content",
                about="The text, instead of path",
                help="A text to keep instead; - reads it from standard input.",
                metavar="TEXT",
            ),
            Parameter("type", choices=_TYPES, default="research"),
            parameters.PRIORITY,
            parameters.NEW_TASK.but(help="The task it belongs to. Default: the whole run."),
            Parameter("consumers", list[str], about="Roles; default any", option="--for", metavar="ROLE"),
            Parameter("supersedes", about="The package it replaces, as p3", metavar="ID"),
            parameters.RUN,
            parameters.AGENT_UNLISTED,
        ),
        run=services.packages.save,
        writes=True,
        prepare=_with_content,
        text=text.packages.saved_text,
        names_files=lambda saved: [saved.path],
        instead={"package": _SET_PRIORITY},
    ),
    Operation(
        tool="get_packages",
        toolset="packages",
        about="Files and texts that agents handed over, most urgent first or by search; with packages what those hold.",
        found_by="handoff handed over artifacts files reports",
        command=("package", "list"),
        help="List packages, the most urgent first, or what matches WORDS best.",
        examples=("package list --priority high --role developer",),
        parameters=(
            parameters.QUERY,
            Parameter("types", list[str], choices=_TYPES, unlisted=True),
            parameters.MIN_PRIORITY.but(unlisted=True),
            parameters.TASK.but(help="Only those of this task, or of the whole run."),
            Parameter("role", unlisted=True, help="Only those meant for this role, or for any."),
            parameters.AUTHOR.but(help="Only what this agent produced."),
            parameters.STATUS.but(unlisted=True),
            *parameters.CHANGES,
            parameters.RUN_READ,
        ),
        run=services.packages.find,
        items="packages",
        text=text.packages.packages_text,
        shown=text.packages.show_packages,
        names_files=lambda page: [one.path for one in page],
        instead={"packages": _SHOW},
    ),
    _SHOW,
    _SET_PRIORITY,
)

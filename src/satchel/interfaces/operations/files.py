"""Files: recorded edits, and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Object, Operation, Parameter, Table

if TYPE_CHECKING:
    from satchel.keep.files.records import Claimed

_CHANGES = ("created", "modified", "deleted")


def _new_claims(claimed: Claimed) -> list[str]:
    return [one.path for one in claimed.claims if not one.is_key and one.path not in claimed.renewed]


_paths_or_all = parameters.one_of("paths", "name at least one of PATHS, or give --all")


def _without_all(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _paths_or_all(values).items() if name != "all"}


OPERATIONS = (
    Operation(
        tool="claim_files",
        toolset="files",
        about="Claim files before you edit them, all or none: others cannot claim them, and clients with Satchel's "
        "hooks stop their edits. Returns until when, who shares or changed them, notes, or who holds them. Claim again "
        "to renew.",
        found_by="claim lock reserve files before edit avoid conflict",
        idempotent=True,
        command=("file", "claim"),
        help="Claim files, with / at the end whole folders, or keys such as issue:311: all of them or none. Claiming "
        "again renews.",
        examples=(
            "file claim src/auth.py tests/auth/ --agent builder --minutes 45",
            "file claim issue:311 --shared README.md --agent builder --wait 30",
        ),
        parameters=(
            Parameter(
                "paths",
                list[str],
                about="To edit alone, refused while others share them: src/a.py, folder/, or a key as issue:311",
                option="PATHS...",
                facts="claimed",
            ),
            Parameter(
                "shared",
                list[str],
                about="To edit beside others; name your part in reason",
                help="A file that others may claim as shared too.",
                metavar="PATH",
                facts="claimed",
            ),
            Parameter(
                "minutes",
                int,
                about="Default 30",
                help="How long, 1 to 10080. Default: claims.minutes.",
            ),
            Parameter("reason", about="What for; others see it", help="What for.", option="--why"),
            Parameter("wait_seconds", int, about="Wait for what another holds, 0 to 45", default=0, option="--wait"),
            parameters.AGENT,
        ),
        run=services.files.claim,
        writes=True,
        text=text.files.claimed_text,
        takes=_new_claims,
        timed=True,
    ),
    Operation(
        tool="release_files",
        toolset="files",
        about="End your claims and record what you did to the files (as f ids); returns who waits.",
        found_by="release unlock files done editing",
        idempotent=True,
        command=("file", "release"),
        help="Give claims back.",
        examples=('file release src/auth.py --description "refresh tokens" --agent builder',),
        parameters=(
            Parameter("paths", list[str], about="Default: all you hold here", option="PATHS...", facts="claimed"),
            Parameter("all", bool, help="All of the agent's claims in this worktree, and of keys.", for_people=True),
            Parameter("description", about="What you did; 'fixes e12' closes the bug or review_issue e12"),
            Parameter(
                "descriptions",
                Object,
                about="Per file instead: {path: what you did there}",
                option=None,
                facts="claimed",
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=services.files.release,
        writes=True,
        prepare=_without_all,
        text=text.files.released_text,
        timed=True,
    ),
    Operation(
        command=("file", "check"),
        help="Say whose files are, or keys: free, yours, or another's, until when. Leaves with status 4 if another "
        "holds one; recent changes are hints. Without FILE all that you have claimed.",
        examples=("file check src/auth.py --agent builder && $EDITOR src/auth.py",),
        parameters=(
            Parameter("paths", list[str], option="FILE...", passed_as="files", facts="claimed"),
            Parameter(
                "window_seconds",
                int,
                help="How recent a change is told; 0: only claims.",
                default=3_600,
                option="--window",
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=services.files.check,
        text=text.files.checked_text,
        timed=True,
        names_files=False,
        status=lambda checked: ERROR_KINDS["conflict"].exit_status if checked.is_held else None,
    ),
    Operation(
        command=("file", "claims"),
        help="List who has claimed what, and until when.",
        examples=("file claims --path src/auth.py",),
        parameters=(
            Parameter("author", help="Only this agent's, this client's, or me."),
            Parameter("path", help="Only those that cover this path, or are of this key.", facts="claimed"),
            *parameters.PAGE,
        ),
        run=services.files.claims,
        items="claims",
        shown=Table(
            "path, by=agent, how, since=created_at, until=expires_at, worktree, what for=reason",
            {"how": lambda one: ("exclusive" if one.exclusive else "shared") + ", automatic" * one.automatic},
        ),
    ),
    Operation(
        tool="record_file_change",
        toolset="changes",
        title="Record an edit",
        about="Record an edit made without a claim; release_files records the others.",
        found_by="record edit changed file modified created deleted",
        command=("file", "record"),
        help="Record that a file was created, modified or deleted.",
        examples=('file record src/auth.py modified --description "refresh tokens" --agent builder',),
        parameters=(
            Parameter("file", about="Such as src/a.py", required=True, option="FILE", facts="file"),
            Parameter("change", choices=_CHANGES, required=True, option="CHANGE"),
            Parameter("description", about="What you did and why", help="What was done."),
            parameters.NEW_LAYER.but(unlisted=True),
            parameters.AGENT_UNLISTED,
        ),
        run=services.files.record,
        writes=True,
        text=text.files.recorded_text,
    ),
    Operation(
        tool="get_file_changes",
        toolset="changes",
        title="Get edits",
        about="Who changed which files and why, newest first or by search.",
        found_by="who changed files edits history what was modified",
        command=("file", "list"),
        help="List recorded edits, the newest first, or what matches WORDS best.",
        examples=("file list --file src/auth/ --since 2h",),
        parameters=(
            parameters.QUERY,
            parameters.FILE,
            Parameter("change", help="Only this kind of change.", choices=_CHANGES, unlisted=True),
            parameters.AUTHOR.but(about="", help="Only what this agent did, or this client's agents, or me."),
            parameters.LAYER,
            *parameters.CHANGES,
        ),
        run=services.files.changes,
        items="changes",
        text=text.files.changes_text,
        shown=Table("id=ref, file, change, by=agent, when=created_at, layer, worktree, what=description"),
    ),
)

"""The shared text: share and sync. Agents have no tools for it."""

from __future__ import annotations

from functools import partial

from satchel.base.errors import ERROR_KINDS
from satchel.base.vocabulary import RESOLUTIONS, SHARING_RULES
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

_DRY_RUN = Parameter("dry_run", bool, help="Only say what would be done.")
_ITEMS = Parameter("refs", list[str], option="REF...", metavar="REF")
_ALL = Parameter("all", bool, help="Of a list, also what is in step.")

ONLY_HERE = (
    "It needs the repository's files and the store: run it on a machine that has both, as that of the server "
    "with a clone"
)
_operation = partial(Operation, names_files=False, only_here=ONLY_HERE)


_CHECK = _operation(
    run=services.shared.check,
    text=text.sharing.checked_text,
    status=lambda checked: ERROR_KINDS["conflict"].exit_status if checked.problems else None,
)


_AGENTS_MD = _operation(
    run=services.documents.write_block,
    parameters=(Parameter("remove", bool), Parameter("check", bool)),
    writes=True,
    text=text.sharing.block_text,
    asks=text.sharing.block_question,
    status=lambda block: ERROR_KINDS["conflict"].exit_status if block.is_check and block.changed else None,
)


_UNSHARE = _operation(
    run=services.shared.unshare,
    parameters=(_ITEMS.but(required=True), _DRY_RUN),
    writes=True,
    text=text.sharing.unshared_text,
)


_LIST = _operation(
    run=services.shared.standing,
    parameters=(_ITEMS, _ALL, *parameters.UNLISTED_FILTERS),
    items="items",
    text=text.sharing.list_text,
)


_DIFF = _operation(run=services.shared.diff, parameters=(_ITEMS, _ALL), text=text.sharing.differences_text)


OPERATIONS = (
    _operation(
        command=("share",),
        help="""Write items into .satchel/shared, one Markdown file for each, for git to carry and people to review.

REF is the id of a decision, rule, error with its solutions, strategy or note. They are kept in step from then on by
satchel sync. Nothing is committed, and nothing secret is written.

With --remove their files say from then on that they are no longer shared, for all branches to merge. The items stay
here, and where others have accepted them. To say that one is no longer true, retract it, or set the decision to
deprecated, and sync.

--list shows what others shared and nobody here has accepted, and where the store and the files differ; --diff what
waits beside what is here. REF may then be the name of a file or the beginning of a uid. What waits is shown to no agent
before a person accepts it (satchel accept).

--agents-md keeps one block in AGENTS.md (or the file that it leads to): how agents reach the memory, and rules and
decisions that a person wrote or confirmed, at most 2,000 tokens. What came from that file is left out. Only this
command writes it, also after a merge conflict in the block; --check fails where it is not as it would be written, and
--remove takes it out.""",
        examples=(
            "share d12 c7",
            "share --rule decisions --dry-run",
            "share --remove d12",
            "share --list",
            "share --check",
            "share --agents-md",
            "share --agents-md --check",
        ),
        parameters=(
            _ITEMS,
            Parameter(
                "rule",
                list[str],
                choices=SHARING_RULES,
                help="All decisions or rules in force, errors whose fix is known, or strategies that helped.",
            ),
            _DRY_RUN,
            Parameter("agents_md", bool, help="Write the block with rules and decisions into AGENTS.md."),
            Parameter("remove", bool, help="Stop sharing REF; with --agents-md take the block out."),
            Parameter("list", bool, help="List what waits, and what differs."),
            Parameter("diff", bool, help="Show what waits beside what is here."),
            Parameter(
                "check",
                bool,
                help="Write nothing: fail where a file is broken or not what sync would write, for CI. Needs no store.",
            ),
        ),
        run=services.shared.share,
        writes=True,
        text=text.sharing.sharing_text,
        status=lambda done: ERROR_KINDS["incomplete"].exit_status if done.refused else None,
        instead={"agents_md": _AGENTS_MD, "remove": _UNSHARE, "list": _LIST, "diff": _DIFF, "check": _CHECK},
    ),
    _operation(
        command=("sync",),
        help="""Bring the store and .satchel/shared in step, both ways.

Files are written for shared items that were changed here. What others wrote is read from the default branch and waits
for satchel accept, unless share.accept in your own configuration lets it in. Nothing is committed.

Where git has left conflict markers, --resolve says which text stands: ours is that of the branch you are on (in a
rebase, of the one you rebase onto), theirs the other, both the later one with the other below it. Then git add the
files.""",
        examples=("sync", "sync --dry-run", "sync --resolve both"),
        parameters=(
            _DRY_RUN,
            Parameter("resolve", choices=RESOLUTIONS, help="Resolve git's conflict markers in the files."),
        ),
        run=services.shared.sync,
        writes=True,
        text=text.sharing.synced_text,
        status=lambda done: ERROR_KINDS["incomplete"].exit_status if done.problems else None,
    ),
)

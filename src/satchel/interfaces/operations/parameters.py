"""Parameters of several operations, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from satchel.base import vocabulary
from satchel.base.errors import InvalidInput
from satchel.base.paging import DEFAULT_LIMIT, MATCHES, ORDERS
from satchel.interfaces.operations.declaration import Parameter
from satchel.keep.common_filters import COMMON

AGENT = Parameter("agent", about="Subagents: your name", help="Who acts. [env: SATCHEL_AGENT]", metavar="NAME")

# The actor, for tools where naming it is rare; the description of get_briefing names every tool.
AGENT_UNLISTED = AGENT.but(unlisted=True)

# A named piece of work; few agents name one, since a run binds the session that started it.
RUN = Parameter("run_id", help="The run. Default: main. [env: SATCHEL_RUN]", unlisted=True)

RUN_READ = RUN.but(help="Only this run, or * for all. Default: all. [env: SATCHEL_RUN]")
FORMAT = Parameter("format", choices=("text", "json"), option=None, unlisted=True)
PRIORITY = Parameter("priority", choices=vocabulary.PRIORITIES, default="medium")

QUERY = Parameter("query", option="WORDS...")
MIN_PRIORITY = Parameter(
    "priority", about="Or higher", help="Only this priority or a higher one.", choices=vocabulary.PRIORITIES
)
MATCH = Parameter(
    "match", help="Any or all of the tags, and of the scopes.", choices=MATCHES, default="any", unlisted=True
)
NEW_TASK = Parameter("task_id", about="As in get_briefing", help="The task it belongs to.")
NEW_LOOP = NEW_TASK.but(name="loop_id", help="The loop it belongs to.")
TASK = Parameter("task_id", help="Only this task.")
LOOP = Parameter("loop_id", about="Only this loop: attempts at one goal", help="Only this loop.")
SUPERSEDES = Parameter("supersedes", about="Id of the one it replaces", metavar="ID")
AUTHOR = Parameter(
    "author",
    about="An agent of get_team, or me",
    help="Only what this agent wrote, or this client's agents, or me.",
)
NEW_TAGS = Parameter("tags", list[str])
NEW_PATHS = Parameter("paths", list[str], about="Globs of the files it binds: src/**, *.py", metavar="GLOB")
NEW_METADATA = Parameter(
    "metadata",
    dict,
    help="A field of your own, as key=value; or several, as a JSON object.",
    metavar="KEY=VALUE",
    unlisted=True,
)
UNTIL = Parameter("until", about="When it ends: a date, or a condition in words")
METADATA = Parameter("metadata", help="Only with this key, or key=value.", metavar="KEY", unlisted=True)
TAGS = Parameter("tags", list[str], help="Only with this tag.")
STATUS = Parameter(
    "status",
    about="Default live; superseded: replaced, retracted or closed",
    help="superseded: those that were replaced, retracted or closed.",
    choices=vocabulary.LIVENESS,
    default="live",
)
FILE = Parameter(
    "file", about="A file, or folder/", help="Only this file, or with / at its end all in this folder.", facts="lines"
)
TYPES = Parameter("types", list[str], help="Only this type.", metavar="TYPE")
LAYER = Parameter("layer", about="Part of the architecture, as data", help="Only this layer.", unlisted=True)
NEW_LAYER = Parameter(
    "layer", about=f"Part of the architecture: {', '.join(vocabulary.LAYERS)}", help="Such as business or data."
)

COMMON_FILTERS = tuple(
    Parameter(one.name, one.type, about=one.about, help=one.help, metavar=one.metavar) for one in COMMON
)

UNLISTED_FILTERS = tuple(one.but(unlisted=True) for one in COMMON_FILTERS)
LIMIT = Parameter("limit", int, help="0 to 500; 0 gives the total.", default=DEFAULT_LIMIT)
OFFSET = Parameter("offset", int, help="How many to skip.", unlisted=True)
_LIMITS = (LIMIT, OFFSET)
# How much of each item an answer shows; the interface's, not the service's.
DETAIL = Parameter(
    "detail",
    help="How much of each item is shown. Default: as a table; of a search, snippets.",
    choices=("titles", "snippets", "full"),
)

HISTORY_PAGE = _LIMITS
PAGE = (*UNLISTED_FILTERS, DETAIL, *_LIMITS)

# What a list of things that change takes after its own filters.
CHANGES = (
    *UNLISTED_FILTERS,
    Parameter("after_seq", int, help="Only what changed after this number, in that order.", unlisted=True),
    Parameter("order", help="By time, instead of the usual order.", choices=ORDERS, unlisted=True),
    DETAIL,
    *_LIMITS,
)


def one_of(name: str, message: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a check that refuses a command without any name, or with a name and ``--all``."""

    def prepare(values: dict[str, Any]) -> dict[str, Any]:
        if (name in values) == values.get("all", False):
            raise InvalidInput(message)
        return values

    return prepare

"""Search over all items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.operations import text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import (
    AUTHOR,
    COMMON_FILTERS,
    DETAIL,
    FILE,
    LIMIT,
    LOOP,
    OFFSET,
    QUERY,
    RUN_READ,
    STATUS,
    TASK,
    TYPES,
)

if TYPE_CHECKING:
    from satchel.keep.finding import FoundPage

_KINDS = tuple(kind.name.lower() for kind in Kind)

_FOR_AGENTS = 10
"""How many results an agent gets by default; people, who pay no tokens, get as many as of any list."""


def _search(satchel: Satchel, *, query: str | None = None, limit: int = _FOR_AGENTS, **filters: Any) -> FoundPage:
    return satchel.finding.search(query, limit=limit, **filters)


def _prepare(values: dict[str, Any]) -> dict[str, Any]:
    syntax = "operators" if values.pop("operators") else "natural"
    return values | {"syntax": syntax}


OPERATIONS = (
    Operation(
        tool="search",
        toolset="search",
        title="Search everything",
        about="Search notes, decisions, rules, messages, errors with their fixes, and file changes by any text. "
        "Without query it lists the newest: kinds=[constraint] the rules, kinds=[file_change] who changed what, "
        "types=[bug] the open bugs.",
        found_by="find memory notes recall look up anything known read history list what did the others do who changed",
        always_shown=True,
        command=("search",),
        help="Search everything the project keeps, in all runs. Any text is a valid search; best first. Without WORDS "
        "it lists what is newest.",
        examples=("search where do sessions expire",),
        parameters=(
            QUERY,
            Parameter("like", unlisted=True, help="Find more like this item instead.", metavar="ID"),
            Parameter(
                "syntax",
                about="operators: AND OR NOT prefix* ( )",
                choices=("natural", "operators"),
                option=None,
                unlisted=True,
            ),
            Parameter(
                "operators",
                bool,
                help="WORDS use AND, OR, NOT or -, prefix*, phrases and parentheses.",
                for_people=True,
            ),
            RUN_READ.but(help="Only this run. Default: all of the project."),
            Parameter(
                "kinds",
                list[str],
                about="package: handed over for a task; strategy: an approach that worked",
                help="Only this kind; may be repeated.",
                choices=_KINDS,
                metavar="KIND",
            ),
            TYPES.but(about="Such as discovery"),
            AUTHOR,
            TASK,
            LOOP.but(unlisted=True),
            FILE,
            *COMMON_FILTERS,
            STATUS,
            Parameter("explain", bool, help="Say how each score came about.", unlisted=True),
            DETAIL,
            LIMIT.but(default_for_agents=_FOR_AGENTS),
            OFFSET,
        ),
        run=_search,
        cites=True,
        prepare=_prepare,
        items="results",
        text=text.search.results_text,
        whole=text.search.with_whole_texts,
        shown=text.search.show_results,
    ),
)

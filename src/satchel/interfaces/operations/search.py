"""Search everything, and show items of any kind by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.records import replace
from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Operation, Parameter

if TYPE_CHECKING:
    from satchel.keep.finding import FoundPage
    from satchel.keep.items import OpenedItems

_KINDS = tuple(kind.name.lower() for kind in Kind)

# How many results an agent gets by default; people, who pay no tokens, get as many as of any list.
_FOR_AGENTS = 10


def _search(satchel: Satchel, *, query: str | None = None, limit: int = _FOR_AGENTS, **filters: Any) -> FoundPage:
    from satchel.keep.kinds import is_ref

    page = satchel.finding.search(query, limit=limit, **filters)
    if page.results or query is None or not is_ref(query):
        return page
    return replace(page, notes=(*page.notes, f"get_items ids={query} opens an item by its id"))


def _prepare(values: dict[str, Any]) -> dict[str, Any]:
    syntax = "operators" if values.pop("operators") else "natural"
    return values | {"syntax": syntax}


def _files(opened: OpenedItems) -> list[str | None]:
    # the text on a file has its claims
    records = [getattr(item.record, "package", item.record) for item in opened.items if item.kind != "file"]
    return [getattr(record, "file", getattr(record, "path", None)) for record in records]


OPERATIONS = (
    Operation(
        tool="search",
        toolset="search",
        about="Search notes (entry), decisions, rules (constraint), messages, errors with fixes, and file changes; "
        "without a query, the newest. types=[bug]: open bugs. Shows snippets unless detail=full.",
        found_by="find memory notes recall look up anything known read history list what did the others do who changed",
        always_shown=True,
        command=("search",),
        help="Search everything the project keeps, in all runs. Any text is a valid search; best first. Without WORDS "
        "it lists what is newest.",
        examples=("search where do sessions expire",),
        parameters=(
            parameters.QUERY,
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
            parameters.RUN_READ.but(help="Only this run. Default: all of the project."),
            Parameter(
                "kinds",
                list[str],
                help="Only this kind.",
                choices=_KINDS,
                rare=("package", "strategy"),  # no tool of the default sets makes one
                metavar="KIND",
            ),
            parameters.TYPES.but(about="Of notes, as in write_context"),
            parameters.AUTHOR,
            parameters.TASK,
            parameters.LOOP.but(unlisted=True),
            parameters.FILE,
            *parameters.COMMON_FILTERS,
            parameters.STATUS,
            Parameter("explain", bool, help="Say how each score came about.", unlisted=True),
            parameters.DETAIL,
            parameters.LIMIT.but(default_for_agents=_FOR_AGENTS),
            parameters.OFFSET.but(unlisted=False),
        ),
        run=_search,
        cites=True,
        prepare=_prepare,
        items="results",
        text=text.search.results_text,
        whole=text.search.with_whole_texts,
        shown=text.search.show_results,
    ),
    Operation(
        tool="get_items",
        toolset="context",
        title="Open items",
        about="Items in full by id (e14 note, d decision, c rule, m message, f file change, x error, y fix), a "
        "decision with its history (decision:KEY), a file (file:PATH): who holds it, changes, what binds it, notes.",
        found_by="open show read full text details by id memory notes remember recall decision history why was this "
        "chosen who is editing locked free conflict may I edit rules of a file",
        command=("show",),
        help="Show items of any kind in full, by their short ids; a decision with its history as decision:KEY, and all "
        "about a file as file:PATH.",
        examples=("show e14 d1 c3", "show decision:session_ttl file:src/auth.py"),
        parameters=(
            Parameter(
                "ids",
                list[str],
                about="As e14, decision:session_ttl, file:src/a.py; up to 20",
                required=True,
                option="ID...",
                passed_as="refs",
                facts="opened",
            ),
            Parameter("offset", int, about="Characters to skip, if an answer says so", option=None),
            parameters.AGENT_UNLISTED,
        ),
        run=services.items.read,
        cites=True,
        text=text.items.items_text,
        shown=text.items.whole_text,
        fields=text.items.items_fields,
        names_files=_files,
        shows_messages=True,
    ),
)

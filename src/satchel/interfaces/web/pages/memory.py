"""The memory of a project as one list, with facets and one search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.find.snippets import Snippet
from satchel.interfaces.web.request import Page, PageRequest, View, as_text, now, offset
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import Decision
from satchel.keep.entries.labels import labelled
from satchel.keep.entries.records import ENTRY_TYPES, STRUCTURED_TYPES, Entry
from satchel.keep.finding import Found, FoundPage
from satchel.keep.items import MAX_ITEMS, Item
from satchel.keep.patterns.records import ErrorPattern

NAMES = {
    "constraint": ("Rule", "Rules"),
    "decision": ("Decision", "Decisions"),
    "error_pattern": ("Error", "Errors and fixes"),
    "entry": ("Note", "Notes"),
    "package": ("Package", "Packages"),
    "strategy": ("Strategy", "Strategies"),
    "message": ("Message", "Messages"),
    "file_change": ("Edit", "Edits"),
    "solution": ("Fix", "Fixes"),
}
"""The names of one and of several items of a kind."""

_KEPT = ("constraint", "decision", "error_pattern", "entry", "package", "strategy")
_STATES = (("", "Current"), ("superseded", "Replaced or retracted"), ("all", "All"))
_FILTERS = ("q", "kind", "status", "author", "file", "run", "task", "loop")
_PROGRESS = "scratchpad"
_TITLE_CHARS = 160
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s)|\n|$)", re.DOTALL)
_OPERATORS = re.compile(r'\b(?:AND|OR|NOT)\b|\w\*|[()"]')


class Link(NamedTuple):
    """A link of a facet."""

    text: str
    address: str
    is_current: bool
    total: int | None = None


class ItemRow(NamedTuple):
    """An item as a row of the list.

    Attributes:
        chip: its class and word, or None.
        facts: the texts of its grey line.
        action: the label, the path below the item, and the fields of the first button; None without one.
        snippet: where words of a search are found in it.
    """

    ref: str
    kind: str
    title: str
    chip: tuple[str, str] | None
    facts: tuple[str, ...]
    file: str
    at: int | None
    action: tuple[str, str, Mapping[str, object]] | None
    is_gone: bool
    snippet: Snippet | None = None


def memory(request: PageRequest) -> Page:
    """Return the items of a project, the newest first, or those that match a search, the best first."""
    values = {name: text for name in _FILTERS if (text := request.values.get(name, "").strip())}
    first, query = offset(request), values.get("q")
    kinds = [values["kind"]] if "kind" in values else [*_KEPT, *(("message",) if query else ())]
    notes = [one for one in ENTRY_TYPES if one != _PROGRESS]
    chosen: dict[str, Any] = {
        "kinds": kinds,
        # progress notes are shown if they are asked for
        "types": notes if kinds == ["entry"] and not {"q", "task", "loop"} & values.keys() else None,
        "status": values.get("status", "live"),
        "author": values.get("author"),
        "file": values.get("file"),
        "run_id": values.get("run"),
        "task_id": values.get("task"),
        "loop_id": values.get("loop"),
    }
    results = _search(request, query, {**chosen, "limit": MAX_ITEMS, "offset": first})

    def at(**changes: object) -> str:
        merged = {name: value for name, value in (values | changes).items() if value not in ("", None, 0)}
        return f"{request.here}/memory" + (f"?{urlencode(merged)}" if merged else "")

    counted = [(kind, _search(request, query, {**chosen, "kinds": [kind], "limit": 0}).total) for kind in _KEPT]
    every = sum(count for _, count in counted)
    current = values.get("kind", "")
    facets = [
        (
            "Kind",
            [
                Link("All", at(kind="", offset=0), not current, every),
                *(Link(NAMES[kind][1], at(kind=kind), kind == current, count) for kind, count in counted),
            ],
        ),
        ("State", [Link(word, at(status=state), state == values.get("status", "")) for state, word in _STATES]),
    ]
    chosen_links = [
        Link(f"{name}: {values[name]}", at(**{name: ""}), True)
        for name in ("author", "file", "run", "task", "loop")
        if name in values
    ]
    if chosen_links:
        facets.append(("Chosen", chosen_links))
    context = {
        "rows": _rows(request, results),
        "names": NAMES,
        "results": results,
        "every": every,
        "facets": facets,
        "values": values,
        "query": query or "",
        "older": None if results.next_offset is None else at(offset=results.next_offset),
        "newer": at(offset=max(0, first - MAX_ITEMS)) if first else None,
        "anywhere": at(kind="", author="", file="", status="all"),
        "now": now(request),
    }
    return Page(f"Memory of {request.project.name}", "memory.html", context, results, request.project, "/memory")


def title_of(record: Any) -> str:
    """Return the title of an item: its first sentence, of a decision with its key."""
    if isinstance(record, Decision):
        return f"{record.key}: {_sentence(str(record.value))}"
    if isinstance(record, ErrorPattern):
        return _sentence(f"{record.error_type}: {record.message}")
    if isinstance(record, Entry):
        return _sentence(labelled(record.type, record.content) if record.type in STRUCTURED_TYPES else record.content)
    for name in ("topic", "summary", "text", "message", "description", "path"):
        text = getattr(record, name, None)
        if isinstance(text, str) and text:
            more = getattr(record, "insight", "") if name == "topic" else ""
            return _sentence(f"{text}: {more}" if more else text)
    package = getattr(record, "package", None)
    return _sentence(as_text(record)) if package is None else title_of(package)


def row_of(request: PageRequest, item: Item, found: Found | None = None) -> ItemRow:
    """Return the row of an item."""
    record: Any = item.record
    agent = getattr(record, "agent", None) or getattr(record, "sender", None)
    heir = getattr(record, "superseded_by", None)
    is_gone = heir is not None or not getattr(record, "active", True)
    chip, action = None, None
    facts = [agent or "", *getattr(record, "tags", ())[:3]]
    if is_gone:
        end = request.reader.corrections.ended(item.ref)
        chip = ("plain", "Retracted" if end is None or end.heir is None else "Replaced")
        if end is not None and end.number is not None:
            action = ("Undo", "/undo", {"correction": end.number})
    elif isinstance(record, Decision):
        if record.status != "active":
            chip = ("plain", record.status.capitalize())
        if record.status == "draft":
            action = ("Approve", f"/items/{item.ref}/approve", {})
    elif isinstance(record, ErrorPattern):
        times = "once" if record.occurrences == 1 else f"{record.occurrences} times"
        facts = [f"met {times}"]
        if not record.solutions:
            chip, action = ("failed", "No fix"), ("Add fix", "", {})
        else:
            facts.append(f"fix: {shortened(record.solutions[0].text, _TITLE_CHARS)}")
    elif isinstance(record, (Entry, Constraint)):
        citation = getattr(record, "citation", None)
        is_stale = citation is not None and citation.is_stale
        if is_stale:
            chip = ("stale", "May be stale")
        if isinstance(record, Constraint):
            facts.append(record.priority)
            if record.unconfirmed:
                chip = ("plain", "Unconfirmed")
        is_own = agent == request.login.author
        if not is_own:
            action = ("Still true" if is_stale else "Confirm", f"/items/{item.ref}/confirm", {})
    at = next((at for name in ("last_seen", "updated_at", "created_at") if (at := getattr(record, name, None))), None)
    line = getattr(record, "line", None)
    file = getattr(record, "file", None) or ""
    return ItemRow(
        item.ref,
        item.kind,
        title_of(record),
        chip,
        tuple(filter(None, facts)),
        f"{file}:{line}" if file and line else file,
        at,
        None if request.project.read_only else action,
        is_gone,
        None if found is None or not found.score else found.snippet,
    )


def _search(request: PageRequest, query: str | None, arguments: dict[str, Any]) -> FoundPage:
    search = request.reader.finding.search
    if query and _OPERATORS.search(query):
        try:
            return search(query, syntax="operators", **arguments)
        except InvalidInput:  # what only looks like an operator is a word
            pass
    return search(query, **arguments)


def _rows(request: PageRequest, results: FoundPage) -> list[ItemRow]:
    if not results.results:
        return []
    items = {one.ref: one for one in request.reader.items.read([one.ref for one in results.results]).items}
    return [row_of(request, items[one.ref], one) for one in results.results if one.ref in items]


def _sentence(text: str) -> str:
    first = _SENTENCE.match(text.strip())
    return shortened(first[0].strip() if first else text, _TITLE_CHARS)


PAGES: Mapping[str, View] = {"/memory": memory}

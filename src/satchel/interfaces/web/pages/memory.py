"""The memory of a project as one list, with facets and one search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.records import NamedTuple, replace
from satchel.base.text import shortened
from satchel.brief.room.memory import Flags
from satchel.find.snippets import Snippet
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import counted
from satchel.interfaces.web.rendering import NAMES, name_for, on_page
from satchel.interfaces.web.request import Page, PageRequest, as_text, page
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import DRAFT_SUFFIX, Decision
from satchel.keep.entries.records import STRUCTURED_TYPES, Entry
from satchel.keep.entries.structured import labelled
from satchel.keep.finding import Found, FoundPage
from satchel.keep.items import MAX_ITEMS, Item
from satchel.keep.kinds import is_ref
from satchel.keep.listing import NO_MATCH
from satchel.keep.messages.records import Message
from satchel.keep.names import is_persons
from satchel.keep.patterns.records import ErrorPattern

KEPT = ("constraint", "decision", "error_pattern", "entry", "package", "strategy")
_STATES = (
    ("", "Current", "live"),
    ("stale", "May be stale", "stale"),
    ("unconfirmed", "Unconfirmed", "unconfirmed"),
    ("draft", "Draft", "draft"),
    ("pinned", "Pinned", "pinned"),
    ("superseded", "Replaced or retracted", "ended"),
    ("all", "All", ""),
)
_FLAGS = ("stale", "unconfirmed", "draft", "pinned")
_MOST_LINKS = 8
_FILTERS = ("q", "kind", "status", "tag", "sort", "author", "file", "progress")
_PROGRESS = "scratchpad"
_TITLE_CHARS, _READ_AT_ONCE = 160, 100
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


@page("/memory")
def memory(request: PageRequest) -> Page:
    """Return the items of a project, the newest first, or those that match a search, the best first."""
    values = {name: text for name in _FILTERS if (text := request.values.get(name, "").strip())}
    first, query = request.number("offset", 0), values.get("q")
    kinds = [values["kind"]] if "kind" in values else [*KEPT, *(("message",) if query else ())]
    state, by_use = values.get("status", "live"), values.get("sort") == "used"
    among, used = _among(request, state, values.get("tag"), by_use=by_use)
    chosen: dict[str, Any] = {
        "kinds": kinds,
        "status": "live" if state in _FLAGS else state,
        "among": among,
        "author": values.get("author"),
        "file": values.get("file"),
    }
    # progress notes are shown if they are searched or asked for
    hides = not {"q", "progress"} & values.keys()
    reach = {"limit": _READ_AT_ONCE if hides or by_use else MAX_ITEMS, "offset": 0 if by_use else first}
    results = _search(request, query, chosen | reach)
    if by_use:
        ordered = sorted(results.results, key=lambda one: used.index(one.ref))[first:]
        results = replace(results, results=tuple(ordered), offset=first)
    shown = [(number, one) for number, one in enumerate(results.results, 1) if not hides or one.type != _PROGRESS]
    shown = shown[:MAX_ITEMS]
    last = first + (shown[-1][0] if len(shown) == MAX_ITEMS else len(results.results))

    def at(**changes: object) -> str:
        merged = {name: value for name, value in (values | changes).items() if value not in ("", None, 0)}
        return f"{request.here}/memory" + (f"?{urlencode(merged)}" if merged else "")

    only = values["kind"] if values.get("kind") in KEPT else None
    facets, own = request.reader.room.facets(only), {name: values.get(name, "") for name in _FILTERS}
    states = {one.name: one.count for one in facets.states}
    states["live"] = states.get("live", 0) + states.get("draft", 0)  # the list of what is current has both
    kinds_of = {one.name: one.count for one in facets.kinds}

    def links(name: str, options: Iterable[tuple[str, str, int | None]]) -> list[Link]:
        chosen_one = [Link(own[name], "", True)] if own[name] and own[name] not in {one[0] for one in options} else []
        some = [Link(word, at(**{name: value}), own[name] == value, count) for value, word, count in options if word]
        return [one._replace(address=at(**{name: ""})) if one.is_current else one for one in [*chosen_one, *some]]

    shown_states = [one for one in _STATES if one[0] not in _FLAGS or states.get(one[2]) or one[0] == own["status"]]
    names = {"tag": facets.tags, "file": facets.files, "author": facets.authors}
    groups = {
        "Kind": links("kind", [("", "All", facets.total), *((one, NAMES[one][1], kinds_of.get(one)) for one in KEPT)]),
        "State": links("status", [(state, word, states.get(name)) for state, word, name in shown_states]),
        **{
            name.capitalize(): links(name, [(one.name, one.name, one.count) for one in some[:_MOST_LINKS]])
            for name, some in names.items()
        },
    }
    context = {
        "rows": _rows(request, [one for _, one in shown]),
        "results": results,
        # the page has filters of its own, and a link that leaves them out
        "notes": [note for note in results.notes if not note.startswith(NO_MATCH)],
        "groups": {title: some for title, some in groups.items() if some},
        "facets": facets,
        "counts": states,
        "hides": hides,
        "values": values,
        "named": request.item_page(query) if query and is_ref(query) else None,
        "older": at(offset=last) if last < results.total else None,
        "newer": at() if first else None,
        "anywhere": at(kind="", author="", file="", tag="", sort="", status="all"),
    }
    data = {"facets": facets, **fields_of(results, "results")}
    return Page(f"Memory of {request.project.name}", "memory.html", context, data, "/memory")


def _among(request: PageRequest, state: str, tag: str | None, *, by_use: bool) -> tuple[list[str] | None, list[str]]:
    """Return the items to which a state, tag and order limit the list, None for all, and those most used, in order."""
    room = request.reader.room
    used = [*room.selected("used")] if by_use else []
    sets = [room.selected(state)] if state in _FLAGS else []
    sets += [room.selected("tag", tag)] if tag else []
    sets += [tuple(used)] if by_use else []
    return [*set.intersection(*map(set, sets))] if sets else None, used


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
            return _sentence(f"{text}: {more}" if more else on_page(text))
    package = getattr(record, "package", None)
    return _sentence(as_text(record)) if package is None else title_of(package)


def subject_of(request: PageRequest, ref: str) -> tuple[str, str]:
    """Return the short id and title of an item; of a draft that has ended those of the decision that it was about."""
    try:
        record = request.record(ref)
    except NotFound:
        return ref, ref
    if isinstance(record, Decision) and record.status != "draft" and record.key.endswith(DRAFT_SUFFIX):
        with suppress(NotFound):
            decided = request.reader.decisions.get(record.key.removesuffix(DRAFT_SUFFIX), limit=0).decision
            stays = f"{decided.key} stays {_sentence(str(decided.value))}"
            return decided.ref, stays if record.is_rejected else title_of(decided)
    return ref, title_of(record)


def row_of(request: PageRequest, item: Item, flags: Flags | None = None, found: Found | None = None) -> ItemRow:
    record: Any = item.record
    agent = getattr(record, "agent", None) or getattr(record, "sender", None)
    heir = getattr(record, "superseded_by", None)
    is_gone = heir is not None or not getattr(record, "active", True)
    chip, action = None, None
    facts = [agent or "", *getattr(record, "tags", ())[:3]]
    if is_gone:
        end = request.reader.corrections.ended(item.ref)
        chip = ("plain", "Retracted" if end is None or end.heir is None else "Replaced")
        if end is not None:
            action = ("Undo", "/undo", {"correction": end.id})
    elif isinstance(record, Decision):
        if record.status != "active":
            chip = ("plain", record.status.capitalize())
        if record.is_rejected:
            facts[0] = record.proposed_by or ""
            chip = ("plain", f"Rejected by {name_for(request.login.author, record.agent or 'someone')}")
        if record.status == "draft":
            action = ("Accept", f"/items/{item.ref}/approve", {"revision": record.revision})
    elif isinstance(record, ErrorPattern):
        times = "once" if record.occurrences == 1 else f"{record.occurrences} times"
        facts = [f"met {times}"]
        if not record.solutions:
            chip, action = ("failed", "No fix"), ("Add fix", "", {})
        else:
            facts.append(f"fix: {shortened(record.solutions[0].text, _TITLE_CHARS)}")
    elif isinstance(record, Message):
        facts.append(f"to {name_for(request.login.author, record.to or 'all')}")
    elif isinstance(record, (Entry, Constraint)):
        citation = getattr(record, "citation", None)
        is_stale = (flags is not None and flags.is_stale) or (citation is not None and citation.is_stale)
        if is_stale:
            chip = ("stale", "May be stale")
        if isinstance(record, Constraint):
            facts.append(record.priority)
            if record.for_person is not None:
                facts.append(f"only {name_for(request.login.author, record.for_person)}")
            if record.unconfirmed:
                chip = ("plain", "Unconfirmed")
            elif chip is None and record.author is not None and not is_persons(record.author):
                by_person = flags is not None and any(map(is_persons, flags.confirmed_by))
                chip = None if by_person else ("plain", "Confirmed by no person")
        is_own = agent == request.login.author
        if not is_own:
            word = "Still true" if is_stale else "Accept" if getattr(record, "unconfirmed", False) else "Confirm"
            action = (word, f"/items/{item.ref}/confirm", {})
    if flags is not None:
        facts += [f"confirmed by {name_for(request.login.author, flags.confirmed_by[0])}"] if flags.confirmed_by else []
        facts += ["in every briefing"] if flags.is_pinned else []
        facts += [f"used in {counted(flags.sessions, 'session')}"] if flags.sessions else []
        if request.login.author in flags.confirmed_by:
            action = None
    at = next((at for name in ("last_seen", "updated_at", "created_at") if (at := getattr(record, name, None))), None)
    line, file = getattr(record, "line", None), getattr(record, "file", None) or ""
    place, line_facts = f"{file}:{line}" if file and line else file, tuple(filter(None, facts))
    action = None if request.project.read_only else action
    snippet = None if found is None or not found.score else found.snippet
    return ItemRow(item.ref, item.kind, title_of(record), chip, line_facts, place, at, action, is_gone, snippet)


def flags_of(request: PageRequest, refs: Sequence[str]) -> dict[str, Flags]:
    """Return whether items are stale, confirmed, pinned and used, by short id."""
    return {one.ref: one for one in request.reader.room.flags(refs).items}


def _search(request: PageRequest, query: str | None, arguments: dict[str, Any]) -> FoundPage:
    search = request.reader.finding.search
    if query and _OPERATORS.search(query):
        try:
            return search(query, syntax="operators", **arguments)
        except InvalidInput:  # what only looks like an operator is a word
            pass
    return search(query, **arguments)


def _rows(request: PageRequest, results: Sequence[Found]) -> list[ItemRow]:
    if not results:
        return []
    refs = [one.ref for one in results]
    items = {one.ref: one for one in request.reader.items.read(refs).items}
    flags = flags_of(request, refs)
    return [row_of(request, items[one.ref], flags.get(one.ref), one) for one in results if one.ref in items]


def _sentence(text: str) -> str:
    first = _SENTENCE.match(text.strip())
    return shortened(first[0].strip() if first else text, _TITLE_CHARS)

"""Records as plain JSON, for ``format="json"`` and ``--json``: times in ISO 8601, items with their short ids.

The fields are those of the record. An item, which has a uid, leaves out what is not set; any other record says all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from satchel.base.clock import iso
from satchel.base.records import field_names

Fields = dict[str, object]

_TIMES = ("_at", "last_seen", "until")
# Fields that are the number of another item of the record's own kind.
_OWN_KIND = frozenset({"superseded_by", "reply_to", "thread"})

_NAMES = {"sender": "from", "shares": "terms"}
# Records whose field ``ref`` is the id of an item.
_KNOWN_BY_REF = frozenset(
    {"Similar", "SimilarError", "Found", "Briefed", "PackageContent", "LastScratchpad", "ItemUse", "BoundItem"}
    | {"Retracted", "Confirmed", "Undone", "SharedItem", "Need", "Changed"}
)

_HIDDEN = {
    "Claim": {"id"},
    "Retracted": {"record"},
    "Found": {"text"},
    "Solution": {"pattern_id"},
    "Consultation": {"kept"},
    "ListedConversation": {"id", "key", "resent_tokens"},
    "ListedFile": {"is_removed"},
    "Lease": {"token", "since"},
    "Turn": {"resent_tokens"},
}
_ADDED = {
    "Solution": ("pattern", "standing"),
    "Package": ("status",),
    "Found": ("marks",),
    "Consultation": ("kept", "not_kept"),
    "ListedConversation": ("conversation", "assistant", "saved_tokens"),
    "ListedFile": ("removed",),
    "SharedList": ("waiting",),
}
# Records without a uid that leave out what is not set.
_LEAN = frozenset(
    {"DecisionState", "StrategyProposal", "Found", "Briefed", "Briefing", "FileCheck", "RecentActivity", "TeamClaim"}
    | {"PackageContent", "Citation", "Consultation", "ListedFile", "ProviderState"}
)

# What even these show when it is not set.
_ALWAYS = {
    "Message": {"to"},
    "ErrorPattern": {"solutions"},
    "FileCheck": {"claims", "elsewhere", "own", "recent"},
    "RecentActivity": {"recent"},
    "Briefing": {"items", "left_out", "notes"},
    "Found": {"marks"},
    "Consultation": {"answer", "inline", "overflow", "attachments", "held_back", "queries", "cited", "notes"},
    "ListedConversation": {"inline", "overflow"},
    "TeamSession": {"agents", "claims"},
}

_PAGE = frozenset({"items", "total", "offset", "limit", "seq", "order", "notes", "after_seq"})


def fields_of(value: Any, items: str = "") -> Any:
    """Return any record as JSON: dataclasses as objects, pairs of a name and a count as members."""
    if hasattr(value, "next_offset"):
        return _page(value, items)
    if field_names(value) is not None and not isinstance(value, type):
        return _record(value)
    if items and isinstance(value, tuple):
        return {items: fields_of(list(value))}
    if isinstance(value, Mapping):
        return {str(key): fields_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return dict(value) if value and all(map(_is_count, value)) else [fields_of(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _page(page: Any, items: str) -> Fields:
    own = [name for name in field_names(page) or () if name not in {*_PAGE, items}]
    fields = {name: fields_of(getattr(page, name)) for name in own}
    fields[items] = [fields_of(one) for one in getattr(page, items if hasattr(page, items) else "items")]
    return fields | rest_fields(page)


def rest_fields(page: Any) -> Fields:
    """Return what a page says beside its items."""
    fields: Fields = {"total": page.total, "next_offset": page.next_offset}
    if hasattr(page, "cursor"):
        fields["seq"] = page.cursor
    return fields | ({"notes": list(page.notes)} if hasattr(page, "notes") else {})


def _record(record: Any) -> Fields:
    kind: Any = type(record)
    names, shown_always = _plan(kind)
    fields: Fields = {}
    for shown_as, name in names:
        value = _value(record, name)
        if hasattr(value, "next_offset"):
            fields |= {shown_as: [fields_of(one) for one in value], **rest_fields(value)}
            continue
        rendered = fields_of(value)
        # an empty list is a payload too
        if (
            shown_always is None
            or name in shown_always
            or not (rendered is None or (rendered in ([], {}) and name != "payload"))
        ):
            fields[shown_as] = rendered
    return fields


@lru_cache(maxsize=128)
def _plan(kind: Any) -> tuple[tuple[tuple[str, str], ...], frozenset[str] | None]:
    names = [name for name in field_names(kind) or () if name not in _HIDDEN.get(kind.__name__, ())]
    leaves_out = "uid" in names or kind.__name__ in _LEAN
    renamed_id = {"id": "ref"} if hasattr(kind, "ref") and "ref" not in names else {}
    renamed = _NAMES | ({"ref": "id"} if kind.__name__ in _KNOWN_BY_REF else {})
    pairs = [(renamed.get(name, name), renamed_id.get(name, name)) for name in (*names, *_ADDED.get(kind.__name__, ()))]
    return tuple(pairs), frozenset(_ALWAYS.get(kind.__name__, ())) if leaves_out else None


def _value(record: Any, name: str) -> Any:
    made = _MADE.get((type(record).__name__, name))
    if made is not None:
        return made(record)
    value = getattr(record, name)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name in _OWN_KIND:
        return f"{record.ref[0]}{value}"
    return iso(value) if name.endswith(_TIMES) else value


def _content(entry: Any) -> object:
    from satchel.keep.entries.records import STRUCTURED_TYPES

    if entry.type not in STRUCTURED_TYPES:
        return entry.content
    import json

    try:
        return json.loads(entry.content)
    except ValueError:
        return entry.content


_MADE: Mapping[tuple[str, str], Callable[[Any], object]] = {
    ("Entry", "content"): _content,
    ("Found", "snippet"): lambda result: result.snippet.text,
    ("Found", "marks"): lambda result: result.snippet.marks,
    ("Consultation", "kept"): lambda done: done.kept and done.kept.ref,
    ("Consultation", "not_kept"): lambda done: done.kept.message if done.kept and done.kept.failure else None,
    ("Failure", "error"): lambda one: f"[{one.error.code}] {one.error}",
    ("ListedConversation", "conversation"): lambda one: one.key.conversation,
    ("ListedConversation", "assistant"): lambda one: one.key.assistant,
    ("ListedFile", "removed"): lambda file: file.is_removed or None,
    ("Constraint", "unconfirmed"): lambda rule: rule.unconfirmed or None,
    ("Constraint", "confirmed"): lambda rule: rule.confirmed or None,
    ("BoundItem", "unconfirmed"): lambda item: item.unconfirmed or None,
}


def _is_count(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], int)

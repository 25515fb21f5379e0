"""Parts of briefings made by hand, for tests without a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from satchel.brief.briefing.collecting import Collected
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.sources import Gathered, Source
from satchel.find.kind import Kind
from satchel.store.transaction import Asking

NOW = 1_795_000_000_000
KIND_OF = {
    "attempts": Kind.ENTRY,
    "reviews": Kind.ENTRY,
    "packages": Kind.PACKAGE,
    "rules": Kind.CONSTRAINT,
    "errors": Kind.ERROR_PATTERN,
    "messages": Kind.MESSAGE,
    "entries": Kind.ENTRY,
}
"""A kind for every section."""


def candidate(number: int = 1, section: str = "entries", **given: Any) -> Candidate:
    """A candidate of medium priority that changed just now; its heading is its section."""
    return Candidate(
        **{
            "section": section,
            "kind": KIND_OF[section],
            "number": number,
            "seq": number,
            "label": section,
            "group": section,
            "head": "",
            "text": f"text {number}",
            "priority": 2,
            "changed_at": NOW,
            **given,
        }
    )


def words(text: str) -> int:
    """Count words, as a measure of texts that can be followed by hand."""
    return len(text.split())


def _nothing(*_: object) -> Asking[list[Candidate]]:
    yield from ()
    return []


def collected(candidates: Iterable[Candidate], **given: Any) -> Collected:
    """What was collected: one source for each section, in which exactly the candidates are eligible."""
    gathered: dict[str, Gathered] = {}
    for one in candidates:
        source = Source(
            name=f"{one.section} items" if one.section != "entries" else "entries",
            section=one.section,
            kind=one.kind,
            where="",
            orders=(),
            priority="2",
            load=_nothing,
            tokens=1,
        )
        into = gathered.setdefault(one.section, Gathered(source))
        into.candidates[one.number] = one
        into.total += 1
        into.critical += one.is_critical
    return Collected(**{"project_id": 1, "gathered": list(gathered.values()), **given})

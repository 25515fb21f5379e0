"""Marking notes whose file stands otherwise than when they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from satchel.base.records import replace
from satchel.brief.briefing.packages import joined
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind
from satchel.store.transaction import Transaction


def marked(
    transaction: Transaction, files_root: str | None, candidates: Iterable[Candidate], is_over: Callable[[], bool]
) -> list[Candidate]:
    """Return those candidates of which it is known how their file stands, with that in their heads.

    Args:
        files_root: the folder that paths are relative to; None compares nothing.
        is_over: asked before a file is read: whether the rest goes unmarked.
    """
    on_files = [one for one in candidates if one.kind is Kind.ENTRY and one.file is not None]
    if not on_files:
        return []
    from satchel.keep import citations

    on_files.sort(key=lambda one: (-one.relevance, -one.changed_at))
    places = citations.load(transaction, [one.number for one in on_files])
    found = citations.Comparing(files_root, is_over).compare(places)
    compared: list[Candidate] = []
    for one in on_files:
        citation = found.get(one.number)
        if citation is not None:
            marks = ", ".join(citation.marks)
            compared.append(replace(one, head=joined(one.head, f"({marks})" if marks else None), citation=citation))
    return compared

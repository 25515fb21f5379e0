"""Ranking by meaning in the store of a workplace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.keep.projects import Workplace

if TYPE_CHECKING:
    from satchel.find.meaning import Meaning
    from satchel.find.query import Query


def meaning_for(workplace: Workplace, query: Query) -> Meaning | None:
    """Return what ranks the matches of a query by their meaning, or None where that is off or of no use."""
    if workplace.meaning == "off" or not query.text:
        return None
    # imported here: hooks search without
    from satchel.find import meaning
    from satchel.keep.kinds import texts_of

    return meaning.of_store(workplace.meaning, workplace.engine.location, texts_of)

"""Results of a search as compact text."""

from __future__ import annotations

import time

from satchel.base.vocabulary import MAIN_RUN
from satchel.interfaces.text_parts import content_lines, place_text, value_text
from satchel.keep.finding import Explanation, Found, FoundPage
from satchel.keep.kinds import KINDS

_USUAL_KIND = "entry"
USUAL_STATES = frozenset(thing.statuses[0] for thing in KINDS.values())
_KIND_NAMES = frozenset(thing.name for thing in KINDS.values())


def found_text(page: FoundPage) -> str:
    """Render results for an agent: a head line, then for each result a line with its id and its snippet below."""
    head = f"{len(page.results)} of {page.total} results"
    if page.results:
        head += ", best first, times UTC"
    if page.next_offset is not None:
        head += f", next offset {page.next_offset}"
    lines = [head]
    for result in page.results:
        lines += [result_line(result), *content_lines(result.snippet.text)]
        if result.explanation is not None:
            lines += content_lines(explanation_text(result.explanation))
    return "\n".join([*lines, *page.notes])


def result_line(result: Found) -> str:
    """Return the line that names a result: id, kind and type, author, place, time, and score."""
    parts = [result.ref, *kind_and_type(result)]
    if result.agent is not None:
        parts.append(f"by {value_text(result.agent)}")
    run = None if result.run_id == MAIN_RUN else result.run_id
    for label, value in (("run", run), ("task", result.task_id), ("loop", result.loop_id)):
        if value is not None:
            parts.append(f"{label}:{value_text(value)}")
    if result.file is not None:
        parts.append(place_text(result.file, None))
    if result.status not in USUAL_STATES:
        parts.append(result.status)
    if result.by_surroundings:
        parts.append("beside-a-match")
    parts += [time.strftime("%Y%m%d %H%M", time.gmtime(result.created_at // 1_000)), f"score:{result.score:g}"]
    return " ".join(parts)


def kind_and_type(result: Found) -> tuple[str, ...]:
    """Say what a result is: the type alone of an entry, unless a kind is called so too, as a decision is."""
    if result.type is None:
        return (result.kind,)
    if result.kind == _USUAL_KIND and result.type not in _KIND_NAMES:
        return (result.type,)
    return result.kind, result.type


def explanation_text(explanation: Explanation) -> str:
    """Say how a score came about, in one line a term."""
    lines = [
        f"{share.term}: {share.own:g} own"
        + (f" + {share.around:g} around" if share.around else "")
        + f" (idf {share.idf:g})"
        for share in explanation.shares
        if share.own or share.around
    ]
    lines += [f"loop or task: {explanation.segment:g}"] if explanation.segment else []
    lines += [f"author named: {explanation.author:g}"] if explanation.author else []
    return "\n".join(lines)

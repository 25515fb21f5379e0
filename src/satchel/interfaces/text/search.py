"""Results of a search as compact text."""

from __future__ import annotations

from satchel.base.clock import moment_text, year_of
from satchel.base.records import replace
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.snippets import Snippet
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import (
    citation_marks,
    content_lines,
    place_in_list,
    place_text,
    shown_of,
    times_text,
    value_text,
)
from satchel.keep.finding import Explanation, Found, FoundPage
from satchel.keep.kinds import KINDS

_USUAL_KIND, _CHANGE = "entry", "file_change"
USUAL_STATES = frozenset(thing.statuses[0] for thing in KINDS.values())
_KIND_NAMES = frozenset(thing.name for thing in KINDS.values())


def found_text(page: FoundPage) -> str:
    """Render results for an agent: a head line, then for each result a line with its id and its snippet below."""
    year = year_of(page.results[0].created_at) if page.results else ""
    head = [shown_of(len(page.results), page.total, "result")]
    head += ["best first" if page.is_ranked else "newest first", times_text(year)] if page.results else []
    lines = [", ".join([*head, *place_in_list(page)])]
    first: dict[tuple[str | None, str, int], str] = {}
    for result in page.results:
        text = result.snippet.text
        if result.kind == _CHANGE:  # of changes that were recorded together one says what was done
            said = result.text.partition("\n")[2]
            told = first.setdefault((result.agent, said, result.created_at // 60_000), result.ref)
            text = f"same text as {told}" if said and told != result.ref else text
        lines += [result_line(result, year), *content_lines(text)]
        if result.explanation is not None:
            lines += content_lines(explanation_text(result.explanation))
    return "\n".join([*lines, *note_lines(page.notes)])


def result_line(result: Found, year: str) -> str:
    """Return the line that names a result: id, kind and type, author, place and time; with an explanation its score."""
    parts = [result.ref, *kind_and_type(result)]
    if result.agent is not None:
        parts.append(f"by {value_text(result.agent)}")
    run = None if result.run_id == MAIN_RUN else result.run_id
    for label, value in (("run", run), ("task", result.task_id), ("loop", result.loop_id)):
        if value is not None:
            parts.append(f"{label}:{value_text(value)}")
    if result.file is not None:
        parts.append(place_text(result.file, result.line, result.last_line))
    if result.citation is not None:
        parts += citation_marks(result.citation)
    if result.status not in USUAL_STATES:
        parts.append(result.status)
    if result.by_surroundings:
        parts.append("(next to a match)")
    parts.append(moment_text(result.created_at, year))
    parts += [f"score:{result.score:g}"] if result.explanation is not None else []
    return " ".join(parts)


def kind_and_type(result: Found) -> tuple[str, ...]:
    """Say what a result is: the type alone of an entry, unless a kind is called so too, as a decision is."""
    if result.type is None:
        return (result.kind,)
    if result.kind == _USUAL_KIND:
        return (entry_kind(result.type),)
    return result.kind, result.type


def entry_kind(entry_type: str) -> str:
    """Say what an entry is: its type alone, unless a kind is called so too."""
    return f"{_USUAL_KIND} {entry_type}" if entry_type in _KIND_NAMES else entry_type


def with_whole_texts(page: FoundPage) -> FoundPage:
    """Return results with the whole text of each in place of its snippet."""
    return replace(page, results=tuple(replace(one, snippet=Snippet(one.text, ())) for one in page.results))


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

"""Results of a search as text.

A result's line has the id, the kind and type, then the fields of an entry's line, a state other than the usual one, the
time, and with an explanation the score; its snippet follows below.
"""

from __future__ import annotations

from satchel.base.records import replace
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.find.snippets import Snippet
from satchel.interfaces.text.lists import NO_AGENT, Line, agent_cell, list_text
from satchel.interfaces.text.parts import citation_marks, content_lines, place_text, value_text
from satchel.keep.finding import Explanation, Found, FoundPage

_USUAL_KIND, _CHANGE = "entry", "file_change"
USUAL_STATES = frozenset({"live", "active"})
_BLANKS = (None, NO_AGENT, f"run:{MAIN_RUN}", "task:-", "loop:-", "file:-")
_KIND_NAMES = frozenset(kind.name.lower() for kind in Kind)


def results_text(page: FoundPage) -> str:
    first: dict[tuple[str | None, str, int], str] = {}
    lines = []
    for result in page.results:
        text = result.snippet.text
        if result.kind == _CHANGE:  # of changes that were recorded together only the first has the description
            description = result.text.partition("\n")[2]
            ref = first.setdefault((result.agent, description, result.created_at // 60_000), result.ref)
            text = f"same text as {ref}" if description and ref != result.ref else text
        lines.append(result_line(result, text))
    return list_text("result", page, lines, _BLANKS, order="best first" if page.is_ranked else "newest first")


def show_results(page: FoundPage) -> None:
    """Print results, with the matches marked."""
    from satchel.interfaces.text.lists import show_lines

    show_lines(page, "results", [result_line(result, _marked(result.snippet)) for result in page.results])


def result_line(result: Found, text: str) -> Line:
    """Return the line of a result, with a text and the explanation of its score below."""
    explanation = result.explanation
    return Line(
        start=result.ref,
        cells=(
            " ".join(kind_and_type(result)),
            agent_cell(result.agent),
            None if result.run_id in {None, MAIN_RUN} else f"run:{value_text(result.run_id)}",
            None if result.task_id is None else f"task:{value_text(result.task_id)}",
            None if result.loop_id is None else f"loop:{value_text(result.loop_id)}",
            None if result.file is None else place_text(result.file, result.line, result.last_line),
        ),
        own=(
            *(() if result.citation is None else citation_marks(result.citation)),
            *(() if result.status in USUAL_STATES else (result.status,)),
            *(("(next to a match)",) if result.by_surroundings else ()),
        ),
        moment=result.created_at,
        after=() if explanation is None else (f"score:{result.score:g}",),
        below=(*content_lines(text), *(() if explanation is None else content_lines(explanation_text(explanation)))),
    )


def kind_and_type(result: Found) -> tuple[str, ...]:
    """Return the kind and type of a result; of an entry only the type, unless that is also the name of a kind."""
    if result.type is None:
        return (result.kind,)
    if result.kind == _USUAL_KIND:
        return (entry_kind(result.type),)
    return result.kind, result.type


def entry_kind(entry_type: str) -> str:
    """Return the type of an entry, with its kind if the type is also the name of a kind."""
    return f"{_USUAL_KIND} {entry_type}" if entry_type in _KIND_NAMES else entry_type


def with_whole_texts(page: FoundPage) -> FoundPage:
    """Return results with the whole text of each in place of its snippet."""
    return replace(page, results=tuple(replace(one, snippet=Snippet(one.text, ())) for one in page.results))


def explanation_text(explanation: Explanation) -> str:
    """Explain a score, one term on each line."""
    lines = [
        f"{share.term}: {share.own:g} own"
        + (f" + {share.around:g} around" if share.around else "")
        + f" (idf {share.idf:g})"
        for share in explanation.shares
        if share.own or share.around
    ]
    lines += [f"loop or task: {explanation.segment:g}"] if explanation.segment else []
    lines += [f"author named: {explanation.author:g}"] if explanation.author else []
    lines += [f"meaning: {explanation.meaning:g}"] if explanation.meaning else []
    return "\n".join(lines)


def _marked(snippet: Snippet) -> str:
    import click

    text, place, pieces = snippet.text, 0, []
    for start, end in snippet.marks:
        pieces += [text[place:start], click.style(text[start:end], fg="green", bold=True)]
        place = end
    return "".join([*pieces, text[place:]])

"""Results of a search as text, and lists of any kind in titles or snippets.

A result's line has the id, the kind and type, then the fields of an entry's line, a state other than the usual one, the
time, and with an explanation the score; its snippet follows below. A title has the id, the kind and the first words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.records import dataclass, replace
from satchel.base.text import shortened
from satchel.base.tokens import estimate
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import KIND_NAMED, Kind
from satchel.find.snippets import Snippet
from satchel.interfaces.text import lists
from satchel.interfaces.text.parts import (
    citation_marks,
    content_lines,
    counted,
    items_of,
    place_text,
    quoted,
    value_text,
)
from satchel.keep.finding import Explanation, Found, FoundPage

_USUAL_KIND, _CHANGE = "entry", "file_change"
USUAL_STATES = frozenset({"live", "active"})
_BLANKS = (lists.NO_AGENT, f"run:{MAIN_RUN}", "task:-", "loop:-")
_KIND_NAMES = frozenset(kind.name.lower() for kind in Kind)


# The most results, and characters of them together, that are shown whole instead of cut.
_FEW, _FEW_CHARS = 3, 1_000


def results_text(page: FoundPage) -> str:
    if page.total <= _FEW and sum(len(result.text) for result in page.results) <= _FEW_CHARS:
        page = with_whole_texts(page, only_cut=True)
    together: dict[object, list[Found]] = {}
    for result in page.results:
        description = result.text.partition("\n")[2] if result.kind == _CHANGE else ""
        # changes that were recorded together have one description
        same = (result.agent, description, result.created_at // 60_000) if description else result.ref
        together.setdefault(same, []).append(result)
    lines = []
    for first, *others in together.values():
        text = first.snippet.text
        line = result_line(first, _without_path(text, first.file) if first.kind == _CHANGE else text)
        also = ", ".join(f"{one.ref} {value_text(one.file)}" for one in others)
        lines.append(replace(line, below=(*line.below, f" same text: {also}")) if others else line)
    return lists.list_text("result", page, lines, _BLANKS, order="best first" if page.is_ranked else "newest first")


def show_results(page: FoundPage) -> None:
    lists.show_lines(page, "results", [_line_for_people(result) for result in page.results])


def _line_for_people(result: Found) -> lists.Line:
    kind = result.kind if result.kind == _USUAL_KIND else KIND_NAMED[result.kind].noun
    return result_line(replace(result, kind=kind), _marked(result.snippet))


def result_line(result: Found, text: str) -> lists.Line:
    """Return the line of a result, with a text and the explanation of its score below."""
    explanation = result.explanation
    return lists.Line(
        start=" ".join((result.ref, *kind_and_type(result))),
        cells=(
            lists.agent_cell(result.agent),
            None if result.run_id in {None, MAIN_RUN} else f"run:{value_text(result.run_id)}",
            None if result.task_id is None else f"task:{value_text(result.task_id)}",
            None if result.loop_id is None else f"loop:{value_text(result.loop_id)}",
        ),
        own=(
            *(() if result.file is None else (place_text(result.file, result.line, result.last_line),)),
            *(() if result.citation is None else citation_marks(result.citation)),
            *(() if result.status in USUAL_STATES else (result.status,)),
            *(("(next to a match)",) if result.by_surroundings else ()),
        ),
        moment=result.created_at,
        after=() if explanation is None else (f"score:{result.score:g}",),
        below=(*content_lines(text), *(() if explanation is None else content_lines(explanation_text(explanation)))),
    )


def _without_path(text: str, path: str | None) -> str:
    # the line above names it
    return text.removeprefix(path or "").lstrip("\n |") if text.startswith(path or "") else text


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


def with_whole_texts(page: FoundPage, *, only_cut: bool = False) -> FoundPage:
    """Return results with the whole text of each, or of those alone that are cut, in place of its snippet."""
    return replace(
        page,
        results=tuple(
            replace(result, snippet=Snippet(result.text, ())) if not only_cut or "…" in result.snippet.text else result
            for result in page.results
        ),
    )


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


# The limits of a title. Measured with o200k: 20 titles of 20 estimated tokens cost 380 to 430.
_TITLE_CHARS, _TITLE_TOKENS = 90, 20

_LEAST_CHARS = 10
_SNIPPET_CHARS = 160


@dataclass(frozen=True, slots=True)
class Outline:
    """One item of a list, whatever its kind."""

    ref: str
    kind: str
    what: str
    text: str
    agent: str | None
    moment: int
    snippet: str | None = None


def outlines_text(page: Any, noun: str, detail: str, when: lists.When | None = None) -> str:
    outlines = [outline_of(one) for one in items_of(page)]
    lines = [lists.head_text(noun, page, len(outlines))]
    if detail == "titles":
        lines += [f"{value_text(one.ref)} {one.what} {_title(one)}".rstrip() for one in outlines]
    else:
        items = [
            lists.Line(
                value_text(one.ref), (one.what, lists.agent_cell(one.agent)), (), one.moment, (), (f" {_snippet(one)}",)
            )
            for one in outlines
        ]
        if when is None:
            return lists.list_text(noun, page, items, (None, lists.NO_AGENT))
        lines += [part for item in items for part in lists.single_lines(item, when)]
    return "\n".join([*lines, *lists.note_lines(getattr(page, "notes", ()))])


def outlines_fields(page: Any, items: str, detail: str) -> dict[str, Any]:
    from satchel.base.clock import iso
    from satchel.interfaces.text.json import rest_fields

    fields_of_items: list[dict[str, Any]] = []
    for one in map(outline_of, items_of(page)):
        fields: dict[str, Any] = {"id": one.ref, "kind": one.kind}
        if detail == "titles":
            fields["title"] = _title(one)
        else:
            fields |= {"agent": one.agent} if one.agent is not None else {}
            fields |= {"created_at": iso(one.moment), "snippet": _snippet(one)}
        fields_of_items.append(fields)
    return {items: fields_of_items, **rest_fields(page)}


def outline_of(record: Any) -> Outline:
    return _OUTLINES[type(record).__name__](record)


def _title(one: Outline) -> str:
    start = f"{one.ref} {one.what} "
    # readers of file changes look for who made them
    who = f"by {value_text(one.agent)} " if one.kind == "file_change" and one.agent is not None else ""
    start += who
    most = _TITLE_CHARS - len(start)
    words = _first_words(one.text, most)
    while estimate(start + words) > _TITLE_TOKENS and most > _LEAST_CHARS:
        most -= most // 8 + 1
        words = _first_words(one.text, most)
    return who + words


def _first_words(text: str, most: int) -> str:
    words = shortened(text, max(most, _LEAST_CHARS))
    whole, space, _ = words.rpartition(" ")
    return f"{whole}…" if words.endswith("…") and space else words


def _snippet(one: Outline) -> str:
    return one.snippet if one.snippet is not None else shortened(one.text, _SNIPPET_CHARS)


def _entry(entry: Any) -> Outline:

    from satchel.keep.entries.records import STRUCTURED_TYPES

    text = entry.content
    if entry.type in STRUCTURED_TYPES:
        from satchel.keep.entries.structured import labelled

        text = labelled(entry.type, text)
    return Outline(entry.ref, "entry", entry_kind(entry.type), text, entry.agent, entry.created_at)


def _decision(decision: Any) -> Outline:
    value = quoted(decision.value) if isinstance(decision.value, str) else decision.value
    reason = "" if decision.rationale is None else f"; reason: {decision.rationale}"
    text = f"{decision.key}={value}{reason}"
    return Outline(decision.ref, "decision", "decision", text, decision.agent, decision.updated_at)


def _message(message: Any) -> Outline:
    to = f"to {value_text(message.to)}" if message.to else "to all"
    what = f"{message.type} {to}"
    return Outline(message.ref, "message", what, message.message, message.sender, message.created_at)


def _change(change: Any) -> Outline:
    text = change.file if change.description is None else f"{change.file}: {change.description}"
    return Outline(change.ref, "file_change", change.change, text, change.agent, change.created_at)


def _result(result: Any) -> Outline:

    what = " ".join(kind_and_type(result))
    text = result.text
    if result.kind == "file_change":
        text = text.replace("\n", ": ", 1)
    elif result.kind not in {"entry", "message"}:
        # what follows are its names and other parts
        text = text.partition("\n")[0]
    return Outline(result.ref, result.kind, what, text, result.agent, result.created_at, result.snippet.text)


def _pattern(pattern: Any) -> Outline:
    text = "; ".join((f"{pattern.error_type}: {pattern.message}", *(f"fix: {one.text}" for one in pattern.solutions)))
    return Outline(pattern.ref, "error_pattern", "error", text, None, pattern.last_seen)


def _strategy(strategy: Any) -> Outline:
    text = f"{strategy.topic}: {strategy.insight}"
    return Outline(strategy.ref, "strategy", "strategy", text, strategy.agent, strategy.created_at)


def _run(run: Any) -> Outline:
    return Outline(run.run_id, "run", run.status, run.title or "", None, run.created_at)


def _conversation(one: Any) -> Outline:
    files: Sequence[Any] = (*one.inline, *one.overflow)
    text = f"{counted(one.turns, 'turn')}, {counted(len(files), 'file')}"
    return Outline(one.key.conversation, "conversation", one.key.assistant, text, None, one.updated_at)


def _claim(claim: Any) -> Outline:
    how = "exclusive" if claim.exclusive else "shared"
    return Outline(claim.path, "claim", how, claim.reason or "", claim.agent, claim.created_at)


_OUTLINES: Mapping[str, Callable[[Any], Outline]] = {
    "Entry": _entry,
    "Decision": _decision,
    "Constraint": lambda rule: Outline(
        rule.ref, "constraint", f"{rule.priority} {value_text(rule.category)}", rule.text, rule.agent, rule.created_at
    ),
    "Message": _message,
    "FileChange": _change,
    "Package": lambda package: Outline(
        package.ref, Kind.PACKAGE.name.lower(), package.type, package.summary, package.agent, package.created_at
    ),
    "Found": _result,
    "ErrorPattern": _pattern,
    "Strategy": _strategy,
    "Run": _run,
    "ListedConversation": _conversation,
    "Claim": _claim,
}

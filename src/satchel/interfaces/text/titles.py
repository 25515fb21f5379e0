"""Lists of any kind in less detail: a title for each item, or a line and a snippet of its text.

A title has the id, the kind and the first words. Twenty of them cost an agent about 400 tokens: a title has at most
about 90 characters, and fewer if these would be many tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.base.tokens import estimate
from satchel.find.kind import Kind
from satchel.interfaces.text.fitting import items_of
from satchel.interfaces.text.json import Fields, rest_fields
from satchel.interfaces.text.lists import (
    NO_AGENT,
    Line,
    When,
    agent_cell,
    head_text,
    list_text,
    note_lines,
    single_lines,
)
from satchel.interfaces.text.parts import counted, quoted, value_text

_TITLE_CHARS, _TITLE_TOKENS = 90, 20
"""The limits of a title. Measured with o200k: 20 titles of 20 estimated tokens cost 380 to 430."""

_LEAST_CHARS = 10
_SNIPPET_CHARS = 160


@dataclass(frozen=True, slots=True)
class Outline:
    """One item of a list, whatever its kind.

    Attributes:
        ref: the short id or the name.
        kind: the name of the kind in a search.
        what: the kind and type for readers.
        text: the text.
        moment: the time of creation, in milliseconds UTC.
        snippet: the part of the text that matches a search, if there was one.
    """

    ref: str
    kind: str
    what: str
    text: str
    agent: str | None
    moment: int
    snippet: str | None = None


def outlines_text(page: Any, noun: str, detail: str, when: When | None = None) -> str:
    """Render a page of any kind in titles or snippets.

    Args:
        noun: the name of an item.
        when: renders a time for people; None for agents.
    """
    outlines = [outline_of(one) for one in items_of(page)]
    lines = [head_text(noun, page, len(outlines))]
    if detail == "titles":
        lines += [f"{value_text(one.ref)} {one.what} {_title(one)}".rstrip() for one in outlines]
    else:
        items = [
            Line(value_text(one.ref), (one.what, agent_cell(one.agent)), (), one.moment, (), (f" {_snippet(one)}",))
            for one in outlines
        ]
        if when is None:
            return list_text(noun, page, items, (None, NO_AGENT))
        lines += [part for item in items for part in single_lines(item, when)]
    return "\n".join([*lines, *note_lines(getattr(page, "notes", ()))])


def outlines_fields(page: Any, items: str, detail: str) -> Fields:
    """Return a page of any kind in titles or snippets as JSON fields.

    Args:
        items: the name of the items.
    """
    from satchel.base.clock import iso

    fields_of_items: list[Fields] = []
    for one in map(outline_of, items_of(page)):
        fields: Fields = {"id": one.ref, "kind": one.kind}
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
    from satchel.interfaces.text.search import entry_kind
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
    from satchel.interfaces.text.search import kind_and_type

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
"""Functions that make the outline of an item, by the name of its record."""

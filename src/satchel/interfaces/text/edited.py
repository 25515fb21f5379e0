"""Rules and decisions as one Markdown text to edit, and the changes that an edited text asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.vocabulary import PRIORITIES
from satchel.find.likeness import words_of
from satchel.find.near import THRESHOLD, are_distinct, are_opposed, share_of_shorter
from satchel.keep.binding import UNCONFIRMED
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY, Constraint
from satchel.keep.decisions.records import Decision

_FOR_ME, _PATHS, _BECAUSE, _NEW = "for me", "paths:", "Because: ", "new"
_ESCAPED = re.compile(r"^(?=\\*(?:## |<!--))", re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*?-->[ \t]*$", re.MULTILINE | re.DOTALL)

_HELP = """\
<!-- {what} in force. Edit the texts; remove an item to {end} it; add one under "{new}".
Keep the ids: an item with its id may move. Everything that you replace stays in the history. -->
"""


class EditedItem(NamedTuple):
    """An item of an edited text.

    Attributes:
        ref: its id, or "new".
        line: the number of its heading.
        title: what stands behind the id: a decision's key, a rule's priority, category and paths.
        body: its text without the escapes.
    """

    ref: str
    line: int
    title: str
    body: str


class RuleText(NamedTuple):
    """A rule as it is edited."""

    text: str
    priority: str
    category: str
    paths: tuple[str, ...]
    unconfirmed: bool
    for_me: bool


class DecisionText(NamedTuple):
    """A decision as it is edited; a number is edited as text."""

    key: str
    value: str
    rationale: str | None


def rule_text(rule: Constraint) -> RuleText:
    return RuleText(
        rule.text.strip(), rule.priority, rule.category, rule.paths, rule.unconfirmed, rule.for_person is not None
    )


def decision_text(one: Decision) -> DecisionText:
    value = one.value if isinstance(one.value, str) else f"{one.value:.15g}"
    return DecisionText(one.key, value.strip(), (one.rationale or "").strip() or None)


def render_rules(rules: Sequence[Constraint]) -> str:
    """Return rules as a text, with comments on pairs that nearly repeat or contradict each other."""
    head = _HELP.format(what="Rules", end="retract", new="## new | high | security | paths: src/api/**, *.py")
    return "\n".join([head, *_pair_comments(rules), *(_item(one.ref, *_rule_parts(rule_text(one))) for one in rules)])


def render_decisions(decisions: Iterable[Decision]) -> str:
    head = _HELP.format(what="Decisions", end="deprecate", new="## new THE KEY")
    items = []
    for one in decisions:
        text = decision_text(one)
        because = "" if text.rationale is None else f"\n\n{_BECAUSE}{text.rationale}"
        items.append(_item(one.ref, f" {text.key}", f"{text.value}{because}"))
    return "\n".join([head, *items])


def parse(text: str, known: Iterable[str]) -> list[EditedItem]:
    """Return the items of an edited text."""
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    items: list[EditedItem] = []
    body: list[str] = []
    refs = set(known)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("## "):
            if not items and line.strip():
                raise _wrong(number, "belongs to no item", 'Begin an item with "## new"')
            body.append(line)
            continue
        _finish(items, body)
        ref, _, title = line[3:].strip().partition(" ")
        if ref != _NEW and ref not in refs:
            twice = any(ref == one.ref for one in items)
            problem = f"has the id {ref} again" if twice else f"has {ref!r} where an id of this text was expected"
            raise _wrong(number, problem, 'Keep the id of an item, and begin a further one with "## new"')
        refs.discard(ref)
        items.append(EditedItem(ref, number, title.strip(), ""))
    _finish(items, body)
    return items


def rule_of(item: EditedItem) -> RuleText:
    """Return the rule that an item of a text describes."""
    parts = [part.strip() for part in item.title.split("|") if part.strip()]
    priority, category = DEFAULT_PRIORITY, DEFAULT_CATEGORY
    paths: tuple[str, ...] = ()
    names = []
    for part in parts:
        if part.startswith(_PATHS):
            paths = tuple(filter(None, map(str.strip, part.removeprefix(_PATHS).split(","))))
        elif part not in {UNCONFIRMED, _FOR_ME}:
            names.append(part)
    if len(names) > 2:
        raise _wrong(item.line, f"has {names[2]!r} too much", "Give `## ID | PRIORITY | CATEGORY | paths: GLOB, ...`")
    if names:
        priority = names[0]
        if priority not in PRIORITIES:
            wrong = unknown_name("priority", priority, PRIORITIES)
            raise _wrong(item.line, f"has an {wrong.problem}", wrong.remedy or "")
        category = names[1] if len(names) == 2 else category
    return RuleText(item.body, priority, category, paths, UNCONFIRMED in parts, _FOR_ME in parts)


def decision_of(item: EditedItem) -> DecisionText:
    """Return the decision that an item of a text describes."""
    if not item.title:
        raise _wrong(item.line, "names no key", "Give `## ID THE KEY`")
    value, because, rationale = f"\n{item.body}".rpartition(f"\n{_BECAUSE}")
    value = (value if because else rationale).strip()
    if not value:
        raise _wrong(item.line, "has a decision without a value", "Write the value below it")
    return DecisionText(item.title, value, rationale.strip() or None if because else None)


def _finish(items: list[EditedItem], body: list[str]) -> None:
    if items:
        text = re.sub(r"^\\(?=\\*(?:## |<!--))", "", "\n".join(body).strip(), flags=re.MULTILINE)
        if not text:
            raise _wrong(items[-1].line, f"has {items[-1].ref} without a text", "Remove its heading too to end it")
        items[-1] = items[-1]._replace(body=text)
    body.clear()


def _wrong(line: int, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"line {line} {problem}", remedy)


def _item(ref: str, title: str, body: str) -> str:
    escaped = _ESCAPED.sub(r"\\", body)
    return f"## {ref}{title}\n\n{escaped}\n"


def _rule_parts(rule: RuleText) -> tuple[str, str]:
    parts = [rule.priority, rule.category, *([f"{_PATHS} {', '.join(rule.paths)}"] if rule.paths else [])]
    parts += [UNCONFIRMED] * rule.unconfirmed + [_FOR_ME] * rule.for_me
    return "".join(f" | {part}" for part in parts), rule.text


def _pair_comments(rules: Sequence[Constraint]) -> list[str]:
    words: Mapping[int, frozenset[str]] = {one.id: frozenset(words_of(one.text)) for one in rules}
    comments = []
    for one, other in combinations(rules, 2):
        if share_of_shorter(words[one.id], words[other.id]) < THRESHOLD:
            continue
        if are_opposed(one.text, other.text):
            comments.append(f"<!-- {one.ref} and {other.ref} seem to contradict each other -->\n")
        elif not are_distinct(one.text, other.text):
            comments.append(f"<!-- {one.ref} and {other.ref} say nearly the same -->\n")
    return comments

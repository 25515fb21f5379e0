"""``satchel edit``: rules or decisions as one text."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import click

from satchel.base.errors import Conflict, InvalidInput, Refused, SatchelError, unknown_name
from satchel.base.paging import MAX_LIMIT
from satchel.base.vocabulary import PRIORITIES
from satchel.client import Satchel
from satchel.find.likeness import words_of
from satchel.find.near import THRESHOLD, are_distinct, are_opposed, contradict, share_of_shorter
from satchel.interfaces.cli.common import is_terminal, store_options
from satchel.interfaces.cli.opening import opened
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
    """An item of an edited text."""

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
        is_alike = share_of_shorter(words[one.id], words[other.id]) >= THRESHOLD
        if not is_alike and not contradict(one.text, other.text):
            continue
        if are_opposed(one.text, other.text):
            comments.append(f"<!-- {one.ref} and {other.ref} seem to contradict each other -->\n")
        elif not are_distinct(one.text, other.text):
            comments.append(f"<!-- {one.ref} and {other.ref} say nearly the same -->\n")
    return comments


def edit_text(text: str, name: str) -> str | None:
    """Return a text as the person's editor leaves it; None if it is the same."""
    text = text if text.endswith("\n") else f"{text}\n"
    file = keep_text(text, name)
    before = file.read_bytes()
    remedy = "Correct VISUAL or EDITOR, then try again"
    try:
        click.edit(filename=str(file))
        written = file.read_bytes()
        after = written.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        problem, remedy = "what the editor wrote is not UTF-8", "Set the editor to UTF-8, then try again"
    except KeyboardInterrupt:
        problem, remedy = "the editor was interrupted", "Run the command again"
    except (click.ClickException, OSError, ValueError) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        problem = f"the editor failed ({reason})" if file.exists() else "the editor removed the file"
    else:
        file.unlink()
        return None if written == before else after
    if file.is_file() and file.read_bytes() == before:
        file.unlink()
    elif file.exists():
        remedy = f"{remedy}. Your text is kept in {file}"
    raise InvalidInput(f"{problem}; nothing was changed", remedy)


def keep_text(text: str, name: str) -> Path:
    """Write a text to a new temporary file that only this user can read."""
    descriptor, path = tempfile.mkstemp(prefix=f"satchel-{name}-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)


class _Kind(NamedTuple):
    """The functions that edit one kind of items."""

    load: Callable[[Satchel], list[Any]]
    render: Callable[[Sequence[Any]], str]
    shape: Callable[[Any], object]
    parse: Callable[[EditedItem], Any]
    change: Callable[[Satchel, Any, Any], str]
    end: Callable[[Satchel, Any], str]
    add: Callable[[Satchel, Any], str]


@click.command()
@click.argument("kind", type=click.Choice(("rules", "decisions")))
@click.option("--yes", is_flag=True, help="Remove more than half of the items without asking.")
@store_options
def edit_command(kind: str, yes: bool, db: str | None, project: str | None) -> int:
    """Edit all rules or decisions in force as one Markdown text.

    The text opens in your editor (VISUAL or EDITOR). What you change replaces the item, what you remove ends it, and
    the history keeps both. An item that somebody else changed while you wrote is shown and left as it is. An empty text
    changes nothing.

    \b
    Examples:
      satchel edit rules
      EDITOR="code --wait" satchel edit decisions
    """
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise InvalidInput("neither VISUAL nor EDITOR names an editor", f"Run `EDITOR=nano satchel edit {kind}`")
    how = _KINDS[kind]
    with opened(db, project) as satchel:
        before = {one.ref: one for one in how.load(satchel)}
        text = how.render(list(before.values()))
        changed, items = _edit(text, before, how, kind)
        if changed is None:
            click.echo("nothing was changed")
            return 0
        if not yes:
            _confirm_removal(before, changed, items, kind)
        now = {one.ref: one for one in how.load(satchel)}
        is_whole = True
        for work in _changes(satchel, how, before, now, items):
            try:
                click.echo(work())
            except SatchelError as error:
                is_whole = False
                click.echo(f"not done: {error.problem}. {error.remedy}", err=True)
        if not is_whole:
            click.echo(f"Your text is kept in {keep_text(changed, kind)}", err=True)
    return 0 if is_whole else 1


def _edit(text: str, before: dict[str, Any], how: _Kind, kind: str) -> tuple[str | None, list[tuple[EditedItem, Any]]]:
    draft = text
    while True:
        try:
            answer = edit_text(draft, kind)
        except InvalidInput as error:
            if draft == text:
                raise
            file = keep_text(draft, kind)
            raise InvalidInput(error.problem, f"{error.remedy}. What you wrote before is kept in {file}") from error
        after = draft if answer is None else answer
        if after == text or not after.strip():
            return None, []
        try:
            return after, [(item, how.parse(item)) for item in parse(after, before)]
        except InvalidInput as error:
            if is_terminal():
                click.echo(f"{error.problem}. {error.remedy}", err=True)
            if not (is_terminal() and click.confirm("Edit again?", default=True)):
                file = keep_text(after, kind)
                raise InvalidInput(
                    f"{error.problem}; nothing was changed", f"{error.remedy}. Your text is kept in {file}"
                ) from error
            draft = after


def _confirm_removal(before: dict[str, Any], text: str, items: list[tuple[EditedItem, Any]], kind: str) -> None:
    removed = len(before.keys() - {item.ref for item, _ in items})
    if len(before) < 3 or removed * 2 <= len(before):
        return
    what = f"{removed} of {len(before)} {kind}"
    if not (is_terminal() and click.confirm(f"Remove {what}?", default=False, err=True)):
        raise Refused(
            f"this text removes {what}; nothing was changed",
            f"Add --yes to remove them. Your text is kept in {keep_text(text, kind)}",
        )


def _changes(
    satchel: Satchel, how: _Kind, before: dict[str, Any], now: dict[str, Any], items: list[tuple[EditedItem, Any]]
) -> Iterator[Callable[[], str]]:
    wanted = {item.ref: new for item, new in items if item.ref in before}
    for ref, old in before.items():
        if how.shape(old) == wanted.get(ref):
            continue
        current = now.get(ref)
        if current is None or current.seq != old.seq:
            yield partial(_refuse, how, ref, current)
        elif ref in wanted:
            yield partial(how.change, satchel, old, wanted[ref])
        else:
            yield partial(how.end, satchel, old)
    for item, new in items:
        if item.ref not in before:
            yield partial(how.add, satchel, new)


def _refuse(how: _Kind, ref: str, current: Any) -> str:
    if current is None:
        raise Conflict(f"{ref} was replaced or ended while you wrote", "Add yours as a new item if it still holds")
    text = " ".join(how.render([current]).partition("\n## ")[2].split())
    raise Conflict(f"{ref} was changed while you wrote, and is now: {text}", "Edit it again")


def _pages(find: Callable[..., Any], **filters: object) -> list[Any]:
    page = find(limit=MAX_LIMIT, **filters)
    items = list(page.items)
    while len(page.items) == MAX_LIMIT:
        page = find(limit=MAX_LIMIT, offset=len(items), **filters)
        items += page.items
    return items


def _change_rule(satchel: Satchel, old: Constraint, new: RuleText) -> str:
    if new._replace(unconfirmed=True) == rule_text(old):
        return f"confirmed {satchel.corrections.confirm(old.ref).ref}"
    added = _new_rule(satchel, new, layer=old.layer, tags=old.tags, metadata=old.metadata, supersedes=old.ref)
    return _noted(f"replaced {old.ref} by {added.ref}", added)


def _add_rule(satchel: Satchel, new: RuleText) -> str:
    added = _new_rule(satchel, new)
    return _noted(f"added {added.ref}", added)


def _new_rule(satchel: Satchel, new: RuleText, **more: Any) -> Constraint:
    only_for = "me" if new.for_me else None
    return satchel.constraints.add(
        new.text, priority=new.priority, category=new.category, paths=new.paths, only_for=only_for, **more
    )


def _end_rule(satchel: Satchel, old: Constraint) -> str:
    done = satchel.corrections.retract(old.ref, "removed in satchel edit")
    return f"retracted {old.ref}" if done.done else f"asked a person to retract {old.ref}, in {done.asked}"


def _value(text: str, old: Decision | None) -> str | float:
    if old is not None and not isinstance(old.value, str):
        try:
            return int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            return text
    return text


def _change_decision(satchel: Satchel, old: Decision, new: DecisionText) -> str:
    if new.key != old.key:
        raise Conflict(f"{old.ref} has the key {old.key!r}, which cannot change", "Remove it, and add one with the key")
    done = satchel.decisions.set(
        old.key, _value(new.value, old), rationale=new.rationale, expected_revision=old.revision
    )
    return _noted(f"set {done.ref} {done.key}", done)


def _add_decision(satchel: Satchel, new: DecisionText) -> str:
    # revision 0 refuses to replace a decision that the text does not show
    done = satchel.decisions.set(new.key, new.value, rationale=new.rationale, expected_revision=0)
    return _noted(f"set {done.ref} {done.key}", done)


def _end_decision(satchel: Satchel, old: Decision) -> str:
    satchel.decisions.set(old.key, status="deprecated", expected_revision=old.revision)
    return f"deprecated {old.ref} {old.key}"


def _noted(done: str, item: Constraint | Decision) -> str:
    return "\n".join([done, *(f"  {note}" for note in item.notes)])


_KINDS = {
    "rules": _Kind(
        lambda satchel: _pages(satchel.constraints.find),
        render_rules,
        rule_text,
        rule_of,
        _change_rule,
        _end_rule,
        _add_rule,
    ),
    "decisions": _Kind(
        lambda satchel: _pages(satchel.decisions.find, status="active"),
        render_decisions,
        decision_text,
        decision_of,
        _change_decision,
        _end_decision,
        _add_decision,
    ),
}

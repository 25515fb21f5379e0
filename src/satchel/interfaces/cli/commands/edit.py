"""``satchel edit``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from satchel.base.errors import Conflict, InvalidInput, Refused, SatchelError
from satchel.base.paging import MAX_LIMIT
from satchel.client import Satchel
from satchel.interfaces.cli.common import is_terminal, store_options
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.text import edited
from satchel.interfaces.text.edited import DecisionText, EditedItem, RuleText
from satchel.keep.constraints import Constraint
from satchel.keep.decisions.records import Decision


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
    """The functions that edit one kind of items.

    Attributes:
        load: returns all items in force.
        render: returns items as one text.
        shape: returns an item as it is edited.
        parse: returns what an item of the text describes.
        change: replaces an item.
        end: ends an item.
        add: adds an item.
    """

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
            return after, [(item, how.parse(item)) for item in edited.parse(after, before)]
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
    if new._replace(unconfirmed=True) == edited.rule_text(old):
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
        edited.render_rules,
        edited.rule_text,
        edited.rule_of,
        _change_rule,
        _end_rule,
        _add_rule,
    ),
    "decisions": _Kind(
        lambda satchel: _pages(satchel.decisions.find, status="active"),
        edited.render_decisions,
        edited.decision_text,
        edited.decision_of,
        _change_decision,
        _end_decision,
        _add_decision,
    ),
}

"""Rules as text: lists, and the confirmation of a new rule.

A rule's line has the id, category, priority, layer, ``by`` agent, tags after one ``#``, ``paths:``, ``metadata:``, and
the time it was added; its text follows below. A retracted rule is ``inactive``, ``since`` a time, ``by`` an agent, and
``because`` of a reason as a JSON string.
"""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.vocabulary import CATEGORIES
from satchel.interfaces.text import lists
from satchel.interfaces.text.parts import content_lines, json_line, place_in_list, quoted, shown_of, value_text
from satchel.keep.binding import FileBinding
from satchel.keep.constraints import DEFAULT_CATEGORY, Constraint
from satchel.keep.decisions.records import Decision
from satchel.keep.names import shown_name

_BLANKS = (None, None, lists.NO_LAYER, lists.NO_AGENT)


def constraints_text(page: KeptPage[Constraint]) -> str:
    lines = [constraint_line(constraint) for constraint in page.items]
    more = lists.TAGS_TOLD if any(len(constraint.tags) > 1 for constraint in page.items) else ""
    return lists.list_text("constraint", page, lines, _BLANKS, more)


def constraint_line(constraint: Constraint) -> lists.Line:
    return lists.Line(
        start=constraint.ref,
        cells=_cells(constraint),
        own=_own(constraint),
        moment=constraint.created_at,
        after=() if constraint.active else _inactive(constraint),
        below=tuple(content_lines(constraint.text)),
    )


def binding_text(answer: FileBinding) -> str:
    page = answer.bindings
    first = (
        f"{shown_of(len(page), page.total, 'item')} {'binds' if page.total == 1 else 'bind'} {value_text(answer.file)}"
    )
    first = ", ".join([first, *place_in_list(page)])
    lines = []
    for one in page:
        key = "" if one.key is None else f" {value_text(one.key)}"
        kind = f"{'unconfirmed ' * one.unconfirmed}{one.priority or 'decided'}"
        lines += [
            f"{one.ref} {kind}{key} for {value_text(one.by)}{':' * (one.key is not None)}",
            *content_lines(one.text),
        ]
        lines += [] if one.reason is None else content_lines(f"because {one.reason}")
    return "\n".join([first, *lines])


def show_binding(answer: FileBinding) -> None:
    import click

    page = answer.bindings
    rows = [(one.ref, one.kind, one.priority, one.key, one.text, one.reason, one.by) for one in page]
    if rows:
        lists.show_table(("id", "kind", "priority", "key", "text", "why", "by"), rows)
    click.echo(lists.rest_text(len(page), page.total, f"items that bind {answer.file}", page.next_offset), err=True)


def added_text(constraint: Constraint) -> str:
    cells = [cell for cell in _cells(constraint) if cell is not None]
    line = " ".join([f"added {constraint.ref}", *cells, *_own(constraint)])
    # what holds for one person's sessions is said by itself
    line += "" if constraint.paths or constraint.unconfirmed or constraint.for_person else "; binds everywhere"
    return "\n".join([line, *lists.note_lines(constraint.notes)])


def confirmed_cell(rule: Constraint) -> str:
    """Return whether a person stands behind a rule; those of persons need no word."""
    if rule.unconfirmed:
        return f"no: satchel accept {rule.ref}"
    is_of_agent = rule.active and rule.agent is not None and not rule.confirmed
    return f"by no person: satchel confirm {rule.ref}" if is_of_agent else ""


def _own(constraint: Constraint) -> tuple[str, ...]:
    return (
        *lists.names_text("#", constraint.tags),
        *lists.names_text("paths:", constraint.paths),
        *lists.metadata_text(constraint.metadata),
        *_person(constraint),
    )


def metadata_cell(item: Constraint | Decision) -> str | None:
    pairs = (f"{key}={value if isinstance(value, str) else json_line(value)}" for key, value in item.metadata.items())
    return ", ".join(pairs) or None


def _cells(constraint: Constraint) -> tuple[str | None, ...]:
    category = constraint.category
    return (
        category if category in (*CATEGORIES, DEFAULT_CATEGORY) else f"category:{value_text(category)}",
        constraint.priority,
        lists.layer_cell(constraint.layer),
        lists.agent_cell(constraint.agent),
    )


def _person(constraint: Constraint) -> tuple[str, ...]:
    stated, whose = constraint.stated_by, constraint.for_person
    of_person = () if stated is None else (f"stated by {value_text(shown_name(stated))}",)
    marks = ("unconfirmed", *of_person) if constraint.unconfirmed else of_person
    return (
        *((", ".join(marks),) if marks else ()),
        *(() if whose is None else (f"only for {value_text(shown_name(whose))}",)),
    )


def _inactive(constraint: Constraint) -> tuple[str | tuple[str, int], ...]:
    at, by, reason = constraint.deactivated_at, constraint.deactivated_by, constraint.reason
    return (
        "inactive" if at is None else ("inactive since", at),
        *(() if by is None else (f"by {value_text(by)}",)),
        *(() if reason is None else (f"because {quoted(reason)}",)),
    )

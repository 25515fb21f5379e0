"""Properties of editing any configuration text: the changes are as on dictionaries, every other byte stays."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from config_texts import KEYS, SCALARS, json_texts, toml_texts, values
from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.editing import (
    Append,
    Change,
    Drop,
    Prune,
    Put,
    Remove,
    Syntax,
    applied,
    edited,
    is_same,
    parse,
)

TEXTS = {
    Syntax.JSON: json_texts(comments=False),
    Syntax.JSONC: json_texts(comments=True),
    Syntax.TOML: toml_texts(),
}
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(tuple)
VALUES = values(SCALARS)
pytestmark = pytest.mark.slow
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A loaded machine is no fault of an edit."""
SYNTAXES = pytest.mark.parametrize("syntax", Syntax)


@st.composite
def installs(draw: st.DrawFn, data: dict[str, object]) -> list[Change]:
    """Make changes that put in what is not there: none below another, and each fits what the text holds."""
    changes: list[Change] = []
    for path in draw(st.lists(PATHS, min_size=1, max_size=4, unique=True)):
        if any(path[: len(other.path)] == other.path or other.path[: len(path)] == path for other in changes):
            continue
        value = draw(VALUES)
        change: Change = Append(path, value) if draw(st.booleans()) else Put(path, value)
        try:
            applied(data, [change])
        except InvalidInput:
            continue
        if isinstance(change, Append) or not has(data, path):
            changes.append(change)
    return changes


def has(data: object, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def undoing(data: dict[str, object], changes: list[Change]) -> list[Change]:
    """Return what takes out of a text what changes put in, in the reverse order, given what it held before."""
    undone: list[Change] = []
    for change in reversed(changes):
        if isinstance(change, Put):
            undone.append(Drop(change.path))
        elif isinstance(change, Append) and not is_same(applied(data, [change]), data):
            undone.append(Remove(change.path, partial(is_same, change.value)))
        above = [change.path[:depth] for depth in range(len(change.path), 0, -1)]
        undone += [Prune(path) for path in above if not has(data, path)]
    return undone


def without_empty(data: dict[str, object]) -> dict[str, object]:
    kept = {key: without_empty(value) if isinstance(value, dict) else value for key, value in data.items()}
    return {key: value for key, value in kept.items() if value not in ({}, [])}


def holds_an_object(text: str, syntax: Syntax) -> bool:
    """Whether the outermost braces of a JSON text are there."""
    return bool(parse(text, syntax)) or "{" in re.sub(r"//[^\r\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def edited_or_skipped(text: str, syntax: Syntax, changes: list[Change]) -> str:
    """Edit a text; skip the example where TOML has a form that is left to a person."""
    try:
        return edited(text, syntax, changes)
    except Refused:
        assume(syntax is not Syntax.TOML)
        raise


def is_subsequence(part: str, whole: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in part)


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_a_text_holds_what_was_written(syntax: Syntax, data: st.DataObject) -> None:
    text, held = data.draw(TEXTS[syntax])
    assert is_same(parse(text, syntax), held)


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_any_changes_mean_what_they_mean_on_dictionaries(syntax: Syntax, data: st.DataObject) -> None:
    text, held = data.draw(TEXTS[syntax])
    any_change = st.one_of(
        st.builds(Put, PATHS, VALUES),
        st.builds(Drop, PATHS),
        st.builds(Append, PATHS, VALUES),
        st.builds(Remove, PATHS, st.sampled_from([lambda _: True, lambda element: isinstance(element, str)])),
        st.builds(Prune, PATHS),
    )
    changes = data.draw(st.lists(any_change, max_size=3))
    try:
        wanted = applied(held, changes)
    except InvalidInput:
        with pytest.raises(InvalidInput):
            edited(text, syntax, changes)
        return
    now = parse(edited_or_skipped(text, syntax, changes), syntax)
    if syntax is Syntax.TOML:  # where a table can exist through its keys alone
        now, wanted = without_empty(now), without_empty(wanted)
    assert is_same(now, wanted)


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_what_is_put_in_leaves_all_else_in_its_order(syntax: Syntax, data: st.DataObject) -> None:
    text, held = data.draw(TEXTS[syntax])
    assert is_subsequence(text, edited_or_skipped(text, syntax, data.draw(installs(held))))


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_what_is_taken_out_adds_nothing(syntax: Syntax, data: st.DataObject) -> None:
    text, _ = data.draw(TEXTS[syntax])
    assert is_subsequence(edited_or_skipped(text, syntax, [Drop(data.draw(PATHS))]), text)


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_editing_twice_is_editing_once(syntax: Syntax, data: st.DataObject) -> None:
    text, held = data.draw(TEXTS[syntax])
    changes = data.draw(installs(held))
    once = edited_or_skipped(text, syntax, changes)
    assert edited(once, syntax, changes) == once


@SYNTAXES
@ANY_SPEED
@given(st.data())
def test_taking_out_what_was_put_in_gives_back_the_bytes(syntax: Syntax, data: st.DataObject) -> None:
    text, held = data.draw(TEXTS[syntax])
    changes = data.draw(installs(held))
    undone = undoing(held, changes)
    if not holds_an_object(text, syntax):
        undone.append(Prune(()))
    assert edited_or_skipped(edited_or_skipped(text, syntax, changes), syntax, undone) == text

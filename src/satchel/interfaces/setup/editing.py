"""Text edits of configuration files that leave every other byte unchanged.

:func:`applied` defines the meaning of a list of changes on plain dictionaries. Every edited text is parsed and compared
with its result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from satchel.base.errors import InvalidInput, Refused

if TYPE_CHECKING:
    from satchel.interfaces.setup.jsonc_text import JsonText
    from satchel.interfaces.setup.toml_text import TomlText

KeyPath = tuple[str, ...]


class Syntax(Enum):
    """The syntax of a client's file."""

    JSON = "JSON"
    JSONC = "JSON with comments"
    TOML = "TOML"


class Put(NamedTuple):
    """Sets the value of a key, replacing any present value and creating missing parent objects."""

    path: KeyPath
    value: object


class Drop(NamedTuple):
    """Removes a key if present; its parents stay, except TOML tables that exist only through it."""

    path: KeyPath


class Append(NamedTuple):
    """Adds an element at the end of an array unless it has an equal one; creates a missing array."""

    path: KeyPath
    value: object


class Remove(NamedTuple):
    """Removes the elements of an array for which ``matches`` is true."""

    path: KeyPath
    matches: Callable[[object], bool]


class Prune(NamedTuple):
    """Removes an object or array if it is empty; the path ``()`` means the outermost object of a JSON file.

    The header of a TOML table with comments stays.
    """

    path: KeyPath


Change = Put | Drop | Append | Remove | Prune


def parse(text: str, syntax: Syntax) -> dict[str, object]:
    return _parsed(text, syntax).data


def edited(text: str, syntax: Syntax, changes: Sequence[Change]) -> str:
    """Return a configuration's text after applying changes in order.

    Comments, order, unknown keys and whitespace are preserved. New text follows the existing line endings and
    indentation. A change that is already in effect does nothing. Reverting the changes in reverse order, and pruning
    the parents that were missing, restores the original text.
    """
    before = wanted = parse(text, syntax)
    for change in changes:
        now = applied(wanted, [change])
        if not is_same(now, wanted) or change == Prune(()):
            text = _with_change(text, syntax, change)
            if not _holds(text, syntax, now, changes):
                real = (one for one in changes if not is_same(applied(before, [one]), before))
                by_hand = "; ".join(map(in_words, real))
                raise Refused("this file cannot be edited safely", f"Make the change by hand: {by_hand}")
        wanted = now
    return text


def applied(data: dict[str, object], changes: Sequence[Change]) -> dict[str, object]:
    """Return a copy of a configuration with changes applied; this defines their meaning."""
    for change in changes:
        if not change.path:  # the outermost object, of which only the text may change
            continue
        key = change.path[-1]
        data, parent = _copied(data, change.path, make=isinstance(change, Put | Append))
        match change:
            case Put(_, value):
                _refuse_unwritable(value)
                parent[key] = value
            case Append(path, value):
                _refuse_unwritable(value)
                array = parent.get(key, [])
                if not isinstance(array, list):
                    raise _unfit(path, "list")
                if not any(is_same(value, element) for element in array):
                    parent[key] = [*array, value]
            case Drop():
                parent.pop(key, None)
            case Remove(_, matches):
                if isinstance(array := parent.get(key), list):
                    parent[key] = [element for element in array if not matches(element)]
            case Prune():
                if parent.get(key) in ({}, []):
                    del parent[key]
    return data


def in_words(change: Change) -> str:
    """Describe a change in a sentence, for a person who makes it by hand."""
    name = ".".join(change.path) or "the file"
    match change:
        case Put(_, value):
            return f"set {name} to {json.dumps(value, ensure_ascii=False, default=str)}"
        case Append(_, value):
            return f"add {json.dumps(value, ensure_ascii=False, default=str)} to the list {name}"
        case Remove():
            return f"remove what names satchel from the list {name}"
        case Prune():
            return f"remove {name} if it is empty"
    return f"remove {name}"


def is_same(one: object, other: object) -> bool:
    """Check whether two values are written the same way: 1 differs from 1.0 and true; key order does not matter."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other or (one != one and other != other)  # noqa: PLR0124 -- TOML has nan


def _parsed(text: str, syntax: Syntax) -> JsonText | TomlText:
    if syntax is Syntax.TOML:
        from satchel.interfaces.setup.toml_text import TomlText

        return TomlText(text)
    from satchel.interfaces.setup.jsonc_text import JsonText

    return JsonText(text, comments=syntax is Syntax.JSONC)


def _with_change(text: str, syntax: Syntax, change: Change) -> str:
    parsed = _parsed(text, syntax)
    match change:
        case Put(path, value):
            return parsed.put(path, value)
        case Append(path, value):
            if _value_at(parsed.data, path) is None:
                return parsed.put(path, [value])
            return parsed.append(path, value)
        case Remove(path, matches):
            elements = _value_at(parsed.data, path)
            for index in reversed(range(len(elements)) if isinstance(elements, list) else ()):
                if isinstance(elements, list) and matches(elements[index]):
                    text = _parsed(text, syntax).remove(path, index)
            return text
        case Prune(path):
            return text if not path and parsed.data else parsed.prune(path)
    return parsed.drop(change.path)


def _holds(text: str, syntax: Syntax, wanted: dict[str, object], changes: Sequence[Change]) -> bool:
    try:
        return is_same(_settled(parse(text, syntax), syntax, changes), _settled(wanted, syntax, changes))
    except (InvalidInput, RecursionError):
        return False


def _settled(data: dict[str, object], syntax: Syntax, changes: Sequence[Change]) -> dict[str, object]:
    if syntax is not Syntax.TOML:
        return data
    paths = [change.path[:depth] for change in changes for depth in range(len(change.path), 0, -1)]
    return applied(data, [Prune(path) for path in sorted(paths, key=len, reverse=True)])


def _value_at(data: object, path: KeyPath) -> object:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _copied(data: dict[str, object], path: KeyPath, *, make: bool) -> tuple[dict[str, object], dict[str, object]]:
    data = parent = dict(data)
    for depth, key in enumerate(path[:-1], 1):
        inner = parent.get(key, {})
        if not isinstance(inner, dict):
            if make:
                raise _unfit(path[:depth], "table of names")
            return data, {}
        if key not in parent and not make:
            return data, {}
        inner = dict(inner)
        parent[key] = inner
        parent = inner
    return data, parent


def _unfit(path: KeyPath, expected: str) -> InvalidInput:
    return InvalidInput(
        f"{'.'.join(path)} in this file is no {expected}", f"Make it a {expected} or remove it, then try again"
    )


def _refuse_unwritable(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{value!r} is no Unicode text", "Use a path or name that is valid UTF-8") from None

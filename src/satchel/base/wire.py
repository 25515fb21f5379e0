"""Records as JSON that keeps their types, for programs of the same version."""

# JSON's own types are unchanged. Everything else is an object whose first member starts with `$`: a record with its
# class and fields, a tuple, bytes, a set, a path, a member of an enumeration, or a mapping that is not a plain
# object. Only records and enumerations of Satchel are created when reading.

from __future__ import annotations

import importlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from satchel.base.errors import ERRORS, InvalidInput, SatchelError
from satchel.base.records import field_names

# Raise this where an older program would misread a newer one; a test compares the shapes of all records.
VERSION = 8

_PACKAGE = "satchel."


def packed(value: Any) -> Any:
    """Return a value as plain JSON; raises TypeError for values without a form, such as functions."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    kind: Any = type(value)
    names = _fields_of(kind)
    if names is not None:
        return {"$r": _name_of(kind), **{name: packed(getattr(value, name)) for name in names}}
    if isinstance(value, list):
        return [packed(item) for item in value]
    if isinstance(value, tuple):
        return {"$t": [packed(item) for item in value]}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: packed(item) for key, item in value.items()}
        return {"$m": [[packed(key), packed(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"$b": b64encode(value).decode("ascii")}
    if isinstance(value, (set, frozenset)):
        return {"$s": [packed(item) for item in value]}
    if isinstance(value, Path):
        return {"$p": str(value)}
    if isinstance(value, Enum):
        return {"$e": [_name_of(kind), value.name]}
    raise TypeError(f"a {type(value).__name__} cannot travel")


def unpacked(value: Any) -> Any:
    """Return the value of :func:`packed` JSON; raises InvalidInput if it is malformed or of another version."""
    try:
        return _unpacked(value)
    except RecursionError:
        raise _unreadable("it is nested too deep") from None


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    mark = next(iter(value), "")
    if not mark.startswith("$"):
        return {key: _unpacked(item) for key, item in value.items()}
    content = value[mark]
    try:
        if mark == "$r":
            return _made(_class_named(content), {name: item for name, item in value.items() if name != mark})
        if mark == "$t":
            return tuple(_unpacked(item) for item in content)
        if mark == "$m":
            return {_unpacked(key): _unpacked(item) for key, item in content}
        if mark == "$b":
            return b64decode(content, validate=True)
        if mark == "$s":
            return frozenset(_unpacked(item) for item in content)
        if mark == "$p":
            return Path(content)
        if mark == "$e":
            return _enumeration(content[0])[content[1]]
    except (AttributeError, ImportError, KeyError, TypeError, ValueError, IndexError) as error:
        raise _unreadable(f"{mark}: {error}") from None
    raise _unreadable(mark)


def error_fields(error: SatchelError) -> dict[str, str | None]:
    return {"code": error.code, "problem": error.problem, "remedy": error.remedy}


def error_of(fields: Any) -> SatchelError:
    """Return the error of :func:`error_fields`; an unknown code becomes a plain SatchelError."""
    code = fields.get("code") if isinstance(fields, dict) else None
    if code is None:
        return SatchelError("the other side returned an unknown error")
    kind = ERRORS.get(code, SatchelError)
    return kind(str(fields.get("problem")), fields.get("remedy"))


def _made(kind: Any, fields: Mapping[str, Any]) -> Any:
    names = _fields_of(kind)
    if names is None:
        raise TypeError(f"{kind.__name__} is not a record")
    values = {name: _unpacked(one) for name, one in fields.items() if name in names}
    if issubclass(kind, tuple):
        return kind(**values)
    made = object.__new__(kind)
    for name, one in kind.__record_fields__.items():
        if name in values:
            object.__setattr__(made, name, values[name])
        else:
            object.__setattr__(made, name, one.usual())
    return made


@lru_cache(maxsize=512)
def _fields_of(kind: type) -> tuple[str, ...] | None:
    names = field_names(kind)
    return getattr(kind, "_fields", None) if names is None and issubclass(kind, tuple) else names


@lru_cache(maxsize=512)
def _name_of(kind: type) -> str:
    if not kind.__module__.startswith(_PACKAGE):
        raise TypeError(f"a {kind.__name__} of {kind.__module__} cannot travel")
    return f"{kind.__module__.removeprefix(_PACKAGE)}:{kind.__qualname__}"


@lru_cache(maxsize=512)
def _class_named(name: str) -> Any:
    module, _, kind = name.partition(":")
    named_class = getattr(importlib.import_module(f"{_PACKAGE}{module}"), kind)
    if not isinstance(named_class, type) or named_class.__module__ != f"{_PACKAGE}{module}":
        raise TypeError(f"{name} is not a class of Satchel")
    if _fields_of(named_class) is None and not issubclass(named_class, Enum):
        raise TypeError(f"{name} is not a record")
    return named_class


def _enumeration(name: str) -> Any:
    named_class = _class_named(name)
    if not issubclass(named_class, Enum):
        raise TypeError(f"{name} is not an enumeration")
    return named_class


def _unreadable(what: str) -> InvalidInput:
    return InvalidInput(
        f"the data from the other side cannot be read ({what[:200]})", "Server and local program need the same version"
    )

"""What programs say to each other: every record that can travel arrives as it was, and nothing else is made."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import satchel
from satchel.base import errors, wire
from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import field_names
from satchel.base.wire import error_fields, error_of, packed, unpacked
from satchel.find.kind import Kind
from satchel.keep.housekeeping.clearing import Cleared
from tables import in_one_test

_GOLDEN = Path(__file__).with_name("wire_shapes.json")
_TRAVELLING = ("base.", "keep.", "find.", "brief.", "interfaces.operations.")


@cache
def records() -> dict[str, type]:
    """Return every record class of the layers whose records answers are made of, by the name it travels under."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(satchel.__path__, "satchel."):
        name = module.name.removeprefix("satchel.")
        if not name.startswith(_TRAVELLING) and name not in {"base", "keep", "find", "brief"}:
            continue
        for one in vars(importlib.import_module(module.name)).values():
            is_own = isinstance(one, type) and one.__module__ == module.name and not one.__name__.startswith("_")
            if is_own and _is_record(one):
                found[f"{name}:{one.__qualname__}"] = one
    return found


def _is_record(one: type) -> bool:
    return bool(field_names(one) or (issubclass(one, tuple) and getattr(one, "_fields", ())))


def _fields(one: type) -> list[str]:
    fields: Any = field_names(one) or getattr(one, "_fields", ())
    return list(fields)


class _Theirs(Enum):
    X = 1


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20)
    | st.sampled_from([*Kind])
    | st.sampled_from(["a", "a/b", "/p"]).map(Path),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.dictionaries(st.integers() | st.sampled_from(["$r", "$t", "$"]), inner, max_size=3)
        | st.frozensets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=12,
)


def travelled(value: Any) -> Any:
    text = json.dumps(packed(value), ensure_ascii=False)
    return unpacked(json.loads(text.encode("utf-8", "surrogatepass")))


@given(value=values)
def test_every_value_arrives_as_it_was(value: Any) -> None:
    arrived = travelled(value)
    assert arrived == value
    assert type(arrived) is type(value)


def test_every_record_arrives_as_it_was() -> None:
    for name, one in records().items():
        fields = list(_fields(one))
        given = {field: (number, f"{field} $r", None, [b"\xff", {"$t": 1}]) for number, field in enumerate(fields)}
        shape = {"$r": name, **{field: packed(value) for field, value in given.items()}}
        made = unpacked(json.loads(json.dumps(shape)))
        assert type(made) is one
        assert {field: getattr(made, field) for field in given} == given, name
        assert packed(travelled(made)) == packed(made), name


def test_fields_that_a_newer_program_adds_are_passed_over_and_missing_ones_have_their_default() -> None:
    shape = packed(Cleared(1, 2, 3, 4, 5, True))
    assert unpacked({**shape, "of_later": {"x": 1}}) == Cleared(1, 2, 3, 4, 5, True)
    with pytest.raises(InvalidInput, match="same version"):
        unpacked({name: value for name, value in shape.items() if name != "done"})


REFUSED = [
    {"$r": "client:Satchel"},
    {"$r": "base.wire:VERSION"},
    {"$r": "base.wire:json"},
    {"$r": "base.wire:Path"},
    {"$r": "base.errors:NotFound"},
    {"$r": "os:environ"},
    {"$r": "../os:environ"},
    {"$r": "base.nothing:X"},
    {"$r": ":"},
    {"$r": 5},
    {"$r": ["find.kind:Kind"]},
    {"$r": "find.kind:Kind"},
    {"$e": ["find.kind:Kind", "NOTHING"]},
    {"$e": ["keep.housekeeping.clearing:Cleared", "x"]},
    {"$e": "find.kind:Kind"},
    {"$e": []},
    {"$b": "no base64!"},
    {"$b": 5},
    {"$t": 5},
    {"$m": [[[], 1]]},
    {"$m": [1]},
    {"$s": [[1]]},
    {"$p": 5},
    {"$unheard": 1},
    {"$": 1},
]


@in_one_test("value", REFUSED)
def test_what_is_no_record_of_ours_is_not_made(value: object) -> None:
    with pytest.raises(InvalidInput, match="same version"):
        unpacked(value)
    with pytest.raises(InvalidInput):
        unpacked([{"x": value}])


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="too deep"):
        unpacked(deep)


@in_one_test("value", [print, object(), 1j, open, SatchelError("x"), _Theirs.X])
def test_what_cannot_travel_is_not_sent(value: object) -> None:
    with pytest.raises(TypeError, match="cannot travel"):
        packed(value)


@in_one_test("code", errors.ERROR_KINDS)
def test_every_error_arrives_with_its_code(code: str) -> None:
    arrived = error_of({"code": code, "problem": "it is so", "remedy": None})
    assert (arrived.code, arrived.problem, arrived.remedy) == (code, "it is so", None)
    assert error_fields(arrived) == {"code": code, "problem": "it is so", "remedy": None}


@in_one_test("fields", [None, 5, [], {}, {"code": 5}, {"code": "unheard", "problem": 1}])
def test_what_is_no_error_of_ours_is_an_error_all_the_same(fields: object) -> None:
    assert isinstance(error_of(fields), SatchelError)


def test_the_shapes_of_records_are_those_of_this_version() -> None:
    """Fields may be added with a default, which an older program passes over; anything else needs another version."""
    shapes = {name: _fields(one) for name, one in sorted(records().items())}
    if os.environ.get("SATCHEL_RENEW_GOLDEN"):
        _GOLDEN.write_text(json.dumps({"version": wire.VERSION, "shapes": shapes}, indent=1) + "\n")
    known = json.loads(_GOLDEN.read_text())
    changed = [
        name
        for name, fields in known["shapes"].items()
        if known["version"] == wire.VERSION and not set(fields) <= set(shapes.get(name, ()))
    ]
    remedy = "raise wire.VERSION, and renew wire_shapes.json with SATCHEL_RENEW_GOLDEN=1"
    assert not changed, f"an older program would misread {changed}: {remedy}"
    assert known == {"version": wire.VERSION, "shapes": shapes}, f"records are new, or have new fields: {remedy}"

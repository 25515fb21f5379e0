"""Schemas of answers: refused before anything is sent, and answers checked as another implementation checks them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.base import json_schema
from satchel.base.errors import InvalidInput
from satchel.base.json_schema import check_schema, find_mismatch, unfenced
from tables import in_one_test

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["safe", "unsafe"]},
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "reasons": {"type": "array", "items": {"$ref": "#/$defs/reason"}, "maxItems": 2},
        "note": {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 1}]},
    },
    "required": ["verdict"],
    "additionalProperties": False,
    "$defs": {
        "reason": {
            "type": "object",
            "properties": {"line": {"type": ["integer", "null"]}, "more": {"type": "array"}},
            "required": ["line"],
            "additionalProperties": {"type": "boolean"},
        }
    },
}

_SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(-2, 12), st.floats(-2, 12), st.sampled_from(["", "safe", "x"]))
)
_REASONS = st.dictionaries(st.sampled_from(["line", "more", "other"]), st.one_of(_SCALARS, st.lists(_SCALARS)))
_ANSWERS = st.one_of(
    _SCALARS,
    st.fixed_dictionaries(
        {},
        optional={
            "verdict": st.one_of(st.sampled_from(["safe", "unsafe"]), _SCALARS),
            "score": _SCALARS,
            "reasons": st.one_of(_SCALARS, st.lists(st.one_of(_SCALARS, _REASONS), max_size=3)),
            "note": _SCALARS,
            "unknown": _SCALARS,
        },
    ),
)


@settings(max_examples=200)
@given(_ANSWERS)
def test_an_answer_matches_where_another_implementation_finds_that_it_does(answer: object) -> None:
    check_schema(SCHEMA)
    expected = jsonschema.Draft202012Validator(SCHEMA).is_valid(answer)
    assert (find_mismatch(json.dumps(answer), SCHEMA) is None) == expected


@in_one_test(
    ("schema", "problem"),
    [
        ("{", 'has to be an object with "type": "object"'),
        ({"type": "array"}, 'has to be an object with "type": "object"'),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "it.properties.a.type matches no part of anyOf"),
        ({"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}, "it.properties.a has an unknown 'pattern'"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, r"it.properties.a.\$ref is not one of"),
        ({"type": "object", "$ref": "a", "$defs": {"a": {}}}, r"it.\$ref is not one of"),
        ({"type": "object", "required": [1]}, r"it.required\[0\] is not of type string"),
        ({"type": "object", "properties": {"a": {"maximum": "9"}}}, "it.properties.a.maximum is not of type number"),
        ({"type": "object", "$defs": []}, r"it.\$defs is not of type object"),
        ({"type": "object", "$defs": None}, r"it.\$defs is not of type object"),
        ({"type": "object", "title": "x" * 40_000}, "more than 32,768 bytes"),
        ({"type": "object", "default": float("nan")}, "not JSON"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_refused(schema: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        check_schema(schema)


def test_a_schema_may_require_nothing() -> None:
    assert check_schema({"type": "object", "required": []})


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    check_schema(schema)
    assert find_mismatch("{}", schema) == "the answer is nested too deeply"


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"anyOf": [{"$ref": "#/$defs/a"}] * 2, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 2}}}, {}),
        ({"properties": {"a": {"items": {"enum": [*range(1, 4_000), "b"]}}}}, {"a": ["b"] * 10_000}),
    ],
    ids=["doubled at each level", "many choices"],
)
def test_a_schema_that_takes_too_long_is_given_up(
    schema: dict[str, Any], answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json_schema._MAX_STEPS < 4_000 * 10_000  # so many steps take a second
    monkeypatch.setattr(json_schema, "_MAX_STEPS", 50_000)
    check_schema({"type": "object"} | schema)
    assert find_mismatch(json.dumps(answer), schema) == "it takes too long to compare with the schema"


@in_one_test("answer", ["", "So.", "{", '{"verdict": NaN}', "[" * 100_000])
def test_what_is_not_json_does_not_match(answer: str) -> None:
    problem = find_mismatch(answer, SCHEMA)
    assert problem is not None
    assert problem.startswith("it is not JSON: ")


def test_a_fence_around_the_answer_is_taken_off() -> None:
    assert unfenced('```json\n{"a": 1}\n```\n') == '{"a": 1}'
    assert unfenced(' {"a": "```"}\n') == '{"a": "```"}'

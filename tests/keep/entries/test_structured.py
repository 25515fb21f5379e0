from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import InvalidInput, Satchel
from satchel.keep.entries.records import STRUCTURED_TYPES
from satchel.keep.entries.structured import parse_object, searchable_text, state_of
from satchel.keep.texts import to_json
from tables import in_one_test

REQUIRED: dict[str, dict[str, object]] = {
    "review_issue": {"description": "d"},
    "review_verdict": {"passed": True, "summary": "s"},
    "scratchpad": {"iteration": 1},
    "codebase_analysis": {"summary": "s"},
    "bug": {"description": "d"},
}


@in_one_test("kind", STRUCTURED_TYPES)
def test_the_required_fields_are_enough(kind: str) -> None:
    assert parse_object(kind, REQUIRED[kind]) == REQUIRED[kind]


@in_one_test(
    ("kind", "field"),
    [
        ("review_issue", "description"),
        ("review_verdict", "passed"),
        ("codebase_analysis", "summary"),
    ],
)
@in_one_test("absent", [{}, None])
def test_a_missing_field_is_named_with_the_shape(kind: str, field: str, absent: object) -> None:
    content = {**REQUIRED[kind], field: None}
    if absent is not None:
        del content[field]
    with pytest.raises(InvalidInput, match=rf"the {kind} lacks {field}\. Give an object .*{field} \(required\)"):
        parse_object(kind, content)


def test_a_scratchpad_needs_no_number_but_must_say_something() -> None:
    assert parse_object("scratchpad", {"done": True}) == {"done": True}
    with pytest.raises(InvalidInput, match="the scratchpad says nothing"):
        parse_object("scratchpad", {})


@in_one_test(
    ("kind", "field", "value", "expected"),
    [
        ("review_issue", "description", 5, "text"),
        ("review_issue", "suggestion", ["x"], "text"),
        ("review_issue", "issue_type", True, "text"),
        ("review_verdict", "passed", "yes", "true or false"),
        ("review_verdict", "passed", 1, "true or false"),
        ("review_verdict", "intent_satisfied", "no", "true or false"),
        ("review_verdict", "summary", {}, "text"),
        ("scratchpad", "iteration", -1, "a whole number"),
        ("scratchpad", "iteration", 1.5, "a whole number"),
        ("scratchpad", "iteration", True, "a whole number"),
        ("scratchpad", "iteration", "3", "a whole number"),
        ("scratchpad", "iteration", 2**53, "a whole number"),
        ("scratchpad", "iteration", float("nan"), "a whole number"),
        ("scratchpad", "iteration", float("inf"), "a whole number"),
        ("scratchpad", "done", 0, "true or false"),
        ("scratchpad", "blockers", [1], "a list of texts"),
        ("scratchpad", "attempted", {"a": 1}, "a list of texts"),
        ("codebase_analysis", "tech_stack", 7, "a list of texts"),
        ("codebase_analysis", "project_type", ["cli"], "text"),
    ],
)
def test_a_wrong_type_is_refused_with_the_field_and_what_it_takes(
    kind: str, field: str, value: object, expected: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} of a {kind} must be {expected}"):
        parse_object(kind, {**REQUIRED[kind], field: value})


def test_a_whole_float_is_taken_for_the_whole_number() -> None:
    assert parse_object("scratchpad", '{"iteration": 3.0}') == {"iteration": 3}


def test_a_single_text_is_taken_for_a_list_of_one() -> None:
    assert parse_object("scratchpad", {"iteration": 1, "blockers": "network"})["blockers"] == ["network"]


@pytest.mark.parametrize("as_json", [False, True])
def test_camel_case_is_accepted_and_kept_once_as_snake_case(as_json: bool) -> None:
    content = {"projectType": "cli", "techStack": ["py"], "entryPoints": [], "summary": "s", "ownField": 1}
    parsed = parse_object("codebase_analysis", json.dumps(content) if as_json else content)
    assert parsed == {"project_type": "cli", "tech_stack": ["py"], "entry_points": [], "summary": "s", "own_field": 1}


def test_one_field_in_both_spellings_is_refused() -> None:
    with pytest.raises(InvalidInput, match="project_type is given twice"):
        parse_object("codebase_analysis", {"projectType": "cli", "project_type": "web", "summary": "s"})


def test_other_fields_are_kept_and_nulls_left_out() -> None:
    content = {"description": "d", "severity": 3, "owner": None, "ACRONYM": "x", "with space": [{"a": None}]}
    assert parse_object("review_issue", content) == {
        "description": "d",
        "severity": 3,
        "ACRONYM": "x",
        "with space": [{"a": None}],
    }


@in_one_test(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON: .* at character 1"),
        ("just words", "is not JSON"),
        ('{"description": "x"', "is not JSON"),
        ("[]", "must be an object"),
        ('"text"', "must be an object"),
        ("null", "must be an object"),
        ("5", "must be an object"),
        ('{"description": NaN}', "NaN is not a number"),
        ('{"description": "d", "x": -Infinity}', "-Infinity is not a number"),
        ('{"description": "d", "x": 1e999}', "x of the review_issue is not a number"),
        ('{"description": "d", "x": ' + "9" * 5_000 + "}", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ('{"description": "d", "x": ' + "[" * 40 + "]" * 40 + "}", "nested too deeply"),
    ],
)
def test_malformed_json_is_refused_with_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"{problem}"):
        parse_object("review_issue", text)


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@in_one_test(
    ("value", "problem"),
    [
        (float("nan"), "is not a number"),
        ([{"deep": float("-inf")}], "is not a number"),
        (_nested(33), "nested too deeply"),
        (_nested(100_000), "nested too deeply"),
        (10**5_000, "too large a number"),
        (b"bytes", "is a bytes"),
        ({1, 2}, "is a set"),
    ],
)
def test_what_json_cannot_hold_is_refused_in_fields_that_are_not_known(value: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"^own of the review_issue .*{problem}|^own of the review_issue {problem}"):
        parse_object("review_issue", {"description": "d", "own": value})


def test_thirty_levels_are_accepted() -> None:
    assert parse_object("review_issue", {"description": "d", "own": _nested(30)})["own"] == _nested(30)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=examples(80))
@given(st.dictionaries(st.text("abcXY _", min_size=1, max_size=4), JSON_VALUES, max_size=4))
def test_what_was_accepted_is_accepted_again_unchanged(extra: dict[str, object]) -> None:
    try:
        parsed = parse_object("review_issue", {"description": "d", **extra})
    except InvalidInput:
        return
    assert parse_object("review_issue", to_json(parsed)) == parsed


def test_the_texts_can_be_searched_but_not_the_names(satchel: Satchel) -> None:
    satchel.entries.write("review_issue", {"description": "leak in parser", "own": [{"detail": "quadratic"}]})
    assert searchable_text('{"a": "b", "c": [1, {"d": "e"}]}') == "b\ne"
    assert satchel.entries.read(query="quadratic").total == 1
    assert satchel.entries.read(query="description").total == 0


@in_one_test(("status", "expected"), [("failing", "tests failing"), ("Tests pass", "Tests pass"), ("", ""), (None, "")])
def test_a_status_that_names_the_tests_does_not_repeat_the_word(status: str | None, expected: str) -> None:
    assert state_of("scratchpad", {"test_status": status}) == expected

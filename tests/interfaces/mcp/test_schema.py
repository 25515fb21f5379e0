from __future__ import annotations

from typing import Any

import pytest

from satchel.base.errors import InvalidInput
from satchel.interfaces.mcp.schema import Schema, check_arguments
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test

NAN, INFINITE = float("nan"), float("inf")
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
LIST: Schema = {"type": "array", "items": {"type": "string"}}
EITHER: Schema = {"type": ["string", "number"]}
CLEARABLE_LIST: Schema = {"type": ["array", "null"], "items": {"type": "string"}}
CLEARABLE: Schema = {"type": ["string", "null"]}
KIND: Schema = {"type": "string", "enum": ["discovery", "error"]}


def parameters(*required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def check(schema: Schema, value: object) -> Any:
    return check_arguments(parameters(value=schema), {"value": value}, "tool").get("value", "not given")


def problem(schema: Schema, arguments: dict[str, object]) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_arguments(schema, arguments, "search")
    return str(caught.value)


@in_one_test(
    ("schema", "given", "expected"),
    [
        (TEXT, "x", "x"),
        (TEXT, "", ""),
        (TEXT, '["stays text"]', '["stays text"]'),
        (TEXT, "\ud800", "\ud800"),
        (TEXT, 3, "3"),
        (TEXT, 2.5, "2.5"),
        (TEXT, ["x"], "x"),
        (TEXT, None, "not given"),
        (WHOLE, 3, 3),
        (WHOLE, 0, 0),
        (WHOLE, 500, 500),
        (WHOLE, 3.0, 3),
        (WHOLE, "3", 3),
        (WHOLE, " 3 ", 3),
        ({"type": "integer"}, "-3", -3),
        ({"type": "integer"}, 10**400, 10**400),
        ({"type": "number"}, 3, 3),
        ({"type": "number"}, 2.5, 2.5),
        ({"type": "number"}, " 2.5", 2.5),
        ({"type": "boolean"}, False, False),
        ({"type": "boolean"}, "True", True),
        (LIST, 3, ["3"]),
        (LIST, ["a", 1], ["a", "1"]),
        ({"type": "array", "items": {"type": "object"}}, {"a": 1}, [{"a": 1}]),
        (KIND, " ERROR", "error"),
        ({"type": ["boolean", "integer"]}, True, True),
        (LIST, ["a", "b"], ["a", "b"]),
        (LIST, [], []),
        (LIST, '["a", "b"]', ["a", "b"]),
        (LIST, " []", []),
        (LIST, "api", ["api"]),
        (LIST, " src/a-b.py ", ["src/a-b.py"]),
        (CLEARABLE_LIST, "api", ["api"]),
        (CLEARABLE_LIST, None, None),
        ({"type": "array", "items": KIND}, "error", ["error"]),
        ({"type": "array", "items": WHOLE}, ["3", 4.0], [3, 4]),
        ({"type": "object"}, {"free": ["form"]}, {"free": ["form"]}),
        ({"type": "object"}, '{"x": "1"}', {"x": "1"}),
        (EITHER, "3", "3"),
        (EITHER, 3, 3),
        (CLEARABLE, None, None),
        (KIND, "error", "error"),
    ],
)
def test_a_value_is_taken_in_its_declared_type(schema: Schema, given: object, expected: object) -> None:
    taken = check(schema, given)
    assert (taken, type(taken)) == (expected, type(expected))


@in_one_test(
    ("schema", "given", "wanted"),
    [
        (TEXT, True, "value must be text, not True"),
        (WHOLE, 2.5, "value must be a whole number, not 2.5"),
        (WHOLE, True, "value must be a whole number, not True"),
        (WHOLE, NAN, "value must be a whole number, not nan"),
        (WHOLE, INFINITE, "value must be a whole number, not inf"),
        (WHOLE, "3.0", "value must be a whole number, not '3.0'"),
        (WHOLE, "", "value must be a whole number, not ''"),
        (WHOLE, "٣", "value must be a whole number, not '٣'"),
        (WHOLE, "9" * 5_000, "value must be a whole number, not '999"),
        ({"type": "number"}, NAN, "value must be a number, not nan"),
        ({"type": "boolean"}, 1, "value must be true or false, not 1"),
        (TEXT, ["a", "b"], "value must be text, not ['a', 'b']"),
        (TEXT, NAN, "value must be text, not nan"),
        ({"type": "number"}, "2,5", "value must be a number, not '2,5'"),
        ({"type": "boolean"}, "yes", "value must be true or false, not 'yes'"),
        (LIST, {"a": 1}, "value must be a list, not {'a': 1}"),
        (LIST, "a, b", "value must be a list, not 'a, b'"),
        (LIST, '{"a": 1}', "value must be a list, not '{\"a\": 1}'"),
        (LIST, "a b", "value must be a list, not 'a b'"),
        (LIST, "a;b", "value must be a list, not 'a;b'"),
        (LIST, "a|b", "value must be a list, not 'a|b'"),
        (LIST, '"a"', "value must be a list, not '\"a\"'"),
        (LIST, "", "value must be a list, not ''"),
        (CLEARABLE_LIST, "null", "value must be a list or null, not 'null'"),
        ({"type": "array", "items": KIND}, "eror", "unknown value[0] 'eror'. Did you mean 'error'?"),
        ({"type": "array", "items": WHOLE}, "seven", "value must be a list, not 'seven'"),
        ({"type": "array", "items": {"type": "object"}}, "a", "value must be a list, not 'a'"),
        (LIST, "[half", "value must be a list, not '[half'"),
        (LIST, "[" * 100_000, "value must be a list, not '[[["),
        (LIST, ["a", None], "value[1] must be text, not None"),
        ({"type": "object"}, [], "value must be an object, not []"),
        (EITHER, [], "value must be text or a number, not []"),
        (KIND, "eror", "unknown value 'eror'. Did you mean 'error'? Valid: discovery, error"),
        (KIND, "x" * 5_000, "unknown value 'xxx"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(schema: Schema, given: object, wanted: str) -> None:
    assert problem(parameters(value=schema), {"value": given}).startswith(wanted)


def test_an_unknown_argument_is_refused_with_the_nearest_name_and_the_list() -> None:
    told = problem(parameters(query=TEXT, limit=WHOLE), {"querry": "x"})
    assert told == "unknown search argument 'querry'. Did you mean 'query'? Valid: query, limit"


def test_an_argument_to_a_tool_without_any_is_problem() -> None:
    assert problem(parameters(), {"x": 1}) == "unknown search argument 'x'. It takes none"


@pytest.mark.parametrize("given", [{}, {"query": None}])
def test_a_missing_argument_is_named_with_an_example(given: dict[str, object]) -> None:
    told = problem(parameters("query", query=TEXT), given)
    assert told == 'search argument \'query\' is missing. Give "query": "..."'


def test_a_missing_choice_is_named_with_its_choices() -> None:
    told = problem(parameters("kind", kind=KIND), {})
    assert told.endswith('Give "kind" as one of: discovery, error')


def test_a_huge_wrong_value_is_repeated_only_in_part() -> None:
    assert len(problem(parameters(value=WHOLE), {"value": "x" * 100_000})) < 200


def test_a_huge_unknown_name_is_repeated_only_in_part() -> None:
    assert len(problem(parameters(value=WHOLE), {"x" * 100_000: 1})) < 200


@in_one_test(
    ("declared", "given", "meant"),
    [
        (("content", "file"), "text", "content"),
        (("query", "limit"), "top_k", "limit"),
        (("paths", "minutes"), "files", "paths"),
        (("paths", "minutes"), "File-Path", "paths"),
        (("ids",), "ref", "ids"),
        (("error_type", "message"), "stacktrace", None),
    ],
)
def test_a_name_of_the_field_is_answered_with_the_one_that_is_taken(
    declared: tuple[str, ...], given: str, meant: str | None
) -> None:
    schema = {"type": "object", "properties": dict.fromkeys(declared, TEXT), "additionalProperties": False}
    told = problem(schema, {given: "x"})
    assert ("Did you mean" in told) == (meant is not None)
    assert meant is None or f"Did you mean {meant!r}?" in told


def test_a_name_that_could_mean_two_is_answered_with_neither() -> None:
    schema = {"type": "object", "properties": {"path": TEXT, "paths": LIST}, "additionalProperties": False}
    assert "Did you mean" not in problem(schema, {"filename": "x"})


def test_a_name_that_was_given_is_not_meant_by_another() -> None:
    schema = {"type": "object", "properties": {"content": TEXT, "file": TEXT}, "additionalProperties": False}
    assert "Did you mean" not in problem(schema, {"content": "x", "text": "y"})


@pytest.mark.parametrize(
    ("choices", "given", "meant"),
    [
        (["discovery", "scratchpad"], "Note", "discovery"),
        (["low", "medium", "high", "critical"], "urgent", "critical"),
        (["entry", "file_change"], "files", "file_change"),
    ],
)
def test_a_word_of_the_field_is_answered_with_the_choice_it_means(choices: list[str], given: str, meant: str) -> None:
    assert f"Did you mean {meant!r}?" in problem(parameters(p={"type": "string", "enum": choices}), {"p": given})


def test_a_list_written_with_commas_is_shown_as_a_list() -> None:
    assert problem(parameters(p=LIST), {"p": "e1, d1"}).endswith('Give "p": ["e1", "d1"]')


def test_a_field_of_a_notes_content_beside_it_is_refused_with_where_it_belongs() -> None:
    schema = next(tool.parameters for tool in ALL_TOOLS if tool.name == "write_context")
    given = {"type": "scratchpad", "content": "x", "done": False}
    with pytest.raises(InvalidInput) as caught:
        check_arguments(schema, given, "write_context")
    assert caught.value.remedy == 'done belongs inside content: content={"done": false, ...}'

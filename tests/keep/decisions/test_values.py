from __future__ import annotations

import math
from typing import Any

import pytest

from kept_bytes import kept_bytes
from satchel import InvalidInput
from satchel.keep.decisions.records import NewDecision
from satchel.keep.decisions.service import Decisions

NUMBERS = [
    0,
    1,
    -1,
    300,
    2**53,
    -(2**53),
    2**53 - 1,
    0.5,
    -2.75,
    1e-9,
    5e-324,
    0.1 + 0.2,
    1.7976931348623157e308,
    1e300,
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_comes_back_as_the_number_it_was(decisions: Decisions, number: float) -> None:
    made = decisions.set("limit", number)
    kept = decisions.get("limit").decision.value
    assert (kept, type(kept)) == (number, type(number))
    assert (made.value, type(made.value)) == (number, type(number))


@pytest.mark.parametrize(("given", "kept"), [(2.0, 2), (-0.0, 0), (0.0, 0), (float(2**53), 2**53)])
def test_a_whole_number_given_as_a_float_comes_back_whole(decisions: Decisions, given: float, kept: int) -> None:
    for value in (decisions.set("limit", given).value, decisions.get("limit").decision.value):
        assert (value, type(value), str(value)) == (kept, int, str(kept))


@pytest.mark.parametrize("number", NUMBERS)
def test_what_was_read_can_be_set_again_and_changes_nothing(decisions: Decisions, number: float) -> None:
    decisions.set("limit", number)
    assert decisions.set("limit", decisions.get("limit").decision.value).revision == 1


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, True, False, 2**53 + 1, -(2**53) - 1, 10**400, None, [1], {"a": 1}, b"x", 1j],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_neither_text_nor_a_number_that_can_be_kept_is_refused(
    decisions: Decisions, value: Any, is_there: bool
) -> None:
    if is_there:
        decisions.set("limit", 1)
    with pytest.raises(InvalidInput, match=r"^value "):
        decisions.set("limit", value)
    assert [decision.revision for decision in decisions.find()] == [1] * is_there


@pytest.mark.parametrize("value", ["", " \n", "\x00"])
def test_a_value_cannot_be_cleared(decisions: Decisions, value: str) -> None:
    decisions.set("limit", 1)
    with pytest.raises(InvalidInput, match=r"value is empty"):
        decisions.set("limit", value)


TEXTS = [
    "redis",
    "1",
    "1.5",
    "true",
    "nan",
    "null",
    "[]",
    " kept ",
    "zwei\nZeilen\t",
    "ÅÄÖ 検索 🎒",
    "'quoted' \"twice\"",
    "a\\b%_",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_as_the_text_it_was(decisions: Decisions, text: str) -> None:
    made = decisions.set("limit", text)
    assert (made.value, made.notes) == (text, ())
    assert decisions.get("limit").decision.value == text


@pytest.mark.parametrize(("first", "second"), [("300", 300), (300, "300"), (1.5, "x"), ("x", 0), ("x", -2.5)])
def test_a_change_of_type_is_an_ordinary_update_with_history(
    decisions: Decisions, first: str | float, second: str | float
) -> None:
    decisions.set("limit", first)
    changed = decisions.set("limit", second)
    assert changed.replaced is not None
    assert (changed.revision, changed.value, changed.replaced.value) == (2, second, first)
    back = decisions.set("limit", first)
    assert (back.revision, back.value) == (3, first)
    history = decisions.get("limit").history.items
    assert [(state.value, type(state.value)) for state in history] == [(second, type(second)), (first, type(first))]


def test_numbers_and_texts_of_one_batch_keep_their_types(decisions: Decisions) -> None:
    made = decisions.set_many([NewDecision("a", 1), NewDecision("b", "1"), NewDecision("c", 1.5)])
    assert [(one.value, type(one.value)) for one in made] == [(1, int), ("1", str), (1.5, float)]


SECRET = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize("field", ["value", "rationale"])
def test_a_secret_in_a_text_is_redacted_and_said(decisions: Decisions, field: str) -> None:
    given: dict[str, Any] = {"value": "x", field: f"use {SECRET} here"}
    made = decisions.set("limit", **given)
    kept = decisions.get("limit").decision
    assert SECRET not in str(getattr(kept, field))
    assert str(getattr(kept, field)).startswith("use [redacted")
    assert any("a secret was redacted" in note for note in made.notes)
    assert kept.notes == ()


@pytest.mark.parametrize("field", ["value", "rationale"])
def test_what_was_cleaned_of_a_text_is_said(decisions: Decisions, field: str) -> None:
    given: dict[str, Any] = {"value": "x", field: "a\x00b\ud800"}
    made = decisions.set("limit", **given)
    assert getattr(made, field) == "ab\ufffd"
    assert made.notes == ("1 control character removed", "1 lone surrogate replaced by U+FFFD")


def test_the_same_note_for_two_texts_is_said_once(decisions: Decisions) -> None:
    assert decisions.set("limit", "a\x00", rationale="b\x00").notes == ("1 control character removed",)


def test_notes_and_that_nothing_was_changed_are_both_said(decisions: Decisions) -> None:
    decisions.set("limit", "a\x00")
    assert decisions.set("limit", "a\x00").notes == ("1 control character removed", "nothing was changed")


def test_a_secret_is_nowhere_in_the_store(decisions: Decisions, satchel: Any) -> None:
    decisions.set("limit", f"use {SECRET}", rationale=SECRET)
    decisions.set("limit", "other")
    assert SECRET.encode() not in kept_bytes(satchel)


@pytest.mark.parametrize(
    ("key", "value"), [("db_password", "Xk9mQ2vLp8zR4"), ("client_secret", "9f8a7d6c5b4a3f2e1d0c")]
)
def test_a_value_that_its_key_makes_a_secret_is_redacted(decisions: Decisions, key: str, value: str) -> None:
    made = decisions.set(key, value)
    assert str(decisions.get(key).decision.value).startswith("[redacted:")
    assert any("a secret was redacted" in note for note in made.notes)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session_token", "rotate every 15 minutes"),
        ("password_policy", "at least 12 characters"),
        ("password_hash", "argon2id"),
        ("jwt_secret", "from the vault, path kv/app/jwt"),
        ("api_key_header", "X-Api-Key"),
    ],
)
def test_a_value_about_secrets_is_none(decisions: Decisions, key: str, value: str) -> None:
    made = decisions.set(key, value)
    assert (made.value, made.notes) == (value, ())

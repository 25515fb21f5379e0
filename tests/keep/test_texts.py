from __future__ import annotations

from typing import Any

import pytest

from satchel.base.errors import InvalidInput, TooLarge
from satchel.keep.texts import Storable, check_content, check_size, map_texts, storable, storable_json
from tables import in_one_test

# tokens of a published format, with the length and alphabet of real ones
TOKENS = ["ghp_" + character * 4 + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6" for character in "wq"]


def test_a_text_without_fault_is_stored_as_it_is() -> None:
    text = "  Auth lives in src/auth.py\n\twith a tab, é, 漢 and 🎒 "
    assert storable(text) == Storable(text, ())


def test_what_is_cleaned_is_said() -> None:
    assert storable("a\0b\x1b\ud800c") == Storable(
        "ab\ufffdc", ("2 control characters removed", "1 lone surrogate replaced by U+FFFD")
    )


def test_a_secret_is_redacted_and_said_once_for_each_kind() -> None:
    result = storable(f"from {TOKENS[0]} to {TOKENS[1]}")
    assert result.text == "from [redacted:github-token] to [redacted:github-token]"
    assert result.notes == ("a secret was redacted (github-token)",)


def test_a_secret_behind_a_control_character_is_redacted_too() -> None:
    result = storable(f"{TOKENS[0][:8]}\0{TOKENS[0][8:]}")
    assert result.text == "[redacted:github-token]"
    assert result.notes == ("1 control character removed", "a secret was redacted (github-token)")


@in_one_test("text", [None, 3, b"bytes", ["a"], {"a": 1}, True])
def test_what_is_no_text_is_refused_by_name(text: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"^rationale must be text, not {type(text).__name__}"):
        check_content(text, "rationale", 100)


@in_one_test("text", ["", " \n\t ", "\0", " \x1b ", "\u2003"])
def test_a_text_of_which_nothing_is_left_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^rationale is empty\. Say something in rationale"):
        check_content(text, "rationale", 100)


def test_content_comes_back_cleaned_and_redacted_with_both_said() -> None:
    checked = check_content(f"\x1b{TOKENS[0]}", "value", 100)
    assert checked == Storable(
        "[redacted:github-token]", ("1 control character removed", "a secret was redacted (github-token)")
    )


@in_one_test(("character", "size"), [("x", 1), ("é", 2), ("漢", 3), ("🎒", 4)])
def test_the_limit_counts_utf8_bytes(character: str, size: int) -> None:
    fits = character * (24 // size)
    assert check_content(fits, "value", 24).text == fits
    check_size(fits, 24)
    for refuse in (check_content, lambda text, field, limit: check_size(text, limit, field)):
        with pytest.raises(TooLarge):
            refuse(fits + character, "value", 24)


def test_what_is_too_large_is_named_with_both_sizes() -> None:
    with pytest.raises(TooLarge, match=r"^value has 3 KiB or more, the limit is 2\. .*context\.max_content_kib"):
        check_content("x" * 3 * 1024, "value", 2 * 1024)


def test_a_size_without_a_name_is_that_of_the_content() -> None:
    with pytest.raises(TooLarge, match=r"^the content has "):
        check_size("xxx", 2)


def test_a_text_that_grew_when_it_was_redacted_is_measured_again() -> None:
    short = "password=x7Kq9z"
    with pytest.raises(TooLarge):
        check_content(short, "value", len(short))
    assert check_content(short, "value", 100).text == "password=[redacted:password]"


def test_ten_megabytes_are_refused_before_they_are_searched_for_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(text: str) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr("satchel.keep.texts.redact", never)
    with pytest.raises(TooLarge):
        check_content("password=" * 1_200_000, "value", 256 * 1024)


def test_a_lone_surrogate_is_measured_like_any_character() -> None:
    assert check_content("\ud800", "value", 3).text == "\ufffd"
    with pytest.raises(TooLarge):
        check_content("\ud800" * 2, "value", 3)


def test_every_text_and_every_name_passes_through_the_change() -> None:
    value = {"a": ["b", {"c": "d"}], "e": 1, "f": None}
    assert map_texts(value, str.upper) == {"A": ["B", {"C": "D"}], "E": 1, "F": None}


def test_two_names_that_become_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two names of an object are both 'A'"):
        map_texts({"a": 1, "A": 2}, str.upper)


def test_every_string_of_a_json_value_is_cleaned_and_redacted_and_said_once() -> None:
    value = {"a": [f"from {TOKENS[0]}", {"b": f"to {TOKENS[1]}"}], TOKENS[0]: "x\0y", "n": [1, 2.5, True, None]}
    assert storable_json(value) == (
        {
            "a": ["from [redacted:github-token]", {"b": "to [redacted:github-token]"}],
            "[redacted:github-token]": "xy",
            "n": [1, 2.5, True, None],
        },
        ("a secret was redacted (github-token)", "1 control character removed"),
    )


@in_one_test("secret", ["hunter2-Xy9q", 'ab"c9Zt7!qLm', "it's-Xy9q-77"])
def test_a_text_in_a_json_object_is_judged_together_with_its_name(secret: str) -> None:
    assert storable_json([{"deep": {"password": secret}}]) == (
        [{"deep": {"password": "[redacted:password]"}}],
        ("a secret was redacted (password)",),
    )


@in_one_test("value", [{"password": "ask the admin"}, {"author": "bob the builder"}, {"password": 5}, "plain", None])
def test_a_json_value_without_a_secret_is_stored_as_it_is(value: object) -> None:
    assert storable_json(value) == (value, ())

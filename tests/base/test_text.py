from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.errors import InvalidInput
from satchel.base.project_paths import canonical_path
from satchel.base.text import MAX_NAME_CHARS, check_name, clean_content, fold, quoted_line, without_repeats
from tables import in_one_test

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


def test_ordinary_text_stays_as_it_is_without_a_note() -> None:
    text = "tabs\tand\nnewlines, ü, 漢字, 🎒\u2028"
    assert clean_content(text).text == text
    assert clean_content(text).notes == ()


def test_line_ends_become_newlines_without_a_note() -> None:
    cleaned = clean_content("a\r\nb\rc\n")
    assert (cleaned.text, cleaned.notes) == ("a\nb\nc\n", ())


def test_a_control_character_is_removed_and_said() -> None:
    cleaned = clean_content("a\x00b\x1fc\x7f\x85")
    assert cleaned.text == "abc"
    assert cleaned.notes == ("4 control characters removed",)


def test_a_lone_surrogate_is_replaced_and_said() -> None:
    cleaned = clean_content("a\ud800b")
    assert cleaned.text == "a\ufffdb"
    assert cleaned.notes == ("1 lone surrogate replaced by U+FFFD",)


@settings(deadline=None, max_examples=examples(150))
@given(ANY_TEXT)
def test_whatever_is_cleaned_can_be_stored_and_needs_no_cleaning_again(text: str) -> None:
    cleaned = clean_content(text).text
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    again = clean_content(cleaned)
    assert (again.text, again.notes) == (cleaned, ())


def test_a_name_is_trimmed() -> None:
    assert check_name("  planner \n", "agent") == "planner"


@in_one_test("name", ["r", "größe", "漢字", "a b", "x" * MAX_NAME_CHARS, "{x}", "a<b", "🎒"])
def test_any_readable_name_is_accepted(name: str) -> None:
    assert check_name(name, "run_id") == name


@in_one_test(
    ("name", "problem"),
    [
        ("", "is empty"),
        (" \t ", "is empty"),
        ("x" * (MAX_NAME_CHARS + 1), "has 201 characters"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("a\x7fb", "control character"),
        ("a\u2028b", "control character"),
        ("a\ud800", "lone surrogate"),
        ("a\u202eb", r"'ab' holds U\+202E \(RIGHT-TO-LEFT OVERRIDE\), which is invisible"),
        ("a\u200b", r"U\+200B"),
        ("\ufeffa", r"U\+FEFF"),
        ("م\u200cن", r"U\+200C"),
        ("👩\u200d💻", r"U\+200D"),
        ("❤\ufe0f", r"U\+FE0F"),
        ("a\U000e0061", r"U\+E0061"),
        ("a\U000e01efb", r"U\+E01EF"),
        ("\u3164", r"U\+3164"),
        ("{{loopId}}", "placeholder"),
        ("task-{{ id }}", "placeholder"),
        ("${RUN_ID}", "placeholder"),
        ("<your-run-id>", "placeholder"),
        (None, "must be text, not NoneType"),
        (7, "must be text, not int"),
    ],
)
def test_what_is_no_name_is_refused_with_the_field(name: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"^loop_id .*{problem}"):
        check_name(name, "loop_id")


@in_one_test(
    ("one", "other"),
    [
        ("Planner", " planner"),
        ("STRASSE", "straße"),
        ("Ｐｌａｎｎｅｒ", "planner"),
        ("ﬁx", "FIX"),
        ("cafe\u0301", "CAF\u00c9"),
        ("𝐐𝐀", "qa"),
        ("a\u00a0b", "A b"),
        ("ｶﾞ", "ガ"),
    ],
)
def test_names_that_look_the_same_fold_to_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text(max_size=8))
def test_folding_once_more_changes_nothing(name: str) -> None:
    assert fold(fold(name)) == fold(name)


def test_an_accent_has_one_spelling_in_a_name() -> None:
    assert check_name("cafe\u0301", "task_id") == check_name("caf\u00e9", "task_id")


@in_one_test(
    ("path", "expected"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/b/../a.py", "src/a.py"),
        ("src/", "src"),
        ("/home/me/proj/src/a.py", "src/a.py"),
        ("/home/me/proj/./src/x/../a.py", "src/a.py"),
        ("..hidden/a", "..hidden/a"),
        ("src/with space.py", "src/with space.py"),
    ],
)
def test_one_file_has_one_spelling(path: str, expected: str) -> None:
    assert canonical_path(path, "/home/me/proj") == expected


@in_one_test("path", ["/etc/passwd", "/home/me/project2/a", "/home/me/proj/../other", "/"])
def test_an_absolute_path_outside_the_project_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="outside the project"):
        canonical_path(path, "/home/me/proj")


@in_one_test("path", [".", "./", "..", "../a", "src/../../a", "/home/me/proj", "/home/me/proj/."])
def test_what_names_no_file_of_the_project_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="names no file of the project"):
        canonical_path(path, "/home/me/proj")


@in_one_test("path", ["", "a\0b", "src/{{file}}", "a\nb", "\udc80"])
def test_a_path_that_could_be_no_name_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match=r"^spec_path "):
        canonical_path(path, "/home/me/proj", "spec_path")


def test_without_a_root_only_relative_paths_are_accepted() -> None:
    assert canonical_path("a/b", None) == "a/b"
    with pytest.raises(InvalidInput, match="outside the project"):
        canonical_path("/a/b", None)


@settings(deadline=None, max_examples=examples(150))
@given(st.text("ab./", min_size=1, max_size=12))
def test_a_canonical_path_never_leaves_the_root_and_stays_canonical(path: str) -> None:
    try:
        canonical = canonical_path(path, "/home/of")
    except InvalidInput:
        return
    assert not canonical.startswith(("/", "../", "./"))
    assert canonical_path(canonical, "/home/of") == canonical


def test_a_quoted_line_is_one_line_that_ends_where_it_seems_to() -> None:
    assert quoted_line('a "b"\n\u2028c\\') == r'"a \"b\" c\\"'
    assert len(quoted_line("x" * 1_000)) == 602


def test_a_text_that_stood_before_is_said_once() -> None:
    said: set[str] = set()
    assert without_repeats(["a", None, "a", "b"], said) == ["a", None, None, "b"]
    assert without_repeats(["b", "c"], said) == [None, "c"]
    assert without_repeats(["b"]) == ["b"]


@in_one_test(
    "coded",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b[1;38;5;9mred\x1b[K",
        "\x9b31mred",
        "\x1b]8;;http://x\x07red\x1b]8;;\x1b\\",
        "\x1b(Bred",
    ],
)
def test_a_terminal_code_leaves_nothing_behind(coded: str) -> None:
    cleaned = clean_content(coded)
    assert cleaned.text == "red"
    assert "terminal code" in cleaned.notes[0]

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import InvalidInput
from satchel.keep.paths import check_path, check_place, covers, overlap
from tables import in_one_test

ROOT = "/home/ann/app"


@in_one_test(
    ("given_path", "canonical"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src//x/../a.py", "src/a.py"),
        (" src/a.py ", "src/a.py"),
        (f"{ROOT}/src/a.py", "src/a.py"),
        ("src/auth/", "src/auth/**"),
        ("src/auth/**", "src/auth/**"),
        ("./src//auth//", "src/auth/**"),
        ("src/./auth/x/../", "src/auth/**"),
        (f"{ROOT}/src/auth/", "src/auth/**"),
        (f"{ROOT}/src/auth/**", "src/auth/**"),
        (".", "**"),
        ("./", "**"),
        ("**", "**"),
        ("./**", "**"),
        ("src/../", "**"),
        (f"{ROOT}/", "**"),
        (f"{ROOT}/**", "**"),
        ("100%_done/a[b]?.py", "100%_done/a[b]?.py"),
    ],
)
def test_every_spelling_of_a_path_has_one_form(given_path: str, canonical: str) -> None:
    assert check_path(given_path, ROOT) == canonical


@in_one_test(
    "outside",
    [
        "..",
        "../",
        "../**",
        "../x",
        "src/../../x",
        "src/../../",
        "/etc/passwd",
        "/etc/",
        "/",
        "/**",
        "//",
        "/home/ann/apple/",
    ],
)
def test_a_path_outside_the_project_is_refused(outside: str) -> None:
    with pytest.raises(InvalidInput, match=r"^path '.*' (is outside the project|names no file of the project)"):
        check_path(outside, ROOT)


@in_one_test("pattern", ["src/*.py", "*", "src/*", "src/**/test.py", "**/x.py", "a**", "src/***", "*/", "a*/**"])
def test_a_pattern_that_is_no_folder_is_refused_with_what_would_be_right(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=r"is a pattern\. Name a file such as src/app\.py, or a whole folder"):
        check_path(pattern, ROOT)


@in_one_test("value", [None, 5, True, ["a"], "", "   ", "a\0b", "a\nb", "\ud800", "{{file}}", "x" * 10_000])
def test_what_is_no_path_is_refused_and_the_argument_named(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^paths\[3\] ") as refused:
        check_path(value, ROOT, "paths[3]")
    assert len(str(refused.value)) < 500


@in_one_test("ending", ["", "/", "/a.py", "/**"])
def test_a_secret_in_a_path_is_refused(ending: str) -> None:
    with pytest.raises(InvalidInput, match=r"^path looks like a secret") as refused:
        check_path(f"keys/ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8{ending}", ROOT)
    assert "ghp_" not in str(refused.value)


def test_a_path_is_taken_as_relative_where_there_is_no_root() -> None:
    assert check_path("src/", None) == "src/**"
    with pytest.raises(InvalidInput, match="outside the project"):
        check_path("/src/", None)


@in_one_test(
    ("path", "other"),
    [
        ("src/a", "src/a"),
        ("src/**", "src/a"),
        ("src/**", "src/a/b/c.py"),
        ("src/**", "src/a/**"),
        ("src/**", "src"),
        ("**", "src/a"),
        ("**", "src/**"),
        ("**", "**"),
    ],
)
def test_a_folder_covers_what_is_in_it_and_its_own_name(path: str, other: str) -> None:
    assert covers(path, other)
    assert overlap(path, other)
    assert overlap(other, path)


@in_one_test(
    ("path", "other"),
    [
        ("src/a", "src/ab"),
        ("src/a/**", "src/ab"),
        ("src/a/**", "src/ab/**"),
        ("src/a", "src/a/b"),
        ("src/a", "src/a/b/**"),
        ("src/a/**", "src/b/**"),
        ("src/a_b/**", "src/axb/c"),
        ("src/A/**", "src/a/b"),
    ],
)
def test_what_stands_beside_a_path_does_not_overlap_it(path: str, other: str) -> None:
    assert not overlap(path, other)
    assert not overlap(other, path)


STEPS = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3)


@given(folder=STEPS, other=STEPS)
def test_a_folder_covers_exactly_what_goes_through_it(folder: list[str], other: list[str]) -> None:
    path = "/".join([*folder, "**"])
    for end in ([], ["**"]):
        if other or end:
            assert covers(path, "/".join(other + end)) == (other[: len(folder)] == folder)


@in_one_test(
    ("given", "place"),
    [
        ("src/app.py:12", ("src/app.py", 12)),
        ("./src/app.py:12:5", ("src/app.py", 12)),
        ("src/app.py", ("src/app.py", None)),
        ("src/app.py:0", ("src/app.py:0", None)),
        ("src/app.py:", ("src/app.py:", None)),
        ("src/", ("src/**", None)),
    ],
)
def test_a_line_may_stand_behind_a_file(given: str, place: tuple[str, int | None]) -> None:
    assert check_place(given, None) == place


def test_a_file_whose_own_name_ends_so_is_meant_itself(tmp_path: Path) -> None:
    (tmp_path / "log:7").touch()
    assert check_place("log:7", str(tmp_path)) == ("log:7", None)

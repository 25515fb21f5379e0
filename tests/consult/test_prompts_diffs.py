"""What changed: told by size and time where these can tell, written so that applying it gives the exact file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consulting import patched
from satchel.consult.prompts import RACY_MS, is_surely_held, telling_time, unified_diff
from satchel.consult.records import FoundFile, KnownFile, Overflow

READ_AT = 1_795_000_000_000
OLD_ENOUGH = (READ_AT - RACY_MS) * 1_000_000 - 1
KNOWN = KnownFile("a.py", 5, OLD_ENOUGH, b"digest", 10, 1, None)
FOUND = FoundFile("a.py", "/p/a.py", "/p", 5, OLD_ENOUGH)


def test_a_file_in_the_prompt_of_the_same_size_and_time_is_held() -> None:
    assert is_surely_held(KNOWN, FOUND)


@pytest.mark.parametrize("change", [{"size": 6}, {"mtime_ns": OLD_ENOUGH - 1}])
def test_another_size_or_time_means_that_it_may_have_changed(change: dict[str, Any]) -> None:
    assert not is_surely_held(KNOWN, FOUND._replace(**change))


@pytest.mark.parametrize("change", [{"mtime_ns": None}, {"mtime_ns": None, "digest": None}, {"why": Overflow.LATE}])
def test_a_file_whose_time_tells_nothing_or_that_is_elsewhere_is_not_surely_held(change: dict[str, Any]) -> None:
    assert not is_surely_held(KNOWN._replace(**change), FOUND)


@pytest.mark.parametrize("later_ns", [1, RACY_MS * 1_000_000, 10**18])
def test_the_time_of_a_file_written_shortly_before_it_was_read_or_in_the_future_tells_nothing(later_ns: int) -> None:
    assert telling_time(OLD_ENOUGH, READ_AT) == OLD_ENOUGH
    assert telling_time(OLD_ENOUGH + later_ns, READ_AT) is None


ODD = st.text(alphabet=st.sampled_from("ab\n\n\r\x0b\x0c\x1c\x85\u2028\\-+@ "), max_size=40)
REPEATED = st.builds("".join, st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=40))


@given(ODD | REPEATED, ODD | REPEATED)
def test_a_diff_applied_gives_the_new_text_to_the_byte(old: str, new: str) -> None:
    assert patched(old, unified_diff(old, new)) == new


@given(REPEATED, st.integers(0, 40), st.sampled_from(["x\n", "a\n", ""]))
def test_a_diff_of_one_line_has_at_most_three_lines_around_it(text: str, at: int, line: str) -> None:
    lines = text.splitlines(keepends=True)
    changed = [*lines[:at], line, *lines[at + 1 :]]
    diff = unified_diff(text, "".join(changed))
    assert diff.count("\n") <= 1 + 3 + 2 + 3


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a\nb", "a\nb") == ""


def test_the_format_is_the_usual_one() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    new = old.replace("5\n", "five\n", 1).replace("18\n", "").removesuffix("\n")
    assert unified_diff(old, new) == (
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n-20\n+20\n\\ No newline at end of file\n"
    )


def test_changes_six_lines_apart_share_a_hunk_and_seven_do_not() -> None:
    lines = [f"{n}\n" for n in range(30)]
    near = [*lines[:10], "x\n", *lines[11:17], "y\n", *lines[18:]]
    far = [*lines[:10], "x\n", *lines[11:18], "y\n", *lines[19:]]
    assert unified_diff("".join(lines), "".join(near)).count("@@ -") == 1
    assert unified_diff("".join(lines), "".join(far)).count("@@ -") == 2


def test_a_text_from_nothing_and_to_nothing_names_the_line_before() -> None:
    assert unified_diff("", "a\n") == "@@ -0,0 +1,1 @@\n+a\n"
    assert unified_diff("a\n", "") == "@@ -1,1 +0,0 @@\n-a\n"

"""A unified diff: applying it gives the exact text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consulting import patched
from satchel.base.line_diff import unified_diff

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

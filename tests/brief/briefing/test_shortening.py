"""Shortening: whole sentences, else whole words; the end where it must stay; the part that answers the query."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.brief.briefing.shortening import MAX_SENTENCE_CHARS, shortened

HAY, STRAW = "hay " * 100, "straw " * 100
TEXT = "Tokens expire in an hour. The gateway keeps them for two, i.e. too long. See issue 41! NEVER cache a token."


@pytest.mark.parametrize("text", ["", "short", "x" * 60])
def test_a_short_text_stays_whole(text: str) -> None:
    assert shortened(text, 60, ["short"]) == shortened(text, 60, keeps_end=True) == shortened(text, None) == text


def test_it_stands_on_one_line() -> None:
    assert shortened(" one\n\ttwo\u2028three ", 60) == "one  two three"


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (60, "Tokens expire in an hour. …"),
        (80, "Tokens expire in an hour. The gateway keeps them for two, i.e. too long. …"),
        (100, "Tokens expire in an hour. The gateway keeps them for two, i.e. too long. See issue 41! …"),
        (10, "Tokens expire in an hour. …"),
        (len(TEXT), TEXT),
    ],
)
def test_a_text_is_cut_behind_a_sentence_never_below_one(most: int, shown: str) -> None:
    assert shortened(TEXT, most) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HAY, f"{'hay ' * 14}…"),
        ("1. Do this now.\n2. Then do that.\n" + HAY, "1. Do this now. 2. Then do that. …"),
        ("a line without a stop\n" + HAY, "a line without a stop …"),
        ("所有的令牌都在一小时后过期。" * 10, "所有的令牌都在一小时后过期。" * 4 + " …"),
        ("所" * 300, "所" * 58 + " …"),
        ("x" * 300, "…"),
    ],
)
def test_a_cut_is_never_inside_a_word(text: str, shown: str) -> None:
    assert shortened(text, 60) == shown


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (0, "… NEVER cache a token."),
        (60, "Tokens expire in an hour. … NEVER cache a token."),
        (100, "Tokens expire in an hour. The gateway keeps them for two, i.e. too long. … NEVER cache a token."),
    ],
)
def test_of_what_keeps_its_end_the_middle_is_left_out(most: int, shown: str) -> None:
    assert shortened(TEXT, most, keeps_end=True) == shown


def test_an_end_without_a_sentence_is_its_last_words() -> None:
    assert shortened(f"{HAY}the end", 60, keeps_end=True) == f"… {'hay ' * 12}the end"


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        (f"{HAY}the needle here {STRAW}", ["needle"], "needle"),
        (f"{HAY}The NEEDLES here {STRAW}", ["needle"], "NEEDLES"),
        (f"{HAY}the needling here {STRAW}", ["needles"], "needling"),
        (f"needle {HAY}needle and thread {STRAW}", ["needle", "thread"], "needle and thread"),
        (f"{HAY}pin {HAY} pin, needle {STRAW}", ["pin", "needle"], "pin, needle"),
        (f"{HAY}over C++ then {STRAW}", ["c"], "C++"),
        (f"{'ß' * 400} needle {STRAW}", ["needle"], "needle"),
        (f"{'İ' * 400} Needle {STRAW}", ["needle"], "Needle"),
        (f"{HAY}草の針の山 {STRAW}", ["針"], "針"),
    ],
)
def test_the_part_that_holds_most_words_of_the_query_is_shown(text: str, words: list[str], shown: str) -> None:
    found = shortened(text, 60, words)
    assert (shown in found, found[0], len(found) <= 60) == (True, "…", True)


def test_that_part_begins_and_ends_with_a_sentence_where_it_can() -> None:
    text = f"{HAY}and so on. A needle lies here. A thread as well. {STRAW.capitalize()}"
    assert shortened(text, 60, ["needle"]) == "… A needle lies here. A thread as well. …"


@pytest.mark.parametrize("text", [f"{HAY}haystack {STRAW}", f"{HAY}unneedled {STRAW}"])
def test_words_are_not_looked_for_inside_others(text: str) -> None:
    assert shortened(text, 60, ["needle", "stack"]) == shortened(text, 60)


def test_the_beginning_is_kept_where_it_holds_as_many() -> None:
    assert shortened(f"a needle {HAY}needle {STRAW}", 60, ["needle"]).startswith("a needle hay")


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=400) | st.lists(
    st.sampled_from(["never", "Push.", "to", "main!", "i.e.", "日本語", "(see", "README.md)", "end.\n"]), max_size=90
).map(" ".join)


@given(texts, st.lists(st.text(min_size=1, max_size=6).map(str.lower), max_size=3), st.integers(60, 120), st.booleans())
def test_it_is_never_longer_than_asked_or_a_sentence_and_no_word_of_it_is_cut(
    text: str, words: list[str], most: int, keeps_end: bool
) -> None:
    found = shortened(text, most, words, keeps_end=keeps_end)
    assert len(found) <= max(most, MAX_SENTENCE_CHARS + 4)
    line = text.strip().replace("\n", " ")
    parts = [part.strip() for part in found.split("…")] if "…" not in text else []
    for part in parts:
        assert part in line
        if part and not re.search(r"[^\x00-\x7f]", text):
            assert re.search(rf"(?<!\S){re.escape(part)}(?!\S)", line)

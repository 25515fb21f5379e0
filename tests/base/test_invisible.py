from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.invisible import revealed
from satchel.base.text import clean_content
from tables import in_one_test

ZWNJ, ZWJ, VS15, VS16 = "\u200c", "\u200d", "\ufe0e", "\ufe0f"


def tags(word: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in word)


FLAG_END = "\U000e007f"
SCOTLAND = f"\U0001f3f4{tags('gbsct')}{FLAG_END}"
BIDI = [chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
ZERO_WIDTH = list("\u200b\u2060\ufeff\u00ad\u180e\u2061\u2064\u034f\u3164\uffa0")
NEVER = [*BIDI, *ZERO_WIDTH, *tags("ab "), FLAG_END, "\U000e0001", "\U000e0120", "\U000e01ef", "\U000e0fff"]

REAL = {
    "Persian": f"می{ZWNJ}خواهم کتاب{ZWNJ}ها را",
    "Hindi": f"क्{ZWJ}ष और क्{ZWNJ}ष",
    "Malayalam, at the end of a word": f"അവന്{ZWJ} വന്നു",
    "Bengali": f"র{ZWJ}্য",
    "Sinhala": f"ශ්{ZWJ}රී ලංකා",
    "a family": f"👨{ZWJ}👩{ZWJ}👧{ZWJ}👦",
    "a skin tone": f"👩🏽{ZWJ}💻",
    "a rainbow flag": f"🏳{VS16}{ZWJ}🌈",
    "a heart on fire": f"❤{VS16}{ZWJ}🔥",
    "a pirate flag": f"🏴{ZWJ}☠{VS16}",
    "an eye": f"👁{VS16}{ZWJ}🗨{VS16}",
    "a shaking head": f"🙂{ZWJ}↔{VS16}",
    "a phoenix": f"🐦{ZWJ}🔥, 🐦{ZWJ}⬛",
    "keycaps": f"1{VS16}\u20e3 #{VS16}\u20e3",
    "text style": f"☎{VS15} ™{VS16}",
    "Scotland": SCOTLAND,
    "England beside Wales": f"🏴{tags('gbeng')}{FLAG_END}🏴{tags('gbwls')}{FLAG_END}",
    "a name in Japanese": "葛\U000e0100城",
    "Mongolian": "ᠠ\u180b",
}


def test_control_characters_and_what_hides_are_revealed_in_ascii_too() -> None:
    assert revealed("\x1b[31mred\u202eder") == "\\u{1b}[31mred\\u{202e}der"
    assert revealed("\x1b[31mred") == "\\u{1b}[31mred"


@in_one_test("text", REAL.values())
def test_what_shapes_real_text_stays(text: str) -> None:
    cleaned = clean_content(f"{text}\nand after")
    assert (cleaned.text, cleaned.notes) == (f"{text}\nand after", ())


@in_one_test("character", NEVER)
def test_what_only_hides_is_removed_and_said_once(character: str) -> None:
    cleaned = clean_content(f"ig{character}nore {character}\nالف{character}ب")
    assert cleaned.text == "ignore \nالفب"
    assert cleaned.notes == (f"3 invisible characters removed (U+{ord(character):04X})",)


def test_many_kinds_are_one_note() -> None:
    cleaned = clean_content("a\u202eb\u200bc\u2066d\u200ee")
    assert cleaned.notes == ("4 invisible characters removed (U+202E, U+200B, U+2066, ...)",)


HIDING = {
    "a joiner in a Latin word, which would hide a secret": (f"ghp{ZWJ}_abc", "ghp_abc"),
    "bits in joiners": (f"م{ZWNJ}{ZWJ}{ZWNJ}{ZWNJ}{ZWJ}ن", f"م{ZWNJ}ن"),
    "bits in joiners between others": (f"م{ZWNJ}\u200b{ZWJ}\u2060{ZWNJ}ن", f"م{ZWNJ}ن"),
    "bits after an emoji": ("😀" + "".join(chr(0xE0100 + byte - 16) for byte in b"ignore"), "😀"),
    "bits in the two emoji styles": (f"😀{VS15}{VS16}{VS16}{VS15}", f"😀{VS15}"),
    "many joiners between emoji": (f"👨{ZWJ}{ZWJ}{ZWJ}👩", f"👨{ZWJ}👩"),
    "tags without a flag": (f"hello{tags('ignore all rules')}", "hello"),
    "a word in a flag": (f"🏴{tags('ignore all rules')}{FLAG_END}", "🏴"),
    "a flag without its end": (f"🏴{tags('gbsct')}", "🏴"),
    "a word after a flag": (f"{SCOTLAND}{tags('ignore')}", "🏴"),
    "selectors after letters": ("a\ufe01b\ufe0fc", "abc"),
    "a joiner after a Latin letter": (f"a{ZWNJ}ن", "aن"),
    "a joiner after a digit": (f"١{ZWNJ}ن", "١ن"),
    "a joiner alone": (f"{ZWJ}a {ZWNJ} b{ZWJ}", "a  b"),
    "a joiner at the end of a Persian word": (f"می{ZWNJ} خواهم", "می خواهم"),
}


@in_one_test(("text", "left"), HIDING.values())
def test_a_hidden_text_does_not_survive(text: str, left: str) -> None:
    assert clean_content(text).text == left


PIECES = st.one_of(
    st.sampled_from([ZWNJ, ZWJ, VS15, VS16, "🏴", "👨", "❤", "م", "ن", "क", "्", "漢", "a", "1", "\n", "\0", "\ud800"]),
    st.sampled_from(NEVER),
    st.sampled_from([tags("gbsct"), SCOTLAND, "\U000e0100", "\ufe00", "\u180b", "ᠠ"]),
    st.characters(codec=None, exclude_categories=()),
)
SHAPING = f"{ZWNJ}{ZWJ}"


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(PIECES, max_size=20).map("".join))
def test_cleaning_removes_all_that_hides_and_once_is_enough(text: str) -> None:
    cleaned = clean_content(text).text
    again = clean_content(cleaned)
    assert (again.text, again.notes) == (cleaned, ())
    outside_flags = cleaned
    for region in ("gbeng", "gbsct", "gbwls", "ustx"):
        outside_flags = outside_flags.replace(f"🏴{tags(region)}{FLAG_END}", "🏴")
    assert not set(outside_flags) & set(NEVER)
    for first, second in pairwise(cleaned):
        assert not (first in SHAPING and second in SHAPING)


@settings(deadline=None, max_examples=examples(200))
@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Cn", "Mn")), max_size=30))
def test_a_text_of_visible_characters_stays_as_it_is(text: str) -> None:
    visible = "".join(character for character in text if character not in "\u115f\u1160\u3164\uffa0")
    assert clean_content(visible).text == visible

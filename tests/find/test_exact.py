"""What of a query is taken for an exact name, and how the whole is told from what only holds it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from satchel.find import exact
from satchel.find.query import parse
from tables import in_one_test


def names(text: str) -> list[str]:
    return [name.text for name in exact.read(text).names]


@in_one_test(
    ("text", "expected"),
    [
        ("where is parseConfig called?", ["parseConfig"]),
        ("call parse_config().", ["parse_config"]),
        ("see src/a.ts:42, then b", ["src/a.ts:42"]),
        ("git commit -m", ["-m"]),
        ("(--no-verify)", ["--no-verify"]),
        ("C++ and C#", ["C++", "C#"]),
        ("a + b", []),
        ("src/auth/", ["src/auth"]),
        ("it ends... here", []),
        ("version 1.2.3.", ["1.2.3"]),
        ("error 409!", ["409"]),
        ('"two words" more', ["two words"]),
        ("E501 e501", ["E501"]),
        ("don't retry", []),
        ("ordinary words", []),
        ("検索API", []),
        ("x" * 201 + "1", []),
    ],
)
def test_names_are_told_from_words(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@given(st.text())
def test_every_word_of_a_text_is_one_of_a_name_or_plain(text: str) -> None:
    reading = exact.read(text)
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    kept = " ".join((*(name.text for name in reading.names), *reading.plain)).lower()
    assert words <= set(re.findall(r"[a-z0-9]+", kept))


@in_one_test(
    ("name", "text", "is_whole"),
    [
        ("parseConfig", "the PARSE_CONFIG step", True),
        ("parseConfig", "parseConfigs", False),
        ("parseConfig", "my_parse_config", False),
        ("auth.py", "src/auth.py:42", True),
        ("auth.py", "test_auth.py", False),
        ("src/auth.py", "lib/src/auth.py", True),
        ("src/auth.py", "src/auth.py.bak", False),
        ("src/auth", "src/auth.py", False),
        ("1.2.3", "v1.2.3, at last", True),
        ("1.2.3", "0.1.2.3", False),
        ("1.2.3", "node-v1.2.3.tar.gz", True),
        ("v1.2.3", "pool==1.2.3", True),
        ("1.2.3", "1.2.3.4", False),
        ("1.2.3", "1.2.3-rc1", False),
        ("409", "a 409.", True),
        ("409", "1.409", False),
        ("409", "409,000", False),
        ("no-verify", "--no-verify", True),
        ("-x", "--x", False),
        ("C++", "(C++)", True),
        (".env", "config/.env", True),
        (".env", "app.env", False),
        ('"open files"', "open\nfiles", True),
        ('"open files"', "reopen files", False),
    ],
)
def test_the_whole_is_no_part_of_something_longer(name: str, text: str, is_whole: bool) -> None:
    (found,) = exact.read(name).names
    expression = found.stages[0].whole
    assert expression is not None
    assert (re.search(expression, text, re.IGNORECASE) is not None) is is_whole


@in_one_test(
    ("text", "is_lookup"),
    [
        ("parseConfig", True),
        ("KeyError user_id src/a.py 409", True),
        ("auth middleware", True),
        ("who checks the auth token", False),
        ("where does src/a.py read 409", False),
        (" ".join(f"mark{number}" for number in range(9)), False),
    ],
)
def test_few_words_and_exact_names_are_a_lookup(text: str, is_lookup: bool) -> None:
    query = parse(text)
    assert (query.is_lookup, query.is_question) == (is_lookup, not is_lookup)

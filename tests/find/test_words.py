from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.find.words import (
    WORD,
    identifier_parts,
    joined_identifiers,
    mixed_parts,
    parts_text,
    unspaced_parts,
    unspaced_runs,
)
from tables import in_one_test

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
UNSPACED = st.text(st.sampled_from("漢字変換検索かなカナ한국어々〇"), min_size=1, max_size=12)


@in_one_test(
    ("word", "parts"),
    [
        ("parseConfig", ["parse", "config"]),
        ("ParseConfig", ["parse", "config"]),
        ("HTTPServer", ["http", "server"]),
        ("parseHTTP", ["parse", "http"]),
        ("getHTTPResponseCode2", ["get", "http", "response", "code", "2"]),
        ("iOS", ["i", "os"]),
        ("utf8", ["utf", "8"]),
        ("k8s", ["k", "8", "s"]),
        ("3D", ["3", "d"]),
        ("ÄndernGröße", ["ändern", "größe"]),
        ("ΑλφαΒήτα", ["αλφα", "βήτα"]),
        ("README", []),
        ("Config", []),
        ("config", []),
        ("C", []),
        ("x", []),
        ("2026", []),
        ("漢字", []),
    ],
)
def test_an_identifier_has_its_parts_and_a_plain_word_has_none(word: str, parts: list[str]) -> None:
    assert identifier_parts(word) == parts


@in_one_test(
    ("text", "joined"),
    [
        ("parse_config", ["parseconfig"]),
        ("MAX_TERM_COUNT and _private and dunder __init__", ["maxtermcount"]),
        ("a_b c_d", ["ab", "cd"]),
        ("trailing_ _leading plain", []),
        ("größe_ändern", ["größeändern"]),
    ],
)
def test_snake_case_is_joined_to_one_word(text: str, joined: list[str]) -> None:
    assert list(joined_identifiers(text)) == joined


@in_one_test(
    ("text", "runs"),
    [
        ("漢字", ["漢字"]),
        ("検索APIを使う", ["検索", "を使う"]),
        ("ひらがな カタカナ 한국어", ["ひらがな", "カタカナ", "한국어"]),
        ("人々", ["人々"]),
        ("𠀋x", ["𠀋"]),
        ("naïve Straße", []),
        ("plain", []),
    ],
)
def test_runs_without_spaces_are_seen(text: str, runs: list[str]) -> None:
    assert unspaced_runs(text) == runs


def test_a_run_gives_its_characters_and_its_pairs() -> None:
    assert unspaced_parts("全文検索") == ["全", "文", "検", "索", "全文", "文検", "検索"]


@in_one_test(
    ("word", "mixed"),
    [("検索API", ["api"]), ("v2を使うSDK", ["v2", "sdk"]), ("検索", []), ("API", []), ("Straße", [])],
)
def test_what_is_mixed_into_a_run_is_a_word_of_its_own(word: str, mixed: list[str]) -> None:
    assert mixed_parts(word) == mixed


@in_one_test(
    ("text", "parts"),
    [
        ("the plain words have none", ""),
        ("call parseConfig(utf8)", "parse config utf 8"),
        ("call parse_config", ""),
        ("検索API", "検 索 検索 api"),
    ],
)
def test_the_parts_of_a_text(text: str, parts: str) -> None:
    assert parts_text(text) == parts


@given(ANY_TEXT)
def test_parts_are_made_of_words_of_the_text(text: str) -> None:
    letters = set("".join(WORD.findall(text)).lower()) | set("".join(unspaced_runs(text)))
    assert set(parts_text(text).replace(" ", "")) <= letters


@given(UNSPACED)
def test_every_character_and_pair_of_a_run_is_among_the_parts(run: str) -> None:
    parts = parts_text(f"about {run}.").split()
    assert set(run) <= set(parts)
    assert {run[place : place + 2] for place in range(len(run) - 1)} <= set(parts)


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=2, max_size=5))
def test_an_identifier_is_found_by_its_words_however_they_are_joined(names: list[str]) -> None:
    camel = names[0] + "".join(name.capitalize() for name in names[1:])
    assert identifier_parts(camel) == names
    assert list(joined_identifiers("_".join(names))) == [camel.lower()]

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consult.providers.asking import content
from satchel.base.errors import Interrupted
from satchel.consult.rounds import CHUNK_CHARS, LocalStore, passages
from tables import in_one_test

FILES = {
    "src/auth.py": content("import jwt\n\n\ndef refresh_token(user):\n    return sign(user)\n"),
    "src/mail.py": content("def send_mail(to):\n    return smtp(to)\n"),
    "docs/日本.md": content("データベースの設定を読む\n"),
}


@in_one_test(
    ("query", "path"),
    [
        ("how is the token refreshed?", "src/auth.py"),
        ("refreshToken", "src/auth.py"),
        ("mail", "src/mail.py"),
        ("src/mail.py", "src/mail.py"),
        ("データベース", "docs/日本.md"),
    ],
)
def test_files_are_found_by_what_is_in_them_and_by_their_path(query: str, path: str) -> None:
    with LocalStore(FILES) as store:
        assert store.search(query, 1)[0].path == path


@in_one_test("query", ["", "?", '"', "NOT", "a AND (", "\x00", "\ud800"])
def test_any_text_is_a_valid_query(query: str) -> None:
    with LocalStore(FILES) as store:
        assert isinstance(store.search(query, 5), tuple)


def test_nothing_is_found_where_nothing_fits() -> None:
    with LocalStore(FILES) as store:
        assert store.search("kubernetes", 5) == ()


def test_no_more_is_returned_than_was_asked_for() -> None:
    with LocalStore({f"f{number}.py": content("token\n") for number in range(9)}) as store:
        assert len(store.search("token", 4)) == 4


def test_indexing_ends_when_it_is_told_to() -> None:
    asked: list[None] = []

    def check() -> None:
        asked.append(None)
        if len(asked) == 2:
            raise Interrupted("cancelled")

    with pytest.raises(Interrupted):
        LocalStore(FILES, check)
    assert len(asked) == 2


def test_a_passage_names_its_lines() -> None:
    text = "".join(f"line {number} {'x' * 60}\n" for number in range(1, 101))
    with LocalStore({"long.txt": content(text)}) as store:
        (passage, *_) = store.search('"line 57"', 1)
    assert passage.first_line <= 57 <= passage.last_line
    lines = text.split("\n")[passage.first_line - 1 : passage.last_line]
    assert passage.text == "\n".join(lines) + "\n"


def test_passages_end_at_an_empty_line_where_they_can() -> None:
    paragraph = "word " * 150 + "\n\n"
    assert [one.text for one in passages("a.md", paragraph * 3)] == [paragraph * 2, paragraph]


def test_a_line_ends_only_where_an_editor_ends_it() -> None:
    (passage,) = passages("a.txt", "one\u2028still one\x0cstill one\rstill one\ntwo")
    assert (passage.first_line, passage.last_line) == (1, 2)


@given(st.text(st.sampled_from("ab \n\r\u2028é"), max_size=6_000) | st.integers(1, 9_000).map(lambda size: "x" * size))
def test_joined_the_passages_are_the_text(text: str) -> None:
    found = list(passages("a.txt", text))
    assert "".join(passage.text for passage in found) == text
    assert all(0 < len(passage.text) <= CHUNK_CHARS for passage in found)

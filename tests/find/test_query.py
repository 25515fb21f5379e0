from __future__ import annotations

import re
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.errors import InvalidInput, TooLarge
from satchel.find.index_sqlite_scoped import expression
from satchel.find.query import MAX_TERMS, Query, parse, word_counts, words
from satchel.find.scopes import Either
from satchel.store.schema import MIGRATIONS
from tables import in_one_test

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
OPERATOR_TEXT = st.lists(
    st.sampled_from([*'()"-* ab漢字', " AND ", " OR ", " NOT ", "-", "foo*", '"x y"', "parse_config", "検索API", "\n"]),
    max_size=40,
).map("".join)
QUOTED_WORDS = re.compile(r'[()]|AND|OR|NOT|"[^"\s]+(?: [^"\s]+)*"\*?')


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    """The index of a new store, with one text in it."""
    made = apsw.Connection(":memory:")
    for step in MIGRATIONS:
        for statement in step.statements:
            if "VIRTUAL TABLE" in statement:
                made.execute(statement)
    made.execute("INSERT INTO documents_fts (rowid, text, parts, scope) VALUES (1, 'a text', '', 'p1 r1 k1')")
    yield made
    made.close()


def accepted(connection: apsw.Connection, query: Query) -> bool:
    """Whether the index takes the query; it raises when it does not."""
    told = expression(query.condition or Either(query.terms))
    return connection.execute("SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (told,)).get in {0, 1}


def condition_of(query: Query) -> str:
    return expression(query.condition) if query.condition else ""


def read(text: str, syntax: str) -> Query | str:
    """The query, or what is wrong with it."""
    try:
        return parse(text, syntax)
    except InvalidInput as error:
        return error.problem


def matches(query: Query) -> list[str]:
    return [expression(term) for term in query.terms]


def weights(query: Query) -> dict[str, float]:
    return {" ".join(term.words): term.weight for term in query.terms}


@in_one_test(
    ("text", "expected"),
    [
        ("Where is the auth middleware?", ["auth", "middleware"]),
        ("foo-bar", ["foo", "bar"]),
        ("src/a.ts:42", ["src", "ts", "42"]),
        ("C++", ["c"]),
        ("parse_config", ["parse", "config"]),
        ("don't", ["don", "t"]),
        ("git commit -m", ["git", "commit"]),
        ('"half a quote', ["half", "quote"]),
        ("NEAR(x y, 2)", ["near", "x", "y", "2"]),
        ("auth Auth AUTH", ["auth"]),
        ("straße STRASSE", ["straße", "strasse"]),
        ("nai\u0308ve", ["nai\u0308ve"]),
    ],
)
def test_a_text_becomes_its_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@in_one_test(
    ("text", "expected"),
    [
        ("foo-bar", {"foo": 1, "bar": 1, "foo bar": 0.5}),
        ("src/a.ts:42", {"src": 1, "ts": 1, "42": 1, "src a ts 42": 0.5}),
        ("C++", {"c": 1}),
        ("C", {"c": 1}),
        ("Go", {"go": 1}),
        ("k8", {"k8": 1, "k": 0.5, "8": 0.5}),
        ("parseConfig", {"parseconfig": 2, "parse config": 0.5, "parse": 0.5, "config": 0.5}),
        ("parse_config", {"parse": 1, "config": 1, "parse config": 0.5, "parseconfig": 0.5}),
        ('the "connection pool" size', {"connection": 1, "pool": 1, "size": 1, "connection pool": 2}),
        ("“connection pool”", {"connection": 1, "pool": 1, "connection pool": 2}),
        ('"foo-bar"', {"foo": 1, "bar": 1, "foo bar": 2}),
        ('"one"', {"one": 1}),
        ('"half a quote', {"half": 1, "quote": 1}),
        ("漢", {"漢": 1}),
        ("漢字", {"漢字": 1}),
        ("全文検索", {"全文": 1, "文検": 1, "検索": 1}),
        ("検索API", {"検索": 1, "api": 1}),
        ("who are you", {"who": 1, "are": 1, "you": 1}),
        ("check a string of digits in Python", {"check": 1, "string": 1, "digits": 1, "python": 0.3}),
        ("Python version needed", {"python": 1, "version": 1, "needed": 1}),
    ],
)
def test_a_natural_text_looks_for_its_words_phrases_and_parts(text: str, expected: dict[str, float]) -> None:
    assert weights(parse(text)) == expected


@in_one_test("syntax", ["natural", "operators"])
@in_one_test("text", ["", "?", "* ^ : -", "🎒🎒", "_", "\ud800", "\0", '( ) "', "." * 60_000])
def test_a_text_without_a_letter_or_digit_has_nothing_to_look_for(text: str, syntax: str) -> None:
    assert parse(text, syntax).terms == ()


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number}" for number in range(10_000)),
        "_".join(f"w{number}" for number in range(10_000)),
        "漢字" * 10_000,
        "aB" * 30_000,
        '"x y" ' * 10_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_the_number_of_terms_is_bounded(connection: apsw.Connection, text: str) -> None:
    query = parse(text)
    assert 1 <= len(query.terms) <= MAX_TERMS
    assert accepted(connection, query)


@in_one_test("syntax", ["natural", "operators"])
@in_one_test("text", ["a" * 65_537, "é" * 32_769, "aB" * 7_900_000, "\ud800" * 21_846])
def test_a_text_of_more_than_64_kib_is_refused(text: str, syntax: str) -> None:
    with pytest.raises(TooLarge, match=r"^the text to search for has .* bytes or more, the limit is 65,536"):
        parse(text, syntax)


def test_a_text_of_64_kib_is_accepted() -> None:
    assert parse("a" * 65_536).terms
    assert parse("é" * 32_768).terms


def test_more_words_than_are_looked_for_are_known() -> None:
    assert not parse(" ".join(f"w{number}" for number in range(MAX_TERMS))).is_cut
    assert parse(" ".join(f"w{number}" for number in range(MAX_TERMS + 1))).is_cut


@pytest.mark.parametrize("syntax", ["natural", "operators"])
def test_what_is_invisible_is_no_part_of_a_query(syntax: str) -> None:
    assert parse("pass\u200bword", syntax).terms == parse("password", syntax).terms


@in_one_test("text", ["“" * 21_000, '"' * 65_001, "x-" * 32_000, "a" * 65_000, "-" * 65_000 + "a"])
@in_one_test("syntax", ["natural", "operators"])
def test_reading_a_text_takes_steps_in_proportion_to_its_length(text: str, syntax: str) -> None:
    # quadratic reading of these takes minutes: the suite's limit on a test's time would end it
    outcome = read(text, syntax)
    assert isinstance(outcome, str) or len(outcome.terms) <= MAX_TERMS


@pytest.mark.parametrize(("text", "is_question"), [("auth middleware", False), ("who checks the auth token", True)])
def test_three_words_that_say_something_are_a_question(text: str, is_question: bool) -> None:
    assert parse(text).is_question is is_question


def test_the_words_of_a_text_are_counted_as_they_can_be_looked_for() -> None:
    assert word_counts("The cache, the Cache and 検索API") == {"cache": 2, "検索": 1, "api": 1}


@settings(deadline=None, max_examples=examples(300))
@given(ANY_TEXT)
def test_nothing_but_quoted_words_reaches_the_index(connection: apsw.Connection, text: str) -> None:
    query = parse(text)
    assert QUOTED_WORDS.sub("", " ".join(matches(query))).strip() == ""
    assert not query.terms or accepted(connection, query)


@settings(deadline=None, max_examples=examples(600))
@given(ANY_TEXT | OPERATOR_TEXT)
def test_any_text_with_operators_is_accepted_or_refused_with_a_place_in_it(
    connection: apsw.Connection, text: str
) -> None:
    query = read(text, "operators")
    if isinstance(query, str):
        place = re.search(r"at character (\d+) of the query\Z", query)
        assert place, query
        assert 1 <= int(place[1]) <= len(text)
        return
    assert QUOTED_WORDS.sub("", condition_of(query)).strip() == ""
    rest = iter(QUOTED_WORDS.findall(condition_of(query)))
    assert all(term in rest for term in matches(query)), "in order, but for what is excluded"
    assert not query.terms or accepted(connection, query)


@in_one_test(
    ("text", "condition"),
    [
        ("a", '"a"'),
        ("a b", '("a" AND "b")'),
        ("a AND b", '("a" AND "b")'),
        ("a OR b c", '("a" OR ("b" AND "c"))'),
        ("(a OR b) c", '(("a" OR "b") AND "c")'),
        ("a -b", '("a" NOT "b")'),
        ("a NOT b", '("a" NOT "b")'),
        ("a AND NOT b", '("a" NOT "b")'),
        ("-b a", '("a" NOT "b")'),
        ("a -b -c", '("a" NOT ("b" OR "c"))'),
        ("a -(b OR c)", '("a" NOT ("b" OR "c"))'),
        ("a -(b -c)", '("a" NOT ("b" NOT "c"))'),
        ("a - b", '("a" NOT "b")'),
        ("--a", '"a"'),
        ("NOT NOT a", '"a"'),
        ("a -(-b -c)", '("a" AND ("b" OR "c"))'),
        ("conf*", '"conf"*'),
        ('"a b" c', '("a b" AND "c")'),
        ("foo-bar", '"foo bar"'),
        ("src/a.ts:42", '"src a ts 42"'),
        ("and or not", '("and" AND "or" AND "not")'),
        ('"AND"', '"and"'),
        ("((((a))))", '"a"'),
        ("全文検索", '"全文 文検 検索"'),
        ("検索API", '("検索" AND "api")'),
        ("a\nOR\tb", '("a" OR "b")'),
    ],
)
def test_operators_are_read(connection: apsw.Connection, text: str, condition: str) -> None:
    query = parse(text, "operators")
    assert condition_of(query) == condition
    assert accepted(connection, query)


def test_what_is_excluded_stands_in_the_condition_alone() -> None:
    query = parse("-b a (c -d)", "operators")
    assert condition_of(query) == '(("a" AND ("c" NOT "d")) NOT "b")'
    assert [term.words for term in query.terms] == [("a",), ("c",)]


@in_one_test(
    ("text", "problem", "place"),
    [
        ('foo "bar', "a quote is not closed", 5),
        ('a" b', "a quote is not closed", 2),
        ("foo (bar", "a parenthesis is not closed", 5),
        ("((a)", "a parenthesis is not closed", 1),
        ("a )", "a closing parenthesis without an opening one", 3),
        ("(a))", "a closing parenthesis without an opening one", 4),
        ("a () b", "a word is missing", 4),
        ("  -foo", "the query only excludes words", 3),
        ("NOT a -b", "the query only excludes words", 1),
        ("-(a b)", "the query only excludes words", 1),
        ("a OR -b", "an alternative of OR only excludes words", 6),
        ("-a OR b", "an alternative of OR only excludes words", 1),
        ("foo AND", "nothing follows the operator", 5),
        ("foo OR  ", "nothing follows the operator", 5),
        ("foo AND OR bar", "nothing follows the operator", 5),
        ("(foo OR) bar", "nothing follows the operator", 6),
        ("AND foo", "a word is missing", 1),
        ("OR foo", "a word is missing", 1),
        ("foo NOT", "nothing follows the exclusion", 5),
        ("foo -", "nothing follows the exclusion", 5),
        ("foo - OR bar", "nothing follows the exclusion", 5),
        ("foo *", "'*' holds no letter and no digit", 5),
        ('foo ""', "'' holds no letter and no digit", 5),
        ("(" * 33 + "a" + ")" * 33, "parentheses are nested more than 32 deep", 33),
        (" ".join("a" * 65), "the query has more than 24 terms", 49),
        ("é漢🎒 (b", "a parenthesis is not closed", 5),
    ],
)
def test_wrong_operators_are_refused_with_the_place(text: str, problem: str, place: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(text, "operators")
    assert refused.value.problem == f"{problem}, at character {place} of the query"


def test_an_error_shows_no_more_than_the_beginning_of_a_long_word() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse("a " + "*" * 60_000, "operators")
    assert len(refused.value.problem) < 200


def test_the_deepest_nesting_is_accepted_by_the_index(connection: apsw.Connection) -> None:
    text = "z"
    for number in range(23):
        text = f"(x{number} -{text})" if number % 2 else f"({text} OR y{number})"
    text = "(" * 9 + text + ")" * 9
    assert accepted(connection, parse(text, "operators"))

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from find.likeness_fixture import DECISIONS, KEYS, VALUES
from satchel.base.records import replace
from satchel.find import near
from satchel.find.kind import Kind
from satchel.find.likeness import (
    THRESHOLD,
    Bands,
    candidates,
    forget,
    key_bands,
    key_likeness,
    remember,
    text_bands,
    text_likeness,
    words_of,
)
from satchel.keep import projects
from satchel.keep.decisions.records import NewDecision
from satchel.keep.decisions.service import Decisions
from tables import in_one_test

if TYPE_CHECKING:
    from satchel import Satchel
    from satchel.store.transaction import Transaction


def keys_alike(one: str, other: str) -> int:
    return key_likeness(words_of(one), words_of(other))


def texts_alike(one: str, other: str) -> int:
    return text_likeness(words_of(one), words_of(other))


@in_one_test(
    ("text", "words"),
    [
        ("session_ttl", ("session", "ttl")),
        ("Session Limits", ("session", "limit")),
        ("parseConfig2", ("parse", "config", "2")),
        ("the retry of the retries", ("retry",)),
        ("status of a bus class", ("status", "bus", "class")),
        ("検索API", ("検索api", "検", "索", "検索")),
        ("?!", ()),
    ],
)
def test_words_are_folded_parted_and_each_there_once(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


@in_one_test(
    ("one", "other", "percent"),
    [
        ("session_ttl", "sessionTtl", 100),
        ("session_ttl", "ttl of sessions", 100),
        ("session_ttl", "user_session_ttl", 80),
        ("log_retention_days", "audit_log_retention_days", 86),
        ("session_ttl", "old_user_session_ttl", 0),
        ("session_ttl", "session_store", 0),
        ("auth_method", "authentication_method", 100),
        ("form_check", "format_check", 0),
        ("mail_host", "mailer_host", 0),
        ("cache_backend", "cache_bakcend", 100),
        ("cache_backend", "cache_backends", 100),
        ("cache_backend", "cache_backnd", 100),
        ("read_pool_size", "write_pool_size", 0),
        ("min_replicas", "max_replicas", 0),
        ("phase_1_budget", "phase_2_budget", 0),
        ("http2_enabled", "http3_enabled", 0),
        ("cache", "caches", 100),
        ("cache", "cache_ttl", 0),
        ("?", "?", 0),
    ],
)
def test_keys_are_alike_where_every_word_of_the_shorter_one_is_in_the_longer(
    one: str, other: str, percent: int
) -> None:
    assert (keys_alike(one, other), keys_alike(other, one)) == (percent, percent)


@in_one_test(
    ("one", "other", "percent"),
    [
        ("Redis in cluster mode", "cluster mode with Redis", 100),
        ("Redis in cluster mode", "Redis in sentinel mode", 67),
        ("Redis cluster mode shards", "Redis cluster mode", 86),
        ("Prometheus with Grafana", "Grafana and Prometheus", 0),
        ("Redis in cluster mode", "PostgreSQL with two replicas", 0),
    ],
)
def test_texts_are_alike_by_the_share_of_their_words(one: str, other: str, percent: int) -> None:
    assert (texts_alike(one, other), texts_alike(other, one)) == (percent, percent)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_can_be_compared_and_nothing_depends_on_which_comes_first(one: str, other: str) -> None:
    for alike in (keys_alike, texts_alike):
        assert 0 <= alike(one, other) == alike(other, one) <= 100
        assert alike(one, one) in {0, 100}


@given(st.text(max_size=60))
def test_what_has_marks_finds_itself_under_any_text(text: str) -> None:
    words = words_of(text)
    for marks in (key_bands(1, words), text_bands(1, words)):
        assert bool(marks.recorded) == bool(marks.looked_up) == bool(set(marks.recorded) & set(marks.looked_up))
        assert all(-(2**63) <= mark < 2**63 for mark in marks.recorded + marks.looked_up)


def test_the_marks_of_a_very_long_key_and_text_are_few() -> None:
    words = [f"word{number}" for number in range(150)]
    assert len(key_bands(1, words).recorded) <= 9
    assert len(text_bands(1, words).recorded) == 6


def test_marks_of_two_projects_have_nothing_in_common() -> None:
    words = words_of("redis in cluster mode")
    for marks in (key_bands, text_bands):
        assert set(marks(1, words).recorded).isdisjoint(marks(2, words).looked_up)


@pytest.fixture
def transaction(satchel: Satchel) -> Iterator[Transaction]:
    """A write to a store with the projects 1 and 2."""
    with satchel.workplace.engine.write() as one:
        for name in ("one", "two"):
            projects.ensure(one, replace(satchel.workplace, project_name=name), 0)
        yield one


class TestCandidates:
    def test_are_those_of_the_kind_that_share_a_mark(self, transaction: Transaction) -> None:
        remember(transaction, 1, Kind.DECISION, 1, [10, 11])
        remember(transaction, 1, Kind.DECISION, 2, [12])
        remember(transaction, 1, Kind.CONSTRAINT, 3, [10])
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10, 99))) == [1]
        assert candidates(transaction, 1, Kind.DECISION, Bands((10,), (99,))) == []
        assert candidates(transaction, 1, Kind.DECISION, Bands((10,), ())) == []

    def test_come_each_once_those_that_share_most_first_then_the_newest(self, transaction: Transaction) -> None:
        for item, marks in ((1, [10, 11]), (3, [10]), (2, [11, 12]), (4, [99])):
            remember(transaction, 1, Kind.DECISION, item, marks)
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10, 11, 12))) == [2, 1, 3]

    @pytest.mark.parametrize("sought", range(1, 17))
    def test_are_found_by_any_of_so_many_marks(self, transaction: Transaction, sought: int) -> None:
        for item in range(sought):
            remember(transaction, 1, Kind.DECISION, item, [item])
        found = candidates(transaction, 1, Kind.DECISION, Bands((), tuple(range(sought))))
        assert found == list(range(sought))[::-1]

    def test_are_the_newest_few_however_many_share_a_mark(self, transaction: Transaction) -> None:
        for item in range(100):
            remember(transaction, 1, Kind.DECISION, item, [10])
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10,))) == list(range(99, 83, -1))

    def test_a_key_and_a_text_of_many_words_are_looked_up_by_all_of_their_marks(self, transaction: Transaction) -> None:
        words = [f"{letter}{letter}word" for letter in "bcdfghjklmnp"]
        marks = key_bands(1, words) + text_bands(1, words)
        for item, mark in enumerate(marks.looked_up):
            remember(transaction, 1, Kind.DECISION, item, [mark])
        assert len(candidates(transaction, 1, Kind.DECISION, marks)) == len(marks.looked_up)

    def test_are_no_more_once_they_were_forgotten(self, transaction: Transaction) -> None:
        remember(transaction, 1, Kind.DECISION, 1, [10, 11])
        remember(transaction, 1, Kind.DECISION, 1, [10])
        forget(transaction, 1, Kind.DECISION, 1, [10])
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10,))) == []
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (11,))) == [1]

    def test_are_of_the_project_alone_however_much_another_holds(self, transaction: Transaction) -> None:
        for item in range(1, 101):
            remember(transaction, 2, Kind.DECISION, item, [10])
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10,))) == []
        remember(transaction, 1, Kind.DECISION, 1, [10])
        forget(transaction, 2, Kind.DECISION, 1, [10])
        assert candidates(transaction, 1, Kind.DECISION, Bands((), (10,))) == [1]


def test_of_all_pairs_of_different_things_hardly_any_is_called_alike() -> None:
    pairs = list(combinations(DECISIONS.items(), 2))
    keys = [(one, other) for (one, _), (other, _) in pairs if keys_alike(one, other) >= THRESHOLD]
    texts = [
        (one, other)
        for (one, mine), (other, theirs) in pairs
        if isinstance(mine, str) and isinstance(theirs, str) and texts_alike(mine, theirs) >= THRESHOLD
    ]
    assert len(pairs) > 14_000
    assert len(keys) + len(texts) <= len(pairs) / 1_000


def test_of_a_hundred_different_decisions_at_most_five_are_said_to_look_like_another(satchel: Satchel) -> None:
    decisions = Decisions(satchel.workplace)
    alarms = [key for key, value in DECISIONS.items() if decisions.set(key, value).similar]
    assert 0 < len(alarms) <= len(DECISIONS) * 0.05


@pytest.fixture
def product(satchel: Satchel) -> Decisions:
    decisions = Decisions(satchel.workplace)
    decisions.set_many([NewDecision(key, value) for key, value in DECISIONS.items()])
    return decisions


@pytest.mark.parametrize(
    ("kind", "at_least"),
    [
        ("spelling", 10),
        ("order of words", 10),
        ("plural", 10),
        ("abbreviation", 6),
        ("one word more", 10),
        ("typo", 9),
    ],
)
def test_a_key_written_otherwise_is_pointed_out(product: Decisions, kind: str, at_least: int) -> None:
    found = [
        meant in [similar.key for similar in product.set(variant, 1).similar] for variant, meant in KEYS[kind].items()
    ]
    assert len(found) == 10
    assert sum(found) >= at_least


@pytest.mark.parametrize(
    ("kind", "at_least"),
    [("order of words", 9), ("other small words", 9), ("one word more or another", 8), ("reworded", 2)],
)
def test_a_value_that_says_the_same_under_another_key_is_pointed_out(
    product: Decisions, kind: str, at_least: int
) -> None:
    found = []
    for place, (variant, meant) in enumerate(VALUES[kind].items()):
        made = product.set(f"zz{'bcdfghjklm'[place]}", variant)
        found += [(similar.by, similar.likeness) for similar in made.similar if similar.key == meant]
    assert len(VALUES[kind]) == 10
    assert len(found) >= at_least
    assert all(by == "value" and percent >= near.THRESHOLD for by, percent in found)


def test_whichever_of_two_like_keys_comes_first_the_second_is_pointed_to_it(satchel: Satchel) -> None:
    decisions = Decisions(satchel.workplace)
    for variants in KEYS.values():
        for variant, meant in variants.items():
            if keys_alike(variant, meant) < THRESHOLD:
                continue
            one, other = (key_bands(1, words_of(key)) for key in (variant, meant))
            assert bool(set(one.looked_up) & set(other.recorded)) == bool(set(other.looked_up) & set(one.recorded)), (
                variant
            )
    decisions.set("user_session_ttl", 1)
    assert [one.key for one in decisions.set("session_ttl", 1).similar] == ["user_session_ttl"]

"""What a search finds first: ranking as real questions ask for it."""

from __future__ import annotations

import pytest

from keep.finding.story import Story
from satchel import Satchel
from tables import in_one_test


@in_one_test(
    ("question", "key"),
    [
        ("where are tokens checked?", "middleware"),
        ("which middleware handles auth", "middleware"),
        ("why does login return 401", "clock-skew"),
        ("What do we hash passwords with?", "hashing"),
        ("are our cookies SameSite?", "cookies"),
        ("do environment variables override the config file?", "env"),
        ("what happens with unknown keys in the configuration", "parse-snake"),
        ("src/a.ts:42", "line"),
        ("error at src/a.ts line 42", "line"),
        ("foo-bar", "foo-bar"),
        ("was foobar-core renamed", "foo-bar"),
        ("utf8", "utf8"),
        ("UTF-8 encoding on windows", "utf8"),
        ("C++", "cpp"),
        ("Go", "go"),
        ("k8s", "k8s"),
        ("/healthz", "k8s"),
        ("git commit -m", "hook"),
        ("pre-commit hooks failing", "hook"),
        ("connection pool limits", "pool-phrase"),
        ("what deadlocks", "deadlock"),
        ("don't retry", "retry"),
        ("retry on 409?", "retry"),
        ("disk space for vacuum", "vacuum"),
        ("漢字", "cjk"),
        ("漢", "cjk"),
        ("全文検索", "cjk"),
        ("検索API", "cjk-mixed"),
        ("API", "cjk-mixed"),
        ("한국어", "korean"),
        ("문서", "korean"),
        ("🎒 packs", "emoji"),
        ("cafe", "cafe"),
        ("NAIVE", "cafe"),
        ("getHTTPResponseCode2", "http"),
        ("http response code", "http"),
        ("swallowed timeout", "http"),
        ("ndjson export newline delimited", "export"),
        ("oauth.py", "oauth"),
        ("db/migrate.sql migrations", "migrations"),
    ],
)
def test_a_question_finds_its_entry_first(story: Story, question: str, key: str) -> None:
    assert story.found(question)[0] == key


def test_an_identifier_finds_itself_before_other_ways_to_write_it_and_not_its_parts_in_prose(story: Story) -> None:
    assert story.found("parseConfig") == ["parse-camel", "parse-snake"]
    assert story.found("parse_config") == ["parse-snake", "parse-camel"]


@pytest.mark.parametrize("part", ["config", "parse"])
def test_a_part_finds_every_way_to_write_an_identifier(story: Story, part: str) -> None:
    assert set(story.found(part)) == {"parse-camel", "parse-snake", "parse-prose"}


def test_a_quoted_phrase_is_found_whole(story: Story) -> None:
    assert story.found("connection pool") == ["pool-phrase", "pool-words"]
    assert story.found('"connection pool"') == ["pool-phrase"]


def test_in_a_question_a_quoted_phrase_counts_more_than_its_words(story: Story) -> None:
    plain, quoted = (
        f"how is the {words} of the database limited" for words in ("connection pool", '"connection pool"')
    )
    assert story.result("pool-phrase", quoted).score > story.result("pool-phrase", plain).score
    assert story.result("pool-words", quoted).score == story.result("pool-words", plain).score


@pytest.mark.parametrize(("author", "first"), [("Cleo", "author"), ("Ben", "author-too")])
def test_naming_the_author_in_a_question_prefers_what_they_wrote(story: Story, author: str, first: str) -> None:
    assert story.found(f"what did {author} say about thumbnails and image worker")[0] == first


def test_superseded_entries_come_after_live_ones_and_say_so(satchel: Satchel) -> None:
    satchel.entries.write("review_verdict", {"passed": False, "summary": "gamma gamma gamma"}, task_id="T1")
    satchel.entries.write(
        "review_verdict", {"passed": True, "summary": "a long text that names gamma once"}, task_id="T1"
    )
    results = satchel.finding.search("gamma", status="all").results
    assert [one.status for one in results] == ["live", "superseded"]
    assert results[1].score > results[0].score, "it ranks below in spite of its score"


@in_one_test(
    ("question", "key"),
    [("which middleware handles auth", "middleware"), ("parseConfig", "parse-camel"), ("src/a.ts:42", "line")],
)
def test_reading_the_entries_of_a_run_ranks_the_same_way(story: Story, question: str, key: str) -> None:
    read = [story.keys[entry.ref] for entry in story.satchel.entries.read(query=question, run_id="r1", limit=500)]
    assert read[0] == key
    assert read == story.found(question, run_id="r1", status="live")

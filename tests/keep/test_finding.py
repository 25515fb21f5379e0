"""One search over everything kept: ranking as real questions, every filter, paging, more like this, explanations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, NewEntry, NotFound, Satchel
from satchel.find import index_sqlite as index
from satchel.find import scoring, search
from satchel.keep.finding import Found, FoundPage, index_problems

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000

# key: run, loop, author, type, file, text; written a minute apart
STORY: dict[str, tuple[str, str | None, str, str, str | None, str]] = {
    "middleware": ("r1", "auth", "Ann", "discovery", "src/auth.py", "The auth middleware checks every token on entry"),
    "expiry-asked": ("r1", "auth", "Ben", "discovery", None, "How long do login sessions stay valid before expiry?"),
    "expiry-told": ("r1", "auth", "Ann", "discovery", None, "Thirty minutes, then people have to sign in again"),
    "cookies": ("r1", "auth", "Ann", "decision", None, "Cookies are SameSite=Lax and signed with the app key"),
    "clock-skew": ("r1", "auth", "Ben", "error", "src/auth.py", "Login fails with 401 when the clock is skewed"),
    "oauth": (
        "r1",
        "auth",
        "Cleo",
        "discovery",
        "src/oauth.py",
        "OAuth callbacks land on /oauth/callback, see oauth.py",
    ),
    "hashing": ("r1", "auth", "Cleo", "decision", None, "Passwords are hashed with argon2id, never bcrypt"),
    "logout": ("r1", "auth", "Ben", "discovery", None, "Logout removes the refresh cookie on all devices"),
    "parse-camel": ("r1", "config", "Ann", "discovery", "src/config.ts", "parseConfig reads the TOML file twice"),
    "parse-snake": ("r1", "config", "Ben", "discovery", "src/config.py", "parse_config ignores unknown keys"),
    "parse-prose": ("r1", "config", "Cleo", "discovery", None, "We parse the config once the server has started"),
    "env": ("r1", "config", "Ann", "decision", None, "Environment variables win over every file"),
    "line": ("r1", "config", "Ben", "error", "src/a.ts", "src/a.ts:42 throws when the list is empty"),
    "foo-bar": ("r1", "config", "Ben", "discovery", None, "the foo-bar package was renamed to foobar-core"),
    "utf8": ("r1", "config", "Cleo", "error", None, "Reading without encoding=utf8 breaks on Windows"),
    "empty-default": (
        "r1",
        "config",
        "Ann",
        "discovery",
        None,
        "An empty list in the defaults means no plugins at all",
    ),
    "schema": ("r1", "config", "Cleo", "decision", None, "The schema of settings is checked at start, not later"),
    "cpp": ("r1", "build", "Ann", "error", None, "the C++ extension needs a newer compiler"),
    "go": ("r1", "build", "Ben", "discovery", None, "Go modules are vendored, so builds work offline"),
    "k8s": ("r1", "build", "Cleo", "discovery", None, "k8s probes hit /healthz every ten seconds"),
    "hook": ("r1", "build", "Ann", "error", None, "git commit -m fails in the pre-commit hook"),
    "cache": ("r1", "build", "Ben", "discovery", None, "CI restores the wheel cache from the main branch"),
    "pool-words": ("r1", "build", "Cleo", "discovery", None, "The pool of runners loses its connection at night"),
    "pool-phrase": ("r2", None, "Ann", "decision", None, "Limit the connection pool of the database to ten"),
    "migrations": (
        "r2",
        None,
        "Ann",
        "discovery",
        "db/migrate.sql",
        "Migrations run before the first request is served",
    ),
    "deadlock": ("r2", None, "Ben", "error", None, "Two writers deadlock when rows are locked in different order"),
    "retry": ("r2", None, "Ben", "decision", None, "don't retry on 409, ask the user instead"),
    "vacuum": ("r2", None, "Cleo", "discovery", None, "Vacuum runs at night and needs twice the disk"),
    "replica": ("r2", None, "Cleo", "discovery", None, "The replica lags behind by two seconds under load"),
    "cjk": ("r2", None, "Ann", "discovery", None, "全文検索エンジンは漢字の変換を知らない"),
    "cjk-mixed": ("r2", None, "Ben", "discovery", None, "検索APIを使う時は鍵が必要です"),
    "korean": ("r2", None, "Cleo", "discovery", None, "한국어 문서는 형태소 분석이 없다"),
    "emoji": ("r2", None, "Ann", "discovery", None, "🎒 packs a briefing for one agent"),
    "cafe": ("r2", None, "Ben", "discovery", None, "The café demo uses naïve pricing"),
    "http": ("r2", None, "Cleo", "discovery", "src/http.ts", "getHTTPResponseCode2 swallows timeouts"),
    "quota": ("r2", None, "Ann", "discovery", None, "The quota resets on the first of the month"),
    "export": ("r2", None, "Ben", "decision", None, "Exports are streamed as newline-delimited JSON"),
    "author": ("r2", None, "Cleo", "discovery", None, "Thumbnails are rendered by the image worker"),
    "author-too": ("r2", None, "Ben", "discovery", None, "Thumbnails are stored by the image worker"),
    "flag": ("r2", None, "Ann", "decision", None, "The beta flag is read once a minute"),
}


class Story:
    """The satchel with the story in it; results are told by their keys."""

    def __init__(self, satchel: Satchel, clock: ManualClock) -> None:
        self.satchel = satchel
        self.keys: dict[str, str] = {}
        self.times: dict[str, int] = {}
        satchel.runs.start("r1")
        satchel.runs.start("r2")
        for key, (run, loop, agent, kind, file, text) in STORY.items():
            self.times[key] = clock.advance(MINUTE)
            entry = satchel.entries.write(kind, text, run_id=run, loop_id=loop, agent=agent, file=file)
            self.keys[entry.ref] = key

    def page(self, text: str | None = None, **filters: Any) -> FoundPage:
        return self.satchel.finding.search(text, **filters)

    def found(self, text: str | None = None, **filters: Any) -> list[str]:
        return [self.keys[result.ref] for result in self.page(text, **{"limit": 500, **filters}).results]

    def result(self, key: str, text: str, **filters: Any) -> Found:
        return next(one for one in self.page(text, limit=500, **filters).results if self.keys[one.ref] == key)


@pytest.fixture
def story(satchel: Satchel, clock: ManualClock) -> Story:
    return Story(satchel, clock)


@pytest.mark.parametrize(
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
        ("k8", "k8s"),
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


def test_an_identifier_finds_itself_before_its_parts_and_those_before_prose(story: Story) -> None:
    assert story.found("parseConfig")[:3] == ["parse-camel", "parse-snake", "parse-prose"]
    assert story.found("parse_config")[0] == "parse-snake"
    assert "parse-camel" in story.found("parse_config")


@pytest.mark.parametrize("part", ["config", "parse"])
def test_a_part_finds_every_way_to_write_an_identifier(story: Story, part: str) -> None:
    assert set(story.found(part)) == {"parse-camel", "parse-snake", "parse-prose"}


def test_a_quoted_phrase_counts_more_than_its_words(story: Story) -> None:
    assert set(story.found('"connection pool"')) == {"pool-phrase", "pool-words"}
    plain = story.result("pool-phrase", "connection pool").score
    quoted = story.result("pool-phrase", '"connection pool"').score
    words_alone = story.result("pool-words", "connection pool").score
    assert quoted > plain
    assert story.result("pool-words", '"connection pool"').score == words_alone


@pytest.mark.parametrize(("author", "first"), [("Cleo", "author"), ("Ben", "author-too")])
def test_naming_the_author_in_a_question_prefers_what_they_wrote(story: Story, author: str, first: str) -> None:
    assert story.found(f"what did {author} say about thumbnails and image worker")[0] == first


def test_an_answer_is_found_beside_the_question_it_shares_no_word_with(story: Story) -> None:
    result = story.result("expiry-told", "how long do login sessions stay valid")
    assert result.by_surroundings
    assert not story.result("expiry-asked", "how long do login sessions stay valid").by_surroundings


@pytest.mark.parametrize("lookup", ["sessions", "valid expiry"])
def test_a_lookup_of_one_or_two_words_finds_only_what_holds_them(story: Story, lookup: str) -> None:
    assert story.found(lookup) == ["expiry-asked"]


def test_operators_find_only_what_holds_the_words(story: Story) -> None:
    assert story.found("login OR sessions OR valid", syntax="operators") == ["expiry-asked", "clock-skew"]


def test_a_loop_that_is_about_the_question_lifts_its_entries(satchel: Satchel) -> None:
    for loop in ("about", "other"):
        satchel.entries.write("discovery", "gamma was seen", loop_id=loop)
        for _ in range(3):
            satchel.entries.write("discovery", "nothing of note", loop_id=loop)
    satchel.entries.write("discovery", "alpha beta alpha beta", loop_id="about")
    page = satchel.finding.search("alpha beta gamma", explain=True)
    gammas = {one.loop_id: one for one in page.results if one.snippet.text == "gamma was seen"}
    assert gammas["about"].score > gammas["other"].score
    about, other = gammas["about"].explanation, gammas["other"].explanation
    assert about is not None
    assert other is not None
    assert about.segment > other.segment


def test_a_loop_of_the_same_name_in_another_run_is_another(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        satchel.entries.write("discovery", "gamma was seen", loop_id="L1", run_id=run)
    satchel.entries.write("discovery", "alpha beta alpha beta", loop_id="L1", run_id="r1")
    page = satchel.finding.search("alpha beta gamma", explain=True)
    lent = {
        one.run_id: one.explanation.segment for one in page.results if one.explanation and "gamma" in one.snippet.text
    }
    assert lent["r1"] > lent["r2"]


@pytest.mark.parametrize(("minutes", "found"), [(29, True), (31, False)])
def test_without_a_loop_only_half_an_hour_of_silence_parts_neighbours(
    satchel: Satchel, clock: ManualClock, minutes: int, found: bool
) -> None:
    satchel.entries.write("discovery", "how long do sessions stay valid")
    clock.advance(minutes * MINUTE)
    answer = satchel.entries.write("discovery", "a quarter of an hour")
    refs = [one.ref for one in satchel.finding.search("how long do sessions stay valid").results]
    assert (answer.ref in refs) is found


def test_in_a_loop_silence_parts_nothing(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    clock.advance(10_000 * MINUTE)
    answer = satchel.entries.write("discovery", "a quarter of an hour", loop_id="L1")
    assert answer.ref in [one.ref for one in satchel.finding.search("how long do sessions stay valid").results]


def test_neighbours_are_of_the_same_run_and_loop(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
    satchel.entries.write("discovery", "how long do sessions stay valid", run_id="r1", loop_id="L1")
    satchel.entries.write("discovery", "a quarter of an hour", run_id="r1", loop_id="L2")
    satchel.entries.write("discovery", "a quarter of an hour", run_id="r2", loop_id="L1")
    assert satchel.finding.search("how long do sessions stay valid").total == 1


def test_superseded_entries_come_after_live_ones_and_say_so(satchel: Satchel) -> None:
    satchel.entries.write("review_verdict", {"passed": False, "summary": "gamma gamma gamma"}, task_id="T1")
    satchel.entries.write(
        "review_verdict", {"passed": True, "summary": "a long text that names gamma once"}, task_id="T1"
    )
    results = satchel.finding.search("gamma").results
    assert [one.status for one in results] == ["live", "superseded"]
    assert results[1].score > results[0].score, "it ranks below in spite of its score"


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ({}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"run_id": "r2"}, set()),
        ({"types": ["error"]}, {"clock-skew"}),
        ({"types": ["error", "decision"]}, {"clock-skew"}),
        ({"kinds": ["entry"], "types": ["error"]}, {"clock-skew"}),
        ({"kinds": ["entry"]}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"agent": "ben"}, {"expiry-asked", "clock-skew", "logout"}),
        ({"agent": "nobody"}, set()),
        ({"loop_id": "auth"}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
        ({"loop_id": "config"}, set()),
        ({"task_id": "T1"}, set()),
        ({"file": "src/auth.py"}, {"middleware", "clock-skew"}),
        ({"file": "./src/../src/auth.py"}, {"middleware", "clock-skew"}),
        ({"status": "superseded"}, set()),
        ({"status": "live"}, {"middleware", "expiry-asked", "clock-skew", "logout"}),
    ],
    ids=lambda value: "" if isinstance(value, set) else repr(value),
)
@pytest.mark.parametrize("syntax", ["natural", "operators"])
def test_every_filter_is_kept_to(story: Story, filters: dict[str, Any], keys: set[str], syntax: str) -> None:
    query = "login OR logout OR token" if syntax == "operators" else "login logout"
    wanted = keys if syntax == "operators" else keys - {"middleware"}
    page = story.page(query, syntax=syntax, **filters)
    assert {story.keys[one.ref] for one in page.results} == wanted
    assert page.total == len(wanted)


@pytest.mark.parametrize("form", ["iso", "age", "milliseconds"])
def test_since_takes_only_what_was_written_from_then_on(story: Story, clock: ManualClock, form: str) -> None:
    moment = story.times["clock-skew"]
    since = {
        "iso": datetime.fromtimestamp(moment / 1_000, UTC).isoformat(),
        "age": f"{(clock.now - moment) // MINUTE}m",
        "milliseconds": moment,
    }[form]
    assert set(story.found("login logout", since=since)) == {"clock-skew", "logout"}
    assert set(story.found("login logout", since=moment + 1)) == {"logout"}


def test_a_task_is_kept_to(satchel: Satchel) -> None:
    for task in ("T1", "T2", None):
        satchel.entries.write("discovery", "gamma", task_id=task)
    assert [one.task_id for one in satchel.finding.search("gamma", task_id="T1").results] == ["T1"]


def test_superseded_entries_are_found_alone_or_not_at_all_when_asked_so(satchel: Satchel) -> None:
    for summary in ("gamma first", "gamma second"):
        satchel.entries.write("review_verdict", {"passed": True, "summary": summary}, task_id="T1")
    found = {
        status: [one.status for one in satchel.finding.search("gamma", status=status).results]
        for status in ("all", "live", "superseded")
    }
    assert found == {"all": ["live", "superseded"], "live": ["live"], "superseded": ["superseded"]}


@pytest.mark.parametrize(
    ("filters", "brought_in"),
    [
        ({}, True),
        ({"run_id": "r1"}, True),
        ({"types": ["discovery"]}, True),
        ({"types": ["error"]}, False),
        ({"agent": "Ann"}, True),
        ({"agent": "Ben"}, False),
        ({"task_id": "T1"}, True),
        ({"task_id": "T2"}, False),
        ({"loop_id": "L1"}, True),
        ({"file": "b.py"}, True),
        ({"file": "a.py"}, False),
        ({"since": 0}, True),
        ({"status": "live"}, True),
        ({"status": "superseded"}, False),
    ],
    ids=lambda value: "" if isinstance(value, set) else repr(value),
)
def test_neighbours_pass_the_filters_too(satchel: Satchel, filters: dict[str, Any], brought_in: bool) -> None:
    satchel.runs.start("r1")
    question = "how long do sessions stay valid"
    satchel.entries.write("error", question, agent="Ben", task_id="T2", loop_id="L1", file="a.py")
    satchel.entries.write("discovery", question, agent="Ann", task_id="T1", loop_id="L1", file="b.py")
    answer = satchel.entries.write("discovery", "a quarter", agent="Ann", task_id="T1", loop_id="L1", file="b.py")
    refs = [one.ref for one in satchel.finding.search(question, **filters).results]
    assert (answer.ref in refs) is brought_in


def test_a_superseded_neighbour_is_brought_in_only_where_superseded_entries_are_wanted(satchel: Satchel) -> None:
    old = satchel.entries.write("review_verdict", {"passed": True, "summary": "old"}, loop_id="L1")
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    satchel.entries.write("review_verdict", {"passed": True, "summary": "new"}, loop_id="L1")
    question = "how long do sessions stay valid"
    assert old.ref in [one.ref for one in satchel.finding.search(question).results]
    assert old.ref not in [one.ref for one in satchel.finding.search(question, status="live").results]


def test_a_neighbour_from_before_since_is_not_brought_in(satchel: Satchel, clock: ManualClock) -> None:
    answer = satchel.entries.write("discovery", "a quarter", loop_id="L1")
    moment = clock.advance(MINUTE)
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    refs = [one.ref for one in satchel.finding.search("how long do sessions stay valid", since=moment).results]
    assert len(refs) == 1
    assert answer.ref not in refs


@pytest.mark.parametrize("question", ["thumbnails", "login sessions valid tokens configuration the database pool"])
@pytest.mark.parametrize("size", [1, 3, 7, 500])
def test_pages_put_together_are_the_whole_ranking(story: Story, question: str, size: int) -> None:
    whole = story.page(question, limit=500)
    assert whole.total == len(whole.results)
    assert whole.next_offset is None
    pages: list[Found] = []
    offset: int | None = 0
    while offset is not None:
        page = story.page(question, limit=size, offset=offset)
        assert page.total == whole.total
        pages += page.results
        offset = page.next_offset
    assert tuple(pages) == whole.results
    assert len({one.ref for one in pages}) == len(pages)
    live = [one.score for one in pages]
    assert live == sorted(live, reverse=True)


def test_a_limit_of_zero_gives_the_total_alone(story: Story) -> None:
    page = story.page("thumbnails", limit=0)
    assert (page.results, page.total, page.next_offset) == ((), 2, None)


def test_an_offset_beyond_the_end_gives_an_empty_page_with_the_total(story: Story) -> None:
    page = story.page("thumbnails", offset=5)
    assert (page.results, page.total, page.next_offset) == ((), 2, None)


@pytest.mark.parametrize("others", [1, 40])
@pytest.mark.parametrize("question", ["gamma", "gamma delta epsilon", "gamma*"])
def test_another_project_never_shows(
    open_in: Callable[..., Satchel], tmp_path: Path, question: str, others: int
) -> None:
    file = tmp_path / "shared.db"
    mine, theirs = (open_in(tmp_path, db=file, project=name) for name in ("mine", "theirs"))
    for number in range(others):
        theirs.entries.write("discovery", f"gamma delta epsilon of theirs {number}")
    mine.entries.write("discovery", "gamma of mine")
    for number in range(others):
        theirs.entries.write("discovery", f"gamma delta epsilon of theirs {number}")
    syntax = "operators" if question.endswith("*") else "natural"
    found = mine.finding.search(question, syntax=syntax, limit=500)
    assert [one.snippet.text for one in found.results] == ["gamma of mine"]
    assert found.total == 1
    their_page = theirs.finding.search(question, syntax=syntax, limit=500)
    assert their_page.total == len(their_page.results) == 2 * others
    assert all("theirs" in one.snippet.text for one in their_page.results)


def test_the_project_is_left_out_of_the_scope_where_it_is_nearly_everything(
    open_in: Callable[..., Satchel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def watched(transaction: Any, wanted: index.Match, condition: str, *rest: Any, **options: Any) -> Any:
        asked.append((wanted.expression, condition))
        return matches(transaction, wanted, condition, *rest, **options)

    matches = index.matches
    monkeypatch.setattr(index, "matches", watched)
    file = tmp_path / "shared.db"
    big, small = (open_in(tmp_path, db=file, project=name) for name in ("big", "small"))
    big.entries.write_many([NewEntry("discovery", "gamma")] * 40)
    small.entries.write("discovery", "gamma")
    assert big.finding.search("gamma").total == 40
    assert small.finding.search("gamma").total == 1
    assert asked == [
        ('{text parts} : ("gamma")', "d.project_id = 1"),
        ('scope : (p2) AND {text parts} : ("gamma")', ""),
    ]


def test_more_like_this_finds_what_shares_telling_words_and_not_the_item_itself(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "zebra stripes confuse the horse fly, says a study of stripes")
    other = satchel.entries.write("discovery", "a coat with stripes keeps a horse fly away")
    satchel.entries.write("discovery", "the study of something else")
    satchel.entries.write("discovery", "unrelated")
    page = satchel.finding.search(like=this.ref)
    assert page.results[0].ref == other.ref
    assert this.ref not in [one.ref for one in page.results]
    assert page.total == len(page.results) == 2


def test_more_like_this_does_not_spend_its_words_on_those_that_nothing_else_holds(satchel: Satchel) -> None:
    alone = " ".join(f"zz{first}{second}" for first in "bcdfgh" for second in "bcdfgh")
    this = satchel.entries.write("discovery", f"{alone} horse")
    other = satchel.entries.write("discovery", "a horse")
    assert [one.ref for one in satchel.finding.search(like=this.ref).results] == [other.ref]


def test_more_like_this_takes_the_words_that_are_often_in_the_item(satchel: Satchel) -> None:
    fillers = [f"zz{first}{second}" for first in "bcdfgh" for second in "bcdfgh"]
    this = satchel.entries.write("discovery", f"{' '.join(fillers)} horse horse horse horse")
    satchel.entries.write("discovery", " ".join(fillers))
    other = satchel.entries.write("discovery", "a horse")
    assert other.ref in [one.ref for one in satchel.finding.search(like=this.ref).results]


def test_more_like_this_works_without_spaces_between_words(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "全文検索エンジンを使う")
    other = satchel.entries.write("discovery", "検索エンジンの比較")
    satchel.entries.write("discovery", "料理の本")
    assert [one.ref for one in satchel.finding.search(like=this.ref).results] == [other.ref]


def test_more_like_this_keeps_to_the_filters(story: Story) -> None:
    ref = next(ref for ref, key in story.keys.items() if key == "author")
    assert story.found(like=ref)[0] == "author-too"
    assert "author-too" not in story.found(like=ref, agent="Ann")
    assert story.found(like=f" {ref} ", run_id="r1", types=["error"]) == story.found(
        like=ref, run_id="r1", types=["error"]
    )


def test_an_item_that_shares_no_word_with_another_is_like_nothing_and_this_is_said(satchel: Satchel) -> None:
    this = satchel.entries.write("discovery", "solitary")
    page = satchel.finding.search(like=this.ref)
    assert (page.total, page.notes) == (0, ("no other item holds a telling word of e1",))


def test_an_explanation_adds_up_to_the_score(story: Story) -> None:
    page = story.page("what did Ben say about login sessions and thumbnails", limit=500, explain=True)
    assert page.total > 5
    for one in page.results:
        assert one.explanation is not None
        parts = [share.own + share.around for share in one.explanation.shares]
        total = sum(parts) + one.explanation.segment + one.explanation.author
        assert total == pytest.approx(one.score, abs=0.001 * (len(parts) + 2))
    assert {one.explanation.author for one in page.results if one.explanation and one.agent == "Ben"} == {1.5}
    assert {one.explanation.author for one in page.results if one.explanation and one.agent != "Ben"} == {0.0}


def test_an_explanation_gives_each_term_its_own_share_whatever_the_order(story: Story) -> None:
    explained = story.result("clock-skew", "-sessions login", syntax="operators", explain=True).explanation
    assert explained is not None
    assert {share.term: share.own > 0 for share in explained.shares} == {"login": True, "sessions": False}


def test_without_being_asked_nothing_is_explained(story: Story) -> None:
    assert all(one.explanation is None for one in story.page("login").results)


def test_a_result_says_all_that_is_known_of_its_item(story: Story) -> None:
    found = story.result("clock-skew", "skewed")
    assert (found.kind, found.type, found.agent, found.run_id) == ("entry", "error", "Ben", "r1")
    assert (found.task_id, found.loop_id, found.file) == (None, "auth", "src/auth.py")
    assert (found.status, found.created_at) == ("live", story.times["clock-skew"])
    start, end = found.snippet.marks[0]
    assert found.snippet.text[start:end] == "skewed"


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        ({}, "give either words to search for or an item in like", "One of them"),
        ({"text": "a", "like": "e1"}, "give either words to search for or an item in like", "One of them"),
        ({"text": ""}, "the search is empty", "Say what to look for"),
        ({"text": " \n\t"}, "the search is empty", "Say what to look for"),
        ({"text": "a", "syntax": "operator"}, "unknown syntax 'operator'", "Did you mean 'operators'?"),
        ({"text": "a", "status": "alive"}, "unknown status 'alive'", "Did you mean 'live'?"),
        ({"text": "a", "kinds": ["entri"]}, "unknown kind 'entri'", "Did you mean 'entry'?"),
        ({"text": "a", "kinds": []}, "kinds is no list of kinds", "Give at least one"),
        ({"text": "a", "kinds": "entry"}, "kinds is no list of kinds", "Give at least one"),
        ({"text": "a", "types": ["discoveri"]}, "unknown type 'discoveri'", "Did you mean 'discovery'?"),
        ({"text": "a", "types": []}, "types is no list of types", "Give at least one"),
        ({"text": "a", "types": "error"}, "types is no list of types", "Give at least one"),
        ({"text": "a", "limit": -1}, "limit -1 is out of range", "Give 0 to 500"),
        ({"text": "a", "limit": 501}, "limit 501 is out of range", "Give 0 to 500"),
        ({"text": "a", "limit": 2.5}, "limit 2.5 is not a whole number", "Give 0 to 500"),
        ({"text": "a", "offset": -1}, "offset -1 is out of range", "Give 0 to"),
        ({"text": "a", "offset": True}, "offset True is not a whole number", "Give 0 to"),
        ({"text": "a", "since": -1}, "since -1 is out of range", "Give 0 to"),
        ({"text": "a", "since": 2**63}, f"since {2**63} is out of range", "Give 0 to"),
        ({"text": "a", "since": "yesterday-ish"}, "'yesterday-ish'", ""),
        ({"text": "a", "agent": ""}, "agent", ""),
        ({"text": "a", "task_id": " "}, "task_id", ""),
        ({"text": "a", "loop_id": ""}, "loop_id", ""),
        ({"text": "a", "file": ""}, "file", ""),
        ({"text": "a", "file": "../outside"}, "outside", ""),
        ({"like": ""}, "'' is no item's id", "Give an id such as e812"),
        ({"like": "z5"}, "'z5' is no item's id", "Give an id such as e812"),
        ({"like": "e"}, "'e' is no item's id", "Give an id such as e812"),
        ({"like": "e" + "9" * 19}, "is no item's id", "Give an id such as e812"),
        ({"text": '"x', "syntax": "operators"}, "a quote is not closed, at character 1 of the query", "Natural"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_wrong_is_said_with_a_way_out(
    story: Story, arguments: dict[str, Any], problem: str, remedy: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        story.page(**arguments)
    assert problem in refused.value.problem
    assert remedy in (refused.value.remedy or "")


def test_the_error_for_an_endless_id_is_short(story: Story) -> None:
    with pytest.raises(InvalidInput) as refused:
        story.page(like="x" * 100_000)
    assert len(refused.value.problem) < 200


@pytest.mark.parametrize(("arguments", "problem"), [({"like": "e999"}, "there is no e999"), ({"run_id": "r9"}, "r9")])
def test_what_is_not_there_is_not_found(story: Story, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(NotFound, match=problem):
        story.page(None if "like" in arguments else "a", **arguments)


def test_an_item_of_another_project_is_not_found_by_its_id(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    mine, theirs = (open_in(tmp_path, db=tmp_path / "shared.db", project=name) for name in ("mine", "theirs"))
    mine.entries.write("discovery", "gamma")
    ref = theirs.entries.write("discovery", "gamma").ref
    with pytest.raises(NotFound, match="in this project"):
        mine.finding.search(like=ref)


@pytest.mark.parametrize("text", ["?", "...", "🎒", "* ^ : -", "\ud800", "_", "\u200b", "'; --", "\0"])
@pytest.mark.parametrize("syntax", ["natural", "operators"])
def test_a_search_without_a_word_finds_nothing_and_says_so(story: Story, text: str, syntax: str) -> None:
    page = story.page(text, syntax=syntax)
    assert (page.results, page.total) == ((), 0)
    assert page.notes == (f"{text!r} holds no word to search for",)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "login " * 17_000,
        " ".join(f"word{number}" for number in range(10_000)),
        "the of and",
        "“" * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_an_enormous_text_is_searched_like_any_other(story: Story, text: str) -> None:
    page = story.page(text)
    assert len(page.results) <= 20
    assert all(len(note) < 200 for note in page.notes)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("scope: p1", set()),
        ("p1 r1 k1", {"k8s"}),
        ("text:", set()),
        ("parts: login", {"clock-skew", "expiry-asked"}),
        ("{text parts}: login", {"clock-skew", "expiry-asked"}),
        ("NEAR(login x)", {"clock-skew", "expiry-asked"}),
        ("login NOT sessions", {"clock-skew", "expiry-asked"}),
    ],
)
def test_no_text_reaches_the_scope_or_the_syntax_of_the_index(story: Story, text: str, keys: set[str]) -> None:
    results = story.page(text, limit=500).results
    assert {story.keys[one.ref] for one in results if not one.by_surroundings} == keys


def test_before_anything_is_written_a_search_says_so(satchel: Satchel) -> None:
    page = satchel.finding.search("anything")
    assert (page.results, page.total, page.notes) == ((), 0, ("nothing was written for this project yet",))


def test_a_search_writes_nothing(story: Story) -> None:
    with story.satchel.workplace.engine.read() as transaction:
        before = transaction.one("SELECT seq FROM projects")
    story.page("login sessions tokens", explain=True)
    with story.satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT seq FROM projects") == before


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each search handed to the scoring."""
    handed: list[int] = []

    def watched(matched: Any, *rest: Any) -> Any:
        handed.append(len(matched))
        return term_scores(matched, *rest)

    term_scores = scoring.term_scores
    monkeypatch.setattr(scoring, "term_scores", watched)
    return handed


@pytest.fixture
def crowded(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """200 entries that hold a common word, 5 of them a rare one, in a store that counts as large."""
    satchel.entries.write_many(
        [NewEntry("discovery", f"common {'rare' if number % 40 == 0 else 'usual'} text") for number in range(200)]
    )
    monkeypatch.setattr(search, "SMALL", 50)
    monkeypatch.setattr(search, "CANDIDATES", 20)
    return satchel


def test_in_a_large_scope_the_rare_words_choose_and_this_is_said(crowded: Satchel, scored: list[int]) -> None:
    page = crowded.finding.search("common rare")
    assert (page.total, page.notes) == (5, (search.INCOMPLETE,))
    assert all("rare" in one.snippet.text for one in page.results)
    assert scored == [5]


@pytest.mark.parametrize(("candidates", "total"), [(22, 5), (23, 23)])
def test_words_choose_until_they_have_brought_enough(
    crowded: Satchel, monkeypatch: pytest.MonkeyPatch, candidates: int, total: int
) -> None:
    crowded.entries.write_many([NewEntry("discovery", "seldom text")] * 18)
    monkeypatch.setattr(search, "CANDIDATES", candidates)
    assert crowded.finding.search("rare seldom").total == total


def test_common_words_that_were_left_out_of_choosing_still_count_and_are_marked(crowded: Satchel) -> None:
    best = crowded.finding.search("common rare", explain=True).results[0]
    assert best.explanation is not None
    assert all(share.own > 0 for share in best.explanation.shares)
    assert [best.snippet.text[start:end] for start, end in best.snippet.marks] == ["common", "rare"]


@pytest.mark.parametrize(
    ("query", "syntax"), [("common", "natural"), ("common usual", "natural"), ("comm*", "operators")]
)
def test_a_common_word_alone_never_scans_everything(
    crowded: Satchel, scored: list[int], query: str, syntax: str
) -> None:
    page = crowded.finding.search(query, syntax=syntax)
    assert scored == [20]
    assert (page.total, page.notes) == (20, (search.INCOMPLETE,))
    assert {one.ref for one in page.results} == {f"e{number}" for number in range(181, 201)}, "the newest"


def test_a_word_that_nothing_holds_does_not_choose(crowded: Satchel, scored: list[int]) -> None:
    results = crowded.finding.search("absent common rare", limit=500).results
    assert len([one for one in results if not one.by_surroundings]) == 5
    assert scored == [5]


def test_a_small_run_in_a_large_store_is_searched_whole(crowded: Satchel) -> None:
    crowded.runs.start("small")
    crowded.entries.write("discovery", "common text", run_id="small")
    crowded.entries.write("discovery", "common rare text", run_id="small")
    page = crowded.finding.search("common rare", run_id="small")
    assert (page.total, page.notes) == (2, ())


def test_reading_by_search_says_when_words_were_left_out_too(crowded: Satchel) -> None:
    page = crowded.entries.read(search="common rare", limit=500)
    assert (page.total, page.notes) == (5, (search.INCOMPLETE,))


@pytest.mark.parametrize(
    ("question", "key"),
    [("which middleware handles auth", "middleware"), ("parseConfig", "parse-camel"), ("src/a.ts:42", "line")],
)
def test_reading_the_entries_of_a_run_ranks_the_same_way(story: Story, question: str, key: str) -> None:
    read = [story.keys[entry.ref] for entry in story.satchel.entries.read(search=question, run_id="r1", limit=500)]
    assert read[0] == key
    assert read == story.found(question, run_id="r1", status="live")


def untold(done: int, total: int) -> None:
    """Take the progress of a rebuild and say nothing of it."""


def problems(satchel: Satchel) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        return index_problems(transaction)


def test_the_index_of_a_whole_store_agrees_with_its_tables(story: Story) -> None:
    assert problems(story.satchel) == []


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (
            "INSERT OR REPLACE INTO documents_fts (rowid, text, parts, scope) VALUES (3, 'another', '', 'p1 r1 k1')",
            "1 of 40 sampled texts are not what the index holds",
        ),
        ("DELETE FROM documents_fts WHERE rowid = 3", "1 documents are not indexed, the first is 3"),
        ("DELETE FROM documents WHERE id = 3", "1 items of kind entry are not in the spine"),
        ("DELETE FROM documents WHERE id = 3", "1 documents are indexed without an item, the first is 3"),
        ("UPDATE documents SET item_id = 999 WHERE id = 3", "1 items of kind entry are in the spine but gone"),
    ],
)
def test_a_damaged_index_is_told_by_its_disagreements(story: Story, sql: str, problem: str) -> None:
    with story.satchel.workplace.engine.write() as transaction:
        transaction.execute(sql)
    assert problem in problems(story.satchel)
    story.satchel.finding.rebuild(untold)
    assert problems(story.satchel) == []


@pytest.mark.parametrize(
    "text", ["𞤀𞤁 word", "word 𬺰", "ẞ İstanbul ΟΔΟΣ", "Ꭰ Ა", "?!", "x" * 200_000, "a\u0308\u0308 é"]
)
def test_no_text_of_any_script_is_taken_for_damage(satchel: Satchel, text: str) -> None:
    satchel.entries.write("discovery", text)
    assert problems(satchel) == []

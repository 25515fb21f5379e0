"""The order of what is found, its pages and cursors, and the search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from satchel import Satchel, StoreDamaged
from satchel.base.paging import KeptPage
from satchel.keep.decisions.records import Decision
from satchel.keep.decisions.service import Decisions

if TYPE_CHECKING:
    from conftest import ManualClock


def keys(page: KeptPage[Decision]) -> list[str]:
    return [decision.key for decision in page]


def say_nothing(done: int, total: int) -> None:
    """Nobody watches the progress."""


SELECTIONS: list[dict[str, Any]] = [
    {},
    {"status": "active"},
    {"layer": "data"},
    {"tags": ["api"]},
    {"scopes": ["gateway"]},
    {"tags": ["api", "security"]},
    {"tags": ["api", "security"], "match": "all"},
    {"minimum": 0},
    {"layer": "data", "tags": ["api"]},
    {"query": "limit"},
]


@pytest.fixture
def eleven(decisions: Decisions, clock: ManualClock) -> Decisions:
    """Eleven that pass every one of the selections; three moments, and a clock that went back once."""
    for number in range(11):
        decisions.set(
            f"limit {number:02}",
            number,
            tags=["api", "security"],
            scopes=["gateway"],
            layer="data",
        )
        clock.advance({3: 1_000, 6: -5_000}.get(number, 0))
    return decisions


OLDEST_FIRST = [f"limit {number:02}" for number in (7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize("given", SELECTIONS)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_of_equal_times_fit_together_in_either_order(
    eleven: Decisions, given: dict[str, Any], order: str
) -> None:
    expected = OLDEST_FIRST if order == "asc" else OLDEST_FIRST[::-1]
    seen = []
    offset: int | None = 0
    while offset is not None:
        page = eleven.find(order=order, limit=3, offset=offset, **given)
        assert (page.total, page.limit, page.offset) == (11, 3, offset)
        assert page.order == ("oldest" if order == "asc" else "newest")
        seen += keys(page)
        offset = page.next_offset
    assert seen == expected


@pytest.mark.parametrize("given", SELECTIONS[:-1])
def test_without_an_order_the_newest_come_first(eleven: Decisions, given: dict[str, Any]) -> None:
    page = eleven.find(**given)
    assert (keys(page), page.order) == (OLDEST_FIRST[::-1], "newest")


@pytest.mark.parametrize("given", SELECTIONS)
def test_a_limit_of_zero_gives_the_total_alone(eleven: Decisions, given: dict[str, Any]) -> None:
    page = eleven.find(limit=0, **given)
    assert (page.items, page.total, page.next_offset) == ((), 11, None)


@pytest.mark.parametrize("given", SELECTIONS)
def test_beyond_the_end_there_is_nothing(eleven: Decisions, given: dict[str, Any]) -> None:
    page = eleven.find(offset=11, **given)
    assert (page.items, page.total, page.next_offset) == ((), 11, None)


def test_an_update_does_not_move_a_decision_in_the_order(eleven: Decisions, clock: ManualClock) -> None:
    clock.advance(60_000)
    eleven.set("limit 00", 100, tags=["api"], status="deprecated")
    for given in SELECTIONS[0], SELECTIONS[2], SELECTIONS[3], SELECTIONS[4]:
        assert keys(eleven.find(order="asc", **given)) == OLDEST_FIRST


def test_twenty_are_shown_where_no_limit_is_given(decisions: Decisions) -> None:
    for number in range(21):
        decisions.set(f"limit {number}", number)
    assert len(decisions.find()) == 20


def test_changes_after_a_cursor_come_in_their_order(decisions: Decisions, clock: ManualClock) -> None:
    decisions.set("a", 1)
    cursor = decisions.find().cursor
    clock.advance(-10_000)  # a clock that went back changes nothing
    for key, value in (("b", 1), ("c", 1), ("a", 2), ("c", 1)):
        decisions.set(key, value)
    page = decisions.find(after_seq=cursor)
    assert (keys(page), page.order, page.total, page.after_seq) == (["b", "c", "a"], "seq", 3, cursor)
    assert decisions.find(after_seq=page.cursor).total == 0


def test_a_cursor_loses_nothing_while_others_change_what_it_passes(decisions: Decisions) -> None:
    """A reader who follows by pages of two has, in the end, the last state of everything."""
    for number in range(8):
        decisions.set(f"key {number}", 0)
    seen: dict[str, object] = {}
    cursor, rounds = 0, 0
    while page := decisions.find(after_seq=cursor, limit=2):
        seqs = [decision.seq for decision in page]
        assert seqs == sorted(seqs)
        assert seqs[0] > cursor
        seen |= {decision.key: decision.value for decision in page}
        cursor = page.cursor
        rounds += 1
        if rounds < 6:
            decisions.set(f"key {rounds}", rounds)
            decisions.set(f"late {rounds}", rounds)
    assert seen == {decision.key: decision.value for decision in decisions.find(limit=500)}


def test_a_cursor_of_a_whole_list_starts_where_the_list_ended(decisions: Decisions) -> None:
    decisions.set("a", 1)
    decisions.set("b", 1)
    cursor = decisions.find(limit=1).cursor
    decisions.set("c", 1)
    assert keys(decisions.find(after_seq=cursor)) == ["c"]


class TestSearch:
    @pytest.mark.parametrize(
        "words",
        [
            "payment_provider",
            "payment",
            "the payment provider?",
            "Stripe",
            "refunds",
            "checkout",
            "compliance",
            "infrastructure",
            "webhook",
        ],
    )
    def test_key_parts_value_rationale_tags_scopes_and_layer_are_searched(
        self, decisions: Decisions, satchel: Satchel, words: str
    ) -> None:
        decisions.set("log_level", "debug", rationale="noise", tags=["logging"], scopes=["worker"], layer="data")
        wanted = decisions.set(
            "payment_provider",
            "Stripe behind our own webhookReceiver",
            rationale="it handles refunds",
            tags=["compliance"],
            scopes=["checkout"],
            layer="infrastructure",
        )
        assert [one.id for one in decisions.find(query=words)] == [wanted.id]
        found = satchel.finding.search(words, kinds=["decision"]).results
        assert [(one.ref, one.kind, one.status) for one in found] == [(wanted.ref, "decision", "active")]

    def test_a_number_is_found_by_its_digits(self, decisions: Decisions) -> None:
        decisions.set("ttl", 86_400)
        decisions.set("other", 3)
        assert keys(decisions.find(query="86400")) == ["ttl"]

    def test_what_it_said_before_no_longer_finds_it(self, decisions: Decisions) -> None:
        decisions.set("cache", "redis", rationale="speed", tags=["budget"])
        decisions.set("cache", "memcached", rationale=None, tags=[])
        assert [decisions.find(query=word).total for word in ("redis", "speed", "budget", "memcached")] == [0, 0, 0, 1]

    def test_the_best_match_comes_first_with_its_score(self, decisions: Decisions) -> None:
        decisions.set("tokens", "tokens tokens")
        decisions.set("other", "tokens and a lot of other words that say little about anything at all, or so it seems")
        page = decisions.find(query="tokens")
        assert (keys(page), page.order) == (["tokens", "other"], "relevance")
        first, second = (one.score or 0 for one in page)
        assert first > second > 0

    def test_entries_and_other_kinds_are_not_among_decisions(self, decisions: Decisions, satchel: Satchel) -> None:
        satchel.entries.write("discovery", "needle")
        satchel.entries.write("decision", "needle")
        made = decisions.set("needle", 1)
        assert decisions.find(query="needle").total == 1
        found = satchel.finding.search("needle", kinds=["decision"])
        assert ([one.ref for one in found.results], found.total) == ([made.ref], 1)
        assert satchel.finding.search("needle").total == 3

    def test_active_decisions_rank_above_drafts_and_deprecated_ones_which_say_so(
        self, decisions: Decisions, satchel: Satchel
    ) -> None:
        old = decisions.set("gateway", "gateway gateway gateway", status="deprecated")
        draft = decisions.set("gateway two", "gateway gateway gateway", status="draft")
        new = decisions.set("edge", "the gateway signs every request for each of the services that stand behind it")
        results = satchel.finding.search("gateway", status="all").results
        assert (results[0].ref, results[0].status) == (new.ref, "active")
        assert {(one.ref, one.status) for one in results[1:]} == {(old.ref, "deprecated"), (draft.ref, "draft")}
        assert [one.ref for one in satchel.finding.search("gateway").results] == [new.ref, draft.ref]
        assert decisions.find(query="gateway").items[0].id == new.id

    def test_a_decision_made_active_again_ranks_as_such(self, decisions: Decisions, satchel: Satchel) -> None:
        decisions.set("edge", "the gateway signs every request for each of the services that stand behind it")
        back = decisions.set("gateway", "gateway gateway", status="deprecated")
        decisions.set("gateway", status="active")
        best = satchel.finding.search("gateway").results[0]
        assert (best.ref, best.status) == (back.ref, "active")

    def test_an_agent_narrows_the_search_of_everything(self, decisions: Decisions, satchel: Satchel) -> None:
        decisions.set("needle one", 1, agent="Ann")
        two = decisions.set("needle two", 1, agent="Bob")
        found = satchel.finding.search("needle", author="bob").results
        assert [(one.ref, one.agent) for one in found] == [(two.ref, "Bob")]

    def test_a_search_without_a_usable_word_says_so(self, decisions: Decisions) -> None:
        decisions.set("cache", 1)
        page = decisions.find(query="?!")
        assert (page.total, page.notes) == (0, ("'?!' holds no word to search for",))

    def test_an_index_made_anew_knows_what_it_knew(self, decisions: Decisions, satchel: Satchel) -> None:
        kept = decisions.set(
            "needle", "x", tags=["budget"], scopes=["mailer"], layer="data", rationale="why", agent="Ann"
        )
        decisions.set("needle old", "x", status="deprecated")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("DELETE FROM documents")
        satchel.finding.rebuild(say_nothing)
        for word in ("needle", "budget", "mailer", "data", "why"):
            assert kept.key in keys(decisions.find(query=word))
        found = satchel.finding.search("needle", status="all").results
        assert (found[0].ref, found[0].status, found[0].agent) == (kept.ref, "active", "Ann")
        assert found[1].status == "deprecated"

    def test_an_index_that_names_what_is_gone_is_reported(self, decisions: Decisions, satchel: Satchel) -> None:
        decisions.set("needle", 1)
        with satchel.workplace.engine.write() as transaction:
            transaction.run("DELETE FROM decisions")
        with pytest.raises(StoreDamaged, match=r"lists an item that does not exist"):
            decisions.find(query="needle")

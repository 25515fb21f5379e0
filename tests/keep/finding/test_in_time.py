"""A search that takes too long ends with what there was time for, and says so."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from satchel import Satchel
from satchel.find import search


@pytest.fixture
def filled(satchel: Satchel) -> Satchel:
    for text in ("the cache of tokens expires", "the cache of pages is warm"):
        satchel.entries.write("discovery", f"{text} {'and so on ' * 300}")
    return satchel


def _passing(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    """Let the time of searches pass: each look at the clock takes the next of the seconds, then the last."""
    times = chain(seconds, repeat(seconds[-1]))
    monkeypatch.setattr(search, "monotonic", lambda: next(times))


class TestASearch:
    def test_that_is_slow_ranks_the_newest_matches(self, filled: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
        _passing(monkeypatch, 0.0, 4.0)
        page = filled.finding.search("cache src/nowhere.py")
        assert page.notes[-1] == (
            "incomplete: the search took more than 5 s, so only the newest 200 matches were ranked"
        )
        assert filled.finding.search("cache tokens").results

    def test_that_is_slower_finds_nothing(self, filled: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
        _passing(monkeypatch, 0.0, 6.0)
        page = filled.finding.search("cache")
        assert not page.results
        assert any("was given up" in note for note in page.notes)

    def test_reads_texts_to_their_end_only_in_time(self, filled: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
        filled.entries.write("discovery", f"{'and so on ' * 300} the cache")
        monkeypatch.setattr(search, "_TRIES", ((9.0, {}, ""),))
        assert filled.finding.search("cache", limit=1).results[0].snippet.marks
        _passing(monkeypatch, 0.0, 6.0)
        page = filled.finding.search("cache")
        assert page.notes == (
            "incomplete: the search took more than 5 s, so some results show the beginning of their text",
        )
        assert [bool(result.snippet.marks) for result in page.results].count(False) == 1


class TestAList:
    def test_that_is_slow_says_so(self, filled: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
        _passing(monkeypatch, 0.0, 4.0)
        page = filled.entries.read(query="cache")
        assert len(page.entries) == 2
        assert any(note.startswith("incomplete:") for note in page.notes)

"""What the answer of a search says: its pages, its results and how each came to its score."""

from __future__ import annotations

import pytest

from keep.finding.story import Story
from satchel import Satchel
from satchel.keep.finding import Found
from tables import in_one_test


@in_one_test("question", ["thumbnails", "login sessions valid tokens configuration the database pool"])
@in_one_test("size", [1, 3, 7, 500])
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


def test_an_explanation_adds_up_to_the_score(story: Story) -> None:
    page = story.page("what did Ben say about thumbnails of the image worker", limit=500, explain=True)
    assert page.total >= 2
    for one in page.results:
        assert one.explanation is not None
        parts = [share.own + share.around for share in one.explanation.shares]
        total = sum(parts) + one.explanation.segment + one.explanation.author
        assert total == pytest.approx(one.score, abs=0.001 * (len(parts) + 2))
    theirs = [one.agent == "Ben" for one in page.results]
    given = [one.explanation.author for one in page.results if one.explanation]
    assert {author for author, is_theirs in zip(given, theirs, strict=True) if is_theirs} == {3.0}
    assert all(author < 0 for author, is_theirs in zip(given, theirs, strict=True) if not is_theirs)
    assert 0 < sum(theirs) < len(theirs)


def test_an_explanation_has_no_share_for_what_is_excluded(story: Story) -> None:
    explained = story.result("clock-skew", "-sessions login", syntax="operators", explain=True).explanation
    assert explained is not None
    assert {share.term: share.own > 0 for share in explained.shares} == {"login": True}


def test_without_being_asked_nothing_is_explained(story: Story) -> None:
    assert all(one.explanation is None for one in story.page("login").results)


def test_a_result_says_all_that_is_known_of_its_item(story: Story) -> None:
    found = story.result("clock-skew", "skewed")
    assert (found.kind, found.type, found.agent, found.run_id) == ("entry", "error", "Ben", "r1")
    assert (found.task_id, found.loop_id, found.file) == (None, "auth", "src/auth.py")
    assert (found.status, found.created_at) == ("live", story.times["clock-skew"])
    start, end = found.snippet.marks[0]
    assert found.snippet.text[start:end] == "skewed"


def test_before_anything_is_written_a_search_says_so(satchel: Satchel) -> None:
    page = satchel.finding.search("anything")
    assert (page.results, page.total, page.notes) == ((), 0, ("nothing was written for this project yet",))


def test_a_search_writes_nothing(story: Story) -> None:
    with story.satchel.workplace.engine.read() as transaction:
        before = transaction.one("SELECT seq FROM projects")
    story.page("login sessions tokens", explain=True)
    with story.satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT seq FROM projects") == before

"""The pages of the kinds: what they show of what was kept, that it stays text, and that they stay small."""

from __future__ import annotations

import re
from html import unescape
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from interfaces.web.test_pages import NASTY
from room_browsing import Browser, Parsed
from room_stocked import stock
from satchel import Satchel, open_satchel
from satchel.interfaces.http.failing import SAFETY_HEADERS
from satchel.interfaces.web.pages import PLACES
from satchel.interfaces.web.rendering import brief, visible

HERE = "/p/project/"
LISTS = tuple(path.strip("/") for path, _, _ in PLACES if path not in {"/", "/tokens", "/shared", "/new"})
MOST_BYTES = 150_000 - 35_000
"""What a page may take beside the script, the style and the icon that it loads."""


def page_of(browser: Browser, path: str) -> Parsed:
    answer = browser.get(HERE + path)
    assert answer.status == 200, answer.body
    assert answer.headers["content-security-policy"] == SAFETY_HEADERS["Content-Security-Policy"]
    assert len(answer.body) < MOST_BYTES
    page = Parsed(answer.body)
    assert not page.others
    assert [tag for tag, _ in page.elements].count("h1") == 1
    assert not [one for one in page.elements for name, _ in one[1] if name == "style" or name.startswith("on")]
    assert not {"script", "iframe", "img", "style"}.intersection(tag for tag, _ in page.elements if tag != "script")
    assert [tag for tag, _ in page.elements].count("script") == 1
    return page


def links_of(page: Parsed) -> list[str]:
    return [
        value or "" for tag, attributes in page.elements if tag == "a" for name, value in attributes if name == "href"
    ]


def test_a_list_without_anything_says_how_to_make_one(ann: Browser, satchel: Satchel) -> None:
    with open_satchel(satchel.place.file, project="bare", environ={}) as bare:
        bare.entries.write("discovery", "All begins somewhere", agent="a")
    for path in set(LISTS) - {"search", "notes", "runs"}:
        assert re.search(rb'<p class="empty">.*<code>', ann.get(f"/p/bare/{path}").body), path


def test_each_kind_has_its_list_its_pages_and_their_twins(ann: Browser, satchel: Satchel) -> None:
    pages = stock(satchel, "Sessions end after 300 s", number=7)
    for path in [*LISTS, *pages]:
        assert "Sessions end" in page_of(ann, path).text or path in {"runs", "conversations"}, path
        twin = ann.get(f"{HERE}{path}.json")
        assert (twin.status, bool(twin.json())) == (200, True), path
    assert "name7" in page_of(ann, "runs").text
    assert "name7" in page_of(ann, "conversations").text


def test_lists_lead_to_each_other_by_what_items_have(ann: Browser, satchel: Satchel) -> None:
    stock(satchel, number=8)
    assert "/p/project/notes?run=name8" in links_of(page_of(ann, "runs"))
    noted = page_of(ann, "notes?run=name8")
    assert "1 note\n" in noted.text
    assert "/p/project/notes?loop=name8" in links_of(noted)
    assert "1 decision\n" in page_of(ann, "decisions?tag=name8").text
    assert "no error" in page_of(ann, "errors?state=unsolved&type=TypeError").text


def test_a_decision_shows_what_changed_from_revision_to_revision(ann: Browser, satchel: Satchel) -> None:
    for revision in range(1, 24):
        satchel.decisions.set("limits", f"at most {revision} retries\nthen stop", rationale=f"why{revision}", agent="a")
    one = satchel.decisions.get("limits").decision
    satchel.decisions.set("limits", status="deprecated", layer="data", agent="b")
    path, seen = f"decisions/{one.ref}", []
    for _ in range(5):
        body = ann.get(HERE + path).body.decode()
        seen += [int(number) for number in re.findall(r'id="revision-(\d+)"', body)]
        older = re.search(r'href="/p/project/([^"]+)" rel="next"', body)
        if "revision-23" in body:
            assert '<p class="text" dir="auto">at most 23 retries\nthen stop</p>' in body
            assert '<del dir="auto">active</del> <ins dir="auto">deprecated</ins>' in body
        if older is None:
            break
        path = unescape(older[1])
    assert seen == list(range(24, 0, -1))


def test_a_decision_is_found_by_its_number_whatever_another_is_called(ann: Browser, satchel: Satchel) -> None:
    one = satchel.decisions.set("port", 80, agent="a")
    satchel.decisions.set(one.ref, "something else", agent="mallory")
    assert "something else" not in page_of(ann, f"decisions/{one.ref}").text


def test_notes_stand_by_day_in_the_order_of_time_with_verdicts(ann: Browser, satchel: Satchel) -> None:
    for text in ("first", "second", "third"):
        satchel.entries.write("discovery", text, task_id="t9", agent="a")
    satchel.entries.write("review_verdict", {"passed": True}, task_id="t9", agent="a")
    page = page_of(ann, "notes?task=t9")
    places = [page.text.index(word) for word in ("first", "second", "third", "PASSED")]
    assert places == sorted(places)


def test_an_error_shows_who_reported_what_about_its_solutions(ann: Browser, satchel: Satchel) -> None:
    met = satchel.patterns.report("KeyError", "'token'", solution="Look before", agent="a")
    assert met.recorded is not None
    for agent, helped in (("b", True), ("c", True), ("d", False)):
        satchel.patterns.outcome(met.recorded.ref, helped, agent=agent)
    history = ann.get(f"{HERE}errors/{met.pattern.ref}.json").json()
    assert [(one["agent"], one["confidence"]) for one in history["words"]] == [("d", 5), ("c", 7), ("b", 6)]
    page = page_of(ann, f"errors/{met.pattern.ref}")
    assert f"{met.recorded.ref} did not help, confidence 0.5" in page.text


def test_an_unsolved_error_that_needs_a_person_leads_to_how_a_fix_is_added(ann: Browser, satchel: Satchel) -> None:
    for agent in ("a", "b"):
        error = satchel.patterns.report("OSError", "no space is left", agent=agent).pattern.ref
    labels = [dict(attributes) for tag, attributes in page_of(ann, "").elements if tag == "a"]
    (link,) = [one["href"] for one in labels if one.get("aria-label") == f"Add a fix: {error}"]
    assert link is not None
    assert f"satchel error outcome {error}" in page_of(ann, link.removeprefix(HERE)).text


def test_threads_show_who_read_what_and_answers_below(ann: Browser, satchel: Satchel) -> None:
    asked = satchel.messages.send("Which colour?", to="painter", agent="asker")
    satchel.messages.mark_read([asked.ref], agent="painter")
    answer = satchel.messages.send("Red", reply_to=asked.ref, agent="painter")
    satchel.messages.send("Other", to="somebody", agent="other")
    thread = ann.get(f"{HERE}messages/{answer.ref}.json").json()
    assert [(one["depth"], one["message"]["id"]) for one in thread["messages"]] == [(0, asked.ref), (1, answer.ref)]
    assert thread["messages"][0]["message"]["read_by"] == ["painter"]
    of_painter = ann.get(f"{HERE}messages.json?agent=painter").json()
    assert [one["thread"] for one in of_painter["items"]] == [asked.ref]


def test_an_item_says_what_became_of_it_and_who_got_it(ann: Browser, satchel: Satchel) -> None:
    old = satchel.entries.write("discovery", "The port is 80", agent="a")
    new = satchel.entries.write("discovery", "The port is 8080", supersedes=old.ref, agent="b")
    satchel.corrections.confirm(new.ref, agent="c")
    satchel.brief(query="port 8080", agent="reader")
    page = page_of(ann, f"items/{new.ref}")
    assert f"/p/project/items/{old.ref}" in links_of(page)
    assert "confirmed by c" in page.text
    assert "reader" in page.text.partition("Seen by")[2]
    assert f"/p/project/items/{new.ref}" in links_of(page_of(ann, f"items/{old.ref}"))


def test_a_search_that_finds_nothing_says_what_else_to_try(ann: Browser, satchel: Satchel) -> None:
    satchel.entries.write("discovery", "zygomorphic flowers", agent="a")
    page = page_of(ann, "search?q=zygomorph&kind=message")
    assert "What else to try" in page.text
    wider = next(link for link in links_of(page) if "zygomorph%2A" in link)
    assert "zygomorphic" in page_of(ann, f"{wider.removeprefix(HERE)}".replace("kind=message", "kind=entry")).text


def test_lists_are_paged_and_small_whatever_they_hold(ann: Browser, satchel: Satchel) -> None:
    text = "<&>\u202e" * 2_000
    for number in range(55):
        agent = f"paging{number % 3}"
        satchel.decisions.set(f"paged {number} {'<' * 150}", text, rationale=text, tags=["paged"], agent=agent)
        satchel.entries.write("discovery", f"{number}{text}", run_id=None, task_id="paged", agent=agent)
        sent = satchel.messages.send(text, to="paged", agent=agent)
        for _ in range(2):
            satchel.messages.send(text, reply_to=sent.ref, to="paged", agent=agent)
    for path, most in (("decisions?tag=paged", 50), ("notes?task=paged", 50), ("messages?agent=paged", 20)):
        first = page_of(ann, path)
        items = [dict(attributes).get("class", "") for tag, attributes in first.elements]
        assert sum("item" in (one or "").split() for one in items) == most
        older = [dict(attributes) for tag, attributes in first.elements if ("rel", "next") in attributes]
        page_of(ann, str(older[0]["href"]).removeprefix(HERE))


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(min_size=1, max_size=200), st.sampled_from(NASTY)))
@example("".join(NASTY))
@example("<b>\u202e" * 43_000)
def test_whatever_text_is_stored_every_page_shows_it_as_text(ann: Browser, satchel: Satchel, text: str) -> None:
    pages = stock(satchel, text, number=next(_NUMBERS))
    for path, said in [*((path, "") for path in LISTS), *pages.items()]:
        assert visible(said)[:150].strip() in page_of(ann, path).text


_NUMBERS = count(1_000)


@given(st.text(max_size=300), st.integers(1, 100))
def test_the_beginning_of_a_text_takes_no_more_than_it_may(text: str, most: int) -> None:
    begun = brief(text, most)
    assert text.startswith(begun.removesuffix(" …")) or begun.endswith("…")
    assert len(visible(begun)) <= most + 2

"""The pages: what they show, and that stored text stays text."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from examples import examples
from http_serving import Answer, Served
from room_browsing import Browser, Parsed, undo
from satchel import Conflict, Satchel, open_satchel
from satchel.brief.room.memory import Facets
from satchel.brief.room.service import Room
from satchel.interfaces.http.exchange import SAFETY_HEADERS
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.web import pages
from satchel.interfaces.web.logins import Logins
from satchel.interfaces.web.pages.agents import AgentWeek
from satchel.interfaces.web.projects import Project, Projects
from satchel.interfaces.web.rendering import SHORT, visible
from satchel.keep.sessions.caller import Caller
from tables import in_one_test

PLACES = tuple(f"/p/project{path}" for path, _, _ in pages.PLACES)
PAGES = (*PLACES, "/p/project/memory?q=sessions", "/p/project/items/e1", "/p/project/new", "/p/project/proposals")


@in_one_test("path", [*PAGES, "/login", "/login?key=wrong", "/p/none/", "/p/project/items/e999"])
def test_every_page_loads_from_this_server_alone_and_is_not_kept(ann: Browser, path: str) -> None:
    answer = ann.get(path)
    assert answer.headers["content-security-policy"] == SAFETY_HEADERS["Content-Security-Policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = Parsed(answer.body)
    for tag, attributes in page.elements:
        assert tag != "style"
        for name, value in attributes:
            assert not name.startswith("on")
            assert name != "style"
            if name in {"href", "src", "action"}:
                assert (value or "").startswith(("/", "#"))
                assert not (value or "").startswith("//")


def test_every_page_has_a_title_a_main_part_and_a_way_to_it(ann: Browser) -> None:
    for path in PAGES:
        page = Parsed(ann.get(path).body)
        tags = [tag for tag, _ in page.elements]
        assert all(tags.count(tag) == 1 for tag in ("main", "header", "h1"))
        assert tags.index("title") < tags.index("body")
        assert ("a", (("class", "skip"), ("href", "#main"))) in page.elements
        assert all(("id", "main") in attributes for tag, attributes in page.elements if tag == "main")


def test_every_page_has_a_twin(ann: Browser) -> None:
    for path in PAGES:
        page = Parsed(ann.get(path).body)
        links = [dict(attributes) for tag, attributes in page.elements if tag == "link"]
        twin = next(link["href"] for link in links if link["rel"] == "alternate")
        answer = ann.get(twin or "")
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert isinstance(answer.json(), dict)


def test_what_is_not_there_says_so_as_a_page(ann: Browser) -> None:
    assert ann.get("/p/none/").status == 404
    gone = ann.get("/p/project/items/e999")
    assert gone.status == 404
    assert b"the project has no" in gone.body
    assert ann.get("/p/project/memory?offset=x").status == 400
    nowhere = ann.get("/p/project/no/such/page")
    assert nowhere.status == 404
    assert b"This page does not exist" in nowhere.body
    assert b'role="search"' in nowhere.body
    assert ann.get("/p/project").headers["location"] == "/p/project/"
    outside = ann.get("/no/such/page")
    assert (outside.status, b'action="/p/project/memory"' in outside.body) == (404, True)
    assert ann.get("/no/such/page", Accept="application/json").json()["error"]["code"] == "not_found"
    assert Browser(ann.server).get("/no/such/page").headers["location"] == "/login"


def test_a_page_hears_of_what_changes_while_it_is_read(
    ann: Browser, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, facets = satchel.room.reached().cursor, Room.facets

    def write_meanwhile(room: Room, kind: str | None) -> Facets:
        satchel.entries.write("discovery", "written while the page is read")
        return facets(room, kind)

    monkeypatch.setattr(Room, "facets", write_meanwhile)
    page = ann.get("/p/project/memory").body.decode()
    assert f'data-cursor="{before}"' in page
    assert satchel.room.reached().cursor != before


def rows_in_title(browser: Browser) -> int:
    """Return the number of things that need a person, as the title of the overview says it."""
    titled = re.search(r"<title>(?:\((\d+)\) )?project", browser.get("/p/project/").body.decode())
    assert titled is not None
    return int(titled[1] or 0)


def test_messages_to_a_person_need_them_until_they_answer(ann: Browser, satchel: Satchel) -> None:
    before, rows = ann.get("/p/project.json").json()["needs"]["total"], rows_in_title(ann)
    sent = satchel.messages.send("Shall I delete the table?", to="human", agent="builder")
    page = ann.get("/p/project/").body.decode()
    assert "Shall I delete the table?" in page
    assert rows_in_title(ann) == rows + 1
    assert ann.get("/p/project.json").json()["needs"]["total"] == before + 1
    answered = ann.post(f"/p/project/messages/{sent.ref}/answer", {"text": "No,\r\nkeep it", "answered_by": ""})
    assert answered.status == 303
    inbox = satchel.messages.inbox(agent="builder", unread=True)
    assert [(one.sender, one.message) for one in inbox] == [("human:ann", "No,\nkeep it")]
    page = ann.get(answered.headers["location"]).body.decode()
    assert "Shall I delete the table?" not in page
    assert "Your answer was sent" in page


def test_the_title_heading_and_navigation_count_the_rows_that_need_a_person(ann: Browser, satchel: Satchel) -> None:
    satchel.runs.start("counted")
    for attempt in ("rewrite it", "raise the timeout", "mock the network"):
        pad = {"attempted": [attempt], "test_status": "failing"}
        satchel.entries.write("scratchpad", pad, task_id="T9", run_id="counted", agent="dev")
    verdict = {"passed": False, "summary": "no tests"}
    satchel.entries.write("review_verdict", verdict, task_id="T9", run_id="counted", agent="critic")
    satchel.decisions.set("cache.size", "2", status="draft", agent="dev")
    needs = ann.get("/p/project.json").json()["needs"]
    page = ann.get("/p/project/").body.decode()
    rows = page.count('<li class="need"')
    assert rows == needs["total"] - 1
    assert f"<title>({rows}) project" in page
    assert f'Needs you <span class="n">{rows}</span>' in page
    for path in ("", "memory", "activity"):
        other = ann.get(f"/p/project/{path}").body.decode()
        assert f'Overview <span class="n">{rows}<' in other


def test_the_headline_counts_what_needs_the_person_whatever_kind_it_is(ann: Browser, satchel: Satchel) -> None:
    def counted() -> int:
        headline = ann.get("/p/project/").body.decode().partition("<h1>")[2].partition("</h1>")[0]
        return sum(map(int, re.findall(r">(\d+) (?:questions? for you|(?:more )?needs? you)<", headline)))

    satchel.decisions.set("queue.size", "2", status="draft", agent="dev")
    before = rows_in_title(ann)
    assert counted() == before > 0
    satchel.messages.send("Shall I empty the queue?", to="human", agent="builder")
    assert counted() == before + 1


def test_a_new_rule_of_an_agent_is_shown_by_its_text_and_without_commands(ann: Browser, satchel: Satchel) -> None:
    satchel.constraints.add("Caches are small", agent="dev")
    needs = ann.get("/p/project/").body.decode().partition('id="need-rules-rule"')[2].partition("</li>")[0]
    assert "in force: Caches are small" in needs
    assert "`" not in needs


def test_an_answer_that_another_has_given_meanwhile_is_said_first(ann: Browser, room: Served, satchel: Satchel) -> None:
    sent = satchel.messages.send("Which port?", to="human", agent="asker")
    path = f"/p/project/messages/{sent.ref}/answer"
    assert ann.post(path, {"text": "7347", "answered_by": ""}).status == 303
    late = ann.post(path, {"text": "80, please", "answered_by": ""})
    assert late.status == 409
    page = late.body.decode()
    assert "7347" in page
    assert "80, please" in page
    assert len(satchel.messages.inbox(agent="asker", unread=True).items) == 1
    seen = dict(
        next(
            [(name, value) for name, value in attributes if name == "value"]
            for tag, attributes in Parsed(late.body).elements
            if tag == "input" and ("name", "answered_by") in attributes
        )
    )
    assert ann.post(path, {"text": "80, please", "answered_by": str(seen["value"])}).status == 303
    assert len(satchel.messages.inbox(agent="asker", unread=True).items) == 2


def test_a_message_is_set_aside(ann: Browser, satchel: Satchel) -> None:
    sent = satchel.messages.send("For your information", to="human", agent="teller")
    assert ann.post(f"/p/project/messages/{sent.ref}/read", {}).status == 303
    assert b"For your information" not in ann.get("/p/project/").body


def test_a_note_is_retracted_once_and_the_second_is_told_by_whom(ann: Browser, satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The moon is cheese", agent="builder")
    path = f"/p/project/items/{note.ref}/retract"
    assert ann.post(path, {"reason": " "}).status == 400
    assert ann.post(path, {"reason": "It is rock"}).status == 303
    again = ann.post(path, {"reason": "It is rock"})
    assert again.status == 409
    assert "was already retracted by human:ann: It is rock" in unescape(again.body.decode())
    assert satchel.finding.search("moon cheese").total == 0


def test_a_claim_is_released_and_its_holder_told(ann: Browser, satchel: Satchel) -> None:
    with open_satchel(
        satchel.place.file, project="project", caller=Caller.of_request("t", "s1"), environ={}
    ) as session:
        session.files.claim(["src/a.py"], agent="holder")
        team = session.sessions.team().sessions[0]
        claim = {"session": team.uid, "path": "src/a.py", "expires_at": str(team.claims[0].expires_at)}
        assert ann.post("/p/project/claims/release", claim | {"expires_at": "5"}).status == 409
        assert ann.post("/p/project/claims/release", {"path": "src/a.py"}).status == 400
        assert b"src/a.py" in ann.get("/p/project/").body
        assert b"src/a.py" in ann.get(f"/p/project/agents/{team.uid}").body
        assert ann.post("/p/project/claims/release", claim).status == 303
        assert session.sessions.team().sessions[0].claims == ()
        told = session.messages.inbox(agent="holder")
        assert [(one.sender, one.message) for one in told] == [("human:ann", "I released your claim on src/a.py")]
    gone = ann.post("/p/project/claims/release", claim)
    assert gone.status == 409
    assert b"has already ended" in gone.body


def test_a_refusal_by_ones_own_claim_is_released_with_a_button(ann: Browser, satchel: Satchel, project: Path) -> None:
    file = satchel.place.file
    with (
        open_satchel(file, cwd=project, project="project", environ={}) as terminal,
        open_satchel(file, cwd=project, project="project", caller=Caller.of_request("t", "s3"), environ={}) as session,
    ):
        terminal.files.claim(["own/"], agent="human:ann")
        with pytest.raises(Conflict):
            session.files.claim(["own/a.py"], agent="builder")
        page = ann.get("/p/project/").body.decode()
        assert 'name="path" value="own/**">Release</button>' in page
        assert ann.post("/p/project/claims/release-own", {"path": "own/**"}).status == 303
        assert "own/a.py is free now" in (session.notices.line(agent="builder") or "")
    assert "Release</button>" not in ann.get("/p/project/").body.decode()
    assert ann.post("/p/project/claims/release-own", {"path": "own/**"}).status == 409


def test_the_agents_table_shows_the_last_step_and_what_an_agent_waits_for_at_its_state(
    ann: Browser, satchel: Satchel, project: Path
) -> None:
    file = satchel.place.file
    with (
        open_satchel(file, cwd=project, project="project", environ={}) as terminal,
        open_satchel(file, cwd=project, project="project", caller=Caller.of_request("t", "s4"), environ={}) as session,
    ):
        session.files.record("own/b.py", "created", agent="builder")
        terminal.files.claim(["waits/a.py"], agent="human:ann")
        with pytest.raises(Conflict):
            session.files.claim(["waits/a.py"], agent="builder")
        rows = ann.get("/p/project/agents").body.decode().partition('class="table agents"')[2].split("<tr ")
        (cells,) = [row.split("<td") for row in rows if "waits/a.py is held" in row]
        terminal.files.release(agent="human:ann")
    assert "waits/a.py is held by ann" in cells[1]
    assert 'data-name="Last step"><span dir="auto">edited own/b.py</span></td>' in cells[4]


def test_the_overview_shows_what_a_person_holds_and_releases_it(ann: Browser, satchel: Satchel, project: Path) -> None:
    with open_satchel(satchel.place.file, cwd=project, project="project", environ={}) as terminal:
        terminal.files.claim(["held/a.py"], agent="human:ann", reason="renaming")
        terminal.files.claim(["held/b.py"], agent="human:ben")
    page = ann.get("/p/project/").body.decode()
    assert "You hold <span" in page
    assert "ben holds <span" in page
    assert page.count('formaction="/p/project/claims/release-own" name="path"') == 1
    assert ann.post("/p/project/claims/release-own", {"path": "held/a.py"}).status == 303
    assert "You hold" not in ann.get("/p/project/").body.decode()


def test_a_message_sent_from_the_page_is_withdrawn_there_until_it_is_read(ann: Browser, satchel: Satchel) -> None:
    for is_read in (False, True):
        done = ann.post("/p/project/messages", {"to": "reader-9", "text": f"Still there? {is_read}"})
        if is_read:
            satchel.messages.mark_read([re.findall(r"m[0-9]+$", done.headers["location"])[0]], agent="reader-9")
        assert undo(ann, done).status == (409 if is_read else 303)
    left = satchel.messages.inbox(agent="reader-9").items
    assert [one.message for one in left] == ["Still there? True"]


def test_no_page_of_the_project_tells_what_to_type_where_it_has_a_button(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("typed", 300, agent="human:ann")
    satchel.decisions.set("typed", 901, agent="builder")
    satchel.messages.send("Net or gross?", to="human", type="request", agent="builder")
    for path in ("", "messages", "agents", "activity"):
        page = unescape(ann.get(f"/p/project/{path}").body.decode())
        assert not re.search("`satchel (accept|reject|undo|rule|confirm)", page), path


def test_an_agent_that_asked_waits_for_an_answer_without_an_id(ann: Browser, satchel: Satchel, project: Path) -> None:
    with open_satchel(
        satchel.place.file, cwd=project, project="project", caller=Caller.of_request("t", "s9"), environ={}
    ) as session:
        session.messages.send("Which colour?", to="human:ann", type="request", agent="asker")
    assert "an answer from you</span>" in ann.get("/p/project/agents").body.decode()


def test_a_critical_rule_stands_out_in_memory(ann: Browser, satchel: Satchel) -> None:
    satchel.constraints.add("Never log a password", priority="critical", agent="human:ann")
    assert '<b class="t-bad">critical</b>' in ann.get("/p/project/memory").body.decode()


def test_messages_of_satchel_itself_are_not_those_of_somebody_without_a_name() -> None:
    week = AgentWeek(None, (0, 0, 2, 0, 0), ())
    assert week.is_satchel
    assert not week._replace(counts=(1, 0, 2, 0, 0)).is_satchel
    assert not week._replace(agent="builder").is_satchel


def test_agents_show_what_each_did_in_the_last_days(ann: Browser, satchel: Satchel) -> None:
    for text in ("One", "Two"):
        satchel.messages.send(text, to="reader", agent="counter")
    satchel.files.record("src/count.py", "created", agent="counter")
    page = ann.get("/p/project/agents").body.decode()
    row = page.partition(">counter</bdi></a>")[2].partition("</tr>")[0]
    assert re.findall(r'class="num">([^<]+)<', row) == ["–", "1", "2", "–", "–"]
    assert re.search(r"<title>\d\d? [A-Z][a-z]{2}: file changes 1, messages 2</title>", row)
    days = ann.get("/p/project/agents.json").json()["days"]
    assert [(one["changes"], one["messages"]) for one in days if one["agent"] == "counter"] == [(1, 2)]


def test_a_person_is_you_to_oneself_and_a_name_to_others(room: Served, logins: Logins, satchel: Satchel) -> None:
    rule = satchel.constraints.add("Keep a log", agent="human:ann").ref
    note = satchel.entries.write("discovery", "The log is full", agent="builder").ref
    satchel.corrections.confirm(note, agent="human:ann")
    for person, (own, confirmed) in {"ann": ("you", "by you"), "bob": ("ann", "by ann")}.items():
        browser = Browser.of(room, logins, person)
        text = Parsed(browser.get("/p/project/memory").body).text
        assert f"Keep a log\n{own}" in re.sub(r"\s*\n\s*", "\n", text)
        assert f"confirmed {confirmed}" in text
        assert own in Parsed(browser.get(f"/p/project/items/{rule}").body).text
        assert "human:" not in text


def test_changes_are_marked_as_seen_up_to_what_was_shown(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("colour", "red", agent="builder")
    seq = ann.get("/p/project.json").json()["since"]["seq"]
    satchel.decisions.set("shape", "round", agent="builder")
    assert ann.post("/p/project/seen", {"seq": str(seq)}).status == 303
    page = ann.get("/p/project/activity").body
    assert b"shape" in page
    assert b"colour" not in page


def test_what_a_person_changed_in_their_own_name_is_shown_with_its_key_and_value(
    ann: Browser, satchel: Satchel, room: Served, logins: Logins
) -> None:
    decided = satchel.decisions.set("tax_rate", 19, agent="human:ann")
    assert ann.post("/p/project/decisions", {"key": "tax_rate", "value": "20", "revision": "1"}).status == 303
    link = f'<a href="/p/project/items/{decided.ref}">changed {decided.ref}: tax_rate: 20</a>'
    assert link in ann.get("/p/project/activity").body.decode()
    with open_satchel(
        satchel.place.file, project="project", caller=Caller.of_request("t", "s2"), environ={}
    ) as session:
        session.entries.write("discovery", "keys rotate", agent="worker")  # a project without agents has another page
    newcomer = Browser.of(room, logins, "newcomer")
    for address in ("/p/project/activity", "/p/project/"):
        assert "since this project began" in newcomer.get(address).body.decode()


TAGS = set(
    "html head meta title link script body a header div nav span form input kbd details summary ul ol li button main "
    "h1 h2 section p b bdi time textarea label dl dt dd dialog svg defs pattern path g circle use rect line text code "
    "table thead tbody tr th td pre datalist option".split()
)
"""The elements of pages, whatever they show."""

NASTY = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"><svg/onload=alert(1)>'`{{7*7}}{% raw %}",
    "</textarea></pre></title></script><!-- <![CDATA[ ]]>",
    "\u202egnp.exe\u2066 \u200b\u200f",
    "&lt;b&gt; &#60;script&#62; javascript:alert(1)",
    "\x1b[31mred\x07\x7f",
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(min_size=1, max_size=200), st.sampled_from(NASTY)))
@example("".join(NASTY))
@example("<b>" * 80_000)
def test_whatever_text_is_stored_pages_show_it_as_text(ann: Browser, satchel: Satchel, text: str) -> None:
    plain = satchel.entries.write("discovery", "a plain text")
    note = satchel.entries.write("discovery", f"x{text}")
    shown = [Parsed(ann.get(f"/p/project/items/{ref}").body) for ref in (plain.ref, note.ref)]
    assert not shown[1].others
    assert {tag for tag, _ in shown[1].elements} <= TAGS
    assert visible(note.content)[:1_000].replace("\r", "\n") in shown[1].text
    sent = satchel.messages.send(f"x{text}", to="human", agent="nasty")
    part = Parsed(ann.get("/p/project/").body)
    assert {tag for tag, _ in part.elements} <= TAGS
    assert not part.others
    assert ann.post(f"/p/project/messages/{sent.ref}/read", {}).status == 303


def test_what_would_not_be_seen_is_shown_as_its_code() -> None:
    assert visible("a\u202eb\x00c\x1bd\u200be\ud800") == "a\\u{202e}b\\u{0}c\\u{1b}d\\u{200b}e\\u{d800}"
    assert visible("line\n\ttab 👩\u200d🔧 ❤\ufe0f") == "line\n\ttab 👩\u200d🔧 ❤\ufe0f"


def test_a_long_text_is_read_in_parts(ann: Browser, satchel: Satchel) -> None:
    text = " ".join(f"word{number}" for number in range(25_000))
    note = satchel.entries.write("discovery", text, agent="builder")
    path, read = f"/p/project/items/{note.ref}", ""
    for _ in range(10):
        page = ann.get(path)
        assert len(page.body) < 150_000
        read += unescape(page.body.decode().partition('<pre class="text" dir="auto">\n')[2].partition("</pre>")[0])
        after = _link(page, "next")
        if after is None:
            break
        path = after
    assert read == text
    assert len(text) > SHORT


def _link(page: Answer, rel: str) -> str | None:
    links = (dict(attributes) for tag, attributes in Parsed(page.body).elements if tag == "a")
    return next((link["href"] for link in links if link.get("rel") == rel), None)


def test_a_page_that_stays_open_says_since_when_nothing_needs_its_person() -> None:
    projects, project = Projects(cast(Serving, None)), Project("shop", "shop", Path("satchel.db"))

    def look(minute: int, *, is_quiet: bool, person: str = "human:ann") -> int | None:
        return projects.quiet_since(project, person, minute * 60_000, is_quiet=is_quiet)

    assert look(10, is_quiet=True) is None
    assert look(11, is_quiet=False) is None
    assert look(12, is_quiet=True) == 12 * 60_000
    assert look(12, is_quiet=True, person="human:bob") is None
    assert look(13, is_quiet=True) == 12 * 60_000
    assert look(16, is_quiet=True) is None  # what came and went meanwhile was not seen

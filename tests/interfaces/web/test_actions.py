"""What a person does on the pages: what takes it back, what another did meanwhile, and the event that it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from http_serving import FixedTokens, Served, served
from room_browsing import Browser, Parsed, events_of, form_of, ref_of, undo
from satchel import Satchel, open_satchel
from satchel.interfaces.http.access import PERSON, Access
from satchel.interfaces.web import pages
from satchel.interfaces.web.logins import Logins
from satchel.keep.sessions.caller import Caller

HERE = "/p/project"


def test_no_action_is_done_without_the_key_of_the_login(ann: Browser) -> None:
    for path in pages.ACTIONS:
        there = HERE + path.replace("{ref}", "e1")
        assert ann.post(there, {"text": "x", "reason": "x"}, key="0" * 64).status == 403, path
        assert ann.post(there, {"text": "x"}, key="").status == 403, path
        assert ann.post(there, {"text": "x"}, **{"Sec-Fetch-Site": "same-site"}).status == 403, path


def test_a_note_is_written_and_withdrawn(ann: Browser, satchel: Satchel) -> None:
    path, fields = form_of(ann.get(f"{HERE}/new?kind=note"), "Save note")
    done = ann.post(path, fields | {"text": "The cache is cold\r\nafter a restart", "type": "discovery"})
    note = satchel.items.read([ref_of(done)]).items[0].record
    assert (note.content, note.agent) == ("The cache is cold\nafter a restart", "human:ann")  # type: ignore[attr-defined]
    again = ann.post(path, fields | {"text": "The cache is cold\nafter a restart", "type": "discovery"})
    assert "nothing was written" in ann.get(again.headers["location"]).body.decode()
    assert undo(ann, done).status == 303
    assert satchel.finding.search("cache cold restart").total == 0
    assert ("retraction", ref_of(done), "human:ann") in events_of(satchel)


def test_a_rule_is_added_and_withdrawn(ann: Browser, satchel: Satchel) -> None:
    path, fields = form_of(ann.get(f"{HERE}/new?kind=rule"), "Add rule")
    done = ann.post(path, fields | {"text": "Never push on Friday", "priority": "critical"})
    found = satchel.constraints.find(query="Friday").items
    assert [(one.text, one.priority, one.agent) for one in found] == [("Never push on Friday", "critical", "human:ann")]
    assert undo(ann, done).status == 303
    assert satchel.constraints.find(query="Friday").total == 0


def test_what_a_person_accepts_is_listed_among_their_own_actions(ann: Browser, satchel: Satchel) -> None:
    rule = satchel.constraints.add("Deploys wait for review", agent="builder").ref
    with satchel.workplace.engine.write() as transaction:
        stated = "UPDATE constraints SET unconfirmed = 1, stated_by = created_by WHERE id = :id"
        transaction.run(stated, {"id": int(rule[1:])})
    assert ann.post(f"{HERE}/items/{rule}/confirm", {}).status == 303
    done = f"confirmed {rule}"
    assert done in {one.text for one in satchel.room.since("human:ann").own}
    assert done in {one.text for one in satchel.room.since("human:bob").items if one.agent == "human:ann"}
    assert done in ann.get(f"{HERE}/activity").body.decode()


def test_tags_and_scopes_are_completed_and_survive_a_change(ann: Browser, satchel: Satchel) -> None:
    rule = satchel.constraints.add(
        "Logs are UTC", tags=["logs"], paths=["src/**"], metadata={"since": 2}, agent="builder"
    )
    key = satchel.decisions.set("log.level", "info", tags=["logs", "ops"], scopes=["api"], agent="builder").ref
    page = ann.get(f"{HERE}/new?kind=decision")
    assert '<option value="logs">logs, 2 uses</option>' in page.body.decode()
    assert '<option value="api">api, 1 use</option>' in page.body.decode()
    path, fields = form_of(page, "Decide")
    names = fields | {"key": "log.file", "value": "app.log", "tags": "logs, files ,", "scopes": "cli"}
    decision = satchel.decisions.get(ref_of(ann.post(path, names))).decision
    assert (set(decision.tags), decision.scopes) == ({"logs", "files"}, ("cli",))
    for ref, button, change in ((rule.ref, "Save", {"text": "Logs are in UTC"}), (key, "Decide", {"value": "debug"})):
        path, fields = form_of(ann.get(f"{HERE}/items/{ref}/edit"), button)
        assert ann.post(path, fields | change).status == 303
    new = satchel.constraints.find(query="Logs are in UTC").items[0]
    assert (new.tags, new.paths, new.metadata) == (rule.tags, rule.paths, rule.metadata)
    level = satchel.decisions.get("log.level").decision
    assert (level.value, set(level.tags), level.scopes) == ("debug", {"logs", "ops"}, ("api",))


def test_a_message_goes_to_all_to_an_agent_or_is_kept_in_the_form(ann: Browser, satchel: Satchel) -> None:
    satchel.entries.write("discovery", "here I am", agent="listener")
    page = ann.get(f"{HERE}/new")
    path, fields = form_of(page, "Send")
    assert fields["to"] == "all"
    assert ann.post(path, fields | {"text": "We freeze at noon", "message_type": "warning"}).status == 303
    told = satchel.messages.inbox(agent="listener", unread=True)
    assert [(one.sender, one.message, one.type) for one in told] == [("human:ann", "We freeze at noon", "warning")]
    lost = ann.post(path, {"to": "listener", "text": "not lost", "priority": "highest"})
    assert lost.status == 400
    assert "not lost" in lost.body.decode()
    again, sent = form_of(lost, "Send again")
    assert (again, sent["to"]) == (path, "listener")


def test_a_note_is_corrected_and_that_is_taken_back(ann: Browser, satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The limit is 10 MB", task_id="t9", agent="builder")
    path, fields = form_of(ann.get(f"{HERE}/items/{note.ref}/edit"), "Save")
    done = ann.post(path, fields | {"text": "The limit is 16 MB"})
    made = satchel.items.read([ref_of(done)]).items[0].record
    assert (made.content, made.task_id) == ("The limit is 16 MB", "t9")  # type: ignore[attr-defined]
    assert undo(ann, done).status == 303
    assert [one.content for one in satchel.entries.read(task_id="t9")] == ["The limit is 10 MB"]
    assert ("taken_back", note.ref, "human:ann") in events_of(satchel)


def test_a_correction_that_comes_second_replaces_the_first_only_if_it_is_meant(
    ann: Browser, bob: Browser, satchel: Satchel
) -> None:
    rule = satchel.constraints.add("Tests run in 5 minutes", agent="builder")
    path = f"{HERE}/items/{rule.ref}/correct"
    first = ref_of(bob.post(path, {"text": "Tests run in 3 minutes"}))
    late = ann.post(path, {"text": "Tests run in 2 minutes"})
    assert late.status == 409
    assert "3 minutes" in late.body.decode()
    again, fields = form_of(late, f"Replace {first} by yours")
    assert ann.post(again, fields | {"text": "Tests run in 2 minutes"}).status == 303
    assert [one.text for one in satchel.constraints.find(query="minutes")] == ["Tests run in 2 minutes"]


def test_a_correction_of_what_was_retracted_can_be_written_anew(ann: Browser, bob: Browser, satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The moon is far", agent="builder")
    assert bob.post(f"{HERE}/items/{note.ref}/retract", {"reason": "who cares"}).status == 303
    late = ann.post(f"{HERE}/items/{note.ref}/correct", {"text": "The moon is 384,000 km away"})
    assert late.status == 409
    again, fields = form_of(late, "Write yours as a new note")
    done = ann.post(again, fields | {"text": "The moon is 384,000 km away"})
    assert satchel.finding.search("moon").total == 1
    assert undo(ann, done).status == 303


def test_what_is_retracted_or_confirmed_is_taken_back_only_as_long_as_it_was_last(
    ann: Browser, satchel: Satchel
) -> None:
    note = satchel.entries.write("discovery", "Water boils at 90 degrees here", agent="builder")
    confirmed = ann.post(f"{HERE}/items/{note.ref}/confirm", {})
    assert ("confirmation", note.ref, "human:ann") in events_of(satchel)
    assert ann.post(f"{HERE}/items/{note.ref}/confirm", {}).status == 409
    retracted = ann.post(f"{HERE}/items/{note.ref}/retract", {"reason": "we moved"})
    late = undo(ann, confirmed)
    assert late.status == 409
    assert "your last correction is another one now" in unescape(late.body.decode())
    assert satchel.finding.search("boils").total == 0
    assert undo(ann, retracted).status == 303
    assert satchel.finding.search("boils").total == 1
    assert undo(ann, confirmed).status == 303


def test_a_pinned_item_is_in_every_briefing_until_it_is_not(ann: Browser, satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The staging key lies in the vault", agent="builder")
    for number in range(40):
        satchel.entries.write("discovery", f"Bananas of kind {number} are ripe", agent="builder")
    assert note.ref not in [one.ref for one in satchel.brief(query="bananas", budget=200, dry_run=True).items]
    done = ann.post(f"{HERE}/items/{note.ref}/pin", {})
    assert done.status == 303
    assert note.ref in [one.ref for one in satchel.brief(query="bananas", budget=200, dry_run=True).items]
    assert "pinned by human:ann" in ann.get(f"{HERE}/items/{note.ref}").body.decode()
    again = ann.post(f"{HERE}/items/{note.ref}/pin", {})
    assert "Already pinned" in ann.get(again.headers["location"]).body.decode()
    assert undo(ann, done).status == 303
    assert note.ref not in [one.ref for one in satchel.brief(query="bananas", budget=200, dry_run=True).items]
    happened = events_of(satchel)
    assert ("pinned", note.ref, "human:ann") in happened
    assert ("unpinned", note.ref, "human:ann") in happened


def test_what_was_set_aside_or_seen_is_shown_again(ann: Browser, satchel: Satchel) -> None:
    sent = satchel.messages.send("The build is red again", to="human", agent="teller")
    aside = ann.post(f"{HERE}/messages/{sent.ref}/read", {})
    assert b"The build is red again" not in ann.get(f"{HERE}/").body
    assert undo(ann, aside).status == 303
    assert b"The build is red again" in ann.get(f"{HERE}/").body
    satchel.files.record("src/weg.py", "modified", agent="painter: & co")
    seq = str(ann.get(f"{HERE}.json").json()["since"]["seq"])
    seen = ann.post(f"{HERE}/seen", {"seq": seq, "ref": "files:painter: & co"})
    assert b"src/weg.py" not in ann.get(f"{HERE}/activity").body
    assert undo(ann, seen).status == 303
    assert b"src/weg.py" in ann.get(f"{HERE}/activity").body
    assert ann.post(f"{HERE}/seen/undo", {"things": "files:painter: & co"}).status == 409


def test_a_group_or_everything_that_was_marked_as_read_is_shown_again(ann: Browser, satchel: Satchel) -> None:
    other = satchel.decisions.set("width", 1, agent="measurer").ref
    for number in range(2):
        satchel.decisions.set(f"depth {number}", "deep", agent="diver: & co")

    def refs() -> list[str]:
        return [one["id"] for one in ann.get(f"{HERE}/activity.json").json()["items"]]

    before = refs()
    page = ann.get(f"{HERE}/activity?agent=diver: %26 co".replace(" ", "%20"))
    group = ann.post(*form_of(page, "Mark as read"))
    assert len(refs()) == len(before) - 2
    assert other in refs()
    assert undo(ann, group).status == 303
    assert refs() == before
    everything = ann.post(*form_of(ann.get(f"{HERE}/activity"), "Mark all as read"))
    assert refs() == []
    assert undo(ann, everything).status == 303
    assert refs() == before
    assert undo(ann, everything).status == 409


def test_an_item_is_forgotten_only_after_its_id_was_typed(ann: Browser, satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The password is hunter2, they say", agent="builder")
    path = f"{HERE}/items/{note.ref}/forget"
    assert "hunter2" in ann.get(path).body.decode()
    assert ann.post(path, {"confirm": "e1"}).status == 400
    assert satchel.finding.search("hunter2").total == 1
    done = ann.post(path, {"confirm": note.ref.upper()})
    told = ann.get(done.headers["location"]).body.decode()
    assert "Deleted permanently" in told
    assert "Undo" not in told
    assert satchel.finding.search("hunter2").total == 0
    assert ("forgotten", note.ref, "human:ann") in events_of(satchel)
    assert ann.post(path, {"confirm": note.ref}).status == 404


def test_a_text_of_250_kb_is_taken_or_refused_with_the_limit_and_is_not_lost(ann: Browser, satchel: Satchel) -> None:
    text = "long " * 50_000
    done = ann.post(f"{HERE}/notes", {"text": text, "type": "discovery"})
    assert done.status == 303
    longer = "longer " * 120_000
    refused = ann.post(f"{HERE}/notes", {"text": longer, "type": "discovery"})
    assert refused.status == 413
    page = unescape(refused.body.decode())
    assert "KiB" in page
    assert longer in page


class _TokensOf(FixedTokens):
    """Tokens of persons, one of which only reads."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self._accesses["reader"] = Access("id-reader", "reader", PERSON, store, "project", read_only=True)


@pytest.fixture(scope="module")
def by_token(satchel: Satchel, logins: Logins) -> Iterator[Served]:
    """A server that browsers enter by tokens."""
    with served(_TokensOf(satchel.place.file), logins=logins) as running:
        yield running


def _entered(server: Served, logins: Logins, token: str) -> Browser:
    _, cookie = logins.begin("carl", f"id-{token}")
    return Browser(server, cookie)


def test_who_only_reads_sees_no_form_and_changes_nothing(by_token: Served, logins: Logins, satchel: Satchel) -> None:
    reader = _entered(by_token, logins, "reader")
    note = satchel.entries.write("discovery", "Read only", agent="builder")
    for page in (
        f"{HERE}/",
        f"{HERE}/new",
        f"{HERE}/proposals",
        f"{HERE}/memory",
        f"{HERE}/activity",
        f"{HERE}/health",
        f"{HERE}/items/{note.ref}",
        f"{HERE}/items/{note.ref}/edit",
    ):
        answer = reader.get(page)
        assert answer.status == 200
        sent = [dict(given).get("action") for tag, given in Parsed(answer.body).elements if tag == "form"]
        assert set(sent) <= {"/logout", f"{HERE}/memory", f"{HERE}/activity", None}, page
    for path in ("/notes", "/rules", "/messages", f"/items/{note.ref}/pin", f"/items/{note.ref}/retract"):
        refused = reader.post(HERE + path, {"text": "x y z", "to": "all", "reason": "no"})
        assert refused.status == 403, path
    assert satchel.finding.search("x y z").total == 0


def test_a_login_for_a_token_forgets_nothing_and_has_no_files(
    by_token: Served, logins: Logins, satchel: Satchel
) -> None:
    carl = _entered(by_token, logins, "person")
    note = satchel.entries.write("discovery", "Keep this", agent="builder")
    assert "/forget" not in carl.get(f"{HERE}/items/{note.ref}").body.decode()
    refused = carl.post(f"{HERE}/items/{note.ref}/forget", {"confirm": note.ref})
    assert refused.status == 403
    assert "satchel open" in refused.body.decode()
    assert "cannot read the files" in carl.get(f"{HERE}/proposals").body.decode()
    assert carl.post(f"{HERE}/shared/accept", {"uid": "abcd", "digest": ""}).status == 403


def test_shared_text_is_accepted_as_it_was_read(ann: Browser, satchel: Satchel, tmp_path: Path) -> None:
    rule = satchel.constraints.add("Share what you learn", agent="builder")
    shared = ann.post(f"{HERE}/items/{rule.ref}/share", {})
    assert shared.status == 303, shared.body.decode()
    folder = Path(satchel.workplace.files_root or "") / ".satchel" / "shared"
    (file,) = [one for one in folder.rglob("*.md") if "share-what" in one.name]
    file.write_text(file.read_text().replace("Share what you learn", "Share all that you learn"))
    page = ann.get(f"{HERE}/proposals")
    assert "Share all that you learn" in unescape(page.body.decode())
    path, fields = form_of(page, "Accept")
    file.write_text(file.read_text().replace("all that", "none that"))
    late = ann.post(path, fields)
    assert late.status == 409
    assert "none that" in late.body.decode()
    assert ann.post(*form_of(late, "Accept this")).status == 303
    with open_satchel(satchel.place.file, project="project", caller=Caller.of_request("t", None), environ={}) as now:
        assert [one.text for one in now.constraints.find(query="learn")] == ["Share none that you learn"]
    assert ("acceptance", rule.ref, "human:ann") in events_of(satchel)


def test_a_message_shown_to_its_person_counts_as_read_but_a_question_waits(ann: Browser, satchel: Satchel) -> None:
    told = [satchel.messages.send(text, to="human:ann", agent="dev").ref for text in ("done", "tests pass", "why?")]
    for page in (f"/items/{told[0]}", f"/items/{told[1]}", f"/items/{told[2]}", "/memory?kind=message"):
        ann.get(f"{HERE}{page}")
    unread = {one.ref for one in satchel.messages.inbox(unread=True, agent="human:ann")}
    assert unread.intersection(told) == {told[2]}

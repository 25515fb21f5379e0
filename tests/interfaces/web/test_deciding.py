"""Decisions on the pages: set, taken back, proposed by agents, and what another has set meanwhile."""

from __future__ import annotations

import pytest

from room_browsing import Browser, form_of, ref_of, undo
from satchel import Satchel
from satchel.interfaces.text.decisions import author_cell, decision_line

HERE = "/p/project"


def test_a_decision_is_set_changed_and_taken_back(ann: Browser, satchel: Satchel) -> None:
    path, fields = form_of(ann.get(f"{HERE}/new?kind=decision"), "Decide")
    done = ann.post(path, fields | {"key": "db", "value": "postgres", "rationale": "we know it", "status": "active"})
    ref = ref_of(done)
    edit, seen = form_of(ann.get(f"{HERE}/items/{ref}/edit"), "Decide")
    assert (edit, seen["revision"]) == (path, "1")
    changed = ann.post(path, seen | {"value": "sqlite", "rationale": "smaller", "status": "active"})
    assert satchel.decisions.get("db").decision.value == "sqlite"
    assert undo(ann, changed).status == 303
    stands = satchel.decisions.get("db").decision
    assert (stands.value, stands.rationale, stands.status) == ("postgres", "we know it", "active")
    late = undo(ann, done)  # the first setting is two changes old by now
    assert late.status == 409
    assert satchel.decisions.get("db").decision.status == "active"


@pytest.mark.parametrize(("action", "button", "value"), [("approve", "Take 21", 25), ("decline", "Keep 19", 19)])
def test_a_proposal_is_settled_only_as_it_was_shown(
    ann: Browser, satchel: Satchel, action: str, button: str, value: int
) -> None:
    key = f"vat_{action}"
    satchel.decisions.set(key, 19, agent="human:ann")
    ref = satchel.decisions.set(key, 21, agent="builder").ref
    path = f"{HERE}/items/{ref}/{action}"
    page = ann.get(f"{HERE}/").body.decode()
    assert f'formaction="{path}" name="revision" value="1">{button}</button>' in page
    own = ann.get(f"{HERE}/items/{ref}")
    assert f"{key}: ann decided 19, proposed is 21" in own.body.decode()
    assert form_of(own, button)[0] == path
    assert ann.post(path, {}).status == 400
    satchel.decisions.set(key, 25, agent="critic")
    late = ann.post(path, {"revision": "1"})
    assert (late.status, f"{key}_draft has changed since: 25" in late.body.decode()) == (409, True)
    assert satchel.decisions.get(f"{key}_draft").decision.status == "draft"
    again, fields = form_of(late, "Approve it" if action == "approve" else "Reject it")
    assert (again, fields["revision"]) == (path, "2")
    done = ann.post(again, fields)
    assert (done.status, done.headers["location"].partition("?")[0]) == (303, f"{HERE}/")
    assert satchel.decisions.get(key).decision.value == value
    assert satchel.decisions.get(f"{key}_draft").decision.status == "deprecated"


def test_a_rejected_draft_stays_its_authors_and_says_who_rejected_it(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("ttl", 300, agent="human:ann")
    ref = satchel.decisions.set("ttl", 901, agent="builder").ref
    done = ann.post(f"{HERE}/items/{ref}/decline", {"revision": "1"})
    assert ">ttl stays 300</a>" in ann.get(done.headers["location"]).body.decode()
    page = ann.get(f"{HERE}/items/{ref}").body.decode()
    assert ">Rejected by you</span>" in page
    assert "<dt>rejected by</dt>" in page
    assert "<dt>by</dt>" not in page
    rejected = satchel.decisions.get("ttl_draft").decision
    assert decision_line(rejected).cells[1] == "rejected by human:ann"
    assert rejected.proposed_by == "builder"
    assert author_cell(rejected) == "builder, rejected by human:ann"


def test_an_accepted_draft_is_not_rejected(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("grace", 300, agent="human:ann")
    ref = satchel.decisions.set("grace", 901, agent="builder").ref
    done = ann.post(f"{HERE}/items/{ref}/approve", {"revision": "1"})
    assert ">grace: 901</a>" in ann.get(done.headers["location"]).body.decode()
    for value in (902, 903):
        assert "Rejected" not in ann.get(f"{HERE}/items/{ref}").body.decode()
        satchel.decisions.set("grace", value, agent="human:ann")
    assert not satchel.decisions.get("grace_draft").decision.is_rejected


def test_a_draft_is_approved_on_its_page_as_it_was_shown(ann: Browser, satchel: Satchel) -> None:
    draft = satchel.decisions.set("drive", "flash", status="draft", agent="builder")
    path, fields = form_of(ann.get(f"{HERE}/items/{draft.ref}"), "Approve")
    satchel.decisions.set("drive", "tape", agent="builder")
    assert ann.post(path, fields).status == 409
    assert satchel.decisions.get("drive").decision.status == "draft"


def test_a_proposal_of_other_fields_names_them_on_the_pages(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("logs", "no secrets", agent="human:ann")
    ref = satchel.decisions.set("logs", paths=["zz/**"], agent="builder").ref
    path = f"{HERE}/items/{ref}/approve"
    page = ann.get(f"{HERE}/").body.decode()
    assert "logs (other paths proposed): ann decided no secrets" in page
    assert f'formaction="{path}" name="revision" value="1">Approve</button>' in page
    satchel.decisions.set("logs_draft", tags=["x"], agent="builder")
    late = ann.post(path, {"revision": "1"})
    assert (late.status, "logs (other tags, paths proposed): ann decided no secrets" in late.body.decode()) == (
        409,
        True,
    )


def test_the_end_of_a_decision_is_accepted_on_the_page(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("levy", 19, agent="human:ann")
    ref = satchel.decisions.set("levy", status="deprecated", agent="builder").ref
    assert ">End it</button>" in ann.get(f"{HERE}/").body.decode()
    assert ann.post(f"{HERE}/items/{ref}/approve", {"revision": "1"}).status == 303
    assert satchel.decisions.get("levy").decision.status == "deprecated"


def test_a_new_decision_that_is_taken_back_is_deprecated_and_a_number_stays_one(ann: Browser, satchel: Satchel) -> None:
    satchel.decisions.set("workers", 4, agent="builder")
    path = f"{HERE}/decisions"
    ann.post(path, {"key": "workers", "value": "5", "revision": "1"})
    assert satchel.decisions.get("workers").decision.value == 5
    done = ann.post(path, {"key": "shell", "value": "fish", "revision": "0"})
    assert undo(ann, done).status == 303
    assert satchel.decisions.get("shell").decision.status == "deprecated"


def test_a_decision_that_another_has_set_meanwhile_is_shown_beside_ones_own(
    ann: Browser, bob: Browser, satchel: Satchel
) -> None:
    path = f"{HERE}/decisions"
    assert bob.post(path, {"key": "queue", "value": "kafka", "revision": "0"}).status == 303
    late = ann.post(path, {"key": "queue", "value": "redis", "rationale": "small", "revision": "0"})
    assert late.status == 409
    page = late.body.decode()
    assert "kafka" in page
    assert "redis" in page
    assert "bob" in page
    assert "human:bob" not in page
    assert satchel.decisions.get("queue").decision.value == "kafka"
    again, fields = form_of(late, "Set it anyway")
    assert fields["revision"] == "1"
    assert ann.post(again, fields | {"value": "redis", "rationale": "small"}).status == 303
    assert satchel.decisions.get("queue").decision.value == "redis"

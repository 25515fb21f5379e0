"""Proposals of agents to change what a person decided: one draft for each decision, which only a person accepts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.keep.names import shown_name

if TYPE_CHECKING:
    from conftest import ManualClock

ANN = "human:ann"

Open = Callable[..., Satchel]


@pytest.fixture
def satchel(open_in: Open, project: Path) -> Satchel:
    """A store in which ann decided the vat."""
    satchel = open_in(project)
    satchel.decisions.set("vat", 19, agent=ANN)
    return satchel


def values(satchel: Satchel) -> dict[str, object]:
    return {one.key: one.value for one in satchel.decisions.find(status="active").items}


@pytest.mark.parametrize("status", ["active", "deprecated"])
def test_a_draft_that_a_person_settled_is_that_of_the_next_proposal(satchel: Satchel, status: str) -> None:
    first = satchel.decisions.set("vat", 21, agent="ben")
    satchel.decisions.set("vat_draft", status=status, agent=ANN)
    for value, agent in ((23, "ben"), (24, "cat")):
        again = satchel.decisions.set("vat", value, agent=agent)
        assert (again.ref, again.key, again.value, again.status) == (first.ref, "vat_draft", value, "draft")
    assert again.revision == 4
    direct = satchel.decisions.set("vat_draft", 25, agent="cat")
    assert (direct.ref, direct.value, direct.status, satchel.decisions.find().total) == (first.ref, 25, "draft", 2)


_PLAIN = ["vat_draft", "VAT_draft", "vat-draft", "vat draft", "Vat.Draft"]
_OTHERS = ["vat_draft_draft", "vat_draft2", "vatdraft_3-draft"]
_SIGNS = ["v\u0430t_draft", "vat\u2013draft", "vat\u00b7draft", "vat\u02d7dr\u0430ft"]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("key", [*_PLAIN, *_OTHERS, *_SIGNS])
def test_no_agent_makes_a_key_bind_that_reads_like_a_proposal(satchel: Satchel, key: str, settled: bool) -> None:
    if settled:
        satchel.decisions.set("vat", 21, agent="ben")
        satchel.decisions.set("vat_draft", status="deprecated", agent=ANN)
    with pytest.raises(Refused, match="vat_draft proposes a change of vat, which human:ann decided"):
        satchel.decisions.set(key, 25, status="active", agent="cat")
    proposed = satchel.decisions.set(key, 25, agent="cat")
    assert (proposed.key, proposed.value, proposed.status) == ("vat_draft", 25, "draft")
    assert values(satchel) == {"vat": 19}
    (told, *_) = satchel.messages.inbox(agent=ANN)
    assert proposed.ref in told.message


def test_keys_that_only_begin_like_a_proposal_are_those_of_decisions(satchel: Satchel) -> None:
    satchel.decisions.set("-", "x", agent=ANN)
    for key in ("_", "vat_drafting", "vat_draft_folder", "vat2", "private_draft"):
        assert satchel.decisions.set(key, "x", agent="ben").key == key
    satchel.decisions.set("report_draft", "in docs", agent=ANN)
    proposed = satchel.decisions.set("report_draft", "in wiki", agent="ben")
    assert (proposed.key, proposed.status) == ("report_draft_draft", "draft")
    satchel.decisions.set(proposed.key, status="active", agent=ANN)
    assert values(satchel)["report_draft"] == "in wiki"


@pytest.mark.parametrize("key", ["max api", "Max-API", "max.api", "max_ap\u0456", "\u043cax_api"])
def test_a_key_that_looks_like_a_persons_is_a_change_of_theirs(satchel: Satchel, key: str) -> None:
    satchel.decisions.set("max_api", 60, agent=ANN)
    assert satchel.decisions.set(key, 90, agent="ben").key == "max_api_draft"
    assert values(satchel) == {"vat": 19, "max_api": 60}


def test_accepting_says_what_binds_now_and_what_did_before(satchel: Satchel) -> None:
    satchel.decisions.set("vat", 21, layer="data", version="2.0.0", agent="ben")
    accepted = satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert (accepted.value, accepted.layer, accepted.version) == (21, "data", "2.0.0")
    note = "vat: 19 -> 21 with other version, layer, as ben proposed"
    assert accepted.notes == (note, "a message tells ben")
    satchel.decisions.set("vat", 22, agent="ben")
    changed = satchel.decisions.set("vat_draft", 23, status="active", agent=ANN)
    assert (changed.value, changed.notes) == (23, ("vat: 21 -> 23 with other version", "a message tells ben"))
    assert satchel.decisions.get("vat_draft").decision.status == "deprecated"


def test_a_rejected_proposal_can_still_be_accepted(satchel: Satchel) -> None:
    satchel.decisions.set("vat", 21, agent="ben")
    satchel.decisions.set("vat_draft", status="deprecated", agent=ANN)
    satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert values(satchel) == {"vat": 21}


def test_a_rejection_that_is_undone_leaves_the_proposal_its_agents_which_waits_again(
    satchel: Satchel, clock: ManualClock
) -> None:
    satchel.decisions.set("vat", 21, agent="ben")
    clock.advance(1_000)
    satchel.decisions.set("vat_draft", status="deprecated", agent=ANN)
    satchel.corrections.undo(agent=ANN)
    draft = satchel.decisions.get("vat_draft").decision
    assert (draft.agent, draft.status, draft.value) == ("ben", "draft", 21)
    assert [(need.kind, need.ref) for need in satchel.room.needs().items] == [("draft", draft.ref)]
    assert values(satchel) == {"vat": 19}


def test_a_proposal_that_changes_no_value_ends_once_it_is_accepted(satchel: Satchel) -> None:
    satchel.decisions.set("vat", tags=["tax"], agent="ben")
    assert satchel.decisions.set("vat_draft", status="active", agent=ANN).tags == ("tax",)
    assert satchel.decisions.get("vat_draft").decision.status == "deprecated"
    satchel.decisions.set("vat_draft", 19, status="draft", agent="ben")
    satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert satchel.decisions.get("vat_draft").decision.status == "deprecated"


def test_there_is_nothing_to_accept_without_a_proposal(satchel: Satchel) -> None:
    with pytest.raises(InvalidInput, match="there is no decision 'vat_draft' yet"):
        satchel.decisions.set("vat_draft", status="active", agent=ANN)


def test_the_later_proposal_says_whose_it_replaces(satchel: Satchel) -> None:
    satchel.decisions.set("vat", 21, agent="ben")
    for key, value in (("vat", 22), ("vat_draft", 23)):
        later = satchel.decisions.set(key, value, agent="cat" if key == "vat" else "ben")
        former = "ben" if key == "vat" else "cat"
        assert f"replaces the proposal of {former}" in later.notes
        assert later.replaced is not None
    own = satchel.decisions.set("vat", 24, agent="ben")
    assert not any("replaces" in note for note in own.notes)


def test_an_author_is_told_when_their_proposal_is_replaced(satchel: Satchel) -> None:
    satchel.decisions.set("vat", 21, agent="ben")
    for value in (22, 23):
        later = satchel.decisions.set("vat", value, agent="cat")
        assert ("a message tells ben" in later.notes, f"a message tells {shown_name(ANN)}" in later.notes) == (
            value == 22,
            True,
        )
    (told,) = satchel.messages.inbox(agent="ben")
    assert (told.sender, told.message.partition(":")[0]) == (
        "cat",
        "Decision d2 vat_draft, which ben had set, was changed (value)",
    )


def test_a_proposal_to_end_a_decision_ends_it_once_accepted(satchel: Satchel) -> None:
    draft = satchel.decisions.set("vat", status="deprecated", agent="ben")
    assert (draft.key, draft.status, dict(draft.metadata)) == ("vat_draft", "draft", {"proposes": "end"})
    satchel.decisions.set("vat", tags=["tax"], agent=ANN)
    assert satchel.decisions.get("vat_draft").decision.status == "draft"
    ended = satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert (ended.key, ended.status, dict(ended.metadata)) == ("vat", "deprecated", {})
    assert ended.notes == ("vat: 19 ended, as ben proposed", "a message tells ben")
    assert satchel.decisions.get("vat_draft").decision.status == "deprecated"


@pytest.mark.parametrize("key", ["vat", "vat_draft"])
def test_the_later_of_a_change_and_an_end_is_what_is_proposed(satchel: Satchel, key: str) -> None:
    satchel.decisions.set("vat", status="deprecated", agent="ben")
    later = satchel.decisions.set(key, 22, agent="cat")
    assert (dict(later.metadata), "replaces the proposal of ben" in later.notes) == ({}, True)
    again = satchel.decisions.set("vat", status="deprecated", agent="ben")
    assert (again.value, "replaces the proposal of cat" in again.notes) == (19, True)
    satchel.decisions.set("vat_draft", rationale="abolished", agent="ben")
    satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert satchel.decisions.get("vat").decision.status == "deprecated"


def test_an_agents_own_decision_of_that_key_becomes_the_proposal(satchel: Satchel) -> None:
    own = satchel.decisions.set("port_draft", 80, agent="ben")
    satchel.decisions.set("port", 443, agent=ANN)
    proposed = satchel.decisions.set("port", 8443, agent="cat")
    assert (proposed.ref, proposed.value, proposed.status) == (own.ref, 8443, "draft")
    assert "port_draft was active, set by ben; it is a proposal now" in proposed.notes


def test_a_persons_own_decision_of_that_key_is_no_proposal(satchel: Satchel) -> None:
    satchel.decisions.set("mail_draft", "kept", agent=ANN)
    satchel.decisions.set("mail", "smtp", agent=ANN)
    with pytest.raises(Conflict, match="mail_draft was decided by human:ann, so it cannot propose a change of mail"):
        satchel.decisions.set("mail", "imap", agent="ben")


def test_an_agent_withdraws_a_proposal_but_settles_none_that_a_person_did(satchel: Satchel) -> None:
    satchel.decisions.set("vat", 21, agent="ben")
    assert satchel.decisions.set("vat_draft", status="deprecated", agent="ben").status == "deprecated"
    satchel.decisions.set("vat", 22, agent="ben")
    satchel.decisions.set("vat_draft", 23, agent=ANN)
    with pytest.raises(Refused, match="only a person accepts or rejects it"):
        satchel.decisions.set("vat_draft", 99, status="deprecated", agent="ben")
    assert satchel.decisions.get("vat_draft").decision.value == 23


def test_a_persons_ended_decision_is_revived_by_a_person_only(satchel: Satchel) -> None:
    satchel.decisions.set("vat", status="deprecated", agent=ANN)
    assert satchel.decisions.set("vat", 7, status="active", agent="ben").key == "vat_draft"
    with pytest.raises(Refused):
        satchel.decisions.set("vat_draft", status="active", agent="ben")
    satchel.decisions.set("vat_draft", status="active", agent=ANN)
    assert values(satchel) == {"vat": 7}

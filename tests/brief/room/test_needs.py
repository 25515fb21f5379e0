"""What needs a person: each kind appears, and goes away when it is dealt with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents_here import register
from brief.room.conftest import needs, only, verdict, write_pad
from clients_at_work import Clients
from satchel import Conflict, InvalidInput, Satchel
from satchel.base.clock import DAY_MS
from satchel.brief.room.records import Need
from satchel.keep.decisions.records import NewDecision

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
TRIED = ("rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network")


def test_nothing_needs_anybody_where_nothing_was_written(satchel: Satchel) -> None:
    found = satchel.room.needs()
    assert (found.person, found.items, found.total) == ("human", (), 0)


def test_an_agent_that_is_stuck_needs_a_person_until_it_goes_on(clients: Clients) -> None:
    ann = clients.turn_to(clients.start())
    for number, attempt in enumerate(TRIED, 1):
        ref = write_pad(ann, iteration=number, test_status="failing", attempted=[attempt])
    (team,) = ann.sessions.team().sessions
    assert only(ann) == Need(
        *("stuck", "high", f"T1: {TRIED[-1]}", ref, team.uid, team.agents[0], ann.workplace.clock(), ("answer", "see")),
        key=f"session-{team.uid}",
    )
    write_pad(ann, iteration=4, done=True, test_status="passing")
    assert needs(ann) == []


def test_an_agent_that_names_a_blocker_needs_a_person_until_it_names_none(clients: Clients) -> None:
    ann = clients.turn_to(clients.start())
    ref = write_pad(ann, blockers=["no password for the registry"])
    assert (needs(ann), only(ann).text) == ([("blocked", ref)], "T1: no password for the registry")
    write_pad(ann, next_step="push")
    assert needs(ann) == []


@pytest.mark.parametrize("settle", ["answer", "dismiss", "continue"])
def test_an_agent_whose_session_ended_stays_blocked_until_someone_settles_it(
    clients: Clients, person: Satchel, clock: ManualClock, settle: str
) -> None:
    ann = clients.turn_to(clients.start())
    ref, name = write_pad(ann, blockers=["no password"]), ann.sessions.team().sessions[0].agents[0]
    clients.end(ann)
    clock.advance(DAY_MS)
    assert (needs(ann), only(ann).actions) == ([("blocked", ref)], ("answer", "see"))
    if settle == "answer":
        person.messages.send("it is in the vault", to=name)
    elif settle == "dismiss":
        person.room.see([ref])
    else:
        write_pad(clients.turn_to(clients.start("codex")), next_step="push")
    assert needs(ann) == []


@pytest.mark.parametrize("settle", ["answer", "dismiss", "continue", "end"])
def test_an_agent_without_a_session_needs_a_person_until_someone_settles_it(
    satchel: Satchel, clock: ManualClock, settle: str
) -> None:
    def attempt(text: str, **fields: object) -> str:
        clock.advance(MINUTE)
        pad = {"attempted": [text], **fields}
        return satchel.entries.write("scratchpad", pad, task_id="T2", run_id="r", agent="dev").ref

    satchel.runs.start("r")
    ref = attempt(TRIED[0], blockers=["no password"])
    assert needs(satchel) == [("blocked", ref)]
    for text in TRIED[1:]:
        ref = attempt(text)
    assert needs(satchel) == [("stuck", ref)]
    if settle == "answer":
        clock.advance(MINUTE)
        satchel.messages.send("mock it", to="dev", agent="human:ann")
    elif settle == "dismiss":
        satchel.room.see([ref], person="human:ann")
    elif settle == "continue":
        attempt("use the vault", done=True)
    else:
        satchel.runs.end("r")
    assert needs(satchel) == []


def test_a_message_needs_the_one_it_is_to_until_it_was_read(satchel: Satchel) -> None:
    ref = satchel.messages.send("which port?", to="human:ann", type="request", agent="dev").ref
    satchel.messages.send("hello, all", agent="dev")
    assert (needs(satchel, "human:ann"), needs(satchel, "human:bob"), needs(satchel)) == ([("message", ref)], [], [])
    assert (only(satchel, "human:ann").severity, only(satchel, "human:ann").agent) == ("high", "dev")
    satchel.messages.mark_read([ref], agent="human:ann")
    assert needs(satchel, "human:ann") == []


def test_a_message_to_all_persons_needs_each_until_it_was_read_or_any_of_them_answers(satchel: Satchel) -> None:
    ref = satchel.messages.send("which port?", to="human", agent="dev").ref
    assert needs(satchel, "human:ann") == needs(satchel, "human:bob") == needs(satchel) == [("message", ref)]
    satchel.messages.mark_read([ref], agent="human:ann")
    assert (needs(satchel, "human:ann"), needs(satchel, "human:bob")) == ([], [("message", ref)])
    satchel.messages.send("8080", reply_to=ref, agent="human:ann")
    assert (needs(satchel, "human:bob"), needs(satchel)) == ([], [])


def test_the_notice_of_a_draft_needs_its_person_once_the_draft_does_not(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="human:ann")
    draft = satchel.decisions.set("port", 81, agent="dev")
    (notice,) = satchel.messages.inbox(agent="human:ann")
    assert needs(satchel, "human:ann") == [("draft", draft.ref)]
    satchel.decisions.set(draft.key, status="deprecated", agent="dev")
    assert needs(satchel, "human:ann") == [("message", notice.ref)]
    satchel.messages.mark_read([notice.ref], agent="human:ann")
    assert needs(satchel, "human:ann") == []


def test_a_refused_claim_needs_a_person_as_long_as_it_is_held(satchel: Satchel) -> None:
    satchel.files.claim(["src/"], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a.py"], agent="ben")
    need = only(satchel)
    assert (need.kind, need.agent, need.place, need.holder) == ("refusal", "ben", "src/a.py", "ann")
    assert "release" in need.actions
    satchel.files.release(["src/"], agent="ann")
    assert needs(satchel) == []


def test_a_decision_that_another_changed_needs_a_person_until_they_saw_or_set_it(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="ann")
    assert needs(satchel) == []
    ref = satchel.decisions.set("port", 8080, agent="ben").ref
    assert (needs(satchel), only(satchel).text) == ([("overtaken", ref)], "port: ann had 80, now 8080")
    satchel.room.see([ref], person="human:ann")
    assert (needs(satchel, "human:ann"), needs(satchel, "human:bob")) == ([], [("overtaken", ref)])
    satchel.decisions.set("port", 443, agent="human:bob")
    assert needs(satchel) == []


def test_a_draft_that_another_agent_accepts_is_no_conflict(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="ann")
    satchel.decisions.set("port", 81, status="draft", agent="bob")
    assert satchel.decisions.set("port", status="active", agent="ann").value == 81
    assert needs(satchel) == []


def test_what_an_agent_proposes_instead_of_a_persons_decision_is_shown_once(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="human:ann")
    ref = satchel.decisions.set("port", 8080, agent="ben").ref
    assert needs(satchel, "human:ann") == [("draft", ref)]
    need = only(satchel, "human:ann")
    assert (need.current, need.proposed, need.text) == ("80", "8080", "port: ann decided 80, proposed is 8080")
    assert need.actions == ("accept", "reject")
    assert satchel.room.conflicts().count == 0
    satchel.decisions.set("port_draft", status="deprecated", agent="human:ann")
    assert (needs(satchel, "human:ann"), satchel.room.conflicts().count) == ([], 0)


def test_what_an_agent_proposes_after_a_rejection_is_no_conflict(satchel: Satchel) -> None:
    satchel.decisions.set("currency", "EUR", agent="human:ann")
    ref = satchel.decisions.set("currency", "USD", agent="ben").ref
    satchel.decisions.set("currency_draft", status="deprecated", agent="human:ann")
    satchel.decisions.set("currency", "GBP", agent="cat")
    assert (needs(satchel, "human:ann"), satchel.room.conflicts().count) == ([("draft", ref)], 0)
    satchel.decisions.set("currency_draft", status="deprecated", agent="cat")  # withdrawn
    assert satchel.room.conflicts().count == 0


def test_a_proposal_to_end_a_decision_is_shown_as_that(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="human:ann")
    satchel.decisions.set("port", status="deprecated", agent="ben")
    need = only(satchel, "human:ann")
    assert (need.text, need.is_end, need.revision) == ("port: ann decided 80, proposed is to end it", True, 1)
    assert satchel.room.conflicts().decided == ()  # of two values


def test_no_number_of_other_drafts_hides_a_proposal_and_those_not_read_are_counted(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.brief.room.needs.LOOKED_AT", 3)
    satchel.decisions.set("port", 80, agent="human:ann")
    proposal = satchel.decisions.set("port", 8080, agent="ben").ref
    flood = [NewDecision(f"flood {number}", "x", status="draft") for number in range(5)]
    satchel.decisions.set_many(flood, agent="ben")
    found = satchel.room.needs(person="human:ann")
    assert (found.items[0].ref, len(found.items), found.total) == (proposal, 4, 6)
    assert [one.ref for one in found.items].count(proposal) == 1


def test_a_refusal_is_over_once_its_claim_ended_whoever_claims_the_file_later(
    satchel: Satchel, clock: ManualClock
) -> None:
    satchel.files.claim(["src/a.py"], agent="human:ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["src/a.py"], agent="ben")
    assert [one.kind for one in satchel.room.needs().items] == ["refusal"]
    satchel.files.release(["src/a.py"], agent="human:ann")
    clock.advance(60_000)
    satchel.files.claim(["src/a.py"], agent="cat")
    assert needs(satchel) == []


def test_the_same_value_set_by_two_is_no_conflict_and_overtakes_nothing(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, status="draft", agent="ann")
    satchel.decisions.set("port", status="active", agent="ben")
    assert (needs(satchel), satchel.room.conflicts().decided) == ([], ())


def test_what_a_person_decided_and_another_changed_is_urgent_and_shown_once(satchel: Satchel) -> None:
    satchel.decisions.set("port", 80, agent="human:ann")
    ref = satchel.decisions.set("port", 8080, agent="human:ben").ref
    assert (needs(satchel, "human:ann"), only(satchel, "human:ann").severity) == ([("overtaken", ref)], "high")


def test_a_draft_waits_for_a_person_until_it_is_active(satchel: Satchel) -> None:
    ref = satchel.decisions.set("port", 80, status="draft", agent="ann").ref
    assert needs(satchel) == [("draft", ref)]
    satchel.decisions.set("port", status="active", agent="human:bob")
    assert needs(satchel) == []


def only_verdicts(satchel: Satchel, person: str | None = None) -> list[str | None]:
    return [ref for kind, ref in needs(satchel, person) if kind == "verdict"]


def test_a_review_that_failed_needs_a_person_until_another_follows_or_they_saw_it(satchel: Satchel) -> None:
    first, second = (verdict(satchel, task, passed=False) for task in ("T1", "T2"))
    assert needs(satchel) == [("verdict", first), ("verdict", second)]
    verdict(satchel, "T1", passed=True)
    assert only_verdicts(satchel) == [second]
    satchel.room.see([second])
    assert [only_verdicts(satchel, person) for person in (None, "human:ann")] == [[], [second]]


def test_a_review_of_a_run_that_ended_needs_nobody(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    satchel.entries.write("review_verdict", {"passed": False}, task_id="T1", run_id="r1", agent="qa")
    assert len(needs(satchel)) == 1
    satchel.runs.end("r1")
    assert needs(satchel) == []


def test_an_error_that_two_agents_met_needs_a_person_until_it_is_solved(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no key", agent="ann")
    satchel.patterns.report("KeyError", "no key", agent="ann")
    assert needs(satchel) == []
    ref = satchel.patterns.report("KeyError", "no key", agent="ben").pattern.ref
    assert needs(satchel) == [("error", ref)]
    satchel.patterns.report("KeyError", "no key", solution="use get", agent="ben")
    assert needs(satchel) == []


def test_hooks_that_fail_need_a_person_until_they_work_again_or_they_saw_it(
    satchel: Satchel, clock: ManualClock
) -> None:
    fault = ("claude SessionStart", "Busy: the store is locked", 1, clock.now)
    satchel.sessions.record_hooks([fault])
    need = only(satchel)
    assert (need.kind, need.text, need.key, need.actions) == (
        *("hook", "claude SessionStart fails: Busy: the store is locked", "hook-claude-SessionStart", ("see",)),
    )
    assert need.ref is not None
    satchel.room.see([need.ref], person="human:ann")
    assert (needs(satchel, "human:ann"), needs(satchel)) == ([], [("hook", need.ref)])
    satchel.sessions.record_hooks([(*fault[:2], 10, clock.advance(MINUTE))])
    assert "10 times or more" in only(satchel, "human:ann").text
    satchel.sessions.record_hooks([], ["claude SessionStart"])
    assert needs(satchel) == needs(satchel, "human:ann") == []


def test_the_most_urgent_come_first_and_of_many_all_are_counted(satchel: Satchel, clock: ManualClock) -> None:
    for number in range(60):
        clock.advance(1)
        satchel.messages.send(f"m {number}", to="human", priority="low", agent="dev")
    critical = satchel.messages.send("stop", to="human", priority="critical", agent="dev").ref
    found = satchel.room.needs()
    assert (found.total, len(found.items), found.items[0].ref, found.items[1].text) == (61, 50, critical, "m 0")


def test_of_many_messages_the_newest_200_are_counted(satchel: Satchel) -> None:
    for number in range(201):
        satchel.messages.send(f"m {number}", to="human", agent="dev")
    found = satchel.room.needs()
    assert (found.total, len({one.key for one in found.items})) == (200, 50)


def test_of_another_project_nothing_needs_anybody(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = (open_in(project, project=name) for name in ("one", "other"))
    for satchel in (one, other):
        register(satchel, "human:ann")
    one.messages.send("which port?", to="human", agent="dev")
    one.decisions.set("port", 80, status="draft", agent="dev")
    verdict(one, "T1", passed=False)
    for agent in ("ann", "ben"):
        one.patterns.report("KeyError", "no key", agent=agent)
    one.files.claim(["a.py"], agent="ann")
    with suppress(Conflict):
        one.files.claim(["a.py"], agent="ben")
    assert len(needs(one, "human:ann")) == 5
    assert needs(other, "human:ann") == []
    assert (other.room.conflicts().files, other.room.where().team.sessions) == ((), ())


@pytest.mark.parametrize("person", ["ann", "human:", "human: ", ""])
def test_who_looks_is_a_person(satchel: Satchel, person: str) -> None:
    if person == "":
        assert satchel.room.needs(person).person == "human"
        return
    with pytest.raises(InvalidInput):
        satchel.room.needs(person)


def test_what_is_old_needs_nobody(satchel: Satchel, clock: ManualClock) -> None:
    verdict(satchel, "T1", passed=False)
    clock.advance(8 * DAY_MS)
    assert needs(satchel) == []


def test_new_rules_of_agents_are_one_need_until_a_person_saw_or_confirmed_them(satchel: Satchel) -> None:
    satchel.constraints.add("No prints", agent="human:Ann")
    assert needs(satchel, "human:Ann") == []
    rule = satchel.constraints.add("Agents may push to main", agent="Ben").ref
    satchel.constraints.add("Tests are fast", agent="Ben")
    need = only(satchel, "human:Ann")
    assert (need.kind, need.actions) == ("rules", ("see",))
    assert need.text == "2 new rules by agents, in force: Tests are fast; Agents may push to main"
    satchel.corrections.confirm(rule, agent="human:Ann")
    assert only(satchel, "human:Ann").text == "1 new rule by agents, in force: Tests are fast"
    satchel.room.see(["rule"], person="human:Ann")
    assert needs(satchel, "human:Ann") == []
    satchel.constraints.add("Logs are JSON", agent="Ben")
    assert only(satchel, "human:Ann").text == "1 new rule by agents, in force: Logs are JSON"


def test_ones_own_refusal_is_no_need_of_oneself(satchel: Satchel) -> None:
    satchel.files.claim(["a.py"], agent="Ben")
    with suppress(Conflict):
        satchel.files.claim(["a.py"], agent="human:Ann")
    assert needs(satchel, "human:Ann") == []
    assert needs(satchel, "human:Eva") == [("refusal", None)]

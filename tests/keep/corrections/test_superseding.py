"""Superseding: what is written anew in the place of a note, rule or strategy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import Conflict, NotFound, Refused, Satchel
from satchel.keep.sessions.caller import COMMAND

Write = Callable[..., str]


def note(satchel: Satchel, text: str, **given: Any) -> str:
    return satchel.entries.write("discovery", text, **given).ref


def rule(satchel: Satchel, text: str, **given: Any) -> str:
    return satchel.constraints.add(text, **given).ref


def strategy(satchel: Satchel, text: str, **given: Any) -> str:
    return satchel.strategies.save("gateway", text, **given).ref


every_kind = pytest.mark.parametrize("write", [note, rule, strategy])


@every_kind
def test_what_replaces_it_is_found_and_briefed_instead(satchel: Satchel, write: Write) -> None:
    old = write(satchel, "the gateway signs every request", agent="ann")
    new = write(satchel, "the mailer signs every request", agent="ben", supersedes=old)
    assert [one.ref for one in satchel.finding.search("signs").results] == [new]
    assert [one.ref for one in satchel.briefings.brief(query="signs", agent="cat").items] == [new]
    assert satchel.items.read([old]).items[0].notes == (f"replaced by ben, see {new}",)


@every_kind
def test_what_was_replaced_already_names_and_quotes_the_newer_one(satchel: Satchel, write: Write) -> None:
    old = write(satchel, "the gateway signs every request")
    new = write(satchel, "the mailer signs every request", supersedes=old)
    with pytest.raises(
        Conflict, match=f"{old} was replaced by {new} already. Read {new}, and give supersedes={new}"
    ) as (refused):
        write(satchel, "nobody signs", supersedes=old)
    assert str(refused.value).endswith("if it is wrong; it says: the mailer signs every request")
    assert satchel.finding.search("nobody").total == 0


@every_kind
def test_what_was_retracted_is_not_replaced(satchel: Satchel, write: Write) -> None:
    old = write(satchel, "the gateway signs every request")
    satchel.corrections.retract(old)
    with pytest.raises(Conflict, match=f"{old} was retracted already. Leave supersedes out"):
        write(satchel, "nobody signs", supersedes=old)


@every_kind
def test_what_is_not_there_is_not_replaced(satchel: Satchel, write: Write) -> None:
    old = write(satchel, "the gateway signs every request")
    with pytest.raises(NotFound, match=f"{old[0]}99"):
        write(satchel, "nobody signs", supersedes=f"{old[0]}99")
    assert satchel.finding.search("nobody").total == 0


def test_a_batch_in_which_one_replaces_nothing_is_not_written(satchel: Satchel) -> None:
    from satchel import NewEntry

    with pytest.raises(NotFound):
        satchel.entries.write_many([NewEntry("discovery", "first"), NewEntry("error", "second", supersedes="e9")])
    assert satchel.entries.read().total == 0


@pytest.mark.parametrize(
    ("make", "write"),
    [
        (lambda satchel: rule(satchel, "never log a token", priority="critical"), rule),
        (lambda satchel: note(satchel, "never log a token", agent="human"), note),
        (lambda satchel: strategy(satchel, "never log a token", agent="human"), strategy),
    ],
    ids=["critical rule", "a person's note", "a person's strategy"],
)
def test_only_a_person_replaces_what_a_person_wrote_and_critical_rules(
    open_in: Callable[..., Satchel], project: Path, make: Callable[[Satchel], str], write: Write
) -> None:
    agents, person = open_in(project, agent="ann"), open_in(project, caller=COMMAND)
    old = make(open_in(project))
    with pytest.raises(Refused, match=f"{old} .*only a person can replace it"):
        write(agents, "log them all", supersedes=old)
    assert person.finding.search("log").total == 1
    assert [one.ref for one in person.finding.search("log").results] == [old]
    new = write(person, "log some", supersedes=old)
    assert [one.ref for one in person.finding.search("log").results] == [new]


def test_a_verdict_that_is_replaced_by_hand_is_so_once(satchel: Satchel) -> None:
    old = satchel.entries.write("review_verdict", {"passed": False, "summary": "bad"}, task_id="T1").ref
    new = satchel.entries.write("review_verdict", {"passed": True, "summary": "good"}, task_id="T1", supersedes=old)
    page = satchel.entries.read(status="superseded")
    assert [(one.ref, one.superseded_by) for one in page] == [(old, new.id)]


@every_kind
def test_what_was_replaced_by_what_is_forgotten_does_not_stay_pointing_at_it(satchel: Satchel, write: Write) -> None:
    old = write(satchel, "the gateway signs every request")
    new = write(satchel, "the mailer signs every request", supersedes=old)
    satchel.housekeeping.forget(new)
    assert satchel.items.read([old]).items[0].notes == ()
    assert {check.status for check in satchel.housekeeping.doctor() if check.name in {"store", "index"}} == {"ok"}

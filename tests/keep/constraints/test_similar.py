"""A constraint that says nearly the same as one that holds is kept, and the other is pointed out."""

from __future__ import annotations

from satchel import Satchel

RULE = "Passwords and tokens are never written to a log file"


def test_one_that_says_nearly_the_same_is_pointed_out(satchel: Satchel) -> None:
    first = satchel.constraints.add(RULE)
    second = satchel.constraints.add("passwords, tokens: are never written to log files")
    assert second.id != first.id
    assert second.notes == (f"{first.ref} says nearly the same (100 % alike): {RULE}",)


def test_one_that_says_something_else_is_not(satchel: Satchel) -> None:
    satchel.constraints.add(RULE)
    assert satchel.constraints.add("Passwords are stored as argon2id hashes").notes == ()


def test_one_that_does_not_hold_any_more_is_not_pointed_out(satchel: Satchel) -> None:
    satchel.corrections.retract(satchel.constraints.add(RULE).ref)
    assert satchel.constraints.add(RULE).notes == ()


def test_the_one_that_it_replaces_is_not_pointed_out(satchel: Satchel) -> None:
    first = satchel.constraints.add(RULE)
    second = satchel.constraints.add(f"{RULE} or trace", supersedes=first.ref)
    assert second.notes == (f"{first.ref} is replaced: searches show it only if status asks for it",)


def test_a_forgotten_one_leaves_no_marks(satchel: Satchel) -> None:
    satchel.housekeeping.forget(satchel.constraints.add(RULE).ref)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT * FROM likenesses") == []
    assert satchel.constraints.add(RULE).notes == ()

"""A new error comes with the known ones that are like it, never as the same."""

from __future__ import annotations

from satchel import Satchel
from satchel.interfaces.text.errors import reported_text


def test_a_new_error_comes_with_what_is_like_it(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database of the shop", solution="Start it", agent="Ann")
    told = satchel.patterns.report("PoolError", "cannot open the database of the market")
    assert (told.is_new, told.solutions) == (True, ())
    (alike,) = told.similar
    assert (alike.ref, alike.likeness, alike.error_type) == ("x1", 80, "PoolError")
    assert alike.solution is not None
    assert alike.solution.text == "Start it"


def test_no_more_than_three_are_shown_the_most_alike_first(satchel: Satchel) -> None:
    for name in ("shop", "market", "shop floor", "market stall", "shop window"):
        satchel.patterns.report("PoolError", f"cannot open the database of the {name}")
    told = satchel.patterns.report("PoolError", "cannot open the database of the window")
    likeness = [one.likeness for one in told.similar]
    assert len(likeness) == 3
    assert likeness == sorted(likeness, reverse=True)
    assert told.similar[0].ref == "x5"


def test_what_shares_few_words_is_not_shown(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database of the shop")
    assert satchel.patterns.report("TypeError", "cannot add a plan to a number").similar == ()


def test_a_known_error_comes_without(satchel: Satchel) -> None:
    for name in ("shop", "market", "shop"):
        told = satchel.patterns.report("PoolError", f"cannot open the database of the {name}")
    assert (told.is_new, told.similar) == (False, ())


def test_an_error_of_another_project_is_not_shown(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database of the shop")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (:uid, 'other', 0)", {"uid": b"other"})
        transaction.run("UPDATE error_patterns SET project_id = 2")
    assert satchel.patterns.report("PoolError", "cannot open the database of the market").similar == ()


def test_the_text_labels_them_as_similar(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database of the shop", solution="Start it\nnow", agent="Ann")
    text = reported_text(satchel.patterns.report("PoolError", "cannot open the database of the market"))
    assert text.splitlines()[1:] == [
        "no solution is known yet; report_outcome with id=x2 and solution records what does",
        "similar, not the same:",
        "x1 80 % alike, PoolError, fixed by y1 tentative, confidence 5 of 10",
        " cannot open the database of the shop",
        " Start it now",
    ]

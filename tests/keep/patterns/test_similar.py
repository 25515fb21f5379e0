"""A new error comes with the known ones that are like it, never as the same."""

from __future__ import annotations

import pytest

from satchel import Satchel
from satchel.interfaces.text.errors import reported_text

POOL = "cannot open the database of the shop"
LONGER = f"{POOL} after the backup"


def test_a_new_error_comes_with_what_is_like_it(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", POOL, solution="Start it", agent="Ann")
    told = satchel.patterns.report("PoolError", LONGER)
    assert (told.is_new, told.solutions) == (True, ())
    (alike,) = told.similar
    assert (alike.ref, alike.likeness, alike.error_type) == ("x1", 86, "PoolError")
    assert alike.words == ("open", "database", "shop")
    assert alike.solution is not None
    assert alike.solution.text == "Start it"


def test_it_comes_at_every_meeting_until_a_fix_is_known(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", POOL, solution="Start it")
    refs = [[one.ref for one in satchel.patterns.report("PoolError", LONGER).similar] for _ in range(2)]
    assert refs == [["x1"], ["x1"]]
    satchel.patterns.solve("x2", "Wait")
    assert satchel.patterns.report("PoolError", LONGER).similar == ()


def test_no_more_than_three_are_shown_the_most_alike_first(satchel: Satchel) -> None:
    for more in (" and market", " and market stall", " and market stall window", ""):
        satchel.patterns.report("PoolError", f"{POOL} after the weekly backup{more}")
    told = satchel.patterns.report("PoolError", f"{POOL} after the weekly backup twice")
    assert [one.ref for one in told.similar] == ["x4"]
    told = satchel.patterns.report("PoolError", f"{POOL} after the weekly backup and market stall window twice today")
    assert [one.ref for one in told.similar] == ["x3", "x2", "x1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cannot open the database of the shop", "startup of the mall: cannot open the database of the shop"),
        ("Cannot find module 'mailer' - index.js", "Cannot find module 'mailer' - index.js - server.js ]"),
        ("Descriptors cannot be created directly", "Descriptors cannot not be created directly"),
        ("show.cc no match for the operands Point and ostream", "main.cpp no match for the operands Point and ostream"),
        (
            "login of 10.1.2.3 by the reader timed out twice today",
            "login of rabbit by the reader timed out twice today",
        ),
    ],
)
def test_text_around_and_masked_parts_keep_errors_similar(satchel: Satchel, one: str, other: str) -> None:
    satchel.patterns.report("PoolError", one)
    assert [each.ref for each in satchel.patterns.report("PoolError", other).similar] == ["x1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{POOL} after the restart", LONGER),
        (
            "no database at server, port closed by [Errno 111] refusal",
            "no database at server, port closed by [Errno 113] refusal",
        ),
        ("no route from store (missing: FOO_DIR)", "no route from store (missing: FOO_LIBRARY FOO_DIR)"),
        ("no route from store to shop", "no route from store to shop (while checking method wrapper_mm)"),
        (
            "descriptors should be created by their owner",
            "descriptors should be created by their owner, but only retrieved from it",
        ),
    ],
)
def test_what_differs_within_makes_them_different(satchel: Satchel, one: str, other: str) -> None:
    satchel.patterns.report("PoolError", one)
    assert satchel.patterns.report("PoolError", other).similar == ()


def test_what_names_something_else_is_not_similar(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database 'shop' of the region")
    assert satchel.patterns.report("PoolError", "cannot open the database 'mall' of the region today").similar == ()


def test_what_shares_few_words_is_not_shown(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", "cannot open the database of the shop")
    assert satchel.patterns.report("TypeError", "cannot add a plan to a number").similar == ()


def test_an_error_of_another_project_is_not_shown(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", POOL)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("INSERT INTO projects (uid, name, created_at) VALUES (:uid, 'other', 0)", {"uid": b"other"})
        transaction.run("UPDATE error_patterns SET project_id = 2")
    assert satchel.patterns.report("PoolError", LONGER).similar == ()


def test_the_text_labels_them_as_similar(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", POOL, solution="Start it\nnow", agent="Ann")
    text = reported_text(satchel.patterns.report("PoolError", LONGER))
    assert text.splitlines()[1:] == [
        "no solution is known yet; report_outcome with id=x2 and solution records what does",
        "similar, not the same:",
        "x1 86 % alike (open, database, shop), PoolError, fixed by y1 tentative, confidence 5 of 10",
        " cannot open the database of the shop",
        " Start it now",
    ]


def test_a_fix_that_did_not_help_is_told_as_such(satchel: Satchel) -> None:
    satchel.patterns.report("PoolError", POOL, solution="Start it")
    for agent in ("Bob", "Cid", "Dan"):
        satchel.patterns.outcome("y1", helped=False, agent=agent)
    told = satchel.patterns.report("PoolError", POOL)
    assert (told.solutions, [one.ref for one in told.tried]) == ((), ["y1"])
    assert "tried 3 times, did not help: y1 Start it" in reported_text(told).splitlines()

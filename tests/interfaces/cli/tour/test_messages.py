from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.interfaces.cli.tour.messages import read_message


@pytest.mark.parametrize(
    "subject",
    [
        "Fix crash when the cart is empty",
        "Fixed rounding of prices (#12)",
        "Fixes for shutdown while a job runs",
        "fix: keep the session alive",
        "fix(cart)!: count each item once",
        "bugfix: lost updates in the ledger",
        "parser: Fix handling of nested quotes",
        "[core] fix off-by-one in paging",
        "Correct the sign of refunds",
        "Repair broken pagination on the last page",
        "Restore sorting, a regression from 2.1",
        "Avoid a deadlock when two clerks pay",
        'Revert "Add gift cards"',
        "Fix precision of totals and add tests",
    ],
)
def test_a_mended_fault_is_an_error(subject: str) -> None:
    assert read_message(subject, "", ["src/shop.py"]).kind == "error"


def test_a_body_that_takes_a_commit_back_is_an_error() -> None:
    assert read_message("Take gift cards out again", "This reverts commit 0123abc4567.").kind == "error"


@pytest.mark.parametrize(
    "subject",
    [
        "Fix typo",
        "Fix a few typos in comments",
        "Fix lint",
        "fix: formatting",
        "Fixed whitespace",
        "Fix broken links in docs",
        "docs: fix the install example",
        "Fix mypy errors",
        "Fix failing test on Windows",
        "Fix #126",
        "Fix CI",
        "Correct spelling of receive",
    ],
)
def test_a_touch_up_is_no_error(subject: str) -> None:
    assert read_message(subject, "", ["src/shop.py"]).kind == "nothing"


@pytest.mark.parametrize(
    "subject",
    [
        "Add regression tests for the cart",
        "Add linear regression to the forecast",
        "Use a fixed-size buffer for receipts",
        "Prefix order numbers with the year",
        "Support refunds in part",
        'Reapply "Add gift cards"',
    ],
)
def test_an_ordinary_change_is_a_discovery(subject: str) -> None:
    assert read_message(subject, "Closes #3", ["src/shop.py"]).kind == "discovery"


def test_a_fix_that_only_touches_documents_is_no_error() -> None:
    assert read_message("Fix the description of refunds", "", ["docs/refunds.md"]).kind == "nothing"


def test_a_fix_that_only_touches_tests_is_no_error() -> None:
    assert read_message("Fix race between two clerks", "", ["tests/test_clerk.py"]).kind == "discovery"


@pytest.mark.parametrize(
    "subject",
    [
        "Release 4.2.1",
        "v1.0.0",
        "Version 0.27",
        "Bump chardet from 5.1 to 5.2",
        "chore(deps): update the lot",
        "Merge branch 'main' into side",
        "wip",
        "fixup! Add the till",
        "Update CHANGELOG for 2.0",
        "Minor tweaks",
        "More.",
        "",
        "🎉",
    ],
)
def test_housekeeping_says_nothing(subject: str) -> None:
    assert read_message(subject, "").kind == "nothing"


@pytest.mark.parametrize(
    "sentence",
    [
        "Use one lock file because two of them deadlock under load",
        "Drop the queue, since it is no longer required",
        "Store money as integers to avoid rounding errors",
        "Return a tuple instead of a list so that callers can hash it",
        "Since every row carries its project, we drop the join",
        "Because the driver bundles its own engine, we use it on every system",
        "The full scan takes seconds on large shops, so we cache the totals",
        "cart: keep the old key because clients still send it",
        "Prices are now integers, because floats lose cents",
    ],
)
def test_a_choice_with_its_reason_is_a_decision(sentence: str) -> None:
    assert read_message(sentence, "").quote == sentence
    in_body = read_message("Rework the ledger", f"Some words first.\n\n{sentence}.\n", ["src/ledger.py"])
    assert (in_body.kind, in_body.quote) == ("decision", f"{sentence}.")


@pytest.mark.parametrize(
    "sentence",
    [
        "Use integers for money",
        "Drop urllib3 in favour of httpcore",
        "Use a tuple rather than a list",
        "Remove options deprecated since version 3.8",
        "Keep what has been there since then",
        "Move the till just because",
        "It fails because the path is wrong here",
        "The cart was empty since the cookie had expired",
        "Drop the queue because why not do it",
        "Use another name, maybe because the old one is taken",
        "Should we drop the queue because nobody uses it?",
        "We don't need a queue because nobody waits here",
        "Use type: ignore to avoid mypy errors on old versions",
        "Stop trying to avoid collisions",
        "We don't use this lock, yet it deadlocks since it is shared by two clerks",
        "We dropped the queue long ago because nobody used it",
        "Adds a report that explains because-clauses to readers",
        "resolve() is private because nobody calls it from outside",
    ],
)
def test_no_decision_is_claimed_without_choice_and_reason(sentence: str) -> None:
    assert read_message(sentence, "").kind != "decision"
    assert read_message("Rework the ledger", f"{sentence}.").kind != "decision"


def test_a_fix_with_a_reason_stays_an_error() -> None:
    body = "Use the newest lock because the old one deadlocks under load."
    assert read_message("Fix lost updates in the ledger", body).kind == "error"


def test_a_change_of_documents_is_no_decision() -> None:
    body = "Use short words because readers are in a hurry."
    assert read_message("Rewrite the guide", body, ["docs/guide.md"]).kind == "discovery"


def test_trailers_addresses_references_and_code_are_dropped() -> None:
    body = """It counts (ada@example.org) every coin.
Really.

```
code()
```

    indented()

> quoted

Refs #12, #13 and #14
Closes shop/till#3
Signed-off-by: Ada <ada@example.org>
Co-authored-by: Bob <bob@example.org>
  and his cat
Change-Id: I0123
Reviewed-by: Eve
(cherry picked from commit 0123abc)
"""
    message = read_message("Add the till <ada@example.org>.", body)

    assert message.subject == "Add the till"
    assert message.sentences == ("It counts every coin.", "Really.")


def test_sentences_join_wrapped_lines_and_split_at_their_ends() -> None:
    body = "The till counts\ncoins, e.g. Cents. It is\nquick.\n\n\n- A bullet goes\n  on\n1. So do numbers\n\nIt ends."

    assert read_message("Add", body).sentences == (
        "The till counts coins, e.g. Cents.",
        "It is quick.",
        "It ends.",
    )


def test_the_starred_list_of_a_squashed_pull_request_is_left_out() -> None:
    body = "Counts every coin.\n\n* Lint\n\n* Fix tests\n  again\n\n---------\n\nCo-authored-by: Bob <b@x.org>"

    assert read_message("Add the till (#12)", body).sentences == ("Counts every coin.",)


@given(st.text(max_size=300), st.text(max_size=600))
def test_any_message_can_be_read(subject: str, body: str) -> None:
    assert read_message(subject, body).kind in {"discovery", "error", "decision", "nothing"}


@pytest.mark.parametrize(
    "part", ["a ", "because ", "since it ", "#1 ", "(", "refs #1, ", "a.b", "x@", "!", "to avoid a, "]
)
def test_a_long_monotonous_message_does_not_hang_the_rules(part: str) -> None:
    text = part * 4_000

    assert read_message(text, f"{text}\n\nUse {text}\n").kind in {"discovery", "error", "decision", "nothing"}

"""``satchel accept`` and ``satchel reject``: one pair for whatever waits for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from satchel import open_satchel
from tables import in_one_test

if TYPE_CHECKING:
    from pathlib import Path

    from interfaces.cli.conftest import Cli


@pytest.fixture
def proposed(cli: Cli) -> Cli:
    """A person's decision, and an agent's draft of a change of it, d2."""
    cli("decide", "vat", "19", "--agent", "human:ann")
    cli("decide", "vat", "21", "--agent", "ben")
    return cli


def test_a_draft_is_accepted_by_its_id_and_its_author_reads_so(proposed: Cli) -> None:
    decide = "Decide: read `satchel show d2`, then `satchel accept d2` or `satchel reject d2`"
    assert decide in proposed("status")[1]
    status, out, _ = proposed("accept", "d2")
    assert (status, out.splitlines()) == (
        0,
        [
            "accepted d2 as d1: vat: 21",
            "note: vat: 19 -> 21, as ben proposed",
            "note: a message tells ben",
            "note: a message tells ann",
        ],
    )
    (message,) = json.loads(proposed("message", "list", "--agent", "ben", "--json")[1])["messages"]
    assert message["message"] == "Your proposal d2 (vat_draft) was accepted by human, and holds as decision:vat"


def test_a_draft_is_accepted_only_as_it_was_shown(proposed: Cli) -> None:
    proposed("decide", "vat", "22", "--agent", "ben")
    for ref in ("d2", "d2@1"):
        status, out, err = proposed("accept", ref)
        assert (status, out) == (4, "")
        assert "d2 has revision 2 now: vat: ann decided 19, proposed is 22" in err
        assert "`satchel show d2` shows it whole, `satchel accept d2@2` accepts it" in err
    assert "then `satchel accept d2@2` or `satchel reject d2`" in proposed("status")[1]
    assert "with `satchel accept d2@2`, or" in proposed("message", "list", "--agent", "human:ann")[1]
    assert proposed("reject", "d2@1")[0] == 4
    assert proposed("accept", "d2@2")[1].splitlines()[0] == "accepted d2 as d1: vat: 22"


def test_the_fields_that_a_proposal_changes_are_named_wherever_it_is_decided_on(cli: Cli) -> None:
    cli("decide", "sec", "no secrets in logs", "--why", "law", "--agent", "human:ann")
    cli("decide", "sec", "--path", "zz/**", "--tag", "x", "--why", "whatever", "--agent", "ben")
    assert "sec (other tags, paths, rationale proposed): ann" in cli("status")[1]
    assert "see the draft d2 (tags, paths, rationale) and accept" in cli("message", "list", "--agent", "human:ann")[1]
    notes = "note: sec: no secrets in logs with other tags, paths, rationale, as ben proposed"
    assert notes in cli("accept", "d2")[1].splitlines()
    cli("decide", "sec", "none", "--tag", "y", "--agent", "ben")
    assert "sec (other tags proposed): human decided no secrets in logs, proposed is none" in cli("status", "--json")[1]
    assert "note: sec: no secrets in logs -> none with other tags, as ben proposed" in cli("accept", "d2@3")[1]


@in_one_test("verb", ["accept", "reject"])
@in_one_test("refs", [("",), ("d2", " ")])
def test_an_empty_name_is_not_all_of_them(proposed: Cli, verb: str, refs: tuple[str, ...]) -> None:
    status, out, err = proposed(verb, *refs)
    assert (status, out) == (2, "")
    assert "name what to decide on, or give --all" in err
    assert '"draft"' in proposed("show", "d2", "--json")[1]


def test_or_rejected(proposed: Cli) -> None:
    assert proposed("reject", "d2")[1] == "rejected d2: vat_draft: 21\nnote: a message tells ben\n"
    (message,) = json.loads(proposed("message", "list", "--agent", "ben", "--json")[1])["messages"]
    assert message["message"] == "Your proposal d2 (vat_draft) was rejected by human"
    assert "19" in proposed("show", "d1")[1]
    assert proposed("reject", "d2")[0] == 3


def test_the_author_reads_why_and_no_later_value_has_that_reason(proposed: Cli) -> None:
    proposed("reject", "d2", "--why", "the law says 19")
    (message,) = json.loads(proposed("message", "list", "--agent", "ben", "--json")[1])["messages"]
    assert message["message"] == "Your proposal d2 (vat_draft) was rejected by human: the law says 19"
    proposed("accept", "d2")
    assert json.loads(proposed("show", "d1", "--json")[1])["items"][0].get("rationale") is None


def test_why_a_rule_was_rejected_is_its_end_and_what_has_no_reason_takes_none(cli: Cli, folder: Path) -> None:
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.constraints.add("No prints", stated_by="user", agent="ben")
    cli("reject", "c1", "--why", "tests print")
    assert "tests print" in cli("show", "c1")[1]
    status, _, error = cli("reject", "AGENTS.md:3", "--why", "old")
    assert (status, "its rejection has no reason" in error) == (2, True)


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_the_message_about_a_settled_proposal_is_over(proposed: Cli, verb: str) -> None:
    def messages() -> int:
        return proposed("message", "list", "--agent", "human:ann")[1].count("see the draft d2")

    proposed("decide", "vat", "22", "--agent", "ben")
    before = messages()
    proposed(verb, "d2@2")
    assert (before, messages()) == (1, 0)
    assert "see the draft" not in proposed("search", "vat")[1]
    assert "see the draft" not in proposed("message", "sent")[1]


def test_an_undone_rejection_says_what_waits_again_and_is_no_change_to_undo(proposed: Cli) -> None:
    proposed("reject", "d2")
    assert "d2 is what it was before you changed it: a draft again, which waits for an answer" in proposed("undo")[1]
    assert "d2" not in "".join(proposed("undo")[1:])


def test_accepting_is_one_change_that_undo_takes_back(proposed: Cli) -> None:
    proposed("accept", "d2")
    assert "d1 is what it was before you changed it" in proposed("undo")[1]
    assert '"19"' in proposed("show", "d1")[1] or "=19" in proposed("show", "d1")[1]


def test_a_draft_of_a_new_decision_binds_once_it_is_accepted(cli: Cli) -> None:
    cli("decide", "cache", "redis", "--status", "draft", "--agent", "ben")
    assert cli("accept", "d1")[1].splitlines()[0] == "accepted d1: cache: redis"
    assert "draft" not in cli("show", "d1")[1]


def test_a_rule_that_a_person_stated_is_accepted_or_rejected(cli: Cli, folder: Path) -> None:
    for text in ("No floats in prices", "No prints"):
        with open_satchel(cwd=folder, environ={}) as satchel:
            satchel.constraints.add(text, stated_by="user", agent="ben")
    decide = "Decide: read `satchel show c1`, then `satchel accept c1` or `satchel reject c1`"
    assert decide in cli("status")[1]
    status, out, _ = cli("accept", "c1")
    assert (status, out) == (0, "accepted c1: No floats in prices\n")
    assert cli("reject", "c2")[1] == "rejected c2: No prints\n"
    (rule,) = json.loads(cli("rule", "list", "--json")[1])["constraints"]
    assert (rule["id"], rule.get("unconfirmed")) == ("c1", None)


def test_an_accepted_rule_waits_again_after_an_undo(cli: Cli, folder: Path) -> None:
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.constraints.add("No floats in prices", stated_by="user", agent="ben")
    cli("accept", "c1")
    assert cli("undo")[1].splitlines()[0] == "c1 is no longer confirmed by you: it waits for you again"
    assert "satchel accept c1" in cli("status")[1]


def test_of_several_the_others_are_decided_and_the_one_that_fails_is_named(proposed: Cli) -> None:
    status, out, _ = proposed("accept", "d7", "d2")
    assert (status, out.splitlines()[0]) == (15, "accepted d2 as d1: vat: 21")
    assert out.splitlines()[-1] == "failed: d7: the project has no 'd7'"


def test_what_waits_for_nobody_is_named(proposed: Cli) -> None:
    for ref in ("d1", "AGENTS.md:3", "e1"):
        status, out, err = proposed("accept", ref)
        assert (status, out) == (3, "")
        assert f"nothing that waits is called '{ref}'. `satchel status` lists what waits" in err

"""``--detail`` of every list, as people see it."""

from __future__ import annotations

import json
import re

import pytest

from interfaces.cli.conftest import Cli
from satchel import Satchel, open_satchel
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.parameters import DETAIL
from tables import in_one_test

LONG = "The token service answers late. " * 40

LISTS = {
    ("read",): "e1 discovery The token service answers late.",
    ("search", "token"): " ",
    ("decisions",): 'd1 decision token_ttl="5 minutes"',
    ("rule", "list"): "c1 medium general never log a token",
    ("message", "list", "--agent", "ann"): "m1 info to all the token moved",
    ("message", "sent", "--agent", "bob"): "m1 info to all the token moved",
    ("file", "list"): "f1 modified by ",
    ("file", "claims"): "docs/** exclusive",
    ("package", "list"): "p1 research why it failed",
    ("error", "list"): "x1 error KeyError: no token; fix: give a default",
    ("strategy", "list"): "s1 strategy tokens: refresh them early",
    ("run", "list"): "main active",
}
"""Commands, and what the first title of each begins with."""


@pytest.fixture(autouse=True)
def filled(cli: Cli) -> None:
    """Fill the project with one of each kind."""
    with open_satchel() as satchel:
        fill(satchel)


def fill(satchel: Satchel) -> None:
    satchel.entries.write("discovery", LONG, agent="bob")
    satchel.decisions.set("token_ttl", "5 minutes", agent="bob")
    satchel.constraints.add("never log a token", agent="bob")
    satchel.messages.send("the token moved", agent="bob")
    satchel.files.record("src/token.py", "modified", agent="bob")
    satchel.files.claim(["docs/"], agent="bob")
    satchel.packages.save("why it failed", content="all of it", agent="bob")
    satchel.patterns.report("KeyError", "no token", solution="give a default", agent="bob")
    satchel.strategies.save("tokens", "refresh them early", agent="bob")


def test_every_list_is_here() -> None:
    commands = {one.command for one in OPERATIONS if one.command and DETAIL in one.parameters}
    assert commands == {
        tuple(word for word in words if word not in {"token", "--agent", "ann", "bob"}) for words in LISTS
    }


@in_one_test(("words", "start"), LISTS.items())
def test_titles_are_a_line_each_and_as_json_no_more(cli: Cli, words: tuple[str, ...], start: str) -> None:
    status, out, err = cli(*words, "--detail", "titles")
    head, *lines = out.splitlines()
    assert (status, err) == (0, "")
    assert re.match(r"\d+ ", head)
    assert all(one.startswith(start.strip()) for one in lines[:1])
    assert len(lines) == int(head.split(" ")[0])
    found = json.loads(cli(*words, "--detail", "titles", "--json")[1])
    (items,) = (value for name, value in found.items() if isinstance(value, list) and name != "notes")
    assert [one.keys() for one in items] == [{"id", "kind", "title"}] * len(lines)


def test_snippets_have_the_times_of_the_machine(cli: Cli) -> None:
    lines = cli("read", "--detail", "snippets")[1].splitlines()
    assert lines[0] == "1 entry, newest first"
    assert re.fullmatch(r"e1 discovery by bob \d{4}-\d\d-\d\d \d\d:\d\d", lines[1])
    assert lines[2].startswith(" The token service answers late.")
    assert len(lines[2]) < 170


def test_a_search_shows_whole_texts_where_that_is_asked_for(cli: Cli) -> None:
    assert LONG.strip() not in cli("search", "late")[1]
    assert LONG.strip() in cli("search", "late", "--detail", "full")[1]


def test_in_full_a_list_is_as_ever(cli: Cli) -> None:
    assert cli("decisions", "--detail", "full") == cli("decisions")

"""``satchel show``, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import open_satchel

Cli = Callable[..., tuple[int, str, str]]
LONG = "a long text. " * 3_000


@pytest.fixture(autouse=True)
def store(cli: Cli) -> None:
    """A long entry, a rule, and a message from ann to ben."""
    with open_satchel(environ={}, settings={"store.durability": "relaxed"}) as satchel:
        satchel.entries.write("discovery", LONG, agent="ann")
        satchel.constraints.add("never log a token")
        satchel.messages.send("rebase first", to="ben", agent="ann")


def test_items_are_shown_whole_however_long_they_are(cli: Cli) -> None:
    status, out, err = cli("show", "c1", "e1")
    lines = out.splitlines()
    assert (status, err, lines[0][:3], lines[1]) == (0, "", "c1 ", " never log a token")
    assert lines[3] == f" {LONG}"


def test_what_is_unknown_is_said_beside_and_is_an_error_where_it_is_all(cli: Cli) -> None:
    status, out, err = cli("show", "c1", "e9")
    assert (status, "never log" in out, "no 'e9'" in err, "e9" in out) == (0, True, True, False)
    assert (cli("show", "e9")[0] != 0, cli("show")[0] != 0) == (True, True)


def test_showing_a_message_marks_nothing_as_read(cli: Cli) -> None:
    assert "from ann to ben new" in cli("show", "m1")[1]
    assert "from ann to me new" in cli("show", "m1", "--agent", "ben")[1]
    assert "from ann to me new" in cli("show", "m1", "--agent", "ben")[1]


def test_json_is_the_records(cli: Cli) -> None:
    (item,) = json.loads(cli("show", "c1", "--json")[1])["items"]
    assert (item["id"], item["kind"], item["text"]) == ("c1", "constraint", "never log a token")


def test_a_state_that_an_import_replaced_is_named_and_whole_in_json(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    assert cli("export", str(file))[0] == 0
    file.write_text(file.read_text().replace("never log a token", "never log a token, nor a cookie"))
    assert cli("import", str(file))[0] == 0
    out = cli("show", "c1")[1]
    assert 'is kept: "never log a token' in out
    assert "satchel show c1 --json has all of it" in out
    (item,) = json.loads(cli("show", "c1", "--json")[1])["items"]
    (kept,) = item["kept_states"]
    assert {item["text"], kept["state"]["text"]} == {"never log a token", "never log a token, nor a cookie"}


def test_a_notice_names_its_person_as_people_see_them(cli: Cli) -> None:
    with open_satchel(environ={}) as satchel:
        for number in range(4):
            satchel.messages.send(f"{number} tests pass", to="human:Ida Berg", agent="ann")
    assert "4 unread messages for Ida Berg from ann" in cli("decide", "vat", "19", "--agent", "human:Ida Berg")[2]
    assert "unread" not in cli("decide", "vat", "20", "--agent", "human:Ida Berg")[2]


def test_a_message_shown_to_its_person_counts_as_read_but_a_question_waits(cli: Cli) -> None:
    with open_satchel(environ={}) as satchel:
        satchel.messages.send("the schema has changed", to="human", agent="ann")
        satchel.messages.send("the tests pass", to="human", agent="ann")
        satchel.messages.send("which port?", to="human", agent="ann")
    assert 'notice: m4 from ann: "which port?"' in cli("rule", "list")[2]
    assert "notice" not in cli("rule", "list")[2]
    assert "notice" not in cli("show", "m2")[2]
    out, err = cli("message", "list", "--unread")[1:]
    assert ("the tests pass" in out, "m2 " in out, err) == (True, False, "")
    assert "m4 stays unread until you answer it" in out
    assert ("m4 " in (out := cli("message", "list", "--unread")[1]), "m3 " in out) == (True, False)
    assert cli("message", "send", "8080", "--reply-to", "m4")[0] == 0
    assert "unread" not in cli("rule", "list")[2]


def test_a_decision_is_shown_by_its_key_alone_and_by_decide_without_a_value(cli: Cli) -> None:
    cli("decide", "vat", "19", "--why", "law")
    assert '"vat"' not in (shown := cli("show", "vat")[1])
    assert shown == cli("show", "decision:vat")[1]
    assert "unchanged d1 vat, revision 1: 19 (law)" in cli("decide", "vat")[1]
    assert "no 'vta'" in cli("show", "vta")[2]

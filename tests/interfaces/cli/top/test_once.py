"""`satchel top` where it is printed once: for pipes, and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from satchel import open_satchel

Cli = Callable[..., tuple[int, str, str]]


def test_where_there_is_no_terminal_it_is_printed_once_and_says_so(cli: Cli, folder: Path) -> None:
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.messages.send("Which port?", to="human", agent="dev")
    status, printed, told = cli("top")
    assert (status, told) == (0, "this is no terminal: printed once\n")
    assert printed.startswith("1 Needs me 1\n     message m1 dev: Which port? ")
    assert "\x1b" not in printed
    assert cli("top", "--once")[2] == ""


def test_programs_get_it_as_json_for_a_person(cli: Cli, folder: Path) -> None:
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.messages.send("Which port?", to="human:ann", agent="dev")
    sections = json.loads(cli("top", "--json", "--as", "ann")[1])
    assert list(sections) == ["needs", "since", "where", "collisions"]
    assert sections["needs"]["person"] == "human:ann"
    assert [one["id"] for one in sections["needs"]["items"]] == ["m1"]
    assert json.loads(cli("top", "--json")[1])["needs"]["items"] == []


def test_a_name_that_is_none_is_refused(cli: Cli, folder: Path) -> None:
    status, _, told = cli("top", "--once", "--as", " ")
    assert status == 2
    assert "person" in told

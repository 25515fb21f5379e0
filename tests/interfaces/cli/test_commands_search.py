"""``satchel search`` and ``satchel doctor --rebuild``, for people and for machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from satchel import open_satchel
from tables import in_one_test

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(cli: Cli, folder: Path) -> None:
    """Two runs; e3 is superseded by e4."""
    with open_satchel(environ={}, settings={"store.durability": "relaxed"}) as satchel:
        for run in ("r1", "r2"):
            satchel.runs.start(run)
        write = satchel.entries.write
        write("discovery", "Sessions live in src/auth.py", run_id="r1", agent="Ann", loop_id="L1", file="src/auth.py")
        write("error", "the sessions table is locked", run_id="r1", agent="Ben", task_id="T1")
        for summary in ("sessions were bad", "sessions are good"):
            write("review_verdict", {"passed": True, "summary": summary}, run_id="r2", task_id="T2")
        write("discovery", "parseSession and cookies", run_id="r2", agent="Ann")
        write("discovery", "cookies are signed", run_id="r2")


pytestmark = pytest.mark.usefixtures("store")


def on_a_terminal(*arguments: str) -> str:
    """What the program prints where its output is a terminal."""
    terminal, output = os.openpty()
    command = [sys.executable, "-m", "satchel", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output) as process:
        os.close(output)
        printed = b""
        with (
            os.fdopen(terminal, "rb", buffering=0) as screen,
            suppress(OSError),
        ):  # it ends with an error when it is left
            while part := screen.read(4_096):
                printed += part
    assert process.returncode == 0
    return printed.decode().replace("\r\n", "\n")


def refs(cli: Cli, *arguments: str) -> set[str]:
    status, out, err = cli("search", *arguments, "--json")
    assert (status, err) == (0, "")
    return {result["id"] for result in json.loads(out)["results"]}


@in_one_test(
    ("arguments", "expected"),
    [
        (("sessions",), {"e1", "e2", "e4", "e5"}),
        (("signed", "cookies"), {"e5", "e6"}),
        (("sessions", "--run", "r1"), {"e1", "e2"}),
        (("sessions", "--kind", "entry"), {"e1", "e2", "e4", "e5"}),
        (("sessions", "--type", "error", "--type", "discovery"), {"e1", "e2", "e5"}),
        (("sessions", "--author", "ann"), {"e1", "e5"}),
        (("sessions", "--task", "T1"), {"e2"}),
        (("sessions", "--loop", "L1"), {"e1"}),
        (("sessions", "--file", "./src/auth.py"), {"e1"}),
        (("sessions", "--since", "1h"), {"e1", "e2", "e4", "e5"}),
        (("sessions", "--since", "2099-01-01"), set()),
        (("sessions", "--status", "all"), {"e1", "e2", "e3", "e4", "e5"}),
        (("sessions", "--status", "superseded"), {"e3"}),
        (("--operators", "sess*", "NOT", "table"), {"e1", "e4", "e5"}),
        (("--operators", '"sessions cookies"'), set()),
        (("--operators", '"sessions table" OR signed'), {"e2", "e6"}),
        (("--like", "e6"), {"e5"}),
    ],
)
def test_each_option_chooses(cli: Cli, arguments: tuple[str, ...], expected: set[str]) -> None:
    assert refs(cli, *arguments) == expected


def test_pages_are_led_to(cli: Cli) -> None:
    status, out, err = cli("search", "sessions", "--limit", "2")
    assert status == 0
    assert out.splitlines()[0] == "2 of 4 results; --offset 2 shows more"
    assert (len(out.splitlines()), err) == (5, "")
    status, out, err = cli("search", "sessions", "--limit", "2", "--offset", "3")
    assert out.splitlines()[0] == "1 of 4 results"
    assert (status, len(out.splitlines()), err) == (0, 3, "")


def test_a_result_is_named_and_its_snippet_stands_below(cli: Cli) -> None:
    _, out, _ = cli("search", "table", "locked")
    head, name, snippet = out.splitlines()
    assert head == "1 of 1 results"
    assert name.startswith("e2 error by Ben run:r1 task:T1 20")
    assert snippet == " the sessions table is locked"


def test_on_a_terminal_what_matched_is_coloured() -> None:
    out = on_a_terminal("search", "table")
    assert " the sessions \x1b[32m\x1b[1mtable\x1b[0m is locked\n" in out


def test_elsewhere_nothing_is_coloured(cli: Cli) -> None:
    _, out, err = cli("search", "table", "--explain")
    assert "\x1b" not in out + err


def test_json_is_never_coloured() -> None:
    (result,) = json.loads(on_a_terminal("search", "table", "--json"))["results"]
    assert (result["snippet"], result["marks"]) == ("the sessions table is locked", [[13, 18]])


def test_a_score_is_explained_below_its_result(cli: Cli) -> None:
    _, out, _ = cli("search", "table", "--explain")
    line = out.splitlines()[3]
    assert line.startswith(" table: ")
    assert " own (idf " in line
    _, out, _ = cli("search", "table", "--explain", "--json")
    assert json.loads(out)["results"][0]["explanation"]["terms"][0]["term"] == "table"


def test_a_stored_text_cannot_pass_for_a_result_nor_colour_the_terminal(cli: Cli) -> None:
    cli("write", "discovery", "omega\ne99 decision, by root\r\u2028e98 x \x1b[31mred", "--run", "r1")
    status, out, _ = cli("search", "omega")
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert status == 0
    assert lines[0] == "1 of 1 results"
    assert [line.split(" ")[0] for line in lines[1:]] == ["e7"]
    assert "\x1b[31m" not in on_a_terminal("search", "omega")


@in_one_test(
    ("arguments", "problem"),
    [
        (("--operators", '"open'), "a quote is not closed, at character 1 of the query"),
        (("--operators", "a OR"), "nothing follows the operator, at character 3 of the query"),
        (("word", "--like", "e1"), "give either words"),
        (("word", "--kind", "entri"), "unknown kind 'entri'"),
        (("word", "--type", "eror"), "unknown type 'eror'"),
        (("word", "--limit", "501"), "limit 501 is out of range"),
        (("word", "--status", "old"), "'old' is not one of"),
        (("--like", "zebra"), "'zebra' is no item's id"),
    ],
)
def test_what_is_wrong_ends_with_status_2_and_says_why(cli: Cli, arguments: tuple[str, ...], problem: str) -> None:
    status, out, err = cli("search", *arguments)
    assert (status, out) == (2, "")
    assert problem in err


def test_a_search_without_a_word_says_so(cli: Cli) -> None:
    assert cli("search", "?!") == (0, "0 of 0 results\n", "'?!' holds no word to search for\n")


def test_a_rebuild_says_how_much_it_indexed(cli: Cli) -> None:
    assert cli("doctor", "--rebuild") == (0, "6 items indexed\n", "")
    status, out, err = cli("doctor", "--rebuild", "--json")
    assert (status, json.loads(out), err) == (0, {"indexed": 6}, "")


def test_a_rebuild_mends_what_doctor_complains_of(cli: Cli) -> None:
    with open_satchel(environ={}) as satchel, satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents WHERE id > 2")
    status, out, _ = cli("doctor")
    assert status != 0
    assert "`satchel doctor --rebuild` rebuilds it" in out
    status, _, err = cli("search", "cookies")
    assert (status, err.count("satchel doctor --rebuild")) == (9, 1)
    assert cli("doctor", "--rebuild")[0] == 0
    assert cli("doctor")[0] == 0
    assert refs(cli, "cookies") == {"e5", "e6"}


def test_people_read_the_names_of_things_and_programs_the_kinds_of_the_api(cli: Cli) -> None:
    cli("rule", "add", "The gateway signs")
    cli("error", "report", "KeyError", "the gateway is gone")
    cli("write", "discovery", "the gateway is old")
    out = cli("search", "gateway")[1]
    assert ("c1 rule" in out, "x1 error " in out, " discovery" in out) == (True, True, True)
    kinds = {one["kind"] for one in json.loads(cli("search", "gateway", "--json")[1])["results"]}
    assert kinds == {"constraint", "error_pattern", "entry"}

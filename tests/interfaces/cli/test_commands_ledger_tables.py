"""What people see: tables that fit, say nothing twice, show every text as it is, and colours only on a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.interfaces.text.lists import show_table
from satchel.interfaces.text.parts import counted
from tables import in_one_test

Cli = Callable[..., tuple[int, str, str]]
Terminal = Callable[..., str]

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
LISTS = ["decisions", "rule list", "file list", "file claims"]


class Screen(io.StringIO):
    """A stdout that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Run one command on a terminal of a width; return what it shows there."""
    from satchel.interfaces.cli import run

    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, width: int = 160) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", screen := Screen())
            run(arguments)
        return screen.getvalue()

    return command


def headings(table: str) -> list[str]:
    return re.split(r" {2,}", table.splitlines()[0].strip())


def drawn(capsys: pytest.CaptureFixture[str], rows: list[tuple[object, ...]], **usual: str) -> str:
    show_table(("id", "text", "status"), rows, usual=usual)
    return capsys.readouterr().out


@pytest.mark.parametrize("count", [1, 1_001], ids=["drawn", "plain"])
def test_stored_text_commands_no_terminal(capsys: pytest.CaptureFixture[str], count: int) -> None:
    out = drawn(capsys, [("d1", "red\x1b[31m\x07", "active")] * count)
    assert "\x1b[31m" not in out
    assert "\x07" not in out
    assert "red\\u{1b}[31m\\u{7}" in out


@pytest.mark.parametrize("command", LISTS)
def test_an_empty_list_says_so_and_draws_nothing(cli: Cli, command: str) -> None:
    status, out, err = cli(*command.split())
    assert (status, out) == (0, "")
    assert err.startswith("0 of 0 ")
    assert "nothing was written for this project yet" in err


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("command", LISTS)
def test_a_list_says_how_to_see_more(cli: Cli, command: str) -> None:
    assert "; --offset 1 shows more" in cli(*command.split(), "--limit", "1")[2]


@pytest.mark.usefixtures("ledger")
def test_a_note_about_an_answer_goes_to_stderr(cli: Cli) -> None:
    _, out, err = cli("decisions", "--author", "nobody")
    assert (out, "'nobody'" in err) == ("", True)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("command", LISTS)
def test_no_colour_is_printed_into_a_pipe(cli: Cli, command: str) -> None:
    assert "\x1b" not in cli(*command.split())[1]


@pytest.mark.usefixtures("ledger")
def test_a_state_is_coloured_on_a_terminal(terminal: Terminal) -> None:
    assert re.search(r"\x1b\[36mdraft", terminal("decisions"))
    assert re.search(r"\x1b\[33mdeprecated", terminal("decisions"))


@pytest.mark.usefixtures("ledger")
def test_no_colour_is_printed_where_the_environment_forbids_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in terminal("decisions")


@pytest.mark.usefixtures("ledger")
@in_one_test("width", [34, 60, 100, 200])
@in_one_test("command", LISTS)
def test_nothing_is_lost_or_too_wide_on_any_terminal(terminal: Terminal, cli: Cli, command: str, width: int) -> None:
    shown = ESCAPES.sub("", terminal(*command.split(), width=width))
    assert max(map(len, shown.splitlines())) <= width
    piped = re.sub(r"[─\s]", "", cli(*command.split())[1])
    # however it is broken into lines, every letter is there
    assert not set(piped) - set(shown)
    for cell in re.findall(r"[a-z]+\.py|\d{4}-\d\d-\d\d|zebra|alpha|everyone|exclusive", piped):
        assert cell in re.sub(r"\s", "", shown)


@pytest.mark.usefixtures("ledger")
def test_a_narrow_terminal_gets_a_block_for_each_item(terminal: Terminal) -> None:
    lines = [line.rstrip() for line in ESCAPES.sub("", terminal("decisions", "zebra", width=40)).splitlines()]
    assert lines[:4] == ["id     d2", "key    beta", "value  a zebra crosses", "status draft"]


@in_one_test("text", ["[red]x[/red]", "[/]", "[link=x]y[/link]", ":smile:", "a\\[b", "[bold]", "{0}", "%s"])
def test_markup_is_shown_as_it_is(cli: Cli, text: str) -> None:
    cli("decide", "key", text, "--why", text, "--tag", text)
    assert cli("decisions")[1].count(text) == 3


def test_wide_characters_keep_the_columns_in_line(cli: Cli) -> None:
    cli("decide", "漢字", "日本語")
    cli("decide", "ab", "cd")
    _, _, narrow, wide = cli("decisions")[1].splitlines()
    assert narrow.index("cd") == wide.index("日本語") + len("漢字")


def test_a_value_of_several_lines_stays_in_its_column(cli: Cli) -> None:
    cli("decide", "key", "one\ntwo")
    lines = cli("decisions")[1].splitlines()
    assert lines[3].index("two") == lines[2].index("one")


def test_what_is_the_same_for_all_is_no_column(cli: Cli) -> None:
    cli("decide", "key", "1")
    assert headings(cli("decisions")[1]) == ["id", "key", "value", "by", "set"]


def test_what_differs_for_one_is_a_column_for_all(cli: Cli) -> None:
    cli("decide", "one", "1", "--agent", "planner")
    cli("decide", "two", "2", "--status", "draft", "--version", "2.0.0", "--layer", "data")
    table = cli("decisions")[1]
    assert headings(table) == ["id", "key", "value", "status", "layer", "version", "by", "set"]
    assert "active" in table


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ("decisions", "id, key, value, status, layer, tags, scopes, version, by, set, why"),
        (
            "rule list --status all",
            "id, priority, category, rule, layer, tags, by, confirmed, added, status, ended, ended by, reason",
        ),
        ("file list", "id, file, change, by, when, layer, what"),
        ("file claims", "path, by, how, since, until, what for"),
    ],
)
def test_people_see_every_field_that_says_something(terminal: Terminal, command: str, columns: str) -> None:
    shown = ESCAPES.sub("", terminal(*command.split(), width=240))
    assert headings(shown) == columns.split(", ")


def test_a_column_of_the_usual_alone_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[tuple[object, ...]] = [("1", "a", "active"), ("2", "b", "active")]
    assert "status" not in drawn(capsys, rows, status="active")
    assert "status" in drawn(capsys, rows)
    assert "status" in drawn(capsys, [*rows, ("3", "c", "draft")], status="active")


def test_an_empty_column_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert "text" not in drawn(capsys, [("1", None, "draft"), ("2", "", "draft")])


def test_ids_and_times_are_never_broken(capsys: pytest.CaptureFixture[str]) -> None:
    table = drawn(capsys, [("2026-11-21 22:24", "word " * 100, "draft")])
    assert table.count("2026-11-21 22:24") == 1


@pytest.mark.parametrize(("number", "told"), [(0, "0 messages"), (1, "1 message"), (2_000, "2,000 messages")])
def test_things_are_counted_in_words(number: int, told: str) -> None:
    assert counted(number, "message") == told


def test_the_notice_stands_behind_the_answer_on_stderr(cli: Cli) -> None:
    cli("message", "send", "stop", "--to", "builder", "--priority", "critical", "--agent", "planner")
    for arguments in (
        ("decide", "key", "1", "--agent", "builder"),
        ("rule", "add", "x", "--agent", "builder"),
        ("file", "record", "a.py", "created", "--agent", "builder"),
        ("file", "claim", "a.py", "--agent", "builder"),
    ):
        _, out, err = cli(*arguments)
        assert "notice" not in out
        assert err == "notice: 1 unread message for builder from planner, 1 critical: satchel message list\n"


def test_a_recorded_change_says_who_has_claimed_the_file(cli: Cli) -> None:
    cli("file", "claim", "src/", "--agent", "planner")
    _, out, err = cli("file", "record", "src/a.py", "modified", "--agent", "builder")
    assert out == "recorded f1 src/a.py modified by builder\n"
    assert re.fullmatch(r"notice: src/\*\* is claimed by planner until (\d{4}-)?\d\d-\d\d \d\d:\d\d UTC\n", err)


def test_a_notice_is_given_where_the_environment_names_the_agent(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("message", "send", "stop", "--priority", "critical", "--agent", "planner")
    cli("file", "claims", "--author", "builder")
    cli("rule", "add", "x", "--agent", "builder")
    monkeypatch.setenv("SATCHEL_AGENT", "builder")
    for command in ("decisions", "rule list", "file list"):
        assert "notice: 1 unread message for builder from planner, 1 critical" in cli(*command.split())[2]


@pytest.mark.usefixtures("ledger")
def test_layers_are_counted(cli: Cli) -> None:
    status, out, err = cli("stats", "--layers")
    head, *lines = out.splitlines()
    assert (status, err) == (0, "")
    assert re.search(r"file changes since \d{4}-\d\d-\d\d \d\d:\d\d$", head)
    assert "data: 0 decisions, 1 rule, 1 file change" in lines
    assert "business: 1 decision, 0 rules, 0 file changes" in lines
    assert "no layer: 0 decisions, 1 rule, 2 file changes" in lines


@pytest.mark.usefixtures("ledger")
def test_layers_are_counted_as_json(cli: Cli) -> None:
    status, out, err = cli("stats", "--layers", "--json")
    counted = json.loads(out)
    assert (status, err) == (0, "")
    assert counted.keys() == {"layers", "changes_since", "seq"}
    assert {
        "layer": "data",
        "active_decisions": 0,
        "active_constraints": 1,
        "recent_file_changes": 1,
    } in counted["layers"]
    assert counted["layers"][-1]["layer"] is None


def test_very_many_rows_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[tuple[object, ...]] = [(number, f"as\nlong {'x' * number}", "live") for number in range(1_001)]
    out = drawn(capsys, [*rows, (7, "wide 漢字", None)])
    lines = out.splitlines()
    assert len(lines) == 2 + 1_002
    assert headings(out) == ["id", "text", "status"]
    assert lines[1_002].split() == ["1000", "as", "long", "x" * 1_000, "live"]
    assert lines[2].index("live") == lines[1_002].index("live")
    assert lines[-1] == "7      wide 漢字"


def test_what_became_of_what_was_briefed_is_told(cli: Cli) -> None:
    cli("write", "discovery", "the parser reads twice", "--agent", "planner")
    for agent in ("a", "b", "c"):
        cli("brief", "--agent", agent)
    status, out, _ = cli("stats", "--memory")
    head, *lines = out.splitlines()
    assert (status, head.endswith(": 0 confirmed, 0 followed by success, 0 corrected after")) == (0, True)
    assert [line.partition(":")[0] for line in lines] == ["briefings"]
    cli("confirm", "e1", "--agent", "a")
    assert ' e1 briefed 3 times, confirmed 1 time: "the parser reads twice"' in cli("stats", "--memory")[1]
    told = json.loads(cli("stats", "--memory", "--json")[1])
    assert [one["id"] for one in told["useful"]] == ["e1"]

"""``satchel clear`` asks before it removes anything, and removes only what it names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., tuple[int, str, str]]

CLEAR = ("clear", "--messages-hours", "0", "--file-changes-hours", "0")
COUNTED = "4 messages, 3 file changes"


def kept(cli: Cli) -> tuple[int, int]:
    """Return how many messages and file changes there are."""
    counted = json.loads(cli("stats", "--json")[1])
    return counted["messages"], counted["file_changes"]


@pytest.mark.usefixtures("ledger")
def test_it_asks_and_no_leaves_everything(cli: Cli) -> None:
    status, out, err = cli(*CLEAR, stdin=b"n\n")
    assert (status, out) == (0, f"would remove {COUNTED}; nothing was removed\n")
    assert err == f"Remove {COUNTED}? [y/N]: "
    assert kept(cli) == (4, 3)


@pytest.mark.usefixtures("ledger")
def test_no_answer_leaves_everything(cli: Cli) -> None:
    assert cli(*CLEAR)[0] == 2
    assert kept(cli) == (4, 3)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("how", ["asked", "--yes", "--yes --json"])
def test_yes_removes(cli: Cli, how: str) -> None:
    options, stdin = ((), b"y\n") if how == "asked" else (tuple(how.split()), b"")
    assert cli(*CLEAR, *options, stdin=stdin)[0] == 0
    assert kept(cli) == (0, 0)


@pytest.mark.usefixtures("ledger")
def test_what_was_removed_is_counted(cli: Cli) -> None:
    assert cli(*CLEAR, "--yes")[1] == f"removed {COUNTED}\n"


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("options", [("--dry-run",), ("--dry-run", "--yes")])
def test_a_preview_asks_nothing_and_removes_nothing(cli: Cli, options: tuple[str, ...]) -> None:
    assert cli(*CLEAR, *options) == (
        0,
        f"would remove {COUNTED}; nothing was removed\n",
        "",
    )
    assert kept(cli) == (4, 3)


@pytest.mark.usefixtures("ledger")
def test_json_alone_only_previews(cli: Cli) -> None:
    status, out, err = cli(*CLEAR, "--json", stdin=b"y\n")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "messages": 4,
        "file_changes": 3,
        "claims": 0,
        "error_patterns": 0,
        "conversations": 0,
        "done": False,
    }
    assert kept(cli) == (4, 3)


@pytest.mark.usefixtures("ledger")
def test_where_nothing_is_old_it_asks_nothing(cli: Cli) -> None:
    assert cli("clear") == (0, "nothing is old enough to be removed\n", "")


@pytest.mark.usefixtures("ledger")
def test_the_rest_of_the_ledger_stays(cli: Cli) -> None:
    lists = ("decisions", "rule list --status all", "file claims")
    before = [cli(*command.split(), "--json")[1] for command in lists]
    cli(*CLEAR, "--yes")
    assert [json.loads(cli(*command.split(), "--json")[1]) | {"seq": 0} for command in lists] == [
        json.loads(text) | {"seq": 0} for text in before
    ]


def test_where_nothing_was_ever_written_no_store_is_made(cli: Cli, folder: Path) -> None:
    assert cli(*CLEAR, "--yes")[:2] == (0, "nothing is old enough to be removed\n")
    assert [path.name for path in folder.iterdir()] == [".git"]

"""What can be lost: prune, forget and restore ask first; doctor and restore with a damaged store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tables import in_one_test

Cli = Callable[..., tuple[int, str, str]]

DESTRUCTIVE = {
    "notes": ("clear", "--notes", "--keep", "1"),
    "forget": ("forget", "e1"),
    "restore": ("restore", "copy.db"),
}


@pytest.fixture(autouse=True)
def store(cli: Cli) -> None:
    """A backup of two notes, and a third written after it."""
    assert cli("write", "discovery", "one")[0] == 0
    assert cli("write", "discovery", "two")[0] == 0
    assert cli("backup", "copy.db")[0] == 0
    assert cli("write", "discovery", "three")[0] == 0


def contents(cli: Cli) -> list[str]:
    return [entry["content"] for entry in json.loads(cli("read", "--order", "asc", "--json")[1])["entries"]]


@in_one_test("name", DESTRUCTIVE)
def test_no_leaves_everything(cli: Cli, name: str) -> None:
    status, _, err = cli(*DESTRUCTIVE[name], stdin=b"n\n")
    assert status == 0
    assert "[y/N]" in err
    assert contents(cli) == ["one", "two", "three"]


@in_one_test("name", DESTRUCTIVE)
def test_no_answer_leaves_everything(cli: Cli, name: str) -> None:
    status, _, err = cli(*DESTRUCTIVE[name])
    assert (status, "Add --yes" in err, "SATCHEL_PERSON" in err) == (2, True, True)
    assert contents(cli) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("name", "left"),
    [("notes", ["three"]), ("forget", ["two", "three"]), ("restore", ["one", "two"])],
)
@pytest.mark.parametrize("how", ["asked", "--yes", "--yes --json"])
def test_yes_does_it(cli: Cli, name: str, left: list[str], how: str) -> None:
    options, stdin = ((), b"y\n") if how == "asked" else (tuple(how.split()), b"")
    assert cli(*DESTRUCTIVE[name], *options, stdin=stdin)[0] == 0
    assert contents(cli) == left


@in_one_test("name", ["notes", "forget"])
def test_json_alone_only_previews(cli: Cli, name: str) -> None:
    status, out, err = cli(*DESTRUCTIVE[name], "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["done"] is False
    assert contents(cli) == ["one", "two", "three"]


def test_json_alone_does_not_restore(cli: Cli) -> None:
    status, out, err = cli(*DESTRUCTIVE["restore"], "--json")
    assert (status, out, json.loads(err)["error"]["code"]) == (2, "", "invalid_input")
    assert contents(cli) == ["one", "two", "three"]


def test_forget_names_the_backups_that_still_hold_the_note(cli: Cli) -> None:
    cli("backup")
    assert "It is still in 1 backup; delete them too:" in cli("forget", "e1", "--yes")[1]


def test_restore_says_where_the_state_before_it_is(cli: Cli, folder: Path) -> None:
    report = json.loads(cli("restore", "copy.db", "--yes", "--json")[1])
    assert Path(report["previous"]).exists()


def test_restore_says_of_when_the_state_is_and_what_is_not_in_it(cli: Cli) -> None:
    cli("backup")
    out = cli("restore", "--yes")[1]
    assert re.match(r"restored .*, the state of 20\d\d-\d\d-\d\d \d\d:\d\d: what was written since is not in it\n", out)


def test_restore_asks_with_what_would_be_lost_and_names_the_other_way_for_a_store_that_was_moved(
    cli: Cli, folder: Path
) -> None:
    cli("backup")
    cli("write", "discovery", "after the backup")
    cli("decide", "port", "80")
    asked = "What was written since is lost: 1 note, 1 decision [y/N]"
    assert asked in cli("restore", stdin=b"n\n")[2]
    (folder / ".satchel").rename(folder / "moved")
    _, out, err = cli("restore", stdin=b"n\n")
    assert "if you moved it, say no and move it back" in err
    assert out.endswith("nothing was changed\n")


def test_a_healthy_store_passes_the_doctor(cli: Cli) -> None:
    cli("backup")
    status, out, _ = cli("doctor")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["ok", "ok"]
    assert [line.split()[0] for line in cli("doctor", "--verbose")[1].splitlines()] == ["ok"] * 22


def test_the_doctor_says_first_what_is_wrong_and_what_is_well_in_one_line(cli: Cli, folder: Path) -> None:
    cli("backup")
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY . .\n")
    first, well, here = cli("doctor")[1].splitlines()
    assert first.startswith("warning publishing: ")
    assert well.startswith("ok      20 checks: configuration, place, ")
    assert here.startswith("ok      here: ")


def test_the_doctor_reports_json(cli: Cli) -> None:
    checks = json.loads(cli("doctor", "--json")[1])
    assert {check["name"] for check in checks} == {
        *("configuration", "place", "store", "file", "git", "schema", "texts", "index", "counts", "deliveries"),
        *(
            "corrections",
            "conversations",
            "contents",
            "vector stores",
            "wal",
            "leftovers",
            "backups",
            "tokens",
            "hooks",
            "publishing",
            "sync",
            "here",
        ),
    }


def damage(folder: Path) -> None:
    for suffix in ("-wal", "-shm"):
        (folder / ".satchel" / f"satchel.db{suffix}").unlink(missing_ok=True)
    file = folder / ".satchel" / "satchel.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))


def test_a_damaged_store_fails_the_doctor(cli: Cli, folder: Path) -> None:
    damage(folder)
    status, out, err = cli("doctor")
    assert status == 9
    assert "failed" in out
    assert "Traceback" not in err


def test_a_damaged_store_comes_back_from_a_backup(cli: Cli, folder: Path) -> None:
    damage(folder)
    assert "set aside" in cli("restore", "copy.db", "--yes")[1]
    assert contents(cli) == ["one", "two"]


def test_a_file_that_is_no_backup_is_not_restored(cli: Cli, folder: Path) -> None:
    (folder / "notes.txt").write_text("hello " * 2_000)
    assert cli("restore", "notes.txt", "--yes")[0] == 10
    assert contents(cli) == ["one", "two", "three"]


def test_a_missing_backup_is_refused_before_the_question(cli: Cli) -> None:
    status, out, err = cli("restore", "nofile.db")
    assert (status, out, "there is no file" in err, "in the place of" in err) == (3, "", True, False)

"""``satchel trust`` and what else the command line says of trust, lost stores and backups."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.base.folders import state_folder
from satchel.store.known_stores import KnownStores

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def made(cli: Cli, folder: Path) -> Path:
    assert cli("write", "discovery", "kept", "--agent", "builder")[0] == 0
    return folder / ".satchel" / "satchel.db"


def strange(cli: Cli, folder: Path) -> Path:
    file = made(cli, folder)
    KnownStores(state_folder()).remove(file)
    return file


def test_a_strange_store_is_refused_with_the_command_that_trusts_it(cli: Cli, folder: Path) -> None:
    strange(cli, folder)
    status, out, err = cli("read")
    assert (status, out) == (5, "")
    assert f"for a person to decide: `satchel trust {folder}`" in err


@pytest.mark.parametrize("path", [".", ".satchel", ".satchel/satchel.db", None])
def test_a_store_is_trusted_by_its_project_its_folder_or_its_file(cli: Cli, folder: Path, path: str | None) -> None:
    file = strange(cli, folder)
    status, out, _ = cli("trust", *([] if path is None else [path]))
    assert (status, out.splitlines()[0].split("  ")[0]) == (0, str(file))
    assert "1 item of 1 project by 1 agent" in out
    assert cli("read")[0] == 0


def test_trust_tells_machines_what_it_did(cli: Cli, folder: Path) -> None:
    file = strange(cli, folder)
    answer = json.loads(cli("trust", "--tree", "--json")[1])
    assert answer["store"] == str(file)
    assert (answer["how"], answer["tree"], answer["copy_of"], answer["items"]) == ("trusted", True, None, 1)


def test_the_list_names_every_store_and_what_is_gone(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = made(cli, folder)
    shutil.rmtree(file.parent)
    monkeypatch.chdir("/")
    assert cli("trust", "--list")[1].startswith(f"{file}  made here on ")
    assert cli("trust", "--list")[1].endswith(", its file is gone\n")
    assert [store["exists"] for store in json.loads(cli("trust", "--list", "--json")[1])] == [False]


def test_an_empty_list_says_how_a_store_gets_there(cli: Cli) -> None:
    status, out, err = cli("trust", "--list")
    assert (status, out) == (0, "")
    assert "first write" in err


def test_a_store_that_is_taken_off_the_list_is_strange_again(cli: Cli, folder: Path) -> None:
    made(cli, folder)
    assert "is trusted no longer" in cli("trust", "--remove")[1]
    assert "was not on the list" in cli("trust", "--remove")[1]
    assert cli("read")[0] == 5


def test_a_path_whose_store_is_gone_can_be_taken_off_the_list(cli: Cli, folder: Path) -> None:
    shutil.rmtree(made(cli, folder).parent)
    assert json.loads(cli("trust", str(folder), "--remove", "--json")[1])["removed"] is True


@pytest.mark.parametrize(
    "arguments", [("--list", "--tree"), ("--list", "."), ("--remove", "--tree"), ("--remove", "--owner", "root")]
)
def test_what_does_not_go_together_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("trust", *arguments)[0] == 2


def test_where_there_is_no_store_it_says_so(cli: Cli, folder: Path) -> None:
    status, _, err = cli("trust", ".")
    assert status == 3
    assert "there is no store" in err


def test_an_unknown_owner_is_refused(cli: Cli, folder: Path) -> None:
    strange(cli, folder)
    status, _, err = cli("trust", "--owner", "no-such-user")
    assert status == 2
    assert "there is no user 'no-such-user'" in err


def test_after_a_clean_of_the_repository_the_next_command_offers_the_way_back(cli: Cli, folder: Path) -> None:
    file = made(cli, folder)
    assert cli("backup")[0] == 0
    shutil.rmtree(file.parent)
    status, _, err = cli("write", "discovery", "lost")
    assert status == 17
    assert "`satchel restore`" in err
    assert "`satchel init --new`" in err
    assert cli("restore", "--yes")[0] == 0
    assert "kept" in cli("read")[1]


def test_without_any_backup_restoring_says_what_else_there_is(cli: Cli, folder: Path) -> None:
    shutil.rmtree(made(cli, folder).parent)
    status, _, err = cli("restore", "--yes")
    assert status == 3
    assert "satchel init --new" in err


def test_beginning_anew_names_the_backups_of_the_lost_store(cli: Cli, folder: Path) -> None:
    file = made(cli, folder)
    cli("backup")
    shutil.rmtree(file.parent)
    out = cli("init", "--new")[1]
    assert "1 backup of the lost store is in" in out
    assert cli("read")[1].startswith("0 of 0 entries")


def test_a_store_that_is_there_is_not_begun_anew(cli: Cli, folder: Path) -> None:
    made(cli, folder)
    status, _, err = cli("init", "--new")
    assert status == 4
    assert "satchel doctor" in err


def test_the_doctor_ends_with_who_acts_where_and_why(cli: Cli, folder: Path) -> None:
    file = made(cli, folder)
    last = cli("doctor")[1].splitlines()[-1]
    assert last.startswith(f"ok      here: no agent is named; no run is chosen; store {file}, at the top of the")
    assert "; trusted: made here on " in last


def test_the_configuration_says_where_each_key_may_be_read_from(cli: Cli, tmp_path: Path) -> None:
    answer = json.loads(cli("config", "--json")[1])
    assert answer["user_file"] == str(tmp_path / "config" / "satchel" / "config.toml")
    assert answer["settings"]["consult.base_url"]["read_from"] == "argument, environment, your file"
    assert answer["settings"]["claims.minutes"]["read_from"].endswith("the project's file")


def test_the_users_file_counts(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "config" / "satchel").mkdir(parents=True)
    (tmp_path / "config" / "satchel" / "config.toml").write_text("[claims]\nminutes = 7\n")
    assert json.loads(cli("config", "--json")[1])["settings"]["claims.minutes"]["value"] == 7


def test_a_template_for_the_user_explains_every_key(cli: Cli) -> None:
    assert "#base_url" in cli("config", "--template", "--user")[1]
    assert "#base_url" not in cli("config", "--template")[1]


def test_an_address_is_shown_without_its_password(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_CONSULT_BASE_URL", "https://me:correct-horse-9@example.org/v1")
    for arguments in (("config",), ("config", "--json")):
        out = cli(*arguments)[1]
        assert "@example.org/v1" in out
        assert "correct-horse-9" not in out

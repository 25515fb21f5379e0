"""``satchel setup --remove --all-data``: what it deletes, what it leaves, and what it asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.base.folders import state_folder
from satchel.interfaces.http.running import Servers

Cli = Callable[..., tuple[int, str, str]]


def listing(*folders: Path) -> dict[Path, bytes]:
    """Return every file and folder below some folders, with what files hold."""
    return {path: path.read_bytes() if path.is_file() else b"" for folder in folders for path in folder.rglob("*")}


def test_all_data_is_removed_with_what_setup_wrote(cli: Cli, home: Path, folder: Path) -> None:
    before = listing(home, folder)
    cli("setup", "claude", "codex", "--yes")
    cli("write", "discovery", "exports are cp1252")
    assert (folder / ".satchel" / "satchel.db").is_file()
    status, out, _ = cli("setup", "--remove", "--all-data", "--yes")
    assert status == 0
    assert f"deleted {folder / '.satchel' / 'satchel.db'}\n" in out
    assert listing(home, folder) == before


def test_what_clients_recorded_themselves_is_named_when_all_data_is_removed(cli: Cli, home: Path) -> None:
    cli("setup", "claude", "codex", "--yes")
    config, servers = home / ".codex" / "config.toml", home / ".claude.json"
    own = f'[hooks.state."{home}/.codex/hooks.json:session_start:0:0"]\ntrusted_hash = "sha256:00"\n'
    config.write_text(f"{config.read_text()}\n{own}")
    servers.write_text(json.dumps({**json.loads(servers.read_text()), "numStartups": 1}))
    logs = home / ".cache" / "claude-cli-nodejs" / "-project" / "mcp-logs-satchel"
    logs.mkdir(parents=True)
    out = cli("setup", "--remove", "--all-data", "--yes")[1]
    assert f"left {config}: [hooks.state] is Codex's own record of the hooks that you trusted\n" in out
    assert f"left {logs}: Claude Code's own logs of the server\n" in out
    assert (config.read_text().lstrip(), json.loads(servers.read_text())) == (own, {"numStartups": 1})


def test_no_store_is_deleted_under_a_running_server(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    servers = Servers(state_folder())
    servers.enter("http://127.0.0.1:7000", 7000)
    status, _, err = cli("setup", "--remove", "--all-data", "--yes")
    assert status != 0
    assert f"`satchel serve` runs at http://127.0.0.1:7000 (process {os.getpid()}) and uses the stores" in err
    assert f"`kill {os.getpid()}`" in err
    assert (folder / ".satchel" / "satchel.db").exists()
    servers.leave()
    assert cli("setup", "--remove", "--all-data", "--yes")[0] == 0


def test_the_files_that_git_carries_stay_when_all_data_is_removed(cli: Cli, home: Path, folder: Path) -> None:
    cli("decide", "store", "redis")
    cli("share", "d1")
    shared = listing(folder / ".satchel" / "shared")
    cli("setup", "--remove", "--all-data", "--yes")
    assert listing(folder / ".satchel") == {folder / ".satchel" / "shared": b"", **shared}


def test_what_is_not_satchels_own_stays_when_all_data_is_removed(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    notes = folder / ".satchel" / "NOTES.md"
    notes.write_text("mine")
    _, out, _ = cli("setup", "--remove", "--all-data", "--yes")
    assert listing(folder / ".satchel") == {notes: b"mine"}
    assert f"left {notes}: it is not Satchel's own, or git carries it\n" in out


def test_another_folder_under_a_listed_path_stays_when_all_data_is_removed(
    cli: Cli, home: Path, folder: Path, tmp_path: Path
) -> None:
    cli("init")
    (folder / ".satchel").rename(tmp_path / "moved")
    (folder / ".satchel").mkdir()
    (folder / ".satchel" / "satchel.db").write_text("somebody else's")
    before = listing(folder, tmp_path / "moved")
    _, out, _ = cli("setup", "--remove", "--all-data", "--yes")
    assert listing(folder, tmp_path / "moved") == before
    assert "another file is there by now\n" in out


def test_a_state_folder_that_is_a_link_is_named_when_all_data_is_removed(cli: Cli, home: Path, tmp_path: Path) -> None:
    (home / ".local" / "state").mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    (home / ".local" / "state" / "satchel").symlink_to(tmp_path / "disk")
    cli("init")
    _, out, _ = cli("setup", "--remove", "--all-data", "--yes")
    assert f"left {home / '.local/state/satchel'}: it is a link to {tmp_path / 'disk'}\n" in out


def test_all_data_is_removed_only_after_a_question(cli: Cli, home: Path, folder: Path, answers: list[bool]) -> None:
    cli("write", "discovery", "exports are cp1252")
    before = listing(home, folder)
    answers.append(False)
    _, out, _ = cli("setup", "--remove", "--all-data")
    assert "clients' files? [y/N]\nnothing was deleted\n" in out
    assert listing(home, folder) == before


@pytest.mark.parametrize("words", [["--all-data"], ["--remove", "--all-data", "claude"]])
def test_all_data_goes_with_remove_alone(cli: Cli, home: Path, words: list[str]) -> None:
    status, _, err = cli("setup", *words)
    assert (status, "--all-data goes with --remove alone" in err) == (2, True)


def test_where_nobody_can_be_asked_all_data_stays(cli: Cli, home: Path, folder: Path) -> None:
    cli("write", "discovery", "exports are cp1252")
    status, _, err = cli("setup", "--remove", "--all-data")
    assert (status, "nobody can be asked" in err) == (2, True)
    assert (folder / ".satchel" / "satchel.db").is_file()

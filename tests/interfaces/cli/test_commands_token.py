"""``satchel token``: what it prints where, which project a token is for, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import open_satchel
from satchel.base.clock import DAY_MS, parse_time, system_clock
from satchel.base.folders import state_folder
from satchel.interfaces.http.access import Access
from satchel.interfaces.http.tokens import Tokens
from satchel.store.known_stores import KnownStores

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def made(cli: Cli, *arguments: str) -> dict[str, Any]:
    status, out, err = cli("token", "new", *arguments, "--json")
    assert (status, err) == (0, "")
    answer: dict[str, Any] = json.loads(out)
    return answer


def access_of(text: str) -> Access | None:
    return Tokens(state_folder(), system_clock).access(text)


def test_the_text_stands_alone_on_standard_output(cli: Cli, folder: Path) -> None:
    cli("write", "discovery", "kept")
    status, out, err = cli("token", "new", "ci", "--agent", "builder", "--read-only")
    assert status == 0
    access = access_of(out.removesuffix("\n"))
    assert access is not None
    assert (access.name, access.role, access.agent, access.read_only) == ("ci", "agent", "builder", True)
    assert (access.store, access.project) == (folder / ".satchel" / "satchel.db", "project")
    assert out.strip() not in err
    assert "of role agent: read only as builder in project project of " in err
    assert "it expires 2" in err
    assert "nothing was written" not in err


def test_machines_are_given_one_object(cli: Cli) -> None:
    answer = made(cli, "ci", "--role", "person")
    assert access_of(answer["token"]) is not None
    assert {"name": "ci", "role": "person", "project": "project", "agent": None, "state": "active"}.items() <= (
        answer.items()
    )
    spent = parse_time(answer["expires_at"], 0) - parse_time(answer["created_at"], 0)
    assert abs(spent - 90 * DAY_MS) < 60_000


def test_the_project_is_the_one_that_the_store_knows_the_folder_by(cli: Cli, folder: Path) -> None:
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.entries.write("discovery", "kept")
    moved = folder.rename(folder.with_name("renamed"))
    with open_satchel(cwd=moved, environ={}) as satchel:
        assert satchel.housekeeping.statistics().project == "project"
    assert made(cli, "ci", "--db", str(moved / ".satchel" / "satchel.db"))["project"] == "project"


def test_a_project_without_anything_in_it_is_named_and_nothing_is_made(cli: Cli, folder: Path) -> None:
    _, out, err = cli("token", "new", "ci", "--project", "other")
    assert "nothing was written for project other yet" in err
    access = access_of(out.strip())
    assert access is not None
    assert access.project == "other"
    assert not (folder / ".satchel" / "satchel.db").exists()


def test_outside_any_project_no_token_is_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli("token", "new", "ci")[:2] == (5, "")
    assert Tokens(state_folder(), system_clock).every() == []


def test_for_a_store_that_is_not_trusted_no_token_is_made(cli: Cli, folder: Path) -> None:
    cli("write", "discovery", "kept")
    KnownStores(state_folder()).remove(folder / ".satchel" / "satchel.db")
    status, out, err = cli("token", "new", "ci")
    assert (status, out) == (5, "")
    assert "satchel trust" in err
    assert Tokens(state_folder(), system_clock).every() == []


def test_who_acts_in_this_shell_is_not_who_acts_by_the_token(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_AGENT", "planner")
    assert made(cli, "ci")["agent"] is None


@pytest.mark.parametrize(
    ("text", "expires"), [("never", None), ("Never", None), ("2099-01-31", "2099-01-31T00:00:00.000Z")]
)
def test_when_a_token_expires_can_be_said(cli: Cli, text: str, expires: str | None) -> None:
    assert made(cli, "ci", "--expires", text)["expires_at"] == expires


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("x", "--expires", "soon"), 2, "Give a length of time (30d, 12w), a day (2027-01-31) or never"),
        (("x", "--expires", "2020-01-31"), 2, "is in the past"),
        (("x", "--expires", "0d"), 2, "is in the past"),
        (("x", "--expires", "999999w"), 2, "too far ahead"),
        (("x", "--role", "root"), 2, "--role"),
        (("taken",), 4, "satchel token revoke taken"),
        ((" ",), 2, "name is empty"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_and_nothing_printed_to_be_used(
    cli: Cli, arguments: tuple[str, ...], status: int, part: str
) -> None:
    made(cli, "taken")
    given, out, err = cli("token", "new", *arguments)
    assert (given, out) == (status, "")
    assert part in err


def test_the_list_shows_what_each_token_may_and_never_a_digest(cli: Cli) -> None:
    assert cli("token", "list")[:2] == (0, "")
    made(cli, "ci", "--read-only", "--agent", "builder")
    made(cli, "laptop", "--expires", "never", "--role", "person")
    kept = json.loads((state_folder() / "tokens.json").read_text())["tokens"]
    _, out, _ = cli("token", "list")
    first, second = (line.split() for line in out.splitlines() if "active" in line)
    assert first[:7] == ["ci", kept[0]["id"], "agent", "project", "builder", "read", "only"]
    assert second == ["laptop", kept[1]["id"], "person", *"project read and write never active".split()]
    machine = cli("token", "list", "--json")[1]
    assert [token["name"] for token in json.loads(machine)["tokens"]] == ["ci", "laptop"]
    assert not any(one["sha256"] in out + machine for one in kept)


def test_a_revoked_token_gives_no_access_also_after_a_backup_is_restored(cli: Cli, folder: Path) -> None:
    cli("write", "discovery", "kept")
    text = made(cli, "ci")["token"]
    assert cli("backup", "copy.db")[0] == 0
    status, out, _ = cli("token", "revoke", "ci")
    assert status == 0
    assert "is revoked since" in out
    assert cli("restore", "copy.db", "--yes")[0] == 0
    assert access_of(text) is None
    assert json.loads(cli("token", "revoke", "ci", "--json")[1])["state"] == "revoked"


def test_an_unknown_token_cannot_be_revoked(cli: Cli) -> None:
    status, out, err = cli("token", "revoke", "nobody", "--json")
    assert (status, out, json.loads(err)["error"]["code"]) == (3, "", "not_found")

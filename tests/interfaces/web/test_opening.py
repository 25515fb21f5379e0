"""`satchel open`: which server it finds, what it prints, and how a browser is opened."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import webbrowser
from pathlib import Path

import pytest

from http_serving import FixedTokens, served
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.base.errors import Unavailable
from satchel.base.folders import state_folder
from satchel.interfaces.cli import run
from satchel.interfaces.http.running import Servers
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.web import opening
from satchel.interfaces.web.logins import Logins


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, of a test alone; there is no display."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return state_folder()


def test_without_a_server_it_says_how_to_start_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["open", "--print"]) != 0
    assert "Start one with `satchel serve`" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.listen()
        servers, port = Servers(folder), silent.getsockname()[1]
    servers.enter(f"http://127.0.0.1:{port}", port)
    with pytest.raises(Unavailable, match="no server of this user runs"):
        servers.find()


def test_the_link_that_it_prints_leads_in(satchel: Satchel, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room = opening.room_host(folder)
    settings = Settings(host_names=(room,))
    with served(FixedTokens(satchel.place.file), settings, logins=Logins(folder, system_clock)) as running:
        Servers(folder).enter(f"http://127.0.0.1:{running.port}", running.port)
        assert run(["open", "--as", "ann"]) == 0
        printed = capsys.readouterr()
        assert "there is no display here" in printed.err
        path = printed.out.strip().removeprefix(f"http://{room}:{running.port}")
        assert f"open http://127.0.0.1:{running.port}{path}" in printed.err
        answer = running.ask(path, token=None, headers={"Host": f"{room}:{running.port}", "Accept": "text/html"})
        assert answer.status == 200
        assert "Domain" not in answer.headers["set-cookie"]
        assert run(["open", "--list", "--json"]) == 0
        (login,) = json.loads(capsys.readouterr().out)["logins"]
        assert login["person"] == "ann"
        assert "digest" not in login
        assert run(["open", "--revoke", login["id"]]) == 0
        assert Logins(folder, system_clock).every() == []
        Servers(folder).leave()
        assert run(["open", "--print"]) != 0


@pytest.mark.usefixtures("folder")
def test_an_agents_shell_logs_no_person_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert run(["open", "--revoke", "all"]) != 0
    assert "only a person can log a browser out" in capsys.readouterr().err


def test_a_browser_gets_a_file_of_the_users_and_never_the_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def opened(url: str) -> bool:
        given.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opened)
    logins = Logins(folder, system_clock)
    secret = logins.new_link("ann", 7347)
    file = opening.open_browser(folder, opening.links_of(folder, "http://127.0.0.1:7347", secret)[0])
    assert file is not None
    assert given == [file.as_uri()]
    assert secret not in given[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"/login?key={secret}" in file.read_text()
    assert logins.trade_link(secret, 7347) is not None
    assert opening.await_use(logins, secret, file)
    assert not file.exists()


def test_the_files_of_links_that_are_over_are_removed(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "open-1.html").write_text("")
    (folder / "open-2.html").write_text("")
    os.utime(folder / "open-1.html", (1, 1))
    opening.sweep(folder)
    assert [file.name for file in folder.glob("open-*")] == ["open-2.html"]


def test_a_browser_that_does_not_start_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    Logins(folder, system_clock).new_link("ann", 7347)
    assert opening.open_browser(folder, "http://127.0.0.1:7347/login?key=x") is None
    assert not list(folder.glob("open-*"))


def test_the_control_room_keeps_its_host_name_and_no_two_users_share_one(folder: Path, tmp_path: Path) -> None:
    host = opening.room_host(folder)
    assert opening.room_host(folder) == host != opening.room_host(tmp_path / "other")
    assert re.fullmatch(r"[0-9a-f]{32}\.localhost", host)
    assert stat.S_IMODE((folder / "control-room.json").stat().st_mode) == 0o600


def test_a_server_for_other_machines_is_opened_at_its_own_address(folder: Path) -> None:
    assert opening.links_of(folder, "http://10.0.0.7:7347", "x") == ("http://10.0.0.7:7347/login?key=x", None)

"""``satchel setup --url``: the address in the user's own file, the token in another, a server that is asked first."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest

from satchel.interfaces.cli.commands import setup
from satchel.interfaces.setup.clients import CLIENTS
from satchel.remote.connection import identify, proof
from satchel.remote.where import Server, server_for

Cli = Callable[..., tuple[int, str, str]]

ID = "ab12cd34ef"
TOKEN = f"satchel_{ID}_" + "s3cret" * 7 + "A"
OTHER = "satchel_0099aabbcc_" + "0ther0" * 7 + "B"
URL = "https://satchel.example.org"


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # a client may end its connection before the server does
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Answering:
    """A server that answers whatever it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = b'{"status": "ok", "project": "shop", "store": "ok"}'
        self.knows = TOKEN
        self.asked: list[tuple[str, str | None]] = []
        answering = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if (nonce := re.search("^/proof.*nonce=(.*)", self.path)) and answering.knows:
                    made = proof(identify(answering.knows)[1], self.headers["Host"], nonce[1])
                    self.answer(200, {}, json.dumps({"proof": made}).encode())
                    return
                answering.asked.append((self.path.partition("?")[0], self.headers["Authorization"]))
                self.answer(answering.status, answering.headers, answering.body)

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def server() -> Iterator[Answering]:
    """A server that takes every token."""
    answering = Answering()
    thread = threading.Thread(target=answering.server.serve_forever, args=(0.01,))
    thread.start()
    yield answering
    answering.server.shutdown()
    answering.server.server_close()
    thread.join()


@pytest.fixture
def home(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it, on a machine without clients, with Satchel installed."""
    home = tmp_path / "home"
    home.mkdir()
    variables = [client.variable for client in CLIENTS.values() if client.variable]
    for name in [*variables, "XDG_STATE_HOME", "XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(setup, "find_launcher", lambda _: Path("/opt/satchel/bin/satchel"))
    return home


def write(cli: Cli, *arguments: str, token: str = TOKEN) -> tuple[int, str, str]:
    return cli("setup", "--url", URL, "--token", "-", "--offline", *arguments, stdin=f"{token}\n".encode())


def config(home: Path) -> Path:
    return home / ".config" / "satchel"


def tokens(home: Path) -> list[Path]:
    return sorted(path for path in (config(home) / "tokens").glob("*") if path.name != ".gitignore")


def everything(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file() and ".local" not in path.parts}


def test_the_address_is_written_for_this_project_after_the_server_has_taken_the_token(
    cli: Cli, home: Path, folder: Path, server: Answering
) -> None:
    status, out, err = cli("setup", "--url", f"{server.url}/mcp", "--token", "-", stdin=f"{TOKEN}\n".encode())
    assert (status, err) == (0, "")
    assert server.asked == [("/health", None), ("/health", f"Bearer {TOKEN}")]
    assert f"server    made ~/.config/satchel/config.toml (server {server.url} for {folder}), made ~/" in out
    assert f"(token {ID})\n" in out
    assert "the server takes the token, for project shop" in out
    assert TOKEN not in out
    (token,) = tokens(home)
    assert token.stat().st_mode & 0o777 == 0o600
    assert (config(home) / "tokens" / ".gitignore").read_text().endswith("*\n")
    assert TOKEN not in (config(home) / "config.toml").read_text()
    assert server_for({}, folder) == Server(server.url, TOKEN, f"your config.toml, for {folder}")
    assert server_for({}, home) is None
    assert "store" not in out.replace("store's", "").split("Left")[1]
    assert not (folder / ".satchel").exists()


def test_a_server_that_does_not_know_the_token_does_not_receive_it(cli: Cli, home: Path, server: Answering) -> None:
    server.knows = OTHER
    status, _, err = cli("setup", "--url", server.url, "--token", "-", stdin=f"{TOKEN}\n".encode())
    assert status != 0
    assert "does not know your token" in err
    assert server.asked == [("/health", None)]
    assert tokens(home) == []


def test_a_second_time_nothing_is_written_and_no_token_is_needed(cli: Cli, home: Path, folder: Path) -> None:
    write(cli)
    before = everything(home)
    status, out, err = cli("setup", "--url", f"{URL}/", "--offline")
    assert (status, out, err) == (0, "server    set up already\n", "")
    assert everything(home) == before


def test_with_clients_both_are_written_and_taken_back_to_the_byte(cli: Cli, home: Path) -> None:
    config(home).mkdir(parents=True)
    (config(home) / "config.toml").write_text("# mine\n[claims]\nminutes = 5\n")
    before = everything(home)
    status, out, _ = write(cli, "claude", "--everywhere")
    assert status == 0
    assert (
        "server    changed ~/.config/satchel/config.toml (server https://satchel.example.org for all projects)" in out
    )
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["satchel"]["command"].endswith("satchel")
    assert "Restart the clients that run now" in out
    assert cli("setup", "--remove")[0] == 0
    assert everything(home) == before
    assert cli("setup", "--remove")[:2] == (0, "nothing of setup is there\n")


def test_an_address_can_be_taken_out_alone_and_for_one_project(
    cli: Cli, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cli, "codex")
    other = home / "other"
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    write(cli, "--yes", token=OTHER)
    assert len(tokens(home)) == 2
    assert cli("setup", "--url", "https://else.example", "--remove")[1] == "nothing of setup is there\n"
    status, out, _ = cli("setup", "--url", URL, "--remove")
    assert (status, out.count("deleted ")) == (0, 1)
    assert server_for({}, other) is None
    kept = server_for({}, folder)
    assert kept is not None
    assert kept.token == TOKEN
    assert (home / ".codex" / "config.toml").exists()
    assert cli("setup", "--remove")[0] == 0
    assert not config(home).exists()
    assert not (home / ".codex").exists()


@pytest.mark.parametrize("scope", [(), ("--everywhere",)])
def test_a_file_that_explains_every_key_comes_back_to_the_byte(cli: Cli, home: Path, scope: tuple[str, ...]) -> None:
    config(home).mkdir(parents=True)
    (config(home) / "config.toml").write_text(cli("config", "--template", "--user")[1])
    before = everything(home)
    write(cli, *scope)
    assert everything(home) != before
    cli("setup", "--remove")
    assert everything(home) == before


def test_what_somebody_wrote_by_hand_stays(cli: Cli, home: Path, tmp_path: Path) -> None:
    config(home).mkdir(parents=True)
    (tmp_path / "mine").write_text(OTHER)
    by_hand = f'[server]\nurl = "https://else.example"\ntoken_file = "{tmp_path}/mine"\n'
    (config(home) / "config.toml").write_text(by_hand)
    write(cli)
    cli("setup", "--remove")
    assert (config(home) / "config.toml").read_text() == by_hand
    assert (tmp_path / "mine").read_text() == OTHER


def test_another_address_or_token_replaces_the_first(cli: Cli, home: Path, folder: Path) -> None:
    write(cli)
    write(cli, token=OTHER)
    status, out, _ = cli(
        "setup", "--url", "https://new.example", "--token", "-", "--offline", stdin=f"{TOKEN}\n".encode()
    )
    assert status == 0
    assert f"replaced the server {URL}" in out
    assert [path.name.startswith("new.example-") for path in tokens(home)] == [True]
    found = server_for({}, folder)
    assert found is not None
    assert (found.url, found.token) == ("https://new.example", TOKEN)
    assert OTHER not in "".join(path.read_text(errors="replace") for path in home.rglob("*") if path.is_file())


def test_a_dry_run_shows_the_address_and_never_the_token(cli: Cli, home: Path, server: Answering) -> None:
    arguments = ("setup", "--url", server.url, "--token", "-", "--dry-run", "--json")
    status, out, err = cli(*arguments, stdin=TOKEN.encode())
    assert status == 0
    diff = "\n".join(file["diff"] for client in json.loads(out)["clients"] for file in client["files"])
    assert f'+url = "{server.url}"' in diff
    assert f"+(the token {ID})" in diff
    assert "s3cret" not in out + err
    assert (everything(home), server.asked) == ({}, [])


def test_the_token_comes_from_a_file_or_the_environment(
    cli: Cli, home: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert cli("setup", "--url", URL, "--offline", "--token-file", str(tmp_path / "token"))[0] == 0
    assert [path.read_text() for path in tokens(home)] == [f"{TOKEN}\n"]
    monkeypatch.setenv("SATCHEL_TOKEN", OTHER)
    assert cli("setup", "--url", URL, "--offline")[0] == 0
    assert [path.read_text() for path in tokens(home)] == [f"{OTHER}\n"]


@pytest.mark.parametrize(
    ("status", "body", "headers", "code", "said"),
    [
        (
            401,
            b'{"error": {"code": "refused", "problem": "it has expired", "remedy": "Ask for one"}}',
            {},
            5,
            "expired",
        ),
        (404, b"<html>", {}, 2, "no server of Satchel"),
        (200, b"[]", {}, 2, "no server of Satchel"),
        (200, b'{"status": 200}' * 9_000, {}, 2, "no server of Satchel"),
        (302, b"", {"Location": "https://login.example"}, 2, "leads elsewhere: https://login.example"),
        (403, b'{"error": {"problem": "an unknown\\u001b[31m host"}}', {}, 2, "answers 403: an unknown [31m host"),
    ],
)
def test_what_is_no_server_or_refuses_the_token_is_named_and_nothing_is_written(
    cli: Cli, home: Path, server: Answering, status: int, body: bytes, headers: dict[str, str], code: int, said: str
) -> None:
    server.status, server.body, server.headers = status, body, headers
    left, out, err = cli("setup", "--url", server.url, "--token", "-", stdin=TOKEN.encode())
    assert (left, out) == (code, "")
    assert said in err
    assert "s3cret" not in err
    assert everything(home) == {}


def test_a_server_that_cannot_be_reached_is_written_only_on_demand(
    cli: Cli, home: Path, server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.server.server_close()
    asked = ("setup", "--url", server.url, "--token", "-")
    status, out, err = cli(*asked, stdin=TOKEN.encode())
    assert (status, out) == (19, "")
    assert "cannot be reached" in err
    assert "--offline" in err
    assert everything(home) == {}
    answers = [False, True, True]
    monkeypatch.setattr(setup, "is_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda _, **__: answers.pop(0))
    assert cli(*asked, stdin=TOKEN.encode())[0] == 19
    assert cli(*asked, stdin=TOKEN.encode())[0] == 0
    assert len(tokens(home)) == 1


def test_a_server_whose_store_is_not_well_is_said(cli: Cli, home: Path, server: Answering) -> None:
    server.status, server.body = 503, b'{"status": "not ok", "project": "shop", "store": "busy"}'
    out = cli("setup", "--url", server.url, "--token", "-", stdin=TOKEN.encode())[1]
    assert "the server takes the token for project shop, but its store is busy" in out
    server.status, server.body = 200, b'{"status": "ok"}'
    out = cli("setup", "--url", server.url, "--token", "-", stdin=TOKEN.encode())[1]
    assert "does not say whether it takes the token" in out


def test_on_a_terminal_the_token_is_asked_for(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "is_terminal", lambda: True)
    monkeypatch.setattr("satchel.interfaces.setup.address._prompted", lambda: TOKEN)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    assert cli("setup", "--url", URL, "--offline")[0] == 0
    assert [path.read_text() for path in tokens(home)] == [f"{TOKEN}\n"]


def test_what_to_write_by_hand_for_clients_that_ask_themselves(cli: Cli, home: Path) -> None:
    status, out, _ = cli("setup", "--print", "codex", "windsurf", "--url", URL)
    assert status == 0
    assert f'url = "{URL}/mcp"\nbearer_token_env_var = "SATCHEL_TOKEN"' in out
    assert "# windsurf: in its MCP settings" in out
    assert '"Authorization": "Bearer ${SATCHEL_TOKEN}"' in out


def test_outside_a_project_all_projects_must_be_meant(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    status, _, err = write(cli)
    assert (status, everything(home)) == (5, {})
    assert "--everywhere" in err
    assert write(cli, "--everywhere")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--token", "-"), "--token goes with --url"),
        (("--url", URL, "--token", TOKEN), "a token on the command line"),
        (("--url", URL, "--token", "-", "--token-file", "x"), "exclude each other"),
        (("--url", URL, "--remove", "--offline"), "--offline does not go with --remove"),
        (("--url", URL, "--check"), "does not go with --check"),
        (("--url", URL, "--print", "--everywhere"), "--everywhere does not go with --print"),
        (("--url", URL), "there is no token"),
        (("--url", URL, "--token-file", "gone"), "gone cannot be read"),
        (("--url", "http://satchel.example.org", "--token", "-"), "unencrypted"),
        (("--url", "satchel.example.org", "--token", "-"), "https:// and a host"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], error: str, cli: Cli, home: Path) -> None:
    status, _, err = cli("setup", *arguments)
    assert status in {2, 5}
    assert error in err
    assert TOKEN not in err
    assert everything(home) == {}


def test_doctor_and_config_name_the_server_and_of_its_token_the_id(cli: Cli, home: Path, folder: Path) -> None:
    cli("init")
    assert json.loads(cli("config", "--json")[1])["server"] is None
    write(cli)
    line = f"{URL} with token {ID} (your config.toml, for {folder})"
    for arguments in (("config",), ("doctor",), ("config", "--json"), ("doctor", "--json")):
        _, out, err = cli(*arguments)
        assert ID in out
        assert "s3cret" not in out + err
    assert f"# the server: {line}\n" in cli("config")[1]
    assert f"ok      server: {line}; what was examined is the store on this machine\n" in cli("doctor")[1]
    cli("setup", "cursor")
    assert cli("setup", "--check")[0] == 0
    assert cli("setup", "--check")[1].startswith(f"server    {line}\n")
    assert json.loads(cli("setup", "--check", "--json")[1])["server"]["token"] == ID
    tokens(home)[0].chmod(0o644)
    assert cli("setup", "--check")[0] == 3
    assert f"warning server: {tokens(home)[0]} holds the server's token, and others can read it" in cli("doctor")[1]


def test_a_token_that_is_none_is_not_written(cli: Cli, home: Path) -> None:
    status, _, err = write(cli, token="two words")
    assert status == 2
    assert "is no token" in err
    assert everything(home) == {}

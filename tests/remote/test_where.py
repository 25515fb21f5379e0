"""Which server is meant: from the environment and the user's own file, and never by a token that others can read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repositories import make_repository
from satchel.base.errors import InvalidInput, Refused
from satchel.remote.where import Server, checked_url, may_have_server, public_id, server_for
from tables import in_one_test

URL = "https://satchel.example.org"
TOKEN = "satchel_ab12cd34ef_" + "s3cret" * 7 + "A"
OTHER = "satchel_0099aabbcc_" + "0ther0" * 7 + "B"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's configuration, with two tokens in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "satchel"
    (folder / "tokens").mkdir(parents=True)
    for name, token in (("one", TOKEN), ("other", OTHER)):
        (folder / "tokens" / name).write_text(f"{token}\n")
        (folder / "tokens" / name).chmod(0o600)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without a store."""
    project = tmp_path / "work" / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    return project


def write(config: Path, text: str) -> None:
    (config / "config.toml").write_text(text)


def test_without_a_word_of_a_server_there_is_none(config: Path, project: Path) -> None:
    assert server_for({}, project) is None
    assert not may_have_server({})
    write(config, "[store]\nlock_wait_ms = 5\n[claims]\nminutes = [what is this]\n")
    assert server_for({}, project) is None


def test_the_environment_suffices(config: Path, project: Path) -> None:
    server = server_for({"SATCHEL_URL": f"{URL}/mcp/", "SATCHEL_TOKEN": TOKEN}, project)
    assert server == Server(URL, TOKEN, "environment SATCHEL_URL")
    assert TOKEN not in repr(server)


def test_the_table_of_a_project_goes_before_the_general_one(config: Path, project: Path, tmp_path: Path) -> None:
    write(
        config,
        f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n'
        f'[projects."{project}".server]\nurl = "https://other.example.org"\ntoken_file = "{config}/tokens/other"\n',
    )
    assert server_for({}, tmp_path) == Server(URL, TOKEN, "your config.toml")
    expected = Server("https://other.example.org", OTHER, f"your config.toml, for {project}")
    assert server_for({}, project / "src") == expected
    assert server_for({"SATCHEL_TOKEN": TOKEN}, project) == Server(expected.url, TOKEN, expected.source)


def test_a_project_may_have_a_token_of_its_own_for_the_general_address(config: Path, project: Path) -> None:
    write(
        config,
        f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n'
        f'[projects."{project}".server]\ntoken_file = "tokens/other"\n',
    )
    assert server_for({}, project) == Server(URL, OTHER, "your config.toml")


def test_the_table_of_a_project_counts_in_its_linked_worktrees_and_in_no_repository_below_it(
    config: Path, tmp_path: Path
) -> None:
    main = make_repository(tmp_path / "main")
    linked = tmp_path / "linked"
    subprocess.run(["git", "-C", str(main), "worktree", "add", "--quiet", str(linked)], check=True)
    (main / "vendored" / ".git").mkdir(parents=True)
    write(config, f'[projects."{main}".server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n')
    found = [server_for({}, folder) for folder in (main, linked, main / "vendored")]
    assert [server.url if server else None for server in found] == [URL, URL, None]


def test_no_token_goes_to_an_address_that_it_does_not_stand_beside(config: Path, project: Path) -> None:
    write(config, f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n')
    assert server_for({"SATCHEL_URL": f"{URL}/"}, project) == Server(URL, TOKEN, "environment SATCHEL_URL")
    with pytest.raises(InvalidInput, match=r"no token for the server https://else\.example.*SATCHEL_TOKEN"):
        server_for({"SATCHEL_URL": "https://else.example"}, project)
    write(
        config,
        f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n'
        f'[projects."{project}".server]\nurl = "https://else.example"\n',
    )
    with pytest.raises(InvalidInput, match="no token"):
        server_for({}, project)


def test_the_store_on_this_machine_can_be_asked_for(config: Path, project: Path) -> None:
    write(
        config,
        f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n[projects."{project}".server]\nurl = "local"\n',
    )
    assert server_for({}, project) is None
    assert server_for({}, project.parent) is not None
    assert server_for({"SATCHEL_URL": "local"}, project.parent) is None
    assert server_for({"SATCHEL_DB": "/tmp/x.db"}, project.parent) is None
    with pytest.raises(InvalidInput, match="one of the two variables"):
        server_for({"SATCHEL_DB": "/tmp/x.db", "SATCHEL_URL": URL, "SATCHEL_TOKEN": TOKEN}, project)


def test_a_file_of_the_project_names_no_server(config: Path, project: Path) -> None:
    (project / ".satchel").mkdir()
    (project / ".satchel" / "config.toml").write_text(f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n')
    assert server_for({}, project) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660])
def test_a_token_that_others_can_read_or_change_is_not_sent(config: Path, project: Path, mode: int) -> None:
    write(config, f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n')
    (config / "tokens" / "one").chmod(mode)
    with pytest.raises(Refused, match="chmod 600"):
        server_for({}, project)


def test_what_is_no_file_with_a_token_is_named_and_never_repeated(config: Path, project: Path) -> None:
    write(config, f'[server]\nurl = "{URL}"\ntoken_file = "tokens/gone"\n')
    with pytest.raises(InvalidInput, match=r"tokens/gone, cannot be read.*satchel setup --url"):
        server_for({}, project)
    os.mkfifo(config / "tokens" / "gone", 0o600)
    with pytest.raises(Refused, match="no regular file"):
        server_for({}, project)
    (config / "tokens" / "one").write_text("a secret\r\nX-Header: b\n")
    write(config, f'[server]\nurl = "{URL}"\ntoken_file = "tokens/one"\n')
    with pytest.raises(InvalidInput, match="is no token") as refused:
        server_for({}, project)
    assert "secret" not in str(refused.value)


@in_one_test(
    ("text", "expected"),
    [
        ("https://Satchel.Example.ORG/", URL),
        ("https://satchel.example.org/mcp", URL),
        ("https://satchel.example.org:8443/mcp/", f"{URL}:8443"),
        ("https://host.example/satchel/", "https://host.example/satchel"),
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("http://localhost:8765/mcp", "http://localhost:8765"),
        ("http://[::1]:8765", "http://[::1]:8765"),
    ],
)
def test_an_address_may_end_in_a_slash_or_in_mcp(text: str, expected: str) -> None:
    assert checked_url(text) == expected


@in_one_test(
    "text",
    [
        "satchel.example.org",
        "ftp://satchel.example.org",
        "https://",
        "https://host:port",
        "https://host:99999",
        "https://[::1",
        "https://me:hunter2@satchel.example.org",
        "https://satchel.example.org?token=hunter2",
        "https://satchel.example.org/#x",
        "https://satchel.example.org/a b",
        "https://satchel.example.org\\@evil.example",
        "https://satchel.example.org\nX: y",
        "https://ex\u00e4mple.org",
        "https://a..b",
        "https://satchel.example.org:0",
        "https://" + "a" * 64 + ".example",
        "https://[fe80::1%25eth0]",
        "https://" + "a" * 300,
    ],
)
def test_what_is_no_address_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_url(text)
    assert refused.value.remedy
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("host", ["satchel.example.org", "10.0.0.5", "127.example.org", "localhost.example.org"])
def test_a_token_goes_to_another_machine_unencrypted_only_where_the_user_says_so(
    config: Path, project: Path, host: str
) -> None:
    environ = {"SATCHEL_URL": f"http://{host}", "SATCHEL_TOKEN": TOKEN}
    with pytest.raises(Refused, match=r"unencrypted.*https://"):
        server_for(environ, project)
    expected = Server(f"http://{host}", TOKEN, "environment SATCHEL_URL")
    assert server_for(environ | {"SATCHEL_SERVER_INSECURE": "1"}, project) == expected
    write(config, "[server]\ninsecure = true\n")
    assert server_for(environ, project) == expected


@pytest.mark.parametrize(
    "text",
    ["server = 3\n", "[server]\nurl = 3\n", "[server]\ninsecure = 'yes'\n", "[server]\nurl = \n", "server = [[[[\n"],
)
def test_a_fault_in_the_users_file_is_no_reason_to_keep_things_here(config: Path, project: Path, text: str) -> None:
    write(config, text)
    with pytest.raises(InvalidInput):
        server_for({}, project)


def test_the_public_id_shows_nothing_of_what_is_secret() -> None:
    assert public_id(TOKEN) == "ab12cd34ef"
    assert "hunter2" not in public_id("hunter2hunter2hunter2")


def test_asking_loads_neither_a_client_for_http_nor_a_parser(config: Path, project: Path) -> None:
    write(config, "[claims]\nminutes = 5\n")
    script = (
        "import sys, pathlib; from satchel.remote.where import server_for; server_for({}, pathlib.Path.cwd()); "
        "print(sorted({'tomllib', 'urllib.request', 'http.client', 'ssl', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"

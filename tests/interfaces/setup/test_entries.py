"""Clients that ask a server themselves: each in its own form, back and forth, and never with the token itself."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from satchel.base.errors import Refused
from satchel.interfaces.setup.checking import Verdict, check
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Wish
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import Plan, carry_out, plan_removal, plan_setup

URL = "https://satchel.example.org"
BY_VARIABLE = {"Authorization": "Bearer ${SATCHEL_TOKEN}"}

every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)


@pytest.fixture
def direct(wish: Wish) -> Wish:
    """Clients that ask the server themselves."""
    return replace(wish, hooks=False, direct=URL)


def set_up(client: Client, place: Place, wish: Wish, journal: Journal) -> Plan:
    plan = plan_setup([client], place, wish)
    carry_out(plan, journal)
    return plan


def file_of(client: Client, place: Place, wish: Wish) -> Path:
    return client.targets(place, wish)[0].path


def content(client: Client, place: Place, wish: Wish) -> dict[str, object]:
    path = file_of(client, place, wish)
    text = path.read_text()
    loaded = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    assert isinstance(loaded, dict)
    return loaded


def entry(client: Client, place: Place, wish: Wish) -> object:
    found: object = content(client, place, wish)
    for key in (*client.place, "satchel"):
        assert isinstance(found, Mapping)
        found = found[key]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude", {"type": "http", "url": f"{URL}/mcp", "headers": BY_VARIABLE}),
        ("codex", {"url": f"{URL}/mcp", "bearer_token_env_var": "SATCHEL_TOKEN"}),
        ("gemini", {"httpUrl": f"{URL}/mcp", "headers": BY_VARIABLE}),
        ("qwen", {"httpUrl": f"{URL}/mcp", "headers": BY_VARIABLE}),
        ("copilot", {"type": "http", "url": f"{URL}/mcp", "headers": BY_VARIABLE, "tools": ["*"]}),
        (
            "opencode",
            {
                "type": "remote",
                "url": f"{URL}/mcp",
                "headers": {"Authorization": "Bearer {env:SATCHEL_TOKEN}"},
                "oauth": False,
            },
        ),
        ("cursor", {"url": f"{URL}/mcp", "headers": {"Authorization": "Bearer ${env:SATCHEL_TOKEN}"}}),
        (
            "vscode",
            {"type": "http", "url": f"{URL}/mcp", "headers": {"Authorization": "Bearer ${input:satchel-token}"}},
        ),
    ],
)
def test_each_client_has_its_own_form(
    place: Place, direct: Wish, journal: Journal, name: str, expected: dict[str, object]
) -> None:
    set_up(CLIENTS[name], place, direct, journal)
    assert entry(CLIENTS[name], place, direct) == expected
    if name == "vscode":
        questions: Any = content(CLIENTS[name], place, direct)["inputs"]
        assert [(one["id"], one["password"]) for one in questions] == [("satchel-token", True)]


@every_client
def test_a_second_time_nothing_is_written_and_another_address_replaces_the_first(
    client: Client, place: Place, direct: Wish, journal: Journal
) -> None:
    set_up(client, place, direct, journal)
    assert not plan_setup([client], place, direct).edits
    plan = set_up(client, place, replace(direct, direct="https://new.example"), journal)
    assert plan.outcomes[0].notes == (f"replaced the server: it asks {URL}/mcp",)
    assert "https://new.example/mcp" in file_of(client, place, direct).read_text()
    assert URL not in file_of(client, place, direct).read_text()


@every_client
@pytest.mark.parametrize("in_project", [False, True])
def test_a_client_goes_over_from_one_form_to_the_other_and_back(
    client: Client, place: Place, wish: Wish, direct: Wish, journal: Journal, in_project: bool
) -> None:
    local = replace(wish, hooks=False, in_project=in_project)
    remote = replace(direct, in_project=in_project)
    set_up(client, place, local, journal)
    before = entry(client, place, local)
    set_up(client, place, remote, journal)
    asking = entry(client, place, remote)
    assert isinstance(asking, Mapping)
    assert not {"command", "args", "env_vars"} & set(asking)
    plan = set_up(client, place, local, journal)
    assert plan.outcomes[0].notes == (f"replaced the server: it asks {URL}/mcp itself",)
    assert entry(client, place, local) == before


@every_client
def test_removal_gives_the_file_back_to_the_byte(client: Client, place: Place, direct: Wish, journal: Journal) -> None:
    path = file_of(client, place, direct)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = "# mine\n[a]\nb = 1\n" if path.suffix == ".toml" else '{\n  "a": {"b": 1}\n}\n'
    path.write_text(before)
    set_up(client, place, direct, journal)
    assert path.read_text() != before
    forgetful = Journal(place.home.parent / "another-state")  # so that edits take out what edits put in
    carry_out(plan_removal([client], place, forgetful, in_project=False, instructions=False), forgetful)
    assert path.read_text() == before


def test_what_the_user_added_stays(place: Place, direct: Wish, wish: Wish, journal: Journal) -> None:
    path = place.home / ".claude.json"
    mine = {"command": "/old/satchel", "args": ["mcp"], "env": {"A": "b"}, "timeout": 9}
    path.write_text(json.dumps({"mcpServers": {"satchel": mine}}))
    set_up(CLIENTS["claude"], place, direct, journal)
    expected = {"timeout": 9, "type": "http", "url": f"{URL}/mcp", "headers": BY_VARIABLE}
    assert entry(CLIENTS["claude"], place, direct) == expected
    path.write_text(json.dumps({"mcpServers": {"satchel": {**expected, "headers": {**BY_VARIABLE, "X-Mine": "1"}}}}))
    assert not plan_setup([CLIENTS["claude"]], place, direct).edits


@every_client
def test_an_entry_of_somebody_elses_server_is_left_alone(
    client: Client, place: Place, direct: Wish, wish: Wish, journal: Journal
) -> None:
    path = file_of(client, place, direct)
    path.parent.mkdir(parents=True, exist_ok=True)
    other = "https://else.example/mcp"
    if path.suffix == ".toml":
        path.write_text(f'[mcp_servers.satchel]\nurl = "{other}"\n')
    else:
        path.write_text(json.dumps({client.place[0]: {"satchel": {"url": other, "headers": {"Authorization": "x"}}}}))
    before = path.read_text()
    for one in (direct, wish):
        with pytest.raises(Refused, match="does not start Satchel"):
            plan_setup([client], place, one)
    assert not plan_removal([client], place, journal, in_project=False, instructions=False).edits
    assert path.read_text() == before


@every_client
def test_checking_finds_that_a_client_asks_itself(
    client: Client, place: Place, direct: Wish, wish: Wish, journal: Journal
) -> None:
    set_up(client, place, direct, journal)
    found = check(client, place, wish)
    assert found.is_fine
    assert found.is_set_up
    assert [one.detail for one in found.findings if one.verdict is Verdict.NOTE] == [
        f"it asks {URL}/mcp itself, which needs neither this program nor hooks"
    ]


@every_client
def test_the_user_is_told_where_the_token_goes(client: Client, place: Place, direct: Wish, journal: Journal) -> None:
    said = " ".join(set_up(client, place, direct, journal).outcomes[0].left)
    assert ("asks for the token" if client.name == "vscode" else "SATCHEL_TOKEN") in said

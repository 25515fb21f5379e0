"""Entries of clients that ask a server themselves: printed in each client's own form, recognised, and never with the
token itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel.base.errors import Refused
from satchel.interfaces.setup.checking import check
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Wish
from satchel.interfaces.setup.editing import Syntax, edited, parse
from satchel.interfaces.setup.guide import Verdict
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import carry_out, plan_removal, plan_setup
from satchel.interfaces.setup.shown import by_hand_text, http_changes, http_entry
from tables import in_one_test

URL = "https://satchel.example.org"
BY_VARIABLE = {"Authorization": "Bearer ${SATCHEL_TOKEN}"}

every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)


def syntax_of(client: Client, place: Place, wish: Wish) -> Syntax:
    syntax = client.targets(place, wish)[0].syntax
    assert syntax is not None
    return syntax


def file_of(client: Client, place: Place, wish: Wish) -> Path:
    return client.targets(place, wish)[0].path


def paste(client: Client, place: Place, wish: Wish) -> None:
    """Write what ``satchel setup --print --url`` prints for the client into its file."""
    path = file_of(client, place, wish)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(edited("", syntax_of(client, place, wish), http_changes(client.name, client.place, URL)))


def entry(client: Client, place: Place, wish: Wish) -> object:
    inner: object = parse(file_of(client, place, wish).read_text(), syntax_of(client, place, wish))
    for key in (*client.place, "satchel"):
        assert isinstance(inner, Mapping)
        inner = inner[key]
    return inner


@in_one_test(
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
def test_each_client_has_its_own_form(name: str, expected: dict[str, object]) -> None:
    assert http_entry(name, URL) == expected


@every_client
def test_what_is_printed_names_the_file_and_where_the_token_goes(client: Client, place: Place, wish: Wish) -> None:
    text = by_hand_text([client.name], place, wish, URL)
    assert f"# {client.name}: in {file_of(client, place, wish)}\n" in text
    assert f"{URL}/mcp" in text
    assert ("asks for the token" if client.name == "vscode" else "reads the token from SATCHEL_TOKEN") in text
    assert ('"id": "satchel-token"' in text) == (client.name == "vscode")


@every_client
def test_setup_replaces_a_pasted_entry_by_the_local_program(
    client: Client, place: Place, wish: Wish, journal: Journal
) -> None:
    paste(client, place, wish)
    plan = plan_setup([client], place, wish)
    carry_out(plan, journal)
    assert f"replaced the server: it asks {URL}/mcp itself" in plan.outcomes[0].notes
    made = entry(client, place, wish)
    assert isinstance(made, Mapping)
    assert not {"url", "httpUrl", "headers", "bearer_token_env_var"} & set(made)
    assert not plan_setup([client], place, wish).edits


@every_client
def test_removal_takes_out_a_pasted_entry(client: Client, place: Place, wish: Wish, journal: Journal) -> None:
    paste(client, place, wish)
    carry_out(plan_removal([client], place, journal, in_project=False, instructions=False), journal)
    path = file_of(client, place, wish)
    assert not path.exists() or URL not in path.read_text()


def test_what_the_user_added_stays(place: Place, wish: Wish, journal: Journal) -> None:
    path = place.home / ".claude.json"
    mine = {"command": "/old/satchel", "args": ["mcp"], "env": {"A": "b"}, "timeout": 9}
    path.write_text(json.dumps({"mcpServers": {"satchel": mine}}))
    carry_out(plan_setup([CLIENTS["claude"]], place, wish), journal)
    made = entry(CLIENTS["claude"], place, wish)
    assert isinstance(made, Mapping)
    assert {key: made[key] for key in ("env", "timeout")} == {"env": {"A": "b"}, "timeout": 9}


@every_client
def test_an_entry_of_somebody_elses_server_is_left_alone(
    client: Client, place: Place, wish: Wish, journal: Journal
) -> None:
    path = file_of(client, place, wish)
    path.parent.mkdir(parents=True, exist_ok=True)
    other = "https://else.example/mcp"
    if path.suffix == ".toml":
        path.write_text(f'[mcp_servers.satchel]\nurl = "{other}"\n')
    else:
        path.write_text(json.dumps({client.place[0]: {"satchel": {"url": other, "headers": {"Authorization": "x"}}}}))
    before = path.read_text()
    with pytest.raises(Refused, match="does not start Satchel"):
        plan_setup([client], place, wish)
    assert not plan_removal([client], place, journal, in_project=False, instructions=False).edits
    assert path.read_text() == before


@every_client
def test_checking_finds_that_a_client_asks_itself(client: Client, place: Place, wish: Wish) -> None:
    paste(client, place, wish)
    result = check(client, place, wish)
    assert result.is_fine
    assert result.is_set_up
    assert [one.detail for one in result.findings if one.verdict is Verdict.NOTE] == [
        f"it asks {URL}/mcp itself, which needs neither this program nor hooks"
    ]

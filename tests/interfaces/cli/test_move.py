"""``satchel move`` on the command line, and the commands that look after a store in a database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres_cluster
from interfaces.cli.conftest import Cli


@pytest.fixture
def url() -> Iterator[str]:
    """A schema for a store."""
    address = postgres_cluster.url()
    yield f"{address}{'&' if '?' in address else '?'}schema=of_commands"
    postgres_cluster.run("DROP SCHEMA IF EXISTS of_commands CASCADE")


def test_a_store_moves_into_a_database_is_looked_after_there_and_moves_back(
    cli: Cli, ledger: None, folder: Path, url: str
) -> None:
    status, said, _ = cli("move", ".satchel/satchel.db", url)
    assert status == 0
    assert "rows copied and compared, 13 items indexed" in said
    assert "schema=of_commands can be used" in said
    assert cli("decisions", "--db", url)[1] == cli("decisions")[1]
    assert cli("doctor", "--db", url)[0] == 0
    assert "items indexed" in cli("doctor", "--rebuild", "--db", url)[1]
    status, said, warned = cli("clear", "--compact", "--db", url)
    assert (status, "write-ahead log" in warned) == (0, True)
    status, said, warned = cli("forget", "d1", "--yes", "--db", url)
    assert (status, "write-ahead log" in warned) == (0, True)
    assert cli("backup", "b.db", "--db", url)[0] == 0
    status, _, refused = cli("restore", "b.db", "--yes", "--db", url)
    assert (status, "empty schema only" in refused) == (4, True)
    status, said, _ = cli("move", url, "back.db", "--json")
    assert status == 0
    assert json.loads(said)["target"] == str(folder / "back.db")
    assert cli("decisions", "--db", "back.db")[1] == cli("decisions", "--db", url)[1]


def test_a_move_says_what_it_does_not_do(cli: Cli, ledger: None) -> None:
    assert "there is no store at" in cli("move", "nowhere.db", "new.db")[2]
    assert "is the source store" in cli("move", ".satchel/satchel.db", ".satchel/satchel.db")[2]
    assert cli("move", ".satchel/satchel.db", "new.db")[0] == 0
    status, _, refused = cli("move", ".satchel/satchel.db", "new.db", "--json")
    assert (status, json.loads(refused)["error"]["code"]) == (4, "conflict")

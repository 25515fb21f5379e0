"""Commands on a store in a database: backing it up, looking after it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

import postgres_cluster
from interfaces.cli.conftest import Cli

_SCHEMA = f"of_commands_{os.getpid()}"


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a store, with one decision, whose URL holds a password."""
    address = postgres_cluster.url()
    yield f"{address}{'&' if '?' in address else '?'}schema={_SCHEMA}&password=s%20cret"
    postgres_cluster.run(f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE")


@pytest.fixture
def filled(cli: Cli, url: str) -> str:
    """The address of a store with one decision."""
    assert cli("decide", "store", "redis", "--db", url)[0] == 0
    return url


def test_a_backup_and_a_restore_are_commands_of_postgresql_without_the_password(cli: Cli, filled: str) -> None:
    status, dump, note = cli("backup", "a b.dump", "--db", filled)
    assert status == 0
    assert dump.startswith("pg_dump --dbname 'postgresql://")
    assert dump.endswith(f" --schema {_SCHEMA} --format custom --file 'a b.dump'\n")
    assert "The password comes from ~/.pgpass" in note
    status, load, note = cli("restore", "a b.dump", "--db", filled)
    assert status == 0
    assert load.endswith(" --exit-on-error --single-transaction 'a b.dump'\n")
    assert "rename it in psql" in note
    assert "cret" not in dump + load
    assert json.loads(cli("restore", "a b.dump", "--db", filled, "--json")[1]) == {"command": load.rstrip("\n")}


def test_a_store_in_a_database_is_checked_and_compacted(cli: Cli, filled: str) -> None:
    assert cli("doctor", "--db", filled)[0] == 0
    assert "1 items indexed" in cli("doctor", "--rebuild", "--db", filled)[1]
    for command in (("clear", "--compact"), ("forget", "d1", "--yes")):
        status, _, warned = cli(*command, "--db", filled)
        assert (status, "write-ahead log" in warned) == (0, True)

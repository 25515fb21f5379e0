"""The roles that deploy/postgresql/roles.sql makes: what each of them can do through the engine, and what not."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import postgres_cluster
from faults.rows import add, names
from satchel.base.errors import ReadOnly, Refused
from satchel.store import schema
from satchel.store.postgres import parse
from satchel.store.postgres import schema as postgres_schema
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.schema import SCHEMA_VERSION

SCRIPT = Path(__file__).parents[3] / "deploy" / "postgresql" / "roles.sql"


class Teams:
    """Three teams in one database, whose owner is no superuser but may create roles.

    Attributes:
        admin: the owner of the database.
        shop: the name of a team.
        bank: that of another one.
        mill: that of one without tables so far.
    """

    def __init__(self, url: str) -> None:
        mark = uuid.uuid4().hex[:12]
        self.shop, self.bank, self.mill, self.admin = f"shop_{mark}", f"bank_{mark}", f"mill_{mark}", f"admin_{mark}"
        self._database, self._url = f"teams_{mark}", url
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {self.admin} LOGIN CREATEROLE")
            connection.execute(f"CREATE DATABASE {self._database} OWNER {self.admin}")
            connection.execute(f"REVOKE ALL ON DATABASE {self._database} FROM PUBLIC")
        self._engines: list[PostgresEngine] = []

    def url(self, user: str) -> str:
        """Return the URL of the database for somebody."""
        parts = urlsplit(self._url)
        hosts = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{user}@{hosts}", path=f"/{self._database}").geturl()

    def make(self, team: str) -> subprocess.CompletedProcess[str]:
        """Run the script for a team, as the operator does."""
        command = [
            str(postgres_cluster.programs() / "psql"),
            "--no-psqlrc",
            "--dbname",
            self.url(self.admin),
            "--set",
            f"team={team}",
            "--file",
            str(SCRIPT),
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def engine(self, user: str, schema: str, *, role: str | None = None, read_only: bool = False) -> PostgresEngine:
        """Open the store of a schema as a user."""
        engine = PostgresEngine(parse(self.url(user), schema, role), read_only=read_only)
        self._engines.append(engine)
        return engine

    def close(self) -> None:
        """Close what was opened, and remove the database and all roles."""
        for engine in self._engines:
            engine.close()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self._database} WITH (FORCE)")
            for team in (self.shop, self.bank, self.mill):
                connection.execute(f"DROP ROLE {team}_owner, {team}_server, {team}_reader")
            connection.execute(f"DROP ROLE {self.admin}")


@pytest.fixture(scope="module")
def teams() -> Iterator[Teams]:
    made = Teams(postgres_cluster.url())
    for team in (made.shop, made.bank, made.mill):
        assert made.make(team).stderr == ""
    for team in (made.shop, made.bank):
        add(made.engine(made.admin, team, role=f"{team}_owner"), f"made for {team}")
    yield made
    made.close()


def test_the_server_reads_and_writes_the_rows_of_its_team(teams: Teams) -> None:
    engine = teams.engine(f"{teams.shop}_server", teams.shop)
    add(engine, "of the server")
    add(engine.of_project("of the server"), "of the project")
    with engine.write() as transaction:
        assert transaction.execute("DELETE FROM projects WHERE name LIKE 'of the %'") == 2
    assert names(engine) == [f"made for {teams.shop}"]


def test_the_reader_reads_and_cannot_write(teams: Teams) -> None:
    user = f"{teams.shop}_reader"
    assert names(teams.engine(user, teams.shop, read_only=True)) == [f"made for {teams.shop}"]
    with teams.engine(user, teams.shop, read_only=True).read() as transaction:
        assert transaction.all("SELECT * FROM tagged_decisions") == []
    with pytest.raises(Refused, match=r"the role may not do that .*permission denied for table"):
        add(teams.engine(user, teams.shop), "of the reader")


def test_what_the_reader_dumps_can_be_restored_and_used(teams: Teams) -> None:
    dump, restore = (str(postgres_cluster.programs() / name) for name in ("pg_dump", "pg_restore"))
    dumping = [dump, "--format=custom", f"--schema={teams.shop}", teams.url(f"{teams.shop}_reader")]
    dumped = subprocess.run(dumping, capture_output=True, check=False, timeout=60)
    assert (dumped.returncode, dumped.stderr) == (0, b"")
    with psycopg.connect(teams.url(teams.admin), autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {teams.shop} CASCADE")
    command = [restore, "--exit-on-error", "--dbname", teams.url(teams.admin)]
    restored = subprocess.run(command, input=dumped.stdout, capture_output=True, check=False, timeout=60)
    assert (restored.returncode, restored.stderr) == (0, b"")
    assert teams.make(teams.shop).returncode == 0
    engine = teams.engine(f"{teams.shop}_server", teams.shop)
    assert names(engine) == [f"made for {teams.shop}"]
    add(engine, "after")
    with engine.write() as transaction:
        assert transaction.execute("DELETE FROM projects WHERE name = 'after'") == 1


@pytest.mark.parametrize("kind", ["server", "reader"])
def test_a_role_of_another_team_is_refused(teams: Teams, kind: str) -> None:
    engine = teams.engine(f"{teams.bank}_{kind}", teams.shop)
    with pytest.raises(Refused, match="may not use the schema"):
        names(engine)
    with pytest.raises(Refused, match="may not use the schema"):
        add(engine, "of another")


def test_a_server_cannot_act_as_the_owner_or_as_a_role_that_is_not_there(teams: Teams) -> None:
    user = f"{teams.shop}_server"
    with pytest.raises(Refused, match="permission denied to set role"):
        names(teams.engine(user, teams.shop, role=f"{teams.shop}_owner"))
    with pytest.raises(Refused, match="has no such role"):
        names(teams.engine(user, teams.shop, role="nobody_of_that_name"))


def test_the_owner_migrates_the_tables_and_the_server_does_not(teams: Teams, monkeypatch: pytest.MonkeyPatch) -> None:
    before, later = SCHEMA_VERSION, SCHEMA_VERSION + 1
    add(teams.engine(teams.admin, teams.mill, role=f"{teams.mill}_owner"), "of before")
    attic = schema.Migration("an attic", ("CREATE TABLE attic (a INTEGER)",))
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, attic))
    monkeypatch.setattr(postgres_schema, "SCHEMA_VERSION", later)
    server, reader = f"{teams.mill}_server", f"{teams.mill}_reader"
    outdated = f"has schema version {before} and must be brought to {later} first"
    with pytest.raises(Refused, match=f"{outdated}, and the role may not"):
        add(teams.engine(server, teams.mill), "of the server")
    with pytest.raises(ReadOnly, match=outdated):
        names(teams.engine(reader, teams.mill, read_only=True))
    assert names(teams.engine(teams.admin, teams.mill, role=f"{teams.mill}_owner")) == ["of before"]
    for user in (server, reader):
        with teams.engine(user, teams.mill, read_only=True).read() as transaction:
            (tables,) = transaction.all("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
            readable = "has_table_privilege(schemaname || '.' || tablename, 'SELECT')"
            assert transaction.all(
                f"SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND {readable}"
            ) == [tables]


def test_a_second_run_changes_nothing_and_a_name_that_is_none_is_refused(teams: Teams) -> None:
    assert (teams.make(teams.shop).returncode, teams.make(teams.shop).stderr) == (0, "")
    refused = teams.make('shop"; DROP SCHEMA public; --')
    assert refused.returncode != 0
    assert "the name of a team has lower-case letters" in refused.stderr

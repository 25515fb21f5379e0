"""What is wrong with a server, a role or a schema is said with a remedy, and without any password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from satchel.base.errors import (
    Busy,
    InvalidInput,
    ReadOnly,
    Refused,
    SatchelError,
    StoreForeign,
    StoreNewer,
    StoreOlder,
    Unreachable,
)
from satchel.store.postgres import parse
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION
from store.postgres.notes import write_note
from store.postgres.places import Place
from tables import in_one_test

PASSWORD = "hunter2secret"


@pytest.fixture
def role(place: Place) -> Iterator[str]:
    """A role that owns nothing and may read and write the store of the module."""
    name = f"role_{place.schema}"
    place.new_project()
    place.do(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    place.do(f"GRANT USAGE ON SCHEMA {place.schema} TO {name}")
    place.do(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place.schema} TO {name}")
    yield name
    place.close()
    place.do(f"DROP OWNED BY {name}")
    place.do(f"DROP ROLE {name}")


def _as(place: Place, role: str) -> str:
    return place.url.replace("postgres:@", f"{role}:{PASSWORD}@")


def _refusal(engine: PostgresEngine, *, writes: bool = True) -> SatchelError:
    """Return how the engine refuses to write, or to read; no word of it shows the password."""

    def use() -> None:
        with engine.write() if writes else engine.read() as transaction:
            transaction.execute("UPDATE projects SET root = NULL")

    with pytest.raises(SatchelError) as caught:
        use()
    error: BaseException | None = caught.value
    while error is not None:
        assert PASSWORD not in f"{error!s} {error!r}"
        error = error.__cause__
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("commits", ["off", "local"])
def test_a_role_whose_commits_may_be_lost_is_refused(place: Place, role: str, commits: str) -> None:
    place.do(f"ALTER ROLE {role} SET synchronous_commit = {commits}")
    refusal = _refusal(place.engine(_as(place, role)))
    assert isinstance(refusal, Refused)
    assert f"synchronous_commit = {commits}" in refusal.problem


def test_a_role_for_reading_only_is_told_so(place: Place, role: str) -> None:
    place.do(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    assert isinstance(_refusal(place.engine(_as(place, role))), ReadOnly)


def test_a_role_without_a_right_is_told_which(place: Place, role: str) -> None:
    place.do(f"REVOKE UPDATE ON projects FROM {role}")
    refusal = _refusal(place.engine(_as(place, role)).of_project("p1"))
    assert isinstance(refusal, Refused)
    assert "projects" in refusal.problem


def test_a_role_that_may_make_no_schema_is_told_who_can(own_place: Place, place: Place, role: str) -> None:
    refusal = _refusal(own_place.engine(_as(place, role)))
    assert isinstance(refusal, Refused)
    assert f"CREATE SCHEMA {own_place.schema}" in str(refusal.remedy)


def test_a_role_without_a_connection_left_is_told_to_try_again(place: Place, role: str) -> None:
    place.do(f"ALTER ROLE {role} CONNECTION LIMIT 1")
    with closing(psycopg.connect(_as(place, role))):
        assert isinstance(_refusal(place.engine(_as(place, role))), Busy)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("postgres:@", "nobody_known:@"),
        ("/postgres?", "/no_database?"),
        ("host=", "host=no-such-host.invalid&nothing="),
        ("host=", "host=127.0.0.1&port=1&connect_timeout=2&nothing="),
    ],
)
def test_what_cannot_be_reached_is_named(place: Place, change: str, error: str) -> None:
    url = place.url.replace(change, error).replace("&nothing=", "&application_name=")
    url = url.replace("postgres:@", f"postgres:{PASSWORD}@")
    refusal = _refusal(place.engine(url), writes=False)
    assert isinstance(refusal, Refused | InvalidInput | Unreachable)


def test_the_tables_of_another_program_are_left_alone(own_place: Place) -> None:
    own_place.do(f"CREATE SCHEMA {own_place.schema}; CREATE TABLE {own_place.schema}.theirs (a int)")
    for writes in (False, True):
        refusal = _refusal(own_place.engine(), writes=writes)
        assert isinstance(refusal, StoreForeign)
        assert "theirs" in refusal.problem
    assert own_place.ask("SELECT count(*) FROM theirs") == [(0,)]


def test_tables_that_only_have_the_names_of_a_store_are_another_programs(own_place: Place) -> None:
    own_place.do(f"CREATE SCHEMA {own_place.schema}")
    own_place.do("CREATE TABLE store (a int); CREATE TABLE migrations (a int); CREATE TABLE projects (a int)")
    assert isinstance(_refusal(own_place.engine()), StoreForeign)


def test_a_store_of_a_newer_program_is_left_alone(own_place: Place) -> None:
    project = own_place.new_project()
    engine = own_place.engine().of_project(project)
    write_note(engine, "before")
    own_place.do(f"UPDATE store SET min_writer = {SCHEMA_VERSION + 1}")
    assert isinstance(_refusal(engine), StoreNewer)
    own_place.do(f"UPDATE store SET min_reader = {SCHEMA_VERSION + 1}")
    assert isinstance(_refusal(own_place.engine(), writes=False), StoreNewer)


def test_a_store_of_an_older_program_is_not_migrated_by_who_only_reads(own_place: Place) -> None:
    own_place.new_project()
    own_place.do(f"DELETE FROM migrations WHERE version = {SCHEMA_VERSION}")
    assert isinstance(_refusal(own_place.engine(read_only=True), writes=False), ReadOnly)


@pytest.mark.parametrize("writes", [False, True])
def test_a_store_of_before_0_2_0_is_refused_with_the_way(own_place: Place, writes: bool) -> None:
    own_place.new_project()
    own_place.do(f"UPDATE migrations SET version = version - {SCHEMA_VERSION - BASE_VERSION + 1}")
    refusal = _refusal(own_place.engine(), writes=writes)
    assert isinstance(refusal, StoreOlder)
    assert "Install Satchel 0.2.0" in str(refusal)


def test_a_text_that_postgresql_cannot_keep_is_refused(place: Place) -> None:
    engine = place.engine().of_project(place.new_project())
    with pytest.raises(InvalidInput, match="NUL"):
        write_note(engine, "a\0b")


@in_one_test(
    "url",
    [
        f"postgresql://user:{PASSWORD}@one@two/db",
        f"postgresql://user:{PASSWORD}@host/",
        f"postgresql://user:{PASSWORD}@host/db?schema=Upper",
        f"postgresql://user:{PASSWORD}@host/db?schema=pg_catalog",
        f"postgresql://user:{PASSWORD}%@host/db",
        f"postgresql://user:{PASSWORD}@host/db?no_such_option=1",
    ],
)
def test_a_malformed_address_is_refused_without_being_repeated(url: str) -> None:
    def use() -> None:
        with PostgresEngine(parse(url)).read():
            pytest.fail("the block was entered")

    with pytest.raises(InvalidInput) as caught:
        use()
    assert PASSWORD not in str(caught.value)

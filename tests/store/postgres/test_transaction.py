"""Batches of statements: each in one round trip, in order, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from satchel.store.postgres.transaction import StoreConnection
from store.postgres.places import Place

_END = "SELECT pg_terminate_backend(pg_backend_pid())"
_ADD = "SELECT CAST(:one AS bigint) + CAST(:other AS bigint)"


@pytest.fixture
def connection(place: Place) -> Iterator[StoreConnection]:
    with closing(StoreConnection.connect(place.url, autocommit=True)) as connection:
        yield connection


def test_each_statement_of_a_batch_says_what_it_did_in_order(connection: StoreConnection) -> None:
    made, put, found, gone = connection.run_all(
        ("CREATE TEMPORARY TABLE t (n bigint)", None),
        ("INSERT INTO t SELECT generate_series(1, CAST(:most AS bigint))", {"most": 3}),
        ("SELECT n, CAST(:text AS text) FROM t ORDER BY n DESC LIMIT 2", {"text": "it's :none 100%"}),
        ("DELETE FROM t WHERE n > :least", {"least": 1}),
    )
    assert (made.status, put.changed, gone.changed) == ("CREATE TABLE", 3, 2)
    assert found.rows == [(3, "it's :none 100%"), (2, "it's :none 100%")]


def test_a_statement_that_comes_again_and_again_is_prepared_once(connection: StoreConnection) -> None:
    for number in range(4):
        sums = connection.run_all(*((_ADD, {"one": number, "other": other}) for other in range(3)))
        assert [result.rows for result in sums] == [[(number + other,)] for other in range(3)]
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT CAST%'"
    assert connection.run_all((prepared, None))[0].rows == [(1,)]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_stands_behind_a_failed_statement_is_not_run_and_can_be_asked_again(
    connection: StoreConnection, times: int
) -> None:
    wrong = ("SELECT 1 / CAST(:by AS integer)", {"by": 0})
    for _ in range(times):
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.run_all(
                ("SELECT 1", None), wrong, (_ADD, {"one": 1, "other": 2}), ("CREATE TABLE left ()", None)
            )
    assert connection.run_all((_ADD, {"one": 1, "other": 2}))[0].rows == [(3,)]
    assert connection.run_all((wrong[0], {"by": 1}))[0].rows == [(1,)]


def test_a_value_that_cannot_be_sent_keeps_the_batch_back(connection: StoreConnection) -> None:
    connection.run_all(("CREATE TEMPORARY TABLE t (one text)", None))
    with pytest.raises(psycopg.DataError):
        connection.run_all(("INSERT INTO t VALUES ('kept')", None), ("INSERT INTO t VALUES (:one)", {"one": "\0"}))
    assert connection.run_all(("SELECT count(*) FROM t", None))[0].rows == [(0,)]


def test_a_batch_may_be_larger_than_what_the_socket_holds_either_way(connection: StoreConnection) -> None:
    text = "x" * 100_000
    results = connection.run_all(*(("SELECT CAST(:text AS text)", {"text": text}) for _ in range(200)))
    assert {result.rows[0][0] for result in results} == {text}


def test_a_lost_connection_is_an_error_and_is_closed(connection: StoreConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.run_all(("SELECT 1", None), (_END, None), ("SELECT 2", None))
    assert connection.closed
    with pytest.raises(psycopg.OperationalError):
        connection.run_all(("SELECT 1", None))

"""Texts that are not valid UTF-8: read with a mark, and refused where they would be written back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.base.errors import StoreDamaged
from satchel.store.damage import MARK, DamagedText, is_damaged
from satchel.store.sqlite_transaction import SqliteTransaction


@pytest.fixture
def transaction() -> Iterator[SqliteTransaction]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT, uid BLOB)")
        yield SqliteTransaction(connection)


def _keep(transaction: SqliteTransaction, value: bytes) -> None:
    transaction.run("DELETE FROM items")
    transaction.run("INSERT INTO items (text, uid) VALUES (CAST(:text AS TEXT), :text)", {"text": value})


@given(value=st.binary(min_size=1) | st.text(min_size=1).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_a_text_is_marked_exactly_if_its_bytes_are_not_utf8(value: bytes) -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT, uid BLOB)")
        transaction = SqliteTransaction(connection)
        _keep(transaction, value)
        row = transaction.one("SELECT text, uid FROM items")
        assert row is not None
        assert (row, row[1]) == (transaction.all("SELECT text, uid FROM items")[0], value)
        try:
            assert (row[0], is_damaged(row)) == (value.decode(), False)
        except UnicodeDecodeError:
            assert (is_damaged(row), MARK in row[0]) == (True, True)


def test_a_blob_in_a_text_column_is_marked_at_its_end(transaction: SqliteTransaction) -> None:
    transaction.run("INSERT INTO items (text) VALUES (x'616c')")
    assert transaction.all("SELECT text FROM items") == [(f"al{MARK}",)]
    assert transaction.one("SELECT text FROM items") == (f"al{MARK}",)


@pytest.mark.parametrize("become", [str, "before {} after".format, json.dumps], ids=["text", "part", "json"])
def test_what_a_damaged_text_has_become_is_never_written(
    transaction: SqliteTransaction, become: Callable[[str], str]
) -> None:
    _keep(transaction, b"al\xffpha")
    ((text,),) = transaction.all("SELECT text FROM items")
    assert type(text) is DamagedText
    values = {"text": become(text)}
    for write in (
        lambda: transaction.run("UPDATE items SET text = :text", values),
        lambda: transaction.execute("UPDATE items SET text = :text", values),
        lambda: transaction.one("UPDATE items SET text = :text RETURNING id", values),
        lambda: transaction.many("UPDATE items SET text = :text", [values]),
        lambda: transaction.add("items", values),
    ):
        with pytest.raises(StoreDamaged, match="never written back"):
            write()
    assert transaction.all("SELECT id FROM items WHERE text = :text", values) == []

"""Reading the database files of other programs: in one snapshot, whatever is in them, and leaving no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel.base.errors import Busy, NotFound, Refused, StoreDamaged, StoreForeign
from satchel.store.foreign import open_foreign


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with nothing but the foreign file."""
    made = tmp_path / "foreign"
    made.mkdir()
    return made


@pytest.fixture
def file(folder: Path) -> Path:
    """A database in WAL mode that nobody has open."""
    path = folder / "other.db"
    with closing(writer(path)) as connection:
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO things VALUES (1, 'one'), (2, 'two')")
    return path


def writer(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    return connection


def things(path: Path) -> list[tuple[object, ...]]:
    with open_foreign(path) as database:
        return list(database.rows("things", ("id", "name")))


def test_rows_are_read_and_nothing_is_left_beside_the_file(folder: Path, file: Path) -> None:
    before = file.read_bytes()
    assert things(file) == [(1, "one"), (2, "two")]
    assert [path.name for path in folder.iterdir()] == ["other.db"]
    assert file.read_bytes() == before


def test_what_a_running_program_has_committed_to_its_wal_is_read(file: Path) -> None:
    with closing(writer(file)) as connection:
        connection.execute("INSERT INTO things VALUES (3, 'three')")
        assert Path(f"{file}-wal").stat().st_size > 0
        assert things(file)[-1] == (3, "three")


def test_reading_sees_one_moment(file: Path) -> None:
    with closing(writer(file)) as connection:
        connection.execute("INSERT INTO things VALUES (3, 'three')")
        with open_foreign(file) as database:
            assert database.count("things") == 3
            connection.execute("INSERT INTO things VALUES (4, 'four')")
            assert database.count("things") == 3


def test_a_write_while_an_idle_file_was_read_is_noticed(file: Path) -> None:
    def read_and_write() -> Iterator[None]:
        with open_foreign(file):
            with closing(writer(file)) as connection:
                connection.execute("INSERT INTO things VALUES (3, 'three')")
            yield

    with pytest.raises(Busy, match=r"wrote to .* while it was read"):
        list(read_and_write())


def test_a_file_in_rollback_mode_is_read(folder: Path) -> None:
    path = folder / "old.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO things VALUES (1, 'one')")
    assert things(path) == [(1, "one")]
    assert [inside.name for inside in folder.iterdir()] == ["old.db"]


def test_a_write_left_half_done_is_refused_and_not_completed(folder: Path) -> None:
    path, copy = folder / "half.db", folder / "copy.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("cache_size", 1)
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("BEGIN")
        connection.execute(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) "
            "INSERT INTO things SELECT x, hex(randomblob(500)) FROM n"
        )
        connection.cache_flush()
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-journal").write_bytes(Path(f"{path}-journal").read_bytes())
        connection.execute("ROLLBACK")
    before = copy.read_bytes()
    with pytest.raises(Refused, match="in the middle of a write"):
        things(copy)
    assert copy.read_bytes() == before


def test_views_and_virtual_tables_are_no_tables(file: Path) -> None:
    with closing(writer(file)) as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM things")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    with open_foreign(file) as database:
        assert database.tables == {"things": ("id", "name")}


def test_text_that_does_not_decode_comes_as_bytes_and_hides_no_other(file: Path) -> None:
    with closing(writer(file)) as connection:
        connection.execute("UPDATE things SET name = CAST(x'ff41' AS TEXT) WHERE id = 1")
    assert things(file) == [(1, b"\xffA"), (2, "two")]


def test_text_with_a_nul_comes_whole(file: Path) -> None:
    with closing(writer(file)) as connection:
        connection.execute("UPDATE things SET name = ?", ("a\0b",))
    assert things(file)[0] == (1, "a\0b")


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_file_in_another_encoding_is_read(folder: Path, encoding: str) -> None:
    path = folder / "wide.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("encoding", encoding)
        connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO things VALUES (1, 'Größe 大')")
    assert things(path) == [(1, "Größe 大")]


def test_names_with_quotes_are_read(folder: Path) -> None:
    path = folder / "quotes.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute('CREATE TABLE "a ""b""" ("c ""d""" TEXT)')
        connection.execute('INSERT INTO "a ""b""" VALUES (\'x\')')
    with open_foreign(path) as database:
        assert database.tables == {'a "b"': ('c "d"',)}
        assert list(database.rows('a "b"', ('c "d"',))) == [("x",)]


def test_a_file_name_with_signs_of_an_address_is_opened(folder: Path, file: Path) -> None:
    odd = folder / "a?mode=rwc#%41.db"
    file.rename(odd)
    assert len(things(odd)) == 2


@pytest.mark.parametrize("content", [b"", b"hello, I am a text file\n" * 100])
def test_what_is_no_database_is_refused(folder: Path, content: bytes) -> None:
    path = folder / "text.db"
    path.write_bytes(content)
    with pytest.raises(StoreForeign, match="not a SQLite database"):
        things(path)
    assert path.read_bytes() == content


def test_a_damaged_database_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + b"\xaa" * (len(whole) - 100))
    with pytest.raises(StoreDamaged, match="is damaged"):
        things(file)


def test_a_folder_is_not_opened(folder: Path) -> None:
    with pytest.raises(NotFound, match="is a folder"):
        things(folder)

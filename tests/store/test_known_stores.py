from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel.base.errors import Refused
from satchel.store.known_stores import KnownStore, KnownStores

DAY = 86_400_000


@pytest.fixture
def known(tmp_path: Path) -> KnownStores:
    return KnownStores(tmp_path / "state" / "satchel")


def store(file: Path, number: int = 1, **fields: object) -> KnownStore:
    options: dict[str, object] = {"how": "made", "listed_at": 5, **fields}
    return KnownStore(bytes([number]) * 16, file, (7, number), **options)  # type: ignore[arg-type]


def test_nothing_is_listed_and_nothing_made_before_the_first_store(known: KnownStores, tmp_path: Path) -> None:
    assert (known.every(), known.at(tmp_path / "s.db"), known.of(b"x")) == ([], None, None)
    assert not known.folder.exists()


def test_a_store_is_found_by_its_path_and_by_its_uid(known: KnownStores, tmp_path: Path) -> None:
    one = store(tmp_path / "s.db", how="trusted", complete=False, tree=True, owner=65_534)
    known.put(one)
    assert known.at(tmp_path / "s.db") == known.of(one.uid) == one
    assert known.every() == [one]


def test_the_list_is_private(known: KnownStores, tmp_path: Path) -> None:
    known.put(store(tmp_path / "s.db"))
    modes = [path.stat().st_mode & 0o777 for path in (known.folder, *sorted(known.folder.iterdir()))]
    assert modes == [0o700, 0o600]


def test_a_path_belongs_to_one_store(known: KnownStores, tmp_path: Path) -> None:
    known.put(store(tmp_path / "s.db", 1))
    known.put(store(tmp_path / "s.db", 2))
    assert [one.uid for one in known.every()] == [bytes([2]) * 16]


def test_a_store_has_one_path(known: KnownStores, tmp_path: Path) -> None:
    known.put(store(tmp_path / "old.db"))
    known.put(store(tmp_path / "new.db"))
    assert [one.file.name for one in known.every()] == ["new.db"]


def test_a_path_is_taken_off_the_list_once(known: KnownStores, tmp_path: Path) -> None:
    known.put(store(tmp_path / "s.db"))
    assert [known.remove(tmp_path / "s.db") for _ in range(2)] == [True, False]


def test_what_is_gone_for_90_days_leaves_the_list(known: KnownStores, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    kept.touch()
    known.put(store(tmp_path / "gone.db", 1, listed_at=1))
    known.put(store(kept, 2, listed_at=2))
    known.put(store(kept, 2, listed_at=2 + 90 * DAY - 1))
    assert known.at(tmp_path / "gone.db") is not None
    known.put(store(kept, 2, listed_at=2 + 90 * DAY))
    known.put(store(kept, 2, listed_at=2 + 91 * DAY))
    assert known.every() == [store(kept, 2, listed_at=2 + 91 * DAY)]


def test_what_came_back_counts_from_its_next_loss(known: KnownStores, tmp_path: Path) -> None:
    file, kept = tmp_path / "s.db", tmp_path / "kept.db"
    known.put(store(file, 1, listed_at=1))
    known.put(store(kept, 2, listed_at=2))
    file.touch()
    known.put(store(kept, 2, listed_at=3))
    file.unlink()
    known.put(store(kept, 2, listed_at=91 * DAY))
    assert known.at(file) is not None


def _list_ten(folder: Path, first: int) -> None:
    known = KnownStores(folder)
    for number in range(first, first + 10):
        known.put(KnownStore(bytes([number]) * 16, folder / f"{number}.db", (0, number), "made", 1))


def test_parallel_processes_lose_no_store_of_each_other(known: KnownStores) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_list_ten, args=(known.folder, first)) for first in (0, 10, 20, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(known.every()) == 40


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_list_that_cannot_be_written_says_what_to_do(known: KnownStores, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o500)
    with pytest.raises(Refused, match=r"cannot be written.*XDG_STATE_HOME"):
        known.put(store(tmp_path / "s.db"))


def test_a_file_in_the_place_of_the_folder_says_what_to_do(known: KnownStores, tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    assert known.every() == []
    with pytest.raises(Refused, match=r"cannot be written.*XDG_STATE_HOME"):
        known.put(store(tmp_path / "s.db"))


def test_a_list_that_is_no_database_trusts_nothing(known: KnownStores, tmp_path: Path) -> None:
    known.folder.mkdir(parents=True)
    (known.folder / "stores.db").write_bytes(b"nonsense" * 500)
    with pytest.raises(Refused, match=r"cannot be used.*satchel trust"):
        known.at(tmp_path / "s.db")


def _change_elsewhere(known: KnownStores, tmp_path: Path) -> None:
    with closing(apsw.Connection(str(known.folder / "stores.db"))) as connection:
        connection.execute("DELETE FROM stores")


def _take_away(known: KnownStores, tmp_path: Path) -> None:
    (known.folder / "stores.db").rename(tmp_path / "away.db")


def _put_another_there(known: KnownStores, tmp_path: Path) -> None:
    other = KnownStores(tmp_path / "other")
    other.put(store(tmp_path / "other.db", 2))
    shutil.copy(other.folder / "stores.db", known.folder / "stores.db")


@pytest.mark.parametrize("change", [_change_elsewhere, _take_away, _put_another_there])
def test_what_became_of_the_list_meanwhile_counts(
    known: KnownStores, tmp_path: Path, change: Callable[[KnownStores, Path], None]
) -> None:
    known.put(store(tmp_path / "s.db"))
    change(known, tmp_path)
    assert known.at(tmp_path / "s.db") is None

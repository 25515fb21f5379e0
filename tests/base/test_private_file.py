"""Files of one user: what is written is read, and anything else is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from satchel import Busy, Refused
from satchel.base.private_file import PrivateFile, from_fields, to_fields
from satchel.base.records import dataclass
from tables import in_one_test


@dataclass(frozen=True, slots=True)
class Item:
    """A record of the file."""

    name: str
    number: int
    agent: str | None


def open_file(folder: Path) -> PrivateFile[list[Item]]:
    return PrivateFile(
        folder / "state" / "items.json",
        "the items",
        schema=1,
        parse=lambda fields: [from_fields(Item, one) for one in fields["items"]],
        empty=list[Item],
        remedy="Move it away",
    )


def add(file: PrivateFile[list[Item]], *items: Item) -> None:
    with file.changing() as stored:
        file.save({"items": [to_fields(one) for one in (*stored, *items)]})


def test_every_reader_sees_the_last_change(tmp_path: Path) -> None:
    first, second = Item("a", 1, None), Item("b", 2, "ann")
    file, other = open_file(tmp_path), open_file(tmp_path)
    assert file.current() == []
    add(other, first)
    assert file.current() == [first]
    add(other, second)
    assert file.current() == file.load() == [first, second]


def test_each_change_is_later_than_the_one_before_whatever_the_clock_says(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    add(file, Item("a", 1, None))
    ahead = file.path.stat().st_mtime_ns + 3_600_000_000_000
    os.utime(file.path, ns=(ahead, ahead))
    add(file, Item("b", 2, None))
    assert file.path.stat().st_mtime_ns > ahead


@in_one_test(
    "fields",
    [
        {"name": "a", "number": True, "agent": None},
        {"name": None, "number": 1, "agent": None},
        {"name": "a", "number": 1},
        {"name": "a", "number": 1, "agent": None, "more": 1},
        ["a", 1, None],
    ],
)
def test_fields_of_another_shape_are_refused(fields: Any) -> None:
    with pytest.raises(ValueError, match="item"):
        from_fields(Item, fields)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"items": []}', b'{"schema": 2, "items": []}', b'{"schema": 1}'])
def test_a_damaged_file_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    file = open_file(tmp_path)
    add(file)
    file.path.write_bytes(content)
    for read in (file.current, file.load, lambda: add(file)):
        with pytest.raises(Refused, match=r"the items in .* cannot be read .*Move it away"):
            read()
    assert file.path.read_bytes() == content


def test_a_file_that_another_process_holds_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.base.private_file._WAIT_SECONDS", 0)
    file = open_file(tmp_path)
    with file.changing(), pytest.raises(Busy, match="the items"), open_file(tmp_path).changing():
        pass
    add(file)


def test_the_file_and_its_folder_are_private(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    add(file)
    assert [oct(path.stat().st_mode & 0o777) for path in (file.path, file.path.parent)] == ["0o600", "0o700"]

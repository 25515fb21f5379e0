"""What the journal of setup gives back."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.errors import Conflict, InvalidInput, Refused
from satchel.base.user_files import read, write
from satchel.interfaces.setup.journal import Journal


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_journal_gives_back_the_bytes_after_several_edits(file: Path) -> None:
    before = file.read_bytes()
    for text in ("{}", '{"b": 2}', "{} "):
        Journal().write(read(file), text)
    assert Journal().restore(file)
    assert file.read_bytes() == before
    assert not Journal().restore(file)


def test_the_journal_deletes_what_setup_made_and_nothing_else(home: Path) -> None:
    (home / ".client").mkdir()
    path = home / ".client" / "deep" / "deeper" / "settings.json"
    Journal().write(read(path), "{}")
    (home / ".client" / "deep" / "of others").touch()
    assert Journal().restore(path)
    assert names_in(home / ".client" / "deep") == ["of others"]


def test_what_others_changed_is_not_given_back(file: Path) -> None:
    Journal().write(read(file), "{}")
    file.write_text('{"theirs": 1}')
    assert not Journal().restore(file)
    Journal().write(read(file), '{"theirs": 1, "ours": 1}')
    assert not Journal().restore(file)
    assert file.read_text() == '{"theirs": 1, "ours": 1}'
    Journal().leave(file)
    assert Journal().paths() == []


def test_a_file_that_setup_made_goes_when_nothing_is_left_in_it(home: Path) -> None:
    kept, gone = home / "a" / "kept.json", home / "b" / "gone.json"
    for path, text in ((kept, '{"theirs": 1}'), (gone, "\n")):
        Journal().write(read(path), "{}")
        path.write_text(text)
        Journal().leave(path)
    assert names_in(home) == ["a"]


def test_a_write_that_did_not_happen_leaves_nothing_to_give_back(file: Path) -> None:
    found = read(file)
    file.write_text("{}")
    with pytest.raises(Conflict):
        Journal().write(found, '{"b": 2}')
    assert not Journal().restore(file)
    assert file.read_text() == "{}"


def test_a_note_before_a_write_of_ones_own_is_enough_to_give_back(file: Path) -> None:
    found, before = read(file), file.read_bytes()
    Journal().note(file, found, found.encoded("{}"))
    write(found, "{}")
    assert Journal().restore(file)
    assert file.read_bytes() == before


def test_the_newest_five_copies_and_the_first_are_kept_for_the_user_alone(file: Path) -> None:
    for number in range(9):
        Journal().write(read(file), f"{{}}{number}")
    copies = Journal().copies(file)
    assert [copy.read_bytes() for copy in copies] == [b'{"a": 1}\r\n', b"{}3", b"{}4", b"{}5", b"{}6", b"{}7"]
    assert {mode_of(copy) for copy in copies} == {0o600}
    assert mode_of(copies[0].parent) == 0o700
    assert names_in(copies[0].parent) == sorted(copy.name for copy in copies)


def test_a_copy_that_was_changed_is_not_given_back(file: Path) -> None:
    Journal().write(read(file), "{}")
    Journal().copies(file)[0].write_text("{1}")
    assert not Journal().restore(file)
    assert file.read_text() == "{}"


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 1, "files": {}}'])
def test_a_damaged_journal_is_refused(file: Path, content: str, tmp_path: Path) -> None:
    (tmp_path / "state" / "satchel").mkdir(parents=True)
    damaged = tmp_path / "state" / "satchel" / "setup.json"
    damaged.write_text(content)
    damaged.chmod(0o600)
    with pytest.raises(Refused, match=r"what setup has changed in .*setup\.json cannot be read"):
        Journal().write(read(file), "{}")
    assert file.read_text() != "{}"


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(50))
@given(
    st.binary(max_size=60),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), min_size=1, max_size=4),
)
def test_any_bytes_that_can_be_read_are_given_back(file: Path, content: bytes, texts: list[str]) -> None:
    file.write_bytes(content)
    try:
        found = read(file)
    except InvalidInput:
        return
    for text in texts:
        Journal().write(found, text)
        found = read(file)
    assert Journal().restore(file)
    assert file.read_bytes() == content


def _set_up(folder: Path) -> None:
    for number in range(10):
        path = folder / f"{os.getpid()}-{number}.json"
        path.write_text("{}")
        Journal().write(read(path), "{1}")


@pytest.mark.slow
def test_setups_at_the_same_time_lose_nothing_of_each_other(home: Path) -> None:
    fresh = multiprocessing.get_context("spawn")
    workers = [fresh.Process(target=_set_up, args=(home,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert len(Journal().paths()) == 40
    assert all(Journal().restore(path) for path in Journal().paths())


def test_what_would_be_given_back_can_be_looked_at(file: Path, home: Path) -> None:
    made = home / "made.json"
    file.write_bytes(b"\xef\xbb\xbf{} ")
    for path in (file, made):
        assert Journal().original(path) is None
        Journal().write(read(path), '{"ours": 1}')
    there, missing = Journal().original(file), Journal().original(made)
    assert there is not None
    assert missing is not None
    assert (there.text, there.existed, missing.text, missing.existed) == ("{} ", True, "", False)
    assert (Journal().made(file), Journal().made(made)) == (False, True)
    assert read(file).text == '{"ours": 1}'
    file.write_text("{1}")
    assert Journal().original(file) is None
    assert Journal().restore(made)
    assert not Journal().made(made)

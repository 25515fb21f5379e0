"""A file that a filter names by less than its path, of which nothing is found: which it may be is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from satchel import Satchel
from tables import in_one_test

READS: dict[str, Callable[[Satchel], Callable[..., Any]]] = {
    "entries": lambda satchel: satchel.entries.read,
    "edits": lambda satchel: satchel.files.changes,
    "search": lambda satchel: lambda **given: satchel.finding.search("needle", **given),
}


@pytest.fixture(params=READS)
def read(satchel: Satchel, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A way to read what is kept of two files."""
    for file in ("src/itsdangerous/timed.py", "tests/timed.py"):
        satchel.entries.write("discovery", "needle", file=file)
        satchel.files.record(file, "modified", description="needle")
    return READS[request.param](satchel)


def test_the_paths_that_end_in_it_are_suggested(read: Callable[..., Any]) -> None:
    assert read(file="timed.py").notes[0] == "did you mean src/itsdangerous/timed.py or tests/timed.py?"
    assert read(file="itsdangerous/timed.py").notes[0] == "did you mean src/itsdangerous/timed.py?"


@in_one_test("file", ["imed.py", "t_med.py", "%", "timed.py/", "src/", "other.py"])
def test_what_ends_otherwise_is_not_suggested(read: Callable[..., Any], file: str) -> None:
    assert [note for note in read(file=file).notes if "did you mean" in note] == []


def test_of_a_file_that_is_known_no_other_is_suggested(read: Callable[..., Any], satchel: Satchel) -> None:
    satchel.entries.write("discovery", "needle", file="timed.py", agent="ann")
    assert [note for note in read(file="timed.py", author="ann", since="1h").notes if "did you mean" in note] == []

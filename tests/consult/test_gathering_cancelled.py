"""Gathering that is cancelled ends soon, wherever it is, and leaves nothing open."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from satchel import Interrupted
from satchel.consult.gathering import gather


def write(project: Path, *paths: str) -> None:
    for path in paths:
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).touch()


def look(project: Path, *paths: str, is_cancelled: Callable[[], bool]) -> None:
    gather(paths, [str(project)], base=str(project), is_cancelled=is_cancelled)


@pytest.mark.parametrize("calls", range(4))
def test_it_ends_at_every_folder(project: Path, calls: int) -> None:
    write(project, "a/x.py", "b/x.py", "c/x.py")
    answers = iter([*[False] * calls, True])
    with pytest.raises(Interrupted, match="cancelled"):
        look(project, "a", "b", "c", is_cancelled=partial(next, answers))


def test_it_ends_within_a_folder_of_many_files(project: Path) -> None:
    write(project, *(f"many/{number}.py" for number in range(1_200)))
    asked: list[bool] = []

    def is_cancelled() -> bool:
        asked.append(True)
        return False

    look(project, "many", is_cancelled=is_cancelled)
    assert len(asked) >= 5
    for calls in range(1, len(asked) + 1):
        answers = iter([*[False] * (calls - 1), True])
        with pytest.raises(Interrupted):
            look(project, "many", is_cancelled=partial(next, answers))


def test_it_ends_among_files_that_are_named_one_by_one(project: Path) -> None:
    write(project, "a.py", "b.py")
    answers = iter([False, True])
    with pytest.raises(Interrupted):
        look(project, "a.py", "b.py", is_cancelled=partial(next, answers))


def test_no_descriptor_stays_open(project: Path) -> None:
    write(project, *(f"many/{number}.py" for number in range(600)))
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(Interrupted):
        look(project, "many", is_cancelled=partial(next, iter([False, False, True])))
    assert len(list(Path("/dev/fd").iterdir())) == before

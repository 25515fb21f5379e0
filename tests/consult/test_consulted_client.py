"""The mark of a consulted client counts in the folder of its consultation, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from consult.consultation_folder import enter_consultation
from satchel.consult import MARK, is_consulted


def test_the_folder_of_a_consultation_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = enter_consultation(tmp_path, monkeypatch)

    assert is_consulted({MARK: folder})
    assert not is_consulted({})


@pytest.mark.parametrize("value", ["", "1", "/", ".", "..", "satchel-consult-a", "/tmp/satchel-consult-none"])
def test_a_value_that_a_project_can_guess_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    enter_consultation(tmp_path, monkeypatch)

    assert not is_consulted({MARK: value})


def test_the_folder_does_not_count_outside_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = enter_consultation(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)

    assert not is_consulted({MARK: folder})


def test_a_folder_that_others_may_read_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = enter_consultation(tmp_path, monkeypatch)
    Path(folder).chmod(0o755)

    assert not is_consulted({MARK: folder})


def test_a_current_folder_that_is_gone_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = enter_consultation(tmp_path, monkeypatch)
    (Path(folder) / "work").rmdir()

    assert not is_consulted({MARK: folder})

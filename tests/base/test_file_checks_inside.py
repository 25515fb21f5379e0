"""A file is opened inside a folder and nowhere else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from satchel.base.file_checks import is_inside, open_inside, why_unreadable
from tables import in_one_test


@in_one_test(
    ("real", "base", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a/b/c", "/a", True),
        ("/a", "/a", False),
        ("/ab", "/a", False),
        ("/b", "/a", False),
        ("/a", "/", True),
        ("/", "/", False),
    ],
)
def test_what_lies_below_a_folder_is_inside_it(real: str, base: str, inside: bool) -> None:
    assert is_inside(real, base) is inside


def test_a_file_is_opened_for_reading(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("text")
    descriptor = open_inside(str(tmp_path), str(tmp_path / "a" / "b" / "c"))
    try:
        assert os.read(descriptor, 10) == b"text"
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("linked", ["a", "a/b", "a/b/c"])
def test_no_link_on_the_way_is_followed_and_no_descriptor_stays_open(tmp_path: Path, linked: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("text")
    (tmp_path / linked).rename(tmp_path / "moved")
    (tmp_path / linked).symlink_to(tmp_path / "moved")
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        open_inside(str(tmp_path), str(tmp_path / "a" / "b" / "c"))
    assert len(list(Path("/dev/fd").iterdir())) == before


@in_one_test(
    ("error", "said"),
    [
        (FileNotFoundError(errno.ENOENT, "x"), "is not there"),
        (NotADirectoryError(errno.ENOTDIR, "x"), "is not there: a part of the path is not a folder"),
        (OSError(errno.ELOOP, "x"), "leads through a link that cannot be followed"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be read (Permission denied)"),
        (OSError("odd"), "cannot be read (odd)"),
    ],
)
def test_an_error_is_put_in_words(error: OSError, said: str) -> None:
    assert why_unreadable(error) == said

"""Digests of cited lines, and where they are found again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.base.cited import CHANGED, MAX_BYTES, MOVED, UNCHANGED, Digest, digest_of, find, read_cited
from tables import in_one_test

TEXT = b"one\ntwo\nthree\nfour\nfive\n"


def cited(line: int | None, last: int | None = None, text: bytes = TEXT) -> Digest:
    digest = digest_of(text, line, last)
    assert digest is not None
    return digest


class TestDigests:
    def test_lines_beyond_the_end_are_taken_for_the_end(self) -> None:
        assert cited(4, 99) == cited(4, 5)

    def test_there_is_no_line_behind_the_last_line_end(self) -> None:
        assert digest_of(TEXT, 6, None) is None

    @in_one_test("text", [b"", b"\n\n", b"a\n \t\nb\n"])
    def test_a_blank_line_is_not_cited(self, text: bytes) -> None:
        assert digest_of(text, 2, None) is None

    def test_the_line_end_does_not_count(self) -> None:
        assert cited(5) == cited(5, text=TEXT.rstrip())

    def test_crlf_counts_as_lf(self) -> None:
        in_crlf = TEXT.replace(b"\n", b"\r\n")
        assert (cited(None), cited(2, 3)) == (cited(None, text=in_crlf), cited(2, 3, in_crlf))

    def test_an_empty_file_is_cited_as_a_whole(self) -> None:
        assert find(b"", cited(None, text=b"")) == (UNCHANGED, None)


class TestFinding:
    def test_what_stands_where_it_did_is_unchanged_whatever_stands_around_it(self) -> None:
        assert find(b"1\ntwo\nthree\n4\n", cited(2, 3)) == (UNCHANGED, 2)

    @in_one_test(("text", "line"), [(b"zero\n" + TEXT, 3), (b"two\nthree\n", 1), (TEXT[4:] + b"1\n", 1)])
    def test_what_stands_elsewhere_has_moved(self, text: bytes, line: int) -> None:
        assert find(text, cited(2, 3)) == (MOVED, line)

    def test_of_several_places_none_is_told_since_none_is_sure(self) -> None:
        assert find(b"two\na\nb\nc\ntwo\nd\n", cited(4, text=b"1\n2\n3\ntwo\n")) == (MOVED, None)

    def test_a_copy_that_was_there_before_is_not_taken_for_it(self) -> None:
        digest = cited(1, text=b"return None\nx\nreturn None\n")
        assert find(b"return 1\nx\nreturn None\n", digest) == (CHANGED, None)

    def test_copies_that_move_together_have_moved(self) -> None:
        digest = cited(1, text=b"return None\nx\nreturn None\n")
        assert find(b"import os\nreturn None\nx\nreturn None\n", digest) == (MOVED, None)

    def test_copies_that_overlap_count_alike_when_cited_and_when_found(self) -> None:
        digest = cited(1, 2, b"x\nx\nx\nx\n")
        assert find(b"x\nx\nx\nx\ny\n", digest) == (UNCHANGED, 1)
        assert find(b"y\ny\nx\nx\nx\nx\n", digest) == (MOVED, None)

    @in_one_test("text", [b"", b"one\n2\nthree\n", b"one\ntwo\nxhree\n", b"two\nextra\nthree\n"])
    def test_what_stands_nowhere_has_changed(self, text: bytes) -> None:
        assert find(text, cited(2, 3)) == (CHANGED, None)

    def test_lines_are_not_found_inside_longer_ones(self) -> None:
        assert find(b"x two\n", cited(2)) == (CHANGED, None)

    @in_one_test(("text", "state"), [(TEXT, UNCHANGED), (TEXT + b"six\n", CHANGED), (TEXT[1:], CHANGED)])
    def test_a_file_without_a_line_is_compared_whole(self, text: bytes, state: str) -> None:
        assert find(text, cited(None)) == (state, None)


class TestReading:
    def test_a_file_is_read_with_its_status(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(TEXT)
        file = read_cited(str(tmp_path), "a.py")
        assert file is not None
        assert (file.data, file.status.st_ino) == (TEXT, (tmp_path / "a.py").stat().st_ino)

    def test_what_is_too_large_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(bytes(MAX_BYTES))
        (tmp_path / "b").write_bytes(bytes(MAX_BYTES + 1))
        assert read_cited(str(tmp_path), "a") is not None
        assert read_cited(str(tmp_path), "b") is None

    def test_no_link_is_followed(self, tmp_path: Path) -> None:
        outside, project = tmp_path / "outside", tmp_path / "project"
        outside.mkdir()
        project.mkdir()
        (outside / "secret").write_text("x")
        (project / "file").symlink_to(outside / "secret")
        (project / "folder").symlink_to(outside)
        assert read_cited(str(project), "file") is None
        with pytest.raises(NotADirectoryError):
            read_cited(str(project), "folder/secret")

    def test_a_pipe_or_a_folder_is_not_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        assert read_cited(str(tmp_path), "pipe") is None
        assert read_cited(str(tmp_path), "folder") is None

    def test_what_is_not_there_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read_cited(str(tmp_path), "src/a.py")

"""What a gathered file holds comes unaltered from one read, or there is a reason why it does not come."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.consult import reading
from satchel.consult.gathering import gather
from satchel.consult.reading import read_content
from satchel.consult.records import Content, HeldBack, SourceFile, Stat, digest_of

SECRET = "ghp_" + "a1B2" * 9


def found_in(project: Path, data: bytes = b"text", path: str = "src/a.py") -> SourceFile:
    """Write a file and gather it."""
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_bytes(data)
    (found,) = gather([path], [str(project)], base=str(project), force=True).files
    return found


def content(found: SourceFile, **named: Any) -> Content:
    read = read_content(found, **named)
    assert isinstance(read, Content)
    return read


def reason(found: SourceFile, **named: Any) -> tuple[str, str]:
    read = read_content(found, **named)
    assert isinstance(read, HeldBack)
    assert read.path == found.path
    return read.reason, read.detail


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_the_text_encodes_to_the_bytes_of_the_file(project: Path, text: str) -> None:
    data = text.encode()
    found = found_in(project, data)
    read = content(found, force=True)
    assert read.text.encode() == data
    assert read.digest == digest_of(data)
    assert (
        read.stat == Stat(found.size, found.mtime_ns) == Stat(len(data), (project / "src" / "a.py").stat().st_mtime_ns)
    )


@pytest.mark.parametrize("data", [b"", b"a\r\nb\rc\n", b"\xef\xbb\xbfa", b"\x1b[1ma\x07\x0c", "\u2028\u202e".encode()])
def test_ends_of_lines_marks_and_signs_stay(project: Path, data: bytes) -> None:
    assert content(found_in(project, data)).text.encode() == data


@pytest.mark.parametrize("zeros_at", [0, 100, 10_000])
def test_a_file_with_zero_bytes_is_binary(project: Path, zeros_at: int) -> None:
    data = b"x" * zeros_at + b"\0" + b"x" * 10
    assert reason(found_in(project, data), force=True) == ("binary", "it is no text: it holds zero bytes")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("caf\u00e9".encode("latin-1"), "it is no text in UTF-8, from byte 3 on; send it converted"),
        (b"\xed\xa0\x80", "it is no text in UTF-8, from byte 0 on; send it converted"),
        ("text".encode("utf-16"), "it is text in UTF-16 or UTF-32, not in UTF-8; send it converted"),
    ],
)
def test_a_file_that_is_not_utf_8_is_held_back(project: Path, data: bytes, said: str) -> None:
    assert reason(found_in(project, data), force=True) == ("undecodable", said)


def test_a_file_with_a_secret_goes_only_with_force_and_then_unaltered(project: Path) -> None:
    text = f"one\ntwo\ntoken = {SECRET}\n"
    found = found_in(project, text.encode())
    assert reason(found) == (
        "secret",
        "line 3 holds what looks like a secret (github-token); it is sent only with force",
    )
    assert content(found, force=True).text == text


def test_the_secret_is_not_in_what_is_said(project: Path) -> None:
    assert SECRET not in repr(read_content(found_in(project, f"token = {SECRET}".encode())))


@pytest.mark.parametrize("grown", [False, True])
def test_a_file_over_the_limit_is_held_back(project: Path, grown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_in(project, b"x" * 10)
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 10)
    assert content(found).text == "x" * 10
    if grown:
        (project / "src" / "a.py").write_bytes(b"x" * 11)
    expected = "it has 11 bytes, more than the 10" if grown else "it has 10 bytes, more than the 9"
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 10 if grown else 9)
    name, detail = reason(found)
    assert name == "too_large"
    assert detail.startswith(expected)


class TestChanging:
    """A file that is written to between the two looks at it, as another process would."""

    def writes(self, monkeypatch: pytest.MonkeyPatch, write: Callable[[int], object]) -> list[int]:
        """Call ``write`` before every read of a file with the number of the read; return the list of the numbers."""
        fdopen = os.fdopen
        reads: list[int] = []

        def disturbed(*given: Any, **named: Any) -> Any:
            reads.append(len(reads) + 1)
            write(reads[-1])
            return fdopen(*given, **named)

        monkeypatch.setattr(os, "fdopen", disturbed)
        return reads

    def test_it_is_read_again_and_what_is_recorded_is_of_the_last_read(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = found_in(project, b"before")
        file = project / "src" / "a.py"
        reads = self.writes(monkeypatch, lambda number: file.write_bytes(b"longer than before") if number < 3 else None)
        read = content(found)
        assert (read.text, reads) == ("longer than before", [1, 2, 3])
        assert read.stat == Stat(18, file.stat().st_mtime_ns)

    def test_it_is_held_back_after_three_reads(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = found_in(project, b"x")
        file = project / "src" / "a.py"
        reads = self.writes(monkeypatch, lambda number: file.write_bytes(b"x" * (10 * number)))
        assert reason(found) == ("changing", "it changed each time it was read; ask again once it rests")
        assert reads == [1, 2, 3]

    def test_an_edit_of_the_same_size_is_noticed(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = found_in(project, b"old")
        file = project / "src" / "a.py"

        def edit(number: int) -> None:
            if number == 1:
                file.write_bytes(b"new")
                os.utime(file, ns=(0, 10))

        reads = self.writes(monkeypatch, edit)
        assert (content(found).stat, reads) == (Stat(3, 10), [1, 2])

    @pytest.mark.parametrize("size", [0, 5, 100_000])
    def test_one_that_grows_is_never_read_without_bound(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        found = found_in(project, b"x" * size)
        file = project / "src" / "a.py"
        self.writes(monkeypatch, lambda _: file.write_bytes(b"x" * 300_000))
        monkeypatch.setattr(reading, "MAX_FILE_BYTES", 200_000)
        assert reason(found)[0] == "too_large"

    def test_one_that_is_replaced_is_read_whole_as_it_was_or_as_it_is(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = found_in(project, b"old")
        new = project / "new"
        new.write_bytes(b"replaced")
        self.writes(monkeypatch, lambda number: new.replace(project / "src" / "a.py") if number == 1 else None)
        assert content(found).text in {"old", "replaced"}


class TestContained:
    @pytest.mark.parametrize("what", ["file", "folder"])
    def test_a_link_that_is_put_there_after_the_look_is_not_followed(self, project: Path, what: str) -> None:
        outside = project.parent / "outside"
        outside.mkdir()
        (outside / "a.py").write_text("not for you")
        found = found_in(project)
        if what == "file":
            (project / "src" / "a.py").unlink()
            (project / "src" / "a.py").symlink_to(outside / "a.py")
        else:
            (project / "src").rename(project / "old")
            (project / "src").symlink_to(outside)
        assert (
            reason(found)
            == {
                "file": ("unreadable", "it leads through a link that cannot be followed"),
                "folder": ("vanished", "it is not there: a part of the path is not a folder"),
            }[what]
        )

    def test_a_file_that_is_gone_is_said(self, project: Path) -> None:
        found = found_in(project)
        (project / "src" / "a.py").unlink()
        assert reason(found) == ("vanished", "it is not there")

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
    def test_what_became_no_ordinary_file_is_said(self, project: Path, make: Callable[[Path], None]) -> None:
        found = found_in(project)
        (project / "src" / "a.py").unlink()
        make(project / "src" / "a.py")
        assert reason(found) == ("special", "it is no ordinary file")

    def test_a_file_that_cannot_be_opened_is_said(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = found_in(project)

        def failing(base: str, real: str) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(reading, "open_inside", failing)
        assert reason(found) == ("unreadable", "it cannot be read (Permission denied)")

    def test_no_descriptor_stays_open(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        every = [
            found_in(project, data, f"src/{number}")
            for number, data in enumerate((b"text", b"\xff", b"\0", b"x" * 99, SECRET.encode(), b"gone"))
        ]
        (project / "src" / "5").unlink()
        monkeypatch.setattr(reading, "MAX_FILE_BYTES", 50)
        before = len(list(Path("/dev/fd").iterdir()))
        for found in every:
            read_content(found)
        assert len(list(Path("/dev/fd").iterdir())) == before

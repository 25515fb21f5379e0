"""What a package holds is read inside the project, or there is a reason why it is not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from satchel import InvalidInput, NotFound, Refused, Satchel
from satchel.keep.packages import contents
from satchel.keep.packages.service import Packages
from tables import in_one_test

KIB = 1_024


@pytest.fixture
def outside(project: Path) -> Path:
    """A folder beside the project, with a file in it."""
    folder = project.parent / "outside"
    folder.mkdir()
    (folder / "a.md").write_text("not for you")
    return folder


def save_file(satchel: Satchel, project: Path, text: str | bytes = "text", path: str = "docs/a.md") -> str:
    """Write a file, save a package of it, and return the package's id."""
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_bytes(text.encode() if isinstance(text, str) else text)
    return satchel.packages.save("x", path=path).ref


def reason(satchel: Satchel, ref: str, **given: Any) -> str | None:
    content = satchel.packages.read(ref, **given)
    assert (content.text is None) == (content.reason is not None)
    return content.reason


@pytest.mark.parametrize("given", ["docs/a.md", "./docs/../docs//a.md", "{project}/docs/a.md"])
def test_a_file_is_kept_by_its_canonical_path_and_read_as_it_is_now(
    satchel: Satchel, project: Path, given: str
) -> None:
    save_file(satchel, project, "before")
    saved = satchel.packages.save("x", path=given.format(project=project))
    (project / "docs" / "a.md").write_text("after\n")
    content = satchel.packages.read(saved.ref)
    assert (content.text, content.reason, content.notes) == ("after\n", None, ())
    assert content.package is not None
    assert (content.ref, content.package.path, content.package.content_bytes) == (saved.ref, "docs/a.md", None)


def test_a_link_inside_the_project_is_followed(satchel: Satchel, project: Path) -> None:
    save_file(satchel, project, "text")
    (project / "latest").symlink_to("docs")
    saved = satchel.packages.save("x", path="latest/a.md")
    assert saved.path == "docs/a.md"
    assert satchel.packages.read(saved.ref).text == "text"


def test_a_project_that_is_itself_behind_a_link_works(open_in: Callable[..., Satchel], project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    satchel = open_in(link)
    assert satchel.packages.read(save_file(satchel, link, "text")).text == "text"


@pytest.mark.parametrize("path", [".env", ".aws/credentials", ".docker/config.json", "docs/id_rsa"])
def test_a_file_whose_name_says_secret_is_refused_when_it_is_saved(satchel: Satchel, project: Path, path: str) -> None:
    with pytest.raises(Refused, match="file with secrets"):
        save_file(satchel, project, path=path)


def test_a_file_behind_a_link_whose_name_says_secret_is_refused(satchel: Satchel, project: Path) -> None:
    (project / ".aws").mkdir()
    (project / ".aws" / "config").write_text("text")
    (project / "notes.md").symlink_to(".aws/config")
    with pytest.raises(Refused, match="file with secrets"):
        satchel.packages.save("x", path="notes.md")


def test_a_link_that_leads_to_a_secret_since_it_was_saved_is_a_reason(satchel: Satchel, project: Path) -> None:
    ref = save_file(satchel, project)
    (project / ".env").write_text("A=1")
    (project / "docs" / "a.md").unlink()
    (project / "docs" / "a.md").symlink_to("../.env")
    assert reason(satchel, ref) == "docs/a.md has a name, or a folder's name, of a file with secrets"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_leads_out_since_it_was_saved_is_a_reason(
    satchel: Satchel, project: Path, outside: Path, what: str
) -> None:
    ref = save_file(satchel, project)
    if what == "file":
        (project / "docs" / "a.md").unlink()
        (project / "docs" / "a.md").symlink_to(outside / "a.md")
    else:
        (project / "docs").rename(project / "old")
        (project / "docs").symlink_to(outside)
    assert reason(satchel, ref) == "docs/a.md leads out of the project through a link"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_is_put_there_between_looking_and_opening_is_not_followed(
    satchel: Satchel, project: Path, outside: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = save_file(satchel, project)
    resolved = contents._resolved

    def swapped(path: str, root: str | None) -> tuple[str, str]:
        found = resolved(path, root)
        if what == "file":
            (project / "docs" / "a.md").unlink()
            (project / "docs" / "a.md").symlink_to(outside / "a.md")
        else:
            (project / "docs").rename(project / "old")
            (project / "docs").symlink_to(outside)
        return found

    monkeypatch.setattr(contents, "_resolved", swapped)
    said = {
        "file": "docs/a.md leads through a link that cannot be followed",
        "folder": "docs/a.md is not there: a part of the path is not a folder",
    }
    assert reason(satchel, ref) == said[what]


def test_a_loop_of_links_is_a_reason(satchel: Satchel, project: Path) -> None:
    ref = save_file(satchel, project)
    (project / "docs" / "a.md").unlink()
    (project / "docs" / "a.md").symlink_to("a.md")
    assert reason(satchel, ref) == "docs/a.md leads through a link that cannot be followed"


def test_a_file_that_is_gone_is_a_reason(satchel: Satchel, project: Path) -> None:
    ref = save_file(satchel, project)
    (project / "docs" / "a.md").unlink()
    assert reason(satchel, ref) == "docs/a.md is not there"


def test_a_folder_that_became_a_file_is_a_reason(satchel: Satchel, project: Path) -> None:
    ref = save_file(satchel, project)
    (project / "docs" / "a.md").unlink()
    (project / "docs").rmdir()
    (project / "docs").write_text("x")
    assert reason(satchel, ref) == "docs/a.md is not there: a part of the path is not a folder"


def test_a_file_that_is_not_there_yet_is_kept_and_said(satchel: Satchel, project: Path) -> None:
    satchel.runs.start("r1")
    saved = satchel.packages.save("x", path="later.md")
    assert saved.notes == ("later.md is not there: readers get the summary alone until it can be read",)
    (project / "later.md").write_text("text")
    assert satchel.packages.read(saved.ref).text == "text"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_became_no_ordinary_file_is_a_reason(
    satchel: Satchel, project: Path, make: Callable[[Path], None]
) -> None:
    ref = save_file(satchel, project)
    (project / "docs" / "a.md").unlink()
    make(project / "docs" / "a.md")
    assert reason(satchel, ref) == "docs/a.md is no ordinary file"


def test_a_pipe_is_refused(satchel: Satchel, project: Path) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(InvalidInput, match="is no ordinary file"):
        satchel.packages.save("x", path="pipe")


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EIO, "I/O error")])
def test_a_file_that_cannot_be_opened_is_a_reason(
    satchel: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    ref = save_file(satchel, project)

    def failing(base: str, real: str) -> int:
        raise error

    monkeypatch.setattr(contents, "open_inside", failing)
    assert reason(satchel, ref) == f"docs/a.md cannot be read ({error.strerror})"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe\x00", "docs/a.md is not UTF-8 text"),
        ("caf\u00e9".encode("latin-1"), "docs/a.md is not UTF-8 text"),
        (b"a\0b", "docs/a.md is not text: it contains zero bytes"),
    ],
)
def test_what_is_no_text_is_a_reason(satchel: Satchel, project: Path, data: bytes, said: str) -> None:
    assert reason(satchel, save_file(satchel, project, data)) == said


def test_a_byte_order_mark_is_no_part_of_the_text(satchel: Satchel, project: Path) -> None:
    assert satchel.packages.read(save_file(satchel, project, b"\xef\xbb\xbftext")).text == "text"


def test_an_empty_file_is_an_empty_text(satchel: Satchel, project: Path) -> None:
    assert satchel.packages.read(save_file(satchel, project, "")).text == ""


def test_secrets_in_a_file_are_redacted_and_said_and_the_file_stays(satchel: Satchel, project: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    ref = save_file(satchel, project, f"token {secret}\x07")
    content = satchel.packages.read(ref)
    assert content.text == "token [redacted:github-token]"
    assert content.notes == ("1 control character removed", "a secret was redacted (github-token)")
    assert secret in (project / "docs" / "a.md").read_text()


def test_a_file_over_the_configured_size_is_a_reason_and_can_be_asked_for(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    satchel.runs.start("r1")
    assert satchel.packages.read(save_file(satchel, project, "x" * KIB)).text == "x" * KIB
    (project / "docs" / "a.md").write_text("x" * (KIB + 1))
    saved = satchel.packages.save("x", path="docs/a.md")
    assert saved.notes == (
        "docs/a.md has 1,025 bytes, more than the 1,024 that are read: readers have to ask for more",
    )
    assert reason(satchel, saved.ref) == "docs/a.md has 1,025 bytes, more than the 1,024 that are read"
    assert satchel.packages.read(saved.ref, KIB + 1).text == "x" * (KIB + 1)


def test_a_file_that_grows_while_it_is_read_is_a_reason(
    satchel: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = save_file(satchel, project, "x" * 10)
    fdopen = os.fdopen

    def grown(*given: Any, **named: Any) -> Any:
        (project / "docs" / "a.md").write_text("x" * 20)
        return fdopen(*given, **named)

    monkeypatch.setattr(os, "fdopen", grown)
    assert reason(satchel, ref, max_bytes=15) == "docs/a.md has 16 bytes, more than the 15 that are read"


def test_no_descriptor_stays_open(satchel: Satchel, project: Path) -> None:
    refs = [
        save_file(satchel, project, data, path)
        for data, path in (("text", "docs/a"), (b"\xff", "docs/b"), ("x" * 99, "docs/c"), ("gone", "docs/d"))
    ]
    (project / "docs" / "d").unlink()
    satchel.packages.read_many(refs, 50)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        satchel.packages.read_many(refs, 50)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_stored_text_over_the_size_asked_for_is_a_reason(satchel: Satchel) -> None:
    ref = satchel.packages.save("x", content="ä" * 10).ref
    assert reason(satchel, ref, max_bytes=19) == f"{ref} has 20 bytes, more than the 19 that are read"
    assert satchel.packages.read(ref, 20).text == "ä" * 10


def test_one_that_cannot_be_read_keeps_none_of_the_others_from_it(satchel: Satchel, project: Path) -> None:
    gone = save_file(satchel, project, "gone", "docs/gone.md")
    (project / "docs" / "gone.md").unlink()
    binary = save_file(satchel, project, b"\xff", "docs/binary")
    file = save_file(satchel, project, "a file")
    stored = satchel.packages.save("x", content="a text").ref
    found = satchel.packages.read_many([gone, file, "p99", binary, stored, file])
    assert [(one.ref, one.text, one.reason) for one in found] == [
        (gone, None, "docs/gone.md is not there"),
        (file, "a file", None),
        ("p99", None, "there is no package p99 in this project"),
        (binary, None, "docs/binary is not UTF-8 text"),
        (stored, "a text", None),
    ]
    assert [one.package is None for one in found] == [False, False, True, False, False]


def test_a_superseded_package_can_still_be_read(satchel: Satchel) -> None:
    old = satchel.packages.save("x", content="old")
    satchel.packages.save("x", content="new", supersedes=old.ref)
    assert satchel.packages.read(old.ref).text == "old"


@in_one_test(
    ("given", "problem"),
    [
        (("d1",), "is no id of a package"),
        ((True,), "is no id of a package"),
        (("p1", 0), "max_bytes 0 is out of range"),
        (("p1", 64 * KIB * KIB + 1), "max_bytes .* is out of range"),
        (("p1", 1.5), "max_bytes 1.5 is not a whole number"),
    ],
)
def test_what_is_no_id_or_size_is_refused(satchel: Satchel, given: tuple[Any, ...], problem: str) -> None:
    satchel.packages.save("x", content="y")
    with pytest.raises(InvalidInput, match=problem):
        satchel.packages.read(*given)


@in_one_test("refs", [[], "p1", None, ["p1"] * 101])
def test_what_is_no_list_of_ids_is_refused(satchel: Satchel, refs: Any) -> None:
    with pytest.raises(InvalidInput, match="refs is not a list of ids"):
        satchel.packages.read_many(refs)


@pytest.mark.parametrize("begun", [True, False])
def test_an_unknown_package_is_said(satchel: Satchel, begun: bool) -> None:
    if begun:
        satchel.packages.save("x", content="y")
    with pytest.raises(NotFound, match="there is no package p9 in this project"):
        satchel.packages.read("p9")


def test_a_package_of_another_project_is_not_read(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = other.packages.save("x", content="y").ref
    one.packages.save("x", content="y")
    with pytest.raises(NotFound):
        one.packages.read(theirs)
    assert one.packages.read_many([theirs])[0].text is None


def test_without_a_folder_a_path_is_refused_and_a_kept_one_has_a_reason(satchel: Satchel, project: Path) -> None:
    ref = save_file(satchel, project)
    nowhere = Packages(replace(satchel.workplace, files_root=None))
    with pytest.raises(InvalidInput, match="starts from no folder"):
        nowhere.save("x", path="docs/a.md")
    assert nowhere.read(ref).reason == "docs/a.md starts from no folder: the project has none here"


def _remove(file: Path) -> None:
    file.unlink()


def _grow(file: Path) -> None:
    os.truncate(file, KIB + 1)


def _escape(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def _become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _become_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _dangle(file: Path) -> None:
    file.unlink()
    file.symlink_to("gone.md")


class TestWithoutOpeningIt:
    """Why a file cannot be read, as a briefing says it of many packages at once."""

    @pytest.mark.parametrize("change", [_remove, _grow, _escape, _become_folder, _become_pipe, _dangle])
    def test_the_reason_is_that_of_reading_it(self, project: Path, change: Callable[[Path], None]) -> None:
        file = project / "a.md"
        file.write_text("text")
        assert contents.unreadable("a.md", str(project), KIB) is None
        change(file)
        said = contents.unreadable("a.md", str(project), KIB)
        assert contents.read_file("a.md", str(project), KIB).reason == f"a.md {said}"

    def test_a_file_on_the_way_to_it_is_a_reason(self, project: Path) -> None:
        (project / "docs").write_text("no folder")
        assert contents.unreadable("docs/a.md", str(project), KIB) == (
            "is not there: a part of the path is not a folder"
        )

    def test_without_a_folder_there_is_nowhere_to_look(self) -> None:
        assert contents.unreadable("a.md", None, KIB) == "starts from no folder: the project has none here"

    def test_a_link_inside_the_project_is_none(self, project: Path) -> None:
        (project / "a.md").write_text("text")
        (project / "latest.md").symlink_to("a.md")
        assert contents.unreadable("latest.md", str(project), KIB) is None

    @pytest.mark.parametrize(("size", "is_readable"), [(KIB, True), (KIB + 1, False)])
    def test_it_may_be_as_large_as_said(self, project: Path, size: int, is_readable: bool) -> None:
        (project / "a.md").write_bytes(b"x" * size)
        assert (contents.unreadable("a.md", str(project), KIB) is None) == is_readable

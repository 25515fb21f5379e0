"""One file has one path, whatever it is called: in either form of an accent, in any case on such a disk, by a link."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from keep.files.claims_shown import held
from satchel import Conflict, Refused, Satchel
from satchel.base import project_paths

NFC = "docs/caf\u00e9.md"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.mark.parametrize("on_disk", [NFC, NFD, None])
@pytest.mark.parametrize(("first", "second"), [(NFC, NFD), (NFD, NFC), ("docs/", NFD), (NFD, "docs/")])
def test_both_forms_of_an_accent_are_one_file(
    satchel: Satchel, project: Path, on_disk: str | None, first: str, second: str
) -> None:
    if on_disk is not None:
        (project / "docs").mkdir()
        (project / on_disk).touch()
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim([second], agent="bob")
    assert satchel.files.check([NFD]).files[0].file == NFC


@pytest.fixture
def ignoring_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes names in another case for the same, as far as they are compared with what is there."""
    monkeypatch.setattr(project_paths, "ignores_letter_case", lambda _root: True)


@pytest.mark.usefixtures("ignoring_case")
@pytest.mark.parametrize(("first", "second"), [("SRC/A.py", "src/a.PY"), ("src/", "Src/a.py"), ("SRC/new.py", "src/")])
def test_on_a_disk_that_ignores_case_every_case_of_what_is_there_is_one_file(
    satchel: Satchel, project: Path, first: str, second: str
) -> None:
    (project / "src").mkdir()
    (project / "src/a.py").touch()
    satchel.files.claim([first], agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim([second], agent="bob")
    assert satchel.files.check([second], agent="bob").is_held


@pytest.mark.usefixtures("ignoring_case")
def test_keys_are_not_spelled_as_files_are(satchel: Satchel) -> None:
    satchel.files.claim(["issue:a"], agent="ann")
    satchel.files.claim(["ISSUE"], agent="bob")
    assert held(satchel) == [("ann", "issue:a"), ("bob", "ISSUE")]


def test_elsewhere_another_case_is_another_file(satchel: Satchel) -> None:
    satchel.files.claim(["src/a.py"], agent="ann")
    satchel.files.claim(["src/A.py"], agent="bob")


@pytest.mark.parametrize("path", ["link.py", "folder/a.py", "twice/a.py", "{root}/folder/a.py"])
def test_links_within_the_project_lead_to_the_file(satchel: Satchel, project: Path, path: str) -> None:
    (project / "src").mkdir()
    (project / "src/a.py").touch()
    (project / "link.py").symlink_to("src/a.py")
    (project / "folder").symlink_to(project / "src")
    (project / "twice").symlink_to("folder")
    satchel.files.claim(["src/a.py"], agent="ann")
    with pytest.raises(Conflict, match=r"src/a\.py is held by ann"):
        satchel.files.claim([path.format(root=project)], agent="bob")


def test_a_link_out_of_the_project_is_refused(satchel: Satchel, project: Path, tmp_path: Path) -> None:
    (project / "out").symlink_to(tmp_path)
    with pytest.raises(Refused, match="leads out of the project through a link"):
        satchel.files.claim(["out/a.py"], agent="ann")


def test_an_absolute_path_through_a_link_to_the_project_is_the_file(
    open_in: Callable[..., Satchel], project: Path, tmp_path: Path
) -> None:
    alias = tmp_path.resolve() / "alias"
    alias.symlink_to(project, target_is_directory=True)
    satchel = open_in(project)
    assert satchel.files.claim([f"{alias}/src/a.py", f"{alias}/docs/"], agent="ann").claims[0].path == "src/a.py"
    assert [path for _, path in held(satchel)] == ["src/a.py", "docs/**"]

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base import project_paths
from satchel.base.errors import InvalidInput, Refused
from satchel.base.project_paths import canonical_path, ignores_letter_case


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "a.py").write_text("a")
    return project


LINKS: dict[str, tuple[dict[str, str], str, str]] = {
    "a linked folder": ({"link": "src"}, "link/a.py", "src/a.py"),
    "a linked file": ({"a.py": "src/a.py"}, "a.py", "src/a.py"),
    "everything in a linked folder": ({"link": "src"}, "link/**", "src/**"),
    "a file that is not there yet": ({"link": "src"}, "link/new/b.py", "src/new/b.py"),
    "an absolute link": ({"link": "{root}/src"}, "link/a.py", "src/a.py"),
    "a link upwards": ({"src/deep/up": "../../src"}, "src/deep/up/a.py", "src/a.py"),
    "a link out and in again": ({"link": "../project/src"}, "link/a.py", "src/a.py"),
    "a link to a link": ({"one": "two", "two": "src/deep"}, "one/x", "src/deep/x"),
    "a link through a link": ({"one": "src", "two": "one/deep/.."}, "two/a.py", "src/a.py"),
    "a link to what is gone": ({"link": "gone/../src"}, "link/a.py", "src/a.py"),
    "a link to the root": ({"self": "."}, "self/src/a.py", "src/a.py"),
    "a link to itself": ({"loop": "loop"}, "loop/a.py", "loop/a.py"),
    "a file below a file": ({}, "src/a.py/b", "src/a.py/b"),
}


@pytest.mark.parametrize(("links", "path", "expected"), LINKS.values(), ids=LINKS)
def test_links_inside_the_project_lead_to_one_path(root: Path, links: dict[str, str], path: str, expected: str) -> None:
    for link, target in links.items():
        (root / link).symlink_to(target.format(root=root))
    assert canonical_path(path, str(root)) == expected
    assert canonical_path(f"{root}/{path}", str(root)) == expected
    assert canonical_path(expected, str(root)) == expected


@pytest.mark.parametrize("target", ["/etc", "..", "../other", "src/../../other", "{root}2", "gone/../../other"])
def test_a_link_that_leads_out_is_refused(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))
    with pytest.raises(Refused, match=r"^file 'link/a.py' leads out of the project through a link"):
        canonical_path("link/a.py", str(root))


def test_a_project_under_a_link_is_the_same_project(root: Path) -> None:
    other = root.parent / "other"
    other.symlink_to(root)
    (root / "link").symlink_to(root / "src")
    assert canonical_path("link/a.py", str(other)) == "src/a.py"


def test_a_link_to_the_projects_folder_names_no_file(root: Path) -> None:
    (root / "self").symlink_to(".")
    with pytest.raises(InvalidInput, match="names no file of the project"):
        canonical_path("self", str(root))


def test_a_link_to_what_is_no_name_is_refused(root: Path) -> None:
    (root / "bad\nname").mkdir()
    (root / "link").symlink_to("bad\nname")
    with pytest.raises(InvalidInput, match="control character"):
        canonical_path("link/a.py", str(root))


def test_a_link_that_changes_is_followed_anew(root: Path) -> None:
    (root / "link").symlink_to("src")
    assert canonical_path("link/b", str(root)) == "src/b"
    (root / "link").unlink()
    assert canonical_path("link/b", str(root)) == "link/b"


def test_accents_have_one_spelling(root: Path) -> None:
    assert canonical_path("src/cafe\u0301.py", str(root)) == canonical_path("src/caf\u00e9.py", str(root))


@pytest.fixture
def ignoring_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_paths, "ignores_letter_case", lambda _: True)


@pytest.mark.usefixtures("ignoring_case")
@pytest.mark.parametrize(
    ("path", "expected"),
    [("SRC/A.py", "src/a.py"), ("Src/New.py", "src/New.py"), ("LINK/A.PY", "src/a.py"), ("src/Grosse", "src/Grosse")],
)
def test_a_disk_that_ignores_case_spells_what_exists(root: Path, path: str, expected: str) -> None:
    (root / "link").symlink_to("SRC")
    assert canonical_path(path, str(root)) == expected


@pytest.mark.usefixtures("ignoring_case")
def test_a_renamed_file_is_spelled_anew(root: Path) -> None:
    assert canonical_path("src/A.PY", str(root)) == "src/a.py"
    (root / "src" / "a.py").rename(root / "src" / "A.py")
    os.utime(root / "src", ns=(1, 1))
    assert canonical_path("src/a.PY", str(root)) == "src/A.py"


def test_a_disk_that_tells_cases_apart_is_known(root: Path) -> None:
    (root / ".git").mkdir()
    assert ignores_letter_case(str(root)) == (root / ".GIT").exists()


def test_a_disk_that_takes_two_cases_for_one_is_known(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / ".git").mkdir()
    lstat: Callable[..., os.stat_result] = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: lstat(str(path).replace(".GIT", ".git")))
    assert ignores_letter_case(str(root))


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6), st.data())
def test_the_place_is_inside_and_its_own_place(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "a").mkdir()
    targets = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=4).map("/".join)
    (root / "b").symlink_to(data.draw(targets))
    (root / "a" / "c").symlink_to(data.draw(targets))
    try:
        path = canonical_path("/".join(parts), str(root))
    except (InvalidInput, Refused):
        return
    assert canonical_path(path, str(root)) == path
    assert not path.startswith(("/", "../"))
    try:
        real = os.path.realpath(root / path, strict=True)
    except OSError:
        return  # a loop and a missing part lead nowhere
    assert real.startswith(os.path.realpath(root))


def test_a_root_whose_name_has_no_letters_says_nothing_of_letter_case(tmp_path: Path) -> None:
    (tmp_path / "2026").mkdir()
    assert not ignores_letter_case(str(tmp_path / "2026"))

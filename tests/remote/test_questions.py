"""What a server may ask of the machine that a call comes from: nothing outside the caller's project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from satchel.base.machine import ROOT
from satchel.base.wire import packed, unpacked
from satchel.keep.files.places import Place
from satchel.remote.questions import _ROOTS, _TREES, Surroundings, answer


@pytest.fixture
def here(tmp_path: Path) -> Surroundings:
    """A project, with a file of others beside it."""
    root = tmp_path.resolve() / "project"
    (root / ".git").mkdir(parents=True)
    (root / "own.txt").write_text("own\n")
    (root / "link").symlink_to(tmp_path.resolve())
    (tmp_path / "theirs.txt").write_text("a secret of others\n" * 3)
    return Surroundings(str(root), str(root), None, "host")


def asked(here: Surroundings, question: str, *given: Any) -> Any:
    """Ask as a server does; return the answer, or the code of the error."""
    said = answer(question, packed(list(given)), here)
    return said["error"]["code"] if "error" in said else unpacked(said["answer"])


OUTSIDE = ("/etc/passwd", "../theirs.txt", "a/../../theirs.txt", "link/theirs.txt", "/", "..")


@pytest.mark.parametrize("question", [name for name, (_, place) in _ROOTS.items() if place == 1])
@pytest.mark.parametrize("root", ["/", "/etc", "..", "", 5, [], b"/"])
def test_no_other_folder_is_looked_at(here: Surroundings, question: str, root: object) -> None:
    assert asked(here, question, "own.txt", root, 100) == "refused"


@pytest.mark.parametrize("question", [name for name, (_, place) in _ROOTS.items() if place == 0])
@pytest.mark.parametrize("root", ["/", "/etc", "..", "", 5, [], b"/"])
def test_no_other_root_is_looked_at(here: Surroundings, question: str, root: object) -> None:
    assert asked(here, question, root) == "refused"


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("question", ["check_saved", "unreadable"])
def test_what_lies_outside_is_as_if_it_were_not_there(here: Surroundings, question: str, path: str) -> None:
    outside = asked(here, question, path, ROOT, 1)
    Path(here.root or "").parent.joinpath("theirs.txt").unlink()
    assert asked(here, question, path, ROOT, 1) == outside


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("question", _TREES)
def test_places_outside_are_not_looked_at(here: Surroundings, question: str, path: str) -> None:
    def ask() -> Any:
        given = Place(path, None) if question in {"look_at", "count_files"} else path
        more: Sequence[object] = ("path",) if question in {"place_named", "file_named"} else ()
        return asked(here, question, None, given, *more)

    outside = ask()
    Path(here.root or "").parent.joinpath("theirs.txt").unlink()
    assert ask() == outside


@pytest.mark.parametrize("path", OUTSIDE)
def test_citations_of_what_lies_outside_are_not_made(here: Surroundings, path: str) -> None:
    said = str(asked(here, "cited_in", ROOT, ((1, Place(path, None)),)))
    Path(here.root or "").parent.joinpath("theirs.txt").unlink()
    assert str(asked(here, "cited_in", ROOT, ((1, Place(path, None)),))) == said


@pytest.mark.parametrize("question", ["read_file", "system", "os.system", "__import__", "", "look_at ", "x" * 10_000])
def test_other_questions_are_refused(here: Surroundings, question: str) -> None:
    said = answer(question, [], here)
    assert said["error"]["code"] == "refused"
    assert len(str(said)) < 500


@pytest.mark.parametrize("worktree", ["other:/p", "/", "/etc", "host:/", "host:/etc", "host:/../x", "{above}"])
def test_worktrees_of_other_machines_and_projects_are_not_looked_at(here: Surroundings, worktree: str) -> None:
    worktree = worktree.replace("{above}", str(Path(here.root or "").parent))
    assert asked(here, "look_at", None, Place("theirs.txt", worktree)) == "refused"


def test_worktrees_of_this_project_are_looked_at(here: Surroundings) -> None:
    root = Path(here.root or "")
    linked = root.parent / "linked"
    of_linked = root / ".git/worktrees/linked"
    of_linked.mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {of_linked}\n")
    (of_linked / "gitdir").write_text(f"{linked}/.git\n")
    (of_linked / "commondir").write_text("../..\n")
    (linked / "there.txt").write_text("there")
    for name in (f"host:{linked}", str(linked)):
        assert asked(here, "look_at", None, Place("there.txt", name)).exists
    assert asked(here, "look_at", None, Place("own.txt", f"host:{root}")).exists


@pytest.mark.parametrize("question", [*_TREES, *_ROOTS, "own", "ancestors", "is_alive", "find_client", "machine"])
def test_malformed_arguments_end_in_an_answer(here: Surroundings, question: str) -> None:
    for given in [
        [],
        [1],
        [None] * 50,
        [{"$r": "client:Satchel"}],
        [{"$r": "os:path"}],
        [["x"] * 10_000],
        [{"$m": [[[], 1]]}],
    ]:
        assert answer(question, given, here).keys() <= {"answer", "error"}

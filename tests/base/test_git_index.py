"""What the index of a repository says, beside what git itself says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repositories import commit_all, git, make_repository
from satchel.base.cited import read_cited
from satchel.base.git_files import read_head
from satchel.base.git_index import CLEAN, DIRTY, UNTRACKED, path_of, standing


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two files, one in a folder, whose names end alike."""
    folder = make_repository(tmp_path / "repository")
    (folder / "src").mkdir()
    (folder / "a.py").write_text("a\n")
    (folder / "src" / "a.py").write_text("in a folder\n")
    commit_all(folder)
    return folder


def stands(folder: Path, path: str) -> tuple[int | None, bytes | None]:
    file = read_cited(str(folder), path)
    assert file is not None
    return standing(str(folder), path, file, read_head(str(folder))[1])


@pytest.mark.parametrize("path", ["a.py", "src/a.py"])
def test_what_is_committed_is_clean_and_has_gits_hash(repository: Path, path: str) -> None:
    assert stands(repository, path) == (CLEAN, bytes.fromhex(git(repository, "rev-parse", f"HEAD:{path}")))


def test_what_was_edited_is_dirty(repository: Path) -> None:
    (repository / "a.py").write_text("b\n")
    assert stands(repository, "a.py") == (DIRTY, None)


def test_what_was_only_touched_is_clean(repository: Path) -> None:
    os.utime(repository / "a.py", ns=(1, 1))
    assert stands(repository, "a.py")[0] == CLEAN


def test_an_edit_that_kept_size_and_time_is_dirty(repository: Path) -> None:
    before = (repository / "a.py").stat()
    # the index is as young as the file
    os.utime(repository / ".git" / "index", ns=(before.st_mtime_ns, before.st_mtime_ns))
    (repository / "a.py").write_text("b\n")
    os.utime(repository / "a.py", ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert stands(repository, "a.py")[0] == DIRTY


def test_a_file_with_the_size_and_time_of_an_older_index_is_clean_unread(repository: Path) -> None:
    file, time = repository / "a.py", 1_700_000_000_999_999_999
    os.utime(file, ns=(time, time))
    git(repository, "update-index", "--refresh")
    file.write_text("b\n")
    os.utime(file, ns=(time, time))
    assert stands(repository, "a.py")[0] == CLEAN


@pytest.mark.parametrize("path", ["new.py", "src/new.py", "py", "rc/a.py"])
def test_what_git_does_not_know_is_untracked(repository: Path, path: str) -> None:
    (repository / path).parent.mkdir(exist_ok=True)
    (repository / path).write_text("a\n")
    assert stands(repository, path) == (UNTRACKED, None)


def test_line_ends_that_git_converts_are_no_edit(repository: Path) -> None:
    (repository / "a.py").write_bytes(b"a\r\n")
    assert stands(repository, "a.py")[0] == CLEAN


@pytest.mark.parametrize(
    "settings",
    [("update-index", "--index-version=4"), ("update-index", "--split-index")],
    ids=["version 4", "split"],
)
def test_an_index_of_another_form_says_nothing(repository: Path, settings: tuple[str, ...]) -> None:
    git(repository, *settings)
    (repository / "new.py").write_text("a\n")
    assert stands(repository, "new.py") == (None, None)


def test_an_entry_with_more_flags_is_read(repository: Path) -> None:
    (repository / "new.py").write_text("new\n")
    git(repository, "add", "--intent-to-add", "new.py")
    assert stands(repository, "new.py")[0] == DIRTY
    assert stands(repository, "src/a.py")[0] == CLEAN


def test_a_conflict_is_dirty(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other")
    (repository / "a.py").write_text("theirs\n")
    commit_all(repository)
    git(repository, "checkout", "--quiet", "main")
    (repository / "a.py").write_text("ours\n")
    commit_all(repository)
    with pytest.raises(Exception, match="merge"):
        git(repository, "merge", "--quiet", "other")
    assert stands(repository, "a.py") == (DIRTY, None)


def test_hashes_of_256_bits_are_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    (tmp_path / "a.py").write_text("a\n")
    commit = commit_all(tmp_path)
    assert len(commit) == 64
    assert stands(tmp_path, "a.py") == (CLEAN, bytes.fromhex(git(tmp_path, "rev-parse", "HEAD:a.py")))


def test_a_content_is_found_under_its_new_name(repository: Path) -> None:
    blob = stands(repository, "src/a.py")[1]
    assert blob is not None
    git(repository, "mv", "src/a.py", "src/b.py")
    assert path_of(str(repository), blob) == "src/b.py"
    git(repository, "rm", "--quiet", "--force", "src/b.py")
    assert path_of(str(repository), blob) is None


def test_an_index_that_is_a_pipe_says_nothing(repository: Path) -> None:
    (repository / ".git" / "index").unlink()
    os.mkfifo(repository / ".git" / "index")
    assert stands(repository, "a.py") == (None, None)
    assert path_of(str(repository), b"x" * 20) is None


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1" + b"a.py\0" * 40])
def test_an_index_that_git_never_made_breaks_nothing(repository: Path, content: bytes) -> None:
    (repository / ".git" / "index").write_bytes(content)
    assert stands(repository, "a.py")[0] in {None, UNTRACKED}
    assert path_of(str(repository), b"py\0a." * 4) in {None, ".py"}


class TestWhatIsStaged:
    def test_is_dirty_where_nothing_was_committed(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet", "--initial-branch=main")
        (tmp_path / "a.py").write_text("a\n")
        git(tmp_path, "add", "a.py")
        assert stands(tmp_path, "a.py")[0] == DIRTY

    @pytest.mark.parametrize("path", ["a.py", "src/a.py", "src/deep/a.py"])
    def test_is_not_taken_for_committed(self, repository: Path, path: str) -> None:
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("staged\n")
        git(repository, "add", path)
        assert stands(repository, path) == (None, bytes.fromhex(git(repository, "rev-parse", f":{path}")))
        commit_all(repository)
        assert stands(repository, path)[0] == CLEAN

    @pytest.mark.parametrize("staged", ["a.py", "docs/a.md", "src.py/a.py", "zoo/src/a.py"])
    def test_says_nothing_of_other_folders(self, repository: Path, staged: str) -> None:
        (repository / staged).parent.mkdir(parents=True, exist_ok=True)
        (repository / staged).write_text("before\n")
        commit_all(repository)
        (repository / staged).write_text("staged\n")
        git(repository, "add", staged)
        assert stands(repository, "src/a.py")[0] == CLEAN

    def test_is_committed_once_it_is_taken_back(self, repository: Path) -> None:
        (repository / "a.py").write_text("staged\n")
        git(repository, "add", "a.py")
        git(repository, "reset", "--quiet", "--hard")
        assert stands(repository, "a.py")[0] == CLEAN

    def test_is_unknown_where_the_index_is_spoilt_there(self, repository: Path) -> None:
        index = repository / ".git" / "index"
        data = index.read_bytes()
        place = data.rfind(b"TREE") + 8
        for spoilt in (b"\0x y\n", b"\0-1 \xb2\n", b"\xff" * 8, b"\n" * 8):
            index.write_bytes(data[:place] + spoilt + data[place + len(spoilt) :])
            assert stands(repository, "src/a.py")[0] is None

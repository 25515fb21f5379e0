from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.base.errors import InvalidInput, NotFound, Unavailable
from satchel.interfaces.cli.tour.history import choose_history, load_sample, read_history

Git = Callable[..., str]
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture(autouse=True)
def _git_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@pytest.fixture
def git(repository: Path) -> Git:
    def run(*arguments: str | bytes, at: Path = repository) -> str:
        command = ["git", *IDENTITY, "-C", str(at), *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode()

    return run


@pytest.fixture
def commit(repository: Path, git: Git) -> Callable[..., str]:
    def make(message: str | bytes, *paths: str | bytes) -> str:
        for path in paths:
            target = repository / os.fsdecode(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("ab") as file:
                file.write(os.fsencode(message) + b"\n")
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", message)
        return git("rev-parse", "HEAD").strip()

    return make


Committer = Callable[..., str]


def test_commits_come_newest_first_with_their_parts(repository: Path, commit: Committer) -> None:
    first = commit("Add the till\n\nIt counts.\n\nSo far.", "src/till.py", "README.md")
    second = commit("Add tax", "src/tax.py")

    read = read_history(repository)

    assert [c.sha for c in read.commits] == [second, first]
    assert read.commits[1].subject == "Add the till"
    assert read.commits[1].body == "It counts.\n\nSo far."
    assert read.commits[1].files == ("README.md", "src/till.py")
    assert read.name == "shop"
    assert read.tracked_files == ("README.md", "src/tax.py", "src/till.py")


def test_the_limit_cuts_the_commits(repository: Path, commit: Committer) -> None:
    for number in range(4):
        commit(f"Step {number}", "a.txt")

    read = read_history(repository, limit=2)

    assert [c.subject for c in read.commits] == ["Step 3", "Step 2"]


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_limit_out_of_range_is_refused(repository: Path, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        read_history(repository, limit=limit)


def test_empty_commits_and_empty_messages_keep_their_place(repository: Path, commit: Committer) -> None:
    commit("One", "a.txt")
    commit("")
    commit("Three")
    commit("Four", "b.txt")

    read = read_history(repository)

    assert [(c.subject, c.files) for c in read.commits] == [
        ("Four", ("b.txt",)),
        ("Three", ()),
        ("", ()),
        ("One", ("a.txt",)),
    ]


@pytest.mark.parametrize("name", ["a b.txt", "\nline.txt", 'quote".txt', "tab\t.txt", "née.txt", "-x", "漢字/é"])
def test_weird_file_names_arrive_as_they_are(repository: Path, commit: Committer, name: str) -> None:
    commit("Odd", name)

    read = read_history(repository)

    assert read.commits[0].files == (name,)
    assert read.tracked_files == (name,)


@pytest.mark.skipif(sys.platform == "darwin", reason="the file system refuses such names")
def test_a_file_name_that_is_not_utf8_shows_its_odd_bytes(repository: Path, commit: Committer) -> None:
    commit("Odd", b"caf\xe9.txt")

    assert read_history(repository).commits[0].files == ("caf\\xe9.txt",)


def test_a_message_that_is_not_utf8_is_readable(repository: Path, git: Git, commit: Committer) -> None:
    commit("One", "a.txt")
    tree = git("rev-parse", "HEAD^{tree}").strip().encode()
    person = b" <ada@example.org> 1700000000 +0000\n"
    raw = b"tree " + tree + b"\nauthor Ad\xe4" + person + b"committer A" + person + b"\nCaf\xe9 \x1b[31mred\n"
    written = subprocess.run(
        ["git", "-C", str(repository), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=raw,
        check=True,
        capture_output=True,
    )
    git("reset", "--quiet", "--soft", written.stdout.decode().strip())

    assert read_history(repository).commits[0].subject == "Caf\ufffd [31mred"


def test_a_long_message_and_many_files_are_read_whole(repository: Path, commit: Committer) -> None:
    commit("Before\n\nShort.", "a.txt")
    commit("Long\n\n" + "x" * 100_000, *(f"{number}.txt" for number in range(9)))

    read = read_history(repository)

    assert len(read.commits[0].body) == 100_000
    assert read.commits[0].files == tuple(f"{number}.txt" for number in range(9))
    assert read.commits[1].body == "Short."


def test_a_merge_is_left_out(repository: Path, git: Git, commit: Committer) -> None:
    commit("Base", "a.txt")
    git("checkout", "--quiet", "-b", "side")
    commit("Side", "b.txt")
    git("checkout", "--quiet", "-")
    commit("Main", "c.txt")
    git("merge", "--quiet", "--no-ff", "--message", "Join", "side")

    assert {c.subject for c in read_history(repository).commits} == {"Main", "Side", "Base"}


def test_a_repository_without_a_commit_has_an_empty_history(repository: Path) -> None:
    read = read_history(repository)

    assert (read.commits, read.tracked_files) == ((), ())


def test_an_orphan_branch_without_a_commit_is_empty_too(repository: Path, git: Git, commit: Committer) -> None:
    commit("One", "a.txt")
    git("checkout", "--quiet", "--orphan", "fresh")

    assert read_history(repository).commits == ()


def test_a_folder_inside_a_repository_reads_the_whole(repository: Path, commit: Committer) -> None:
    commit("One", "src/deep/a.txt", "b.txt")

    read = read_history(repository / "src" / "deep")

    assert read.name == "shop"
    assert read.tracked_files == ("b.txt", "src/deep/a.txt")


def test_a_bare_repository_is_read(repository: Path, git: Git, commit: Committer, tmp_path: Path) -> None:
    commit("One", "a.txt")
    git("clone", "--quiet", "--bare", str(repository), str(tmp_path / "store.git"))

    read = read_history(tmp_path / "store.git")

    assert read.name == "store"
    assert read.commits[0].files == ("a.txt",)


def test_the_git_folder_itself_leads_to_its_repository(repository: Path, commit: Committer) -> None:
    commit("One", "a.txt")

    assert read_history(repository / ".git").name == "shop"


def test_a_shallow_clone_tells_what_it_has(repository: Path, git: Git, commit: Committer, tmp_path: Path) -> None:
    commit("One", "a.txt")
    commit("Two", "b.txt")
    git("clone", "--quiet", "--depth=1", repository.as_uri(), str(tmp_path / "shallow"))

    read = read_history(tmp_path / "shallow")

    assert [c.subject for c in read.commits] == ["Two"]


def test_variables_set_by_a_hook_are_ignored(
    repository: Path, git: Git, commit: Committer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit("Ours", "a.txt")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert read_history(repository).commits[0].subject == "Ours"


def test_nothing_the_repository_configures_is_run(
    repository: Path, git: Git, commit: Committer, tmp_path: Path
) -> None:
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {sprung}\n')
    trap.chmod(0o755)
    commit("Attributes", "a.txt")
    (repository / ".gitattributes").write_text("* diff=trap\n")
    commit("One", "a.txt")
    for key in ("core.fsmonitor", "core.pager", "diff.external", "diff.trap.textconv", "diff.trap.command"):
        git("config", key, str(trap))
    git("config", "gpg.program", str(trap))
    git("config", "log.showSignature", "true")
    git("config", "pager.log", "true")

    assert read_history(repository).commits[0].subject == "One"
    assert not sprung.exists()


def test_settings_that_change_the_output_do_not_confuse(repository: Path, git: Git, commit: Committer) -> None:
    commit("One", "a.txt")
    git("mv", "a.txt", "b.txt")
    commit("Two")
    for key, value in {
        "log.decorate": "full",
        "log.follow": "true",
        "format.pretty": "oneline",
        "color.ui": "always",
        "diff.renames": "copies",
        "core.quotePath": "true",
        "diff.noprefix": "true",
        "diff.relative": "true",
    }.items():
        git("config", key, value)

    assert [(c.subject, c.files) for c in read_history(repository).commits] == [
        ("Two", ("a.txt", "b.txt")),
        ("One", ("a.txt",)),
    ]


def test_reading_leaves_the_repository_untouched(repository: Path, commit: Committer) -> None:
    commit("One", "a.txt")
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}

    read_history(repository)

    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        read_history(tmp_path / "nowhere")


def test_a_folder_without_git_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(NotFound, match="in no git repository"):
        read_history(tmp_path)


def test_without_git_the_error_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(Unavailable, match="git cannot be started"):
        read_history(repository)


def test_a_damaged_repository_gives_git_s_own_words(repository: Path, commit: Committer) -> None:
    sha = commit("One", "a.txt")
    tree = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", f"{sha}^{{tree}}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()

    with pytest.raises(InvalidInput, match="cannot read the history"):
        read_history(repository)


def test_the_repository_is_told_when_it_has_enough_commits(repository: Path, commit: Committer) -> None:
    for number in range(5):
        commit(f"Step {number}", "a.txt")

    chosen = choose_history(None, repository)

    assert (chosen.name, chosen.sample_because) == ("shop", None)


def test_the_sample_steps_in_for_a_thin_history(repository: Path, commit: Committer) -> None:
    for number in range(4):
        commit(f"Step {number}", "a.txt")

    because = "shop has 4 commits, too few for a story"
    assert choose_history(None, repository) == replace(load_sample(), sample_because=because)


def test_the_sample_steps_in_where_there_is_no_git(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    chosen = choose_history(None, repository)

    assert chosen.commits == load_sample().commits
    assert chosen.sample_because
    assert chosen.sample_because.startswith("git cannot be started")


def test_a_repository_that_was_named_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        choose_history(tmp_path / "nowhere", tmp_path)


def test_the_sample_names_no_person_and_has_commits() -> None:
    sample = load_sample()

    assert sample.commits
    assert sample.tracked_files
    assert not [c for c in sample.commits if "@" in c.subject + c.body and ".com" in c.body]

"""What entries cite in a real repository: through renames, rebases, squashes, reverts, worktrees and clones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from repositories import commit_all, git, make_repository
from satchel import Satchel
from satchel.base import git_commands
from satchel.keep import citations
from satchel.keep.citations import Citation, Citing, Comparing, Place

LINES = [f"line {number} of the file\n" for number in range(1, 41)]


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests asked and compared counts in none."""
    monkeypatch.setattr(git_commands, "_renames", {})
    monkeypatch.setattr(git_commands, "_merged", {})
    monkeypatch.setattr(git_commands, "_existing", {})
    monkeypatch.setattr(citations, "_comparisons", {})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, satchel: Satchel) -> list[str]:
    """The commands that git runs once the store is open; opening it runs one."""
    found: list[str] = []
    ask = git_commands.ask_git

    def ask_and_count(folder: str, arguments: Sequence[str], seconds: float, given: bytes = b"") -> bytes | None:
        found.append(arguments[0])
        return ask(folder, arguments, seconds, given)

    monkeypatch.setattr(git_commands, "ask_git", ask_and_count)
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one file."""
    folder = make_repository(tmp_path.resolve() / "tree")
    (folder / "a.py").write_text("".join(LINES))
    commit_all(folder)
    return folder


@pytest.fixture
def satchel(open_in: Callable[..., Satchel], tree: Path) -> Satchel:
    """A Satchel in that repository, with a note on lines 10 and 11 of the file."""
    opened = open_in(tree)
    opened.entries.write("discovery", "what lines ten and eleven do", file="a.py:10-11")
    return opened


def citation(satchel: Satchel, ref: str = "e1") -> Citation:
    found = next(one for one in satchel.entries.read() if one.ref == ref)
    assert found.citation is not None
    return found.citation


def said(satchel: Satchel, ref: str = "e1") -> tuple[str, ...]:
    return citation(satchel, ref).marks


class TestWriting:
    def test_branch_and_commit_are_recorded(self, satchel: Satchel, tree: Path) -> None:
        head = git(tree, "rev-parse", "HEAD")
        assert citation(satchel) == Citation("unchanged", 10, head, "main", "committed")

    def test_what_is_not_committed_is_dirty_or_untracked(self, satchel: Satchel, tree: Path) -> None:
        (tree / "a.py").write_text("other\n")
        (tree / "b.py").write_text("new\n")
        satchel.entries.write("discovery", "about an edit", file="a.py")
        satchel.entries.write("discovery", "about a new file", file="b.py")
        assert [citation(satchel, ref).worktree for ref in ("e2", "e3")] == ["dirty", "untracked"]

    def test_nothing_is_asked_of_git(self, asked: list[str], satchel: Satchel, tree: Path) -> None:
        assert said(satchel) == ()
        (tree / "a.py").write_text("".join(LINES[1:]))
        assert said(satchel) == ("moved to line 9",)
        assert asked == []


class TestRenames:
    @pytest.mark.parametrize("is_committed", [False, True])
    def test_a_rename_is_known_by_the_index_alone(
        self, asked: list[str], satchel: Satchel, tree: Path, is_committed: bool
    ) -> None:
        (tree / "src").mkdir()
        git(tree, "mv", "a.py", "src/b.py")
        if is_committed:
            commit_all(tree)
        assert said(satchel) == ("moved to src/b.py", "line 10")
        assert asked == []

    def test_a_renamed_file_that_was_edited_is_asked_of_git_once(
        self, asked: list[str], satchel: Satchel, tree: Path
    ) -> None:
        git(tree, "mv", "a.py", "b.py")
        (tree / "b.py").write_text("".join(LINES[3:]))
        commit_all(tree)
        assert said(satchel) == said(satchel) == ("moved to b.py", "line 7")
        assert asked == ["diff-tree"]

    def test_a_renamed_file_whose_lines_changed_says_both(self, satchel: Satchel, tree: Path) -> None:
        git(tree, "mv", "a.py", "b.py")
        (tree / "b.py").write_text("".join(LINES[:9] + LINES[11:]))
        commit_all(tree)
        assert said(satchel) == ("moved to b.py", "file changed since")
        assert citation(satchel).is_stale

    def test_a_removed_file_is_gone(self, satchel: Satchel, tree: Path) -> None:
        git(tree, "rm", "--quiet", "a.py")
        (tree / "b.py").write_text("nothing like it\n")
        commit_all(tree)
        assert said(satchel) == ("file gone",)

    def test_a_file_that_is_only_deleted_in_the_worktree_needs_no_git(
        self, asked: list[str], satchel: Satchel, tree: Path
    ) -> None:
        (tree / "a.py").unlink()
        assert said(satchel) == ("file gone",)
        assert asked == []

    def test_a_project_below_the_top_has_its_own_paths(self, tree: Path) -> None:
        inner = tree / "inner"
        inner.mkdir()
        git(tree, "mv", "a.py", "inner/c.py")
        commit_all(tree)
        cited = Citing(str(inner)).cite("c.py", 10, None)
        assert cited is not None

        def found() -> tuple[str, ...]:
            return Comparing(str(inner)).compare({1: Place("c.py", cited)})[1].marks

        git(inner, "mv", "c.py", "d.py")
        assert found() == ("moved to d.py", "line 10")
        # out of the project it cannot be named
        git(inner, "mv", "d.py", "../d.py")
        assert found() == ("file gone",)


class TestHistory:
    def test_a_revert_brings_it_back(self, satchel: Satchel, tree: Path) -> None:
        (tree / "a.py").write_text("".join(LINES[:5]))
        commit_all(tree)
        assert said(satchel) == ("file changed since",)
        git(tree, "revert", "--no-edit", "HEAD")
        assert said(satchel) == ()

    @pytest.mark.parametrize("way", ["rebase", "squash", "amend"])
    def test_a_commit_that_was_rewritten_changes_nothing(self, satchel: Satchel, tree: Path, way: str) -> None:
        git(tree, "checkout", "--quiet", "-b", "topic")
        (tree / "a.py").write_text("".join(["new\n", *LINES]))
        commit_all(tree)
        satchel.entries.write("discovery", "what line one does now", file="a.py:1-3")
        (tree / "b.py").write_text("x")
        commit_all(tree)
        git(tree, "checkout", "--quiet", "main")
        (tree / "c.py").write_text("y")
        commit_all(tree)
        if way == "rebase":
            git(tree, "rebase", "--quiet", "main", "topic")
        elif way == "squash":
            git(tree, "merge", "--quiet", "--squash", "topic")
            commit_all(tree)
            git(tree, "branch", "--quiet", "-D", "topic")
        else:
            git(tree, "checkout", "--quiet", "topic")
            git(tree, "commit", "--quiet", "--amend", "--message=amended")
        git(tree, "reflog", "expire", "--expire=now", "--all")
        git(tree, "gc", "--quiet", "--prune=now")
        assert (said(satchel, "e2"), said(satchel, "e1")) == ((), ("moved to line 11",))

    def test_a_rename_is_found_though_the_commit_is_gone(self, satchel: Satchel, tree: Path) -> None:
        git(tree, "mv", "a.py", "b.py")
        git(tree, "commit", "--quiet", "--amend", "--message=amended")
        git(tree, "reflog", "expire", "--expire=now", "--all")
        git(tree, "gc", "--quiet", "--prune=now")
        assert said(satchel) == ("moved to b.py", "line 10")


class TestBranches:
    @pytest.fixture
    def topic(self, satchel: Satchel, tree: Path) -> Satchel:
        """The same, with a second note on a file that only the branch ``topic`` has; ``main`` is checked out."""
        git(tree, "checkout", "--quiet", "-b", "topic")
        (tree / "t.py").write_text("".join(f"topic {number}\n" for number in range(30)))
        commit_all(tree)
        satchel.entries.write("discovery", "what the topic does", file="t.py:7")
        git(tree, "checkout", "--quiet", "main")
        return satchel

    def test_what_is_on_another_branch_says_so(self, topic: Satchel, asked: list[str]) -> None:
        assert said(topic, "e2") == said(topic, "e2") == ("from branch topic, not merged",)
        assert asked[0] == "rev-list"

    def test_where_the_lines_stand_there_is_no_word_of_branches(self, topic: Satchel, tree: Path) -> None:
        git(tree, "checkout", "--quiet", "topic", "--", "t.py")
        assert said(topic, "e2") == ()

    def test_on_the_branch_itself_there_is_no_word_of_it(self, topic: Satchel, tree: Path) -> None:
        git(tree, "checkout", "--quiet", "topic")
        git(tree, "rm", "--quiet", "t.py")
        commit_all(tree)
        git(tree, "commit", "--quiet", "--amend", "--message=amended")
        assert said(topic, "e2") == ("file gone",)

    def test_after_a_merge_there_is_no_word_of_it(self, topic: Satchel, tree: Path) -> None:
        git(tree, "merge", "--quiet", "--no-edit", "topic")
        (tree / "t.py").write_text("other\n")
        commit_all(tree)
        assert said(topic, "e2") == ("file changed since",)

    @pytest.mark.parametrize("packed", [False, True])
    def test_when_the_branch_is_gone_there_is_no_word_of_it(self, topic: Satchel, tree: Path, packed: bool) -> None:
        git(tree, "branch", "--quiet", "kept", "topic")
        if packed:
            git(tree, "pack-refs", "--all")
        assert said(topic, "e2") == ("from branch topic, not merged",)
        git(tree, "branch", "--quiet", "-D", "topic")
        assert said(topic, "e2") == ("file gone",)

    def test_git_is_asked_for_renames_first_and_once_a_look(self, topic: Satchel, tree: Path, asked: list[str]) -> None:
        git(tree, "mv", "a.py", "b.py")
        (tree / "b.py").write_text("".join(LINES[1:]))
        commit_all(tree)
        topic.entries.read()
        assert asked == ["diff-tree"]
        topic.entries.read()
        assert asked == ["diff-tree", "rev-list"]
        assert said(topic) == ("moved to b.py", "line 9")
        assert said(topic, "e2") == ("from branch topic, not merged",)
        assert len(asked) == 2

    def test_a_linked_worktree_compares_with_its_own_branch(
        self, topic: Satchel, tree: Path, open_in: Callable[..., Satchel]
    ) -> None:
        linked = tree.parent / "linked"
        git(tree, "worktree", "add", "--quiet", str(linked), "topic")
        there = open_in(linked)
        assert (said(there, "e2"), said(topic, "e2")) == ((), ("from branch topic, not merged",))
        there.entries.write("discovery", "written in the linked worktree", file="t.py:8")
        assert (citation(there, "e3").branch, citation(there, "e3").worktree) == ("topic", "committed")


class TestOtherTrees:
    def test_a_shallow_clone_compares_what_it_has(
        self, satchel: Satchel, tree: Path, open_in: Callable[..., Satchel]
    ) -> None:
        (tree / "gone.py").write_text("".join(LINES[20:]))
        commit_all(tree)
        satchel.entries.write("discovery", "about what will be gone", file="gone.py:3")
        git(tree, "mv", "a.py", "b.py")
        git(tree, "rm", "--quiet", "gone.py")
        commit_all(tree)
        shallow = tree.parent / "shallow"
        git(tree.parent, "clone", "--quiet", "--depth=1", f"file://{tree}", str(shallow))
        satchel.place.file.parent.mkdir(exist_ok=True)  # a store in PostgreSQL has made none
        there = open_in(shallow, db=str(satchel.place.file), project="tree")
        assert said(there) == ("moved to b.py", "line 10")
        assert said(there, "e2") == ("file gone",)

    @pytest.fixture
    def read_from(self, tree: Path) -> Callable[[], dict[str, Citation]]:
        """Says how the notes of the repository stand in a clone that was made before they were written, by their text.

        The first is on what is committed at another commit, the second on what is not committed, the third on what both
        have.
        """
        clone = tree.parent / "clone"
        git(tree.parent, "clone", "--quiet", str(tree), str(clone))
        git(tree, "checkout", "--quiet", "-b", "topic")
        (tree / "a.py").write_text("".join(["new\n", *LINES]))
        commit_all(tree)
        cited = {"committed": Citing(str(tree)).cite("a.py", 1, 2)}
        (tree / "a.py").write_text("".join(["newer\n", *LINES]))
        (tree / "b.py").write_text("new\n")
        cited |= {"edited": Citing(str(tree)).cite("a.py", 1, 2), "made": Citing(str(tree)).cite("b.py", 1, None)}
        cited |= {"same": Citing(str(tree)).cite("a.py", 10, 11)}
        files = {"made": "b.py"}
        places = {
            number: Place(files.get(name, "a.py"), one) for number, (name, one) in enumerate(cited.items()) if one
        }

        def read() -> dict[str, Citation]:
            found = Comparing(str(clone), is_apart=True).compare(places)
            return {name: found[number] for number, name in enumerate(cited)}

        return read

    def test_in_another_clone_what_it_never_had_is_not_called_changed(
        self, read_from: Callable[[], dict[str, Citation]], tree: Path, asked: list[str]
    ) -> None:
        commit = git(tree, "rev-parse", "HEAD")[:8]
        found = read_from()
        assert {name: one.marks for name, one in found.items()} == {
            "committed": (f"of commit {commit} on branch topic, not in your tree",),
            "edited": ("uncommitted on branch topic, not in your tree",),
            "made": ("uncommitted on branch topic, not in your tree",),
            "same": ("moved to line 9",),
        }
        assert not any(one.is_stale for one in found.values())
        assert read_from() == found
        assert asked == ["cat-file"]

    def test_in_another_clone_what_was_fetched_is_not_merged_and_then_has_changed(
        self, read_from: Callable[[], dict[str, Citation]], tree: Path
    ) -> None:
        clone = tree.parent / "clone"
        git(clone, "fetch", "--quiet")
        assert read_from()["committed"].marks == ("from branch topic, not merged",)
        git(clone, "merge", "--quiet", "origin/topic")
        assert read_from()["committed"].marks == ()
        (clone / "a.py").write_text("other\n")
        assert read_from()["committed"].marks == ("file changed since",)

    def test_without_git_lines_are_compared_all_the_same(
        self, satchel: Satchel, tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tree.parent / "nowhere"))
        (tree / "a.py").write_text("".join(LINES[2:]))
        assert said(satchel) == ("moved to line 8",)
        (tree / "a.py").unlink()
        assert said(satchel) == ("file gone",)

    def test_without_git_a_file_that_was_committed_away_is_gone(
        self, satchel: Satchel, tree: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        git(tree, "rm", "--quiet", "a.py")
        commit_all(tree)
        monkeypatch.setenv("PATH", str(tree.parent / "nowhere"))
        assert said(satchel) == ("file gone",)

    def test_a_tree_that_git_converts_line_ends_in_is_the_same(self, satchel: Satchel, tree: Path) -> None:
        (tree / "a.py").write_bytes("".join(LINES).replace("\n", "\r\n").encode())
        assert said(satchel) == ()


@pytest.mark.parametrize("sparse_index", [False, True])
def test_a_file_that_a_sparse_checkout_leaves_out_is_not_gone(tree: Path, satchel: Satchel, sparse_index: bool) -> None:
    (tree / "lib" / "deep").mkdir(parents=True)
    (tree / "lib" / "deep" / "b.py").write_text("".join(LINES))
    commit_all(tree)
    entry = satchel.entries.write("discovery", "what line three does", file="lib/deep/b.py:3").ref
    git(tree, "sparse-checkout", "set", "--cone", *(["--sparse-index"] if sparse_index else []), "src")
    assert not (tree / "lib").exists()
    assert (citation(satchel, entry).state, said(satchel, entry)) == ("not checked out", ("file not checked out",))
    git(tree, "sparse-checkout", "disable")
    assert citation(satchel, entry).state == "unchanged"


def test_a_file_of_a_nested_clone_is_not_called_untracked(tree: Path, satchel: Satchel) -> None:
    inner = make_repository(tree / "inner")
    (inner / "b.py").write_text("".join(LINES))
    commit_all(inner)
    cited = Citing(str(tree)).cite("inner/b.py", 3, None)
    assert cited is not None
    assert (cited.standing, cited.blob) == (None, None)

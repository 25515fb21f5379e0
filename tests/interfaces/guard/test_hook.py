"""The guard's hook in real repositories, installed by the command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from repositories import git, make_repository
from satchel.interfaces.cli.commands.guard import LINE, find_hook, guard_command


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_repository(tmp_path / "repository")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hook(repository: Path) -> Path:
    path = repository / ".git" / "hooks" / "pre-commit"
    path.parent.mkdir(exist_ok=True)
    return path


def guard(*arguments: str) -> Result:
    return CliRunner().invoke(guard_command, arguments, standalone_mode=False)


def state() -> str:
    answer = json.loads(guard("check", "--json").output)
    assert isinstance(answer, dict)
    return str(answer["state"])


def test_a_hook_is_made_that_git_can_run_and_deleted_again(hook: Path) -> None:
    assert state() == "missing"
    guard("install")
    assert os.access(hook, os.X_OK)
    assert state() == "current"
    guard("remove")
    assert not hook.exists()


def test_a_second_time_nothing_is_written(hook: Path) -> None:
    guard("install")
    before = hook.stat()
    assert "installed already" in guard("install").output
    assert (hook.stat().st_mtime_ns, hook.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("harm", ["not executable", "of another version"])
def test_a_hook_that_does_not_work_is_renewed(hook: Path, harm: str) -> None:
    guard("install")
    if harm == "not executable":
        hook.chmod(0o644)
    else:
        hook.write_text(hook.read_text() + "# old\n")
    assert state() == "stale"
    guard("install")
    assert state() == "current"


@pytest.mark.parametrize("content", [b"#!/bin/sh\nmake check\n", b"\x7fELF\0\xff", b""])
def test_a_hook_of_the_users_own_stays_and_the_line_to_add_is_printed(hook: Path, content: bytes) -> None:
    hook.write_bytes(content)
    for name in ("install", "remove"):
        result = guard(name)
        if name == "install":
            assert LINE in str(result.exception)
        assert hook.read_bytes() == content


def test_a_link_is_left_alone(hook: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("#!/bin/sh\n")
    hook.symlink_to(tmp_path / "elsewhere")
    assert LINE in str(guard("install").exception)
    assert (tmp_path / "elsewhere").read_text() == "#!/bin/sh\n"


def test_a_hook_with_the_pasted_line_counts_as_installed(hook: Path) -> None:
    hook.write_text(f"#!/bin/sh\n{LINE}\n")
    hook.chmod(0o755)
    assert state() == "current"
    assert f"remove the lines of the guard from {hook}" in guard("remove").output
    assert LINE in hook.read_text()


LINES_OF_0_2 = """\
# >>> satchel guard >>> written by `satchel guard install`; `satchel guard remove` takes it out
if [ -z "${SATCHEL_GUARDED-}" ]; then
    SATCHEL_GUARDED=1 "$0" "$@" || exit # what stands below goes first
    satchel=/opt/satchel/bin/satchel; [ -x "$satchel" ] || satchel=$(command -v satchel) || exit 0
    "$satchel" guard run || [ $? -ne 4 ] || exit 1
    exit 0
fi
unset SATCHEL_GUARDED
# <<< satchel guard <<<
"""
"""What `satchel guard install` of 0.2.0 wrote below the first line of a hook."""
MADE_BY_0_2 = f"#!/bin/sh\n{LINES_OF_0_2}# This hook was made by `satchel guard install`.\n"


@pytest.mark.parametrize("command", ["install", "remove"])
def test_a_hook_that_0_2_0_made_is_renewed_or_deleted(hook: Path, command: str) -> None:
    hook.write_text(MADE_BY_0_2)
    hook.chmod(0o755)
    assert state() == "stale"
    guard(command)
    assert state() == {"install": "current", "remove": "missing"}[command]
    assert hook.exists() is (command == "install")


@pytest.mark.parametrize("own", ["make check\n", "# This hook was made by `satchel guard install`.\nmake check\n"])
def test_the_lines_of_0_2_0_in_a_hook_of_the_users_own_run_the_guard_and_stay(hook: Path, own: str) -> None:
    hook.write_text(f"#!/bin/sh\n{LINES_OF_0_2}{own}")
    hook.chmod(0o755)
    assert state() == "current"
    assert "installed already" in guard("install").output
    assert f"remove the lines of the guard from {hook}" in guard("remove").output
    assert hook.read_text() == f"#!/bin/sh\n{LINES_OF_0_2}{own}"


def test_hooks_in_another_folder_are_left_to_the_user(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", ".githooks")
    (repository / "src").mkdir()
    assert find_hook(repository / "src").path == repository / ".githooks" / "pre-commit"
    assert LINE in str(guard("install").exception)
    assert not (repository / ".githooks").exists()


def test_hooks_that_are_switched_off_are_refused(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", "/dev/null")
    assert "switched off" in str(guard("install").exception)


def test_linked_worktrees_share_the_hook_of_the_main_one(hook: Path, repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert find_hook(tmp_path / "linked").path == hook


def test_a_bare_repository_has_a_hook_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    assert find_hook(tmp_path / "bare.git").path == tmp_path / "bare.git" / "hooks" / "pre-commit"


def test_a_folder_outside_of_any_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "git finds no repository" in str(guard("install").exception)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_refused_with_the_way(repository: Path) -> None:
    os.chown(repository, 12_345, 12_345)
    os.chown(repository / ".git", 12_345, 12_345)
    refused = str(guard("install").exception)
    assert "belongs to another user" in refused
    assert f"git config --global --add safe.directory {repository}" in refused

"""Which path clients start Satchel by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.base.errors import Refused
from satchel.interfaces.setup.entries import find_launcher, on_path


def installed(folder: Path) -> Path:
    """Make an environment with the command in it; return the command."""
    file = folder / "bin" / "satchel"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def found(root: Path, **environ: str) -> Path:
    return find_launcher(environ, prefix=str(root), started_as="python")


def test_the_command_of_the_environment_that_runs_is_taken(tmp_path: Path) -> None:
    file = installed(tmp_path / "venv")
    assert found(tmp_path / "venv", HOME=str(tmp_path), PATH="/usr/bin") == file


def test_a_link_on_the_path_that_leads_to_it_comes_first(tmp_path: Path) -> None:
    file, link = installed(tmp_path / "tools" / "satchel"), tmp_path / "links" / "satchel"
    link.parent.mkdir()
    link.symlink_to(file)
    assert found(tmp_path / "tools" / "satchel", HOME=str(tmp_path), PATH=f"/usr/bin:{link.parent}") == link


def test_a_link_in_the_users_own_folder_needs_no_path(tmp_path: Path) -> None:
    file, link = installed(tmp_path / "tools"), tmp_path / ".local" / "bin" / "satchel"
    link.parent.mkdir(parents=True)
    link.symlink_to(file)
    assert found(tmp_path / "tools", HOME=str(tmp_path)) == link


def test_a_link_to_another_installation_is_not_taken(tmp_path: Path) -> None:
    mine, other, link = installed(tmp_path / "a"), installed(tmp_path / "b"), tmp_path / "links" / "satchel"
    link.parent.mkdir()
    link.symlink_to(other)
    environ = {"HOME": str(tmp_path), "PATH": str(link.parent)}
    assert found(tmp_path / "a", **environ) == mine
    assert on_path(environ) == link


def test_what_was_started_counts_where_the_environment_has_no_command(tmp_path: Path) -> None:
    file = installed(tmp_path / "user")
    assert find_launcher({}, prefix=str(tmp_path / "usr"), started_as=str(file)) == file


def test_relative_folders_of_the_path_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = installed(tmp_path / "venv")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "satchel").symlink_to(file)
    assert found(tmp_path / "venv", PATH=os.pathsep.join([".", ""])) == file
    assert on_path({"PATH": ".:"}) is None


@pytest.mark.parametrize(
    "folder",
    [".cache/uv/archive-v0/Xy7", ".cache/pipx/9af", "Library/Caches/uv/environments-v2/s-1", "any/builds-v0/.tmpA"],
)
def test_an_environment_in_a_cache_is_refused_with_the_command_that_installs(tmp_path: Path, folder: str) -> None:
    installed(tmp_path / folder)
    with pytest.raises(Refused, match=r"`uv tool install /.*` or `pipx install /"):
        found(tmp_path / folder, HOME=str(tmp_path))


@pytest.mark.parametrize("variable", ["UV_CACHE_DIR", "XDG_CACHE_HOME"])
def test_an_environment_in_a_cache_that_a_variable_names_is_refused(tmp_path: Path, variable: str) -> None:
    installed(tmp_path / "c" / "x")
    with pytest.raises(Refused, match="does not stay"):
        found(tmp_path / "c" / "x", **{variable: str(tmp_path / "c")})


def test_an_environment_below_a_folder_that_says_it_is_a_cache_is_refused(tmp_path: Path) -> None:
    installed(tmp_path / "c" / "x" / "y")
    (tmp_path / "c" / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    with pytest.raises(Refused, match="does not stay"):
        found(tmp_path / "c" / "x" / "y")


def test_an_environment_that_is_marked_itself_is_none(tmp_path: Path) -> None:
    file = installed(tmp_path / "venv")
    (tmp_path / "venv" / "CACHEDIR.TAG").touch()  # as uv does it
    assert found(tmp_path / "venv") == file


def test_an_environment_without_the_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no command satchel in"):
        found(tmp_path)

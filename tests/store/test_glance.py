"""A glance at a store: it answers in the usual case alone, and leaves everything as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.store.glance import NeedsFullOpen, glance


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_template: None) -> Path:
    """A project with a store, in the home of somebody who has configured nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    with open_satchel(cwd=folder, environ={}) as satchel:
        satchel.entries.write("discovery", "rain", agent="ann")
    return folder


def number(folder: Path, **environ: str) -> int | None:
    seen = glance(str(folder), {"HOME": os.environ["HOME"]} | environ)
    if seen is None:
        return None
    seen.close()
    return seen.project


def test_it_finds_the_project_from_a_folder_below(project: Path) -> None:
    (project / "src").mkdir()
    before = sorted(project.rglob("*"))
    assert number(project / "src") == 1
    assert sorted(project.rglob("*")) == before


def test_without_a_store_there_is_nothing(tmp_path: Path, project: Path) -> None:
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert number(tmp_path / "other") is None
    assert not (tmp_path / "other" / ".satchel").exists()


def _copy(project: Path) -> Path:
    return Path(shutil.copytree(project, project.parent / "copy"))


def _link(project: Path) -> Path:
    file = project / ".satchel" / "satchel.db"
    file.rename(project / "elsewhere.db")
    file.symlink_to(project / "elsewhere.db")
    return project


def _replace(project: Path) -> Path:
    file = project / ".satchel" / "satchel.db"
    shutil.copy(file, project / "new.db")
    (project / "new.db").replace(file)
    return project


def _open_to_others(project: Path) -> Path:
    (project / ".satchel").chmod(0o777)
    return project


def _damage(project: Path) -> Path:
    file = project / ".satchel" / "satchel.db"
    with file.open("r+b") as stream:
        stream.write(b"no database")
    return project


def _worktree(project: Path) -> Path:
    folder = project.parent / "linked"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {project}/.git/worktrees/linked\n")
    return folder


def _configure(project: Path) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "satchel" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[project]\nname = "other"\n')
    return project


@pytest.mark.parametrize("odd", [_copy, _link, _replace, _open_to_others, _damage, _worktree, _configure])
def test_what_is_not_usual_is_left_to_the_full_rules(project: Path, odd: object) -> None:
    assert callable(odd)
    with pytest.raises(NeedsFullOpen):
        number(odd(project))


@pytest.mark.parametrize("name", ["SATCHEL_DB", "SATCHEL_PROJECT", "SATCHEL_TRUST"])
def test_variables_that_say_what_is_meant_are_left_to_the_full_rules(project: Path, name: str) -> None:
    with pytest.raises(NeedsFullOpen):
        number(project, **{name: "1"})


def test_it_writes_nothing(project: Path) -> None:
    seen = glance(str(project), {"HOME": os.environ["HOME"]})
    assert seen is not None
    with pytest.raises(Exception, match="readonly"):
        seen.connection.execute("DELETE FROM projects")
    seen.close()


def test_it_is_one_snapshot(project: Path) -> None:
    seen = glance(str(project), {"HOME": os.environ["HOME"]})
    assert seen is not None
    with open_satchel(cwd=project, environ={}) as satchel:
        satchel.entries.write("discovery", "sun", agent="ann")
    assert seen.one("SELECT count(*) FROM context") == (1,)
    seen.close()

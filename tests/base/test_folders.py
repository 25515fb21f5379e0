from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest

from satchel.base.errors import NoProject
from satchel.base.folders import config_folder, current_folder, home_path, state_folder


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs answers itself")
@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/me"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "/state", "XDG_CONFIG_HOME": "/config"},
        {"HOME": "/home/me", "XDG_STATE_HOME": " ", "XDG_CONFIG_HOME": ""},
        {"HOME": "/home/me", "XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": "~/mine"},
        {"HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""},
        {"XDG_STATE_HOME": "/state"},
        {},
    ],
    ids=repr,
)
def test_the_folders_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setitem(os.environ, name, value)
    assert state_folder() == platformdirs.user_state_path("satchel", appauthor=False)
    assert config_folder() == platformdirs.user_config_path("satchel", appauthor=False)


def test_a_user_that_the_system_does_not_know_has_the_root_as_home(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(_user: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert (home_path(), str(state_folder()), str(config_folder())) == (
        "/",
        "/.local/state/satchel",
        "/.config/satchel",
    )


def test_a_deleted_folder_is_named_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(NoProject, match=r"was deleted.*cd"):
        current_folder()

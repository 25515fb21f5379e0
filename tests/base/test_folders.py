from __future__ import annotations

import os
import sys

import platformdirs
import pytest

from satchel.base.folders import config_folder, state_folder


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

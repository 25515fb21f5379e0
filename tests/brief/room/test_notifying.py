"""The command that is started once for each thing that newly needs a person."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.brief.room import notifying

Started = list[list[str]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    commands: Started = []
    monkeypatch.setattr(notifying, "_start", commands.append)
    return commands


@pytest.fixture
def configured(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "satchel"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "config.toml"
    file.write_text('[notify]\ncommand = "notify-send --urgency=low"\n')
    satchel = open_in(project)
    file.unlink()
    return satchel


def test_a_question_is_told_once_in_one_line(configured: Satchel, started: Started) -> None:
    configured.messages.send("May I\nuse \x1b port 80?", to="human", agent="dev")
    configured.messages.send("not yours", to="ben", agent="dev")
    for _ in range(2):
        configured.notices.line(agent="dev")
    ((*command, line),) = started
    assert command == ["notify-send", "--urgency=low"]
    assert line.startswith("Satchel, project: message: dev: May I use ")
    assert "\x1b" not in line
    assert "\n" not in line


def test_a_refused_file_is_told_and_a_later_one_too(configured: Satchel, started: Started) -> None:
    configured.files.claim(["a.py", "b.py"], agent="ann")
    for path in ("a.py", "b.py"):
        with pytest.raises(Exception, match="held by ann"):
            configured.files.claim([path], agent="ben")
        configured.notices.line(agent="ben")
    assert [line.rpartition("ben: ")[2] for *_, line in started] == ["a.py is held by ann", "b.py is held by ann"]


@pytest.mark.parametrize("place", ["project", "environment"])
def test_only_the_users_own_file_names_the_command(
    open_in: Callable[..., Satchel], project: Path, started: Started, place: str
) -> None:
    environ = {"SATCHEL_NOTIFY_COMMAND": "evil"} if place == "environment" else {}
    if place == "project":
        open_in(project).entries.write("discovery", "it works", agent="dev")
        (project / ".satchel").mkdir(exist_ok=True)
        (project / ".satchel" / "config.toml").write_text('[notify]\ncommand = "evil"\n')
    satchel = open_in(project, environ={**os.environ, **environ})
    satchel.messages.send("May I?", to="human", agent="dev")
    satchel.notices.line(agent="dev")
    assert started == []

"""Importing the folder of a basic-memory project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.errors import NotFound

if TYPE_CHECKING:
    from conftest import ManualClock

_NOTE = """\
---
title: Coffee
type: decision
permalink: drinks/coffee
modified: 2026-03-01T10:00:00Z
---

## Observations
- [method] Pour over is clearer #brewing (own test)

## Relations
- relates_to [[Tea]]
"""


@pytest.fixture
def folder(tmp_path: Path, clock: ManualClock) -> Path:
    """A project with a note in full form and a plain one below."""
    made = tmp_path / "basic-memory"
    (made / "drinks").mkdir(parents=True)
    (made / "drinks" / "Coffee.md").write_text(_NOTE)
    (made / "plain.md").write_text("# plain\n\njust text\n")
    for file in made.rglob("*.md"):
        os.utime(file, (clock.now / 1_000, clock.now / 1_000))
    return made


def test_each_note_keeps_its_title_text_type_and_time(satchel: Satchel, folder: Path) -> None:
    result = satchel.moving.import_from("basic-memory", folder)
    notes = {one.content.partition("\n")[0]: one for one in satchel.entries.read().items}
    assert set(notes) == {"Coffee", "# plain"}
    coffee = notes["Coffee"]
    assert coffee.type == "decision"
    assert coffee.created_at == 1_772_359_200_000
    assert "- [method] Pour over is clearer #brewing (own test)" in coffee.content
    assert "- relates_to [[Tea]]" in coffee.content
    assert not result.is_incomplete


def test_a_note_that_moved_and_changed_is_updated(satchel: Satchel, folder: Path) -> None:
    satchel.moving.import_from("basic-memory", folder)
    (folder / "drinks" / "Coffee.md").rename(folder / "Coffee.md")
    changed = _NOTE.replace("clearer", "best").replace("2026-03-01", "2026-03-02")
    (folder / "Coffee.md").write_text(changed)
    result = satchel.moving.import_from("basic-memory", folder)
    assert [(kind.added, kind.updated, kind.present) for kind in result.kinds] == [(0, 1, 1)]


def test_links_and_broken_files_are_named_and_hidden_folders_left_alone(
    satchel: Satchel, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("elsewhere")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "bad.md").write_bytes(b"\xff")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "x.md").write_text("settings")
    result = satchel.moving.import_from("basic-memory", folder)
    assert sorted(trouble.row for trouble in result.troubles if trouble.left_out) == ["bad.md", "link.md"]
    assert satchel.entries.read().total == 2


def test_a_folder_without_notes_is_refused(satchel: Satchel, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no Markdown notes"):
        satchel.moving.import_from("basic-memory", tmp_path)


def test_a_pipe_is_left_out_and_said(satchel: Satchel, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    result = satchel.moving.import_from("basic-memory", folder)
    assert [(one.row, one.reason) for one in result.troubles] == [("pipe.md", "it is a link or no regular file")]

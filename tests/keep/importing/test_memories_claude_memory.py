"""Importing the memory of Claude Code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.errors import NotFound

if TYPE_CHECKING:
    from conftest import ManualClock

_FEEDBACK = """---
name: no-mocks
description: Integration tests meet a real database
metadata:
  type: feedback
---
A mocked test passed while the migration failed.
"""


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> Path:
    """A memory folder with an index, a note with front matter and one without."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n- [No mocks](no-mocks.md) - use a real database\n")
    (folder / "no-mocks.md").write_text(_FEEDBACK)
    (folder / "gateway.md").write_text("The gateway allows 40 calls a second.\n")
    for file in folder.iterdir():
        os.utime(file, (clock.now / 1_000, clock.now / 1_000))
    return folder


def notes(satchel: Satchel) -> list[tuple[str, str, str | None]]:
    """Return the type, text and author of every note, sorted."""
    return sorted((entry.type, entry.content, entry.agent) for entry in satchel.entries.read().items)


def test_each_note_comes_without_its_front_matter(satchel: Satchel, memory: Path) -> None:
    satchel.moving.import_from("claude", memory)
    text = "Integration tests meet a real database\n\nA mocked test passed while the migration failed."
    assert notes(satchel) == [
        ("decision", text, "claude"),
        ("discovery", "The gateway allows 40 calls a second.", "claude"),
    ]


def test_a_note_that_claude_rewrote_is_the_same_note(satchel: Satchel, memory: Path) -> None:
    satchel.moving.import_from("claude", memory)
    (memory / "gateway.md").write_text("The gateway allows 80 calls a second.\n")
    result = satchel.moving.import_from("claude", memory)
    assert [(kind.added, kind.updated) for kind in result.kinds] == [(0, 1)]
    assert notes(satchel)[1][1] == "The gateway allows 80 calls a second."


def test_a_file_of_rules_comes_section_by_section(satchel: Satchel, tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Use pnpm.\n\n# Tests\nRun them with `make`.\n\n# Empty\n")
    satchel.moving.import_from("claude", tmp_path / "CLAUDE.md")
    assert [content for _, content, _ in notes(satchel)] == ["Tests\nRun them with `make`.", "Use pnpm."]


def test_links_and_what_is_no_text_are_left_out_and_said(satchel: Satchel, memory: Path) -> None:
    (memory / "link.md").symlink_to("/etc/hosts")
    (memory / "bytes.md").write_bytes(b"\xff\xfe")
    result = satchel.moving.import_from("claude", memory)
    assert [(one.row, one.left_out) for one in result.troubles] == [("bytes.md", True), ("link.md", True)]


def test_a_folder_without_notes_is_refused(satchel: Satchel, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no Markdown"):
        satchel.moving.import_from("claude", tmp_path / "nowhere")


def test_a_pipe_is_left_out_and_said(satchel: Satchel, memory: Path) -> None:
    os.mkfifo(memory / "pipe.md")
    result = satchel.moving.import_from("claude", memory)
    assert [(one.row, one.reason) for one in result.troubles] == [("pipe.md", "it is a link or no regular file")]

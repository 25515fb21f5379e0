"""Configuration files that are links, as dotfile managers make them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.base import user_files
from satchel.base.errors import Refused
from satchel.interfaces.setup.clients import CLIENTS, Place, Wish
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import carry_out, plan_removal, plan_setup


def dotfiles(place: Place, target: Path) -> Path:
    """Link the settings of Claude Code to a file elsewhere, and return the link."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text('{"theme": "dark", "mine": [1]}\n')
    link = place.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(target)
    return link


def test_a_file_that_a_dotfile_manager_links_is_changed_where_it_is(place: Place, wish: Wish, journal: Journal) -> None:
    target = place.home / "dotfiles" / "claude.json"
    link = dotfiles(place, target)
    before = target.read_bytes()
    carry_out(plan_setup([CLIENTS["claude"]], place, wish), journal)
    assert link.is_symlink()
    assert json.loads(target.read_text())["hooks"]["SessionStart"]
    carry_out(plan_removal([CLIENTS["claude"]], place, journal, in_project=False, instructions=False), journal)
    assert (link.is_symlink(), target.read_bytes()) == (True, before)


def test_a_folder_that_a_dotfile_manager_links_is_followed(place: Place, wish: Wish, journal: Journal) -> None:
    (place.home / "dotfiles").mkdir()
    (place.home / ".codex").symlink_to(place.home / "dotfiles")
    carry_out(plan_setup([CLIENTS["codex"]], place, wish), journal)
    assert (place.home / ".codex").is_symlink()
    assert {path.name for path in (place.home / "dotfiles").iterdir()} == {"config.toml", "hooks.json"}


def test_a_link_out_of_the_home_folder_is_refused_in_one_sentence(place: Place, wish: Wish, tmp_path: Path) -> None:
    link = dotfiles(place, tmp_path / "elsewhere.json")
    with pytest.raises(Refused) as refused:
        plan_setup([CLIENTS["claude"]], place, wish)
    assert str(link) in str(refused.value)
    assert "links to files inside your home folder only" in str(refused.value)


def test_a_link_to_a_file_of_another_user_is_refused(place: Place, wish: Wish, monkeypatch: pytest.MonkeyPatch) -> None:
    target = place.home / "dotfiles" / "claude.json"
    dotfiles(place, target)
    monkeypatch.setattr(user_files, "my_users", lambda: {-2})
    with pytest.raises(Refused, match="not to you"):
        plan_setup([CLIENTS["claude"]], place, wish)


def test_a_link_in_the_files_of_a_project_is_refused(place: Place) -> None:
    assert place.project is not None
    target = place.home / "mine.json"
    target.write_text("{}")
    (place.project / ".mcp.json").symlink_to(target)
    with pytest.raises(Refused, match="is a link"):
        plan_setup([CLIENTS["claude"]], place, Wish("satchel", in_project=True))

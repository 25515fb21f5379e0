"""What setup of 0.2.0 left in a home folder, as that version wrote it, for each client that it knew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.interfaces.setup.checking import check
from satchel.interfaces.setup.clients import CLIENTS, Place, Wish
from satchel.interfaces.setup.journal import Journal
from satchel.interfaces.setup.planning import carry_out, plan_removal, plan_setup

WRITTEN = Path(__file__).parents[2] / "data" / "setup_of_0_2_0.json"
STATE = ".local/state/satchel"
BEFORE = {".claude/settings.json": '{"theme": "dark"}\n', ".codex/config.toml": 'model = "x"\n'}
"""The files of the clients before 0.2.0 changed them."""


@pytest.fixture
def written(place: Place) -> Journal:
    """The record of 0.2.0, with the files that it names."""
    for name, text in json.loads(WRITTEN.read_text()).items():
        file = place.home / name
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(text.replace("@HOME@", str(place.home)))
        file.chmod(0o600)
    return Journal(place.home / STATE)


def set_up(place: Place, wish: Wish, journal: Journal) -> dict[str, tuple[str, ...]]:
    plan = plan_setup(CLIENTS.values(), place, wish)
    carry_out(plan, journal)
    return {outcome.name: outcome.notes for outcome in plan.outcomes}


def remove(place: Place, journal: Journal) -> None:
    carry_out(plan_removal(CLIENTS.values(), place, journal, in_project=False, instructions=False), journal)


def files_in(home: Path) -> dict[str, str]:
    files = [path for path in home.rglob("*") if path.is_file() and STATE not in str(path)]
    return {str(path.relative_to(home)): path.read_text() for path in files}


@pytest.mark.parametrize("is_renewed", [False, True])
def test_what_0_2_0_set_up_is_removed_to_the_byte(
    place: Place, wish: Wish, written: Journal, *, is_renewed: bool
) -> None:
    if is_renewed:
        set_up(place, wish, written)
    remove(place, written)
    assert files_in(place.home) == BEFORE
    assert written.paths() == []


def test_hooks_of_0_2_0_are_out_of_date_until_setup_renews_them(place: Place, wish: Wish, written: Journal) -> None:
    outdated = "they call /opt/satchel/bin/satchel; not current: PostToolUse"
    assert outdated in check(CLIENTS["claude"], place, wish).step
    notes = set_up(place, wish, written)
    assert notes["claude"] == (f"replaced the hooks: {outdated}",)
    assert "hooks" not in " ".join(notes["codex"]), "else Codex asks again"
    groups = json.loads((place.home / ".claude/settings.json").read_text())["hooks"]["PostToolUse"]
    assert [group["matcher"] for group in groups] == ["Edit|Write|MultiEdit|NotebookEdit|Read|Bash|ExitPlanMode"]
    assert plan_setup(CLIENTS.values(), place, wish).edits == ()

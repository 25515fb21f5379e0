"""``satchel edit``: rules and decisions as one text in the person's editor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import pytest

from interfaces.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("person")


@pytest.fixture
def person(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_PERSON", "ann")
    monkeypatch.setenv("EDITOR", "editor")


@pytest.fixture
def editing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Edit with replacements of text; what stands in them as a command is run first."""

    def run(kind: str, *replacements: tuple[str, str], meanwhile: tuple[str, ...] = ()) -> tuple[int, str, str]:
        def change(filename: str) -> None:
            text = Path(filename).read_text()
            if meanwhile:
                out, err = sys.stdout, sys.stderr
                cli(*meanwhile)
                sys.stdout, sys.stderr = out, err
            for old, new in replacements:
                assert old in text
                text = text.replace(old, new)
            Path(filename).write_text(text)

        monkeypatch.setattr(click, "edit", change)
        return cli("edit", kind)

    return run


def listed(cli: Cli, *command: str) -> str:
    return cli(*command)[1]


def test_a_changed_text_replaces_the_rule_a_removed_one_is_retracted_and_a_new_one_added(
    cli: Cli, editing: Any
) -> None:
    cli("rule", "add", "Log no token", "--priority", "high", "--path", "src/**", "--tag", "a")
    cli("rule", "add", "Tests name behaviours")
    status, printed, _ = editing(
        "rules",
        ("Log no token", "Log no secret"),
        ("## c2 | medium | general\n\nTests name behaviours", "## new | low | testing\n\nNo sleeps in tests"),
    )
    assert (status, printed.splitlines()[0], printed.splitlines()[-1]) == (0, "replaced c1 by c3", "added c4")
    rules = listed(cli, "rule", "list")
    assert "Log no secret" in rules
    assert "src/**" in rules
    assert "No sleeps in tests" in rules
    assert "Tests name behaviours" not in rules
    assert "Tests name behaviours" in listed(cli, "rule", "list", "--status", "inactive")


def test_a_rule_that_a_person_adds_is_theirs_whoever_stated_it(cli: Cli) -> None:
    added = cli("rule", "add", "Log no token", "--stated-by", "user")[1]
    assert "by ann" in added
    assert "unconfirmed" not in added


def test_a_moved_rule_is_no_change(cli: Cli, editing: Any) -> None:
    cli("rule", "add", "Log no token")
    cli("rule", "add", "Tests name behaviours")
    one, other = (
        f"## {ref} | medium | general\n\n{text}\n"
        for ref, text in (("c2", "Tests name behaviours"), ("c1", "Log no token"))
    )
    _, printed, _ = editing("rules", (f"{one}\n{other}", f"{other}\n{one}"))
    assert printed == ""


def test_a_text_that_cannot_be_read_changes_nothing_and_names_the_line(cli: Cli, editing: Any) -> None:
    cli("rule", "add", "Log no token")
    status, _, err = editing("rules", ("Log no token", "Log nothing"), ("| medium", "| urgent"))
    assert status == 2
    assert "line 4 has an unknown priority 'urgent'; nothing was changed" in err
    assert "Valid: low, medium, high, critical" in err
    assert "Log no token" in listed(cli, "rule", "list")


def test_what_somebody_changed_meanwhile_is_shown_and_left(cli: Cli, editing: Any) -> None:
    cli("decide", "store", "sqlite", "--why", "it is small")
    cli("decide", "retries", "3")
    status, printed, err = editing(
        "decisions", ("sqlite", "oracle"), ("3", "4"), meanwhile=("decide", "store", "postgres")
    )
    assert (status, "set d2 retries" in printed) == (1, True)
    assert "d1 was changed while you wrote, and is now: d1 store postgres" in err
    assert "postgres" in listed(cli, "decisions")


def test_headings_and_comments_in_a_rule_survive(cli: Cli, editing: Any) -> None:
    text = "First\n## new trick\n<!-- odd -->\n\\## escaped"
    cli("rule", "add", text)
    editing("rules", ("First", "Last"))
    assert "## new trick" in listed(cli, "show", "c2")
    assert "<!-- odd -->" in listed(cli, "show", "c2")


def test_rules_that_contradict_or_repeat_each_other_are_pointed_out(cli: Cli, editing: Any) -> None:
    for rule in (
        "Use the fake clock of conftest in tests of retention",
        "Never use the fake clock of conftest in tests of retention",
    ):
        cli("rule", "add", rule)
    assert editing("rules", ("<!-- c2 and c1 seem to contradict each other -->", ""))[0] == 0


def test_without_an_editor_it_says_how_to_name_one(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDITOR")
    monkeypatch.delenv("VISUAL", raising=False)
    assert "EDITOR=nano satchel edit rules" in cli("edit", "rules")[2]


def test_a_text_outlives_ctrl_c(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(filename: str) -> None:
        Path(filename).write_text("MINE")
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(click, "edit", write)
    status, _, err = cli("edit", "rules")
    (draft,) = tmp_path.glob("satchel-rules-*.md")
    assert (status, "interrupted; nothing was changed" in err, str(draft) in err) == (2, True, True)


@pytest.mark.parametrize(
    ("script", "problem", "is_kept"),
    [
        ("printf 'MINE' >> \"$1\"; exit 1", "the editor failed (", True),
        ("printf 'MINE \\351' >> \"$1\"", "what the editor wrote is not UTF-8", True),
        ("exit 1", "the editor failed (", False),
        ('rm "$1"', "the editor removed the file", False),
        (None, "the editor failed (", False),
    ],
)
def test_a_text_outlives_an_editor_that_fails(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, problem: str, is_kept: bool
) -> None:
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    editor = tmp_path / "editor"
    if script is not None:
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    cli("rule", "add", "Log no token")
    status, _, err = cli("edit", "rules")
    assert (status, problem in err, "nothing was changed" in err) == (2, True, True)
    kept = list(drafts.iterdir())
    assert [b"MINE" in file.read_bytes() and str(file) in err for file in kept] == [True] * is_kept


def test_an_empty_text_changes_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("rule", "add", "Log no token")
    monkeypatch.setattr(click, "edit", lambda filename: Path(filename).write_text("\n"))
    assert cli("edit", "rules", "--yes")[:2] == (0, "nothing was changed\n")
    assert "Log no token" in listed(cli, "rule", "list")


def test_more_than_half_of_the_items_are_removed_only_if_that_is_confirmed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("Log no token", "Tests name behaviours", "Docs are plain"):
        cli("rule", "add", text)
    monkeypatch.setattr(
        click, "edit", lambda filename: Path(filename).write_text("## c1 | medium | general\n\nLog no token\n")
    )
    status, _, err = cli("edit", "rules")
    assert (status, "this text removes 2 of 3 rules; nothing was changed. Add --yes" in err) == (5, True)
    assert "Docs are plain" in listed(cli, "rule", "list")
    assert cli("edit", "rules", "--yes")[:2] == (0, "retracted c3\nretracted c2\n")

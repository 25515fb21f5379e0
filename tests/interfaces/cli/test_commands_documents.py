"""`satchel import docs` and `satchel share --agents-md`, as people and CI call them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from repositories import commit_all, make_repository

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def documents(folder: Path) -> Path:
    """A repository with an AGENTS.md of a rule, a rule that hides a character, and a note."""
    (folder / ".git").rmdir()
    make_repository(folder)
    (folder / "AGENTS.md").write_text("- Always use tabs.\n- Be kind,\u200b always.\n\nA shop.\n")
    commit_all(folder)
    return folder


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A terminal at which a person presses these keys in turn, and edits a text to "edited"."""
    given: list[str] = []
    monkeypatch.setattr("satchel.interfaces.cli.commands.import_cmd.is_terminal", lambda: True)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: given.pop(0))
    monkeypatch.setattr(click, "edit", lambda filename: Path(filename).write_text("edited\n"))
    return given


def test_proposals_are_listed_in_full_with_the_codes_of_hidden_characters(cli: Cli, documents: Path) -> None:
    status, out, _ = cli("import", "docs")
    assert status == 0
    assert out.splitlines()[:8] == [
        "1 document on main: 3 proposals, 0 known, 0 rejected",
        "",
        "AGENTS.md:1: new rule",
        "  | Always use tabs.",
        "",
        "AGENTS.md:2: new rule",
        "  needs a closer look: hidden characters",
        "  | Be kind,\\u{200b} always.",
    ]
    assert json.loads(cli("import", "docs", "--json")[1])["proposals"][0]["text"] == "Always use tabs."


def test_what_a_text_mentions_needs_no_closer_look(cli: Cli, documents: Path) -> None:
    (documents / "AGENTS.md").write_text("- Never log a password.\n")
    commit_all(documents)
    assert cli("import", "docs", "--list")[1].splitlines()[3] == "  mentions: secrets"


def test_one_command_accepts_all_of_a_document_but_what_hides_something(cli: Cli, documents: Path) -> None:
    status, out, _ = cli("accept", "AGENTS.md")
    lines = out.splitlines()
    assert (status, [line.partition(": ")[0] for line in lines]) == (
        0,
        ["accepted AGENTS.md:1 as c1", "accepted AGENTS.md:4 as e1", "left out AGENTS.md:2"],
    )
    assert lines[2] == "left out AGENTS.md:2: it has hidden characters; name it if it is right"
    assert "from AGENTS.md:1, accepted by human" in cli("show", "c1")[1]
    assert cli("reject", "AGENTS.md:2")[1].startswith("rejected AGENTS.md:2: rule ")
    assert cli("import", "docs")[1].startswith("1 document on main: 0 proposals, 2 known, 1 rejected")


def test_a_person_decides_one_by_one_at_a_terminal(cli: Cli, documents: Path, answers: list[str]) -> None:
    answers += ["e", "y", "r", "k", "y"]
    status, _, err = cli("import", "docs")
    assert (status, answers) == (0, [])
    assert err == ""
    rules = json.loads(cli("rule", "list", "--json")[1])["constraints"]
    assert sorted(rule["text"] for rule in rules) == ["A shop.", "edited"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("n", "n", "n"), "3 left: `satchel import docs` proposes them again\n"),
        (("y", "r", "n"), "1 left: `satchel import docs` proposes it again\n"),
        (("y", "q"), "2 left: `satchel import docs` proposes them again\n"),
    ],
)
def test_what_was_skipped_is_counted_with_the_way_back_to_it(
    keys: tuple[str, ...], said: str, cli: Cli, documents: Path, answers: list[str]
) -> None:
    answers += keys
    assert cli("import", "docs")[2] == said


def test_an_editor_that_fails_does_not_end_the_walk(
    cli: Cli, documents: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(filename: str) -> None:
        raise click.ClickException("nano: Editing failed")

    monkeypatch.setattr(click, "edit", fail)
    answers += ["e", "y", "n", "n"]
    status, out, err = cli("import", "docs")
    assert (status, answers, "accepted c1 rule from AGENTS.md:1" in out) == (0, [], True)
    assert "the editor failed (nano: Editing failed); nothing was changed" in err


def test_the_rest_is_shown_before_it_is_accepted(
    cli: Cli, folder: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(folder)
    (folder / "AGENTS.md").write_text("- Use tabs.\n- Money is cents.\n")
    commit_all(folder)
    confirmed = iter([False, True])

    def confirm(text: str, **_: object) -> bool:
        click.echo(text)
        return next(confirmed)

    monkeypatch.setattr(click, "confirm", confirm)
    answers += ["all", "all"]
    out = cli("import", "docs")[1]
    assert "AGENTS.md:2: new note\n  | Money is cents.\nAccept 1 other proposal too?" in out
    assert (out.count("1 of 2"), answers, "accepted e1 note" in out) == (2, [], True)


def test_accepting_the_rest_leaves_what_was_skipped(
    cli: Cli, documents: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    answers += ["n", "all"]
    cli("import", "docs")
    assert cli("import", "docs", "--list")[1].splitlines()[2] == "AGENTS.md:1: new rule"
    assert [one["text"] for one in json.loads(cli("rule", "list", "--json")[1])["constraints"]] == ["Be kind, always."]


def test_a_file_called_docs_is_still_an_export(cli: Cli, folder: Path) -> None:
    (folder / "docs").write_text("{}")
    assert "[store_foreign]" in cli("import", "./docs")[2]


def test_the_block_is_written_after_a_question_and_checked(cli: Cli, documents: Path) -> None:
    cli("rule", "add", "Never push.")
    assert cli("share", "--agents-md", "--check")[0] == 4
    status, out, err = cli("share", "--agents-md", stdin=b"n\n")
    assert "Everyone who reads AGENTS.md will see this. Write it?" in err
    assert "- Never push." in err
    assert "would write 1 item into AGENTS.md" in out
    assert cli("share", "--agents-md", "--yes")[1] == "wrote 1 item into AGENTS.md\n"
    cli("rule", "add", "Never lie.")
    status, out, err = cli("share", "--agents-md")
    assert (status, out) == (0, "wrote 2 items into AGENTS.md\n")
    assert "Write it?" not in err
    assert cli("share", "--agents-md", "--check")[:2] == (0, "AGENTS.md is up to date\n")
    assert cli("setup", "--instructions", "codex", "--dry-run")[1].count("Never lie.") == 0
    assert cli("share", "--agents-md", "--remove")[1] == "removed the block from AGENTS.md\n"
    assert "satchel" not in (documents / "AGENTS.md").read_text()

"""What a client loads by itself from a document is not briefed to it, but to others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clients_at_work import Clients
from repositories import commit_all, make_repository
from satchel import Satchel

Start = Callable[[str], Satchel]


@pytest.fixture
def start(open_in: Callable[..., Satchel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a client in a repository whose documents were accepted by a person."""
    top = make_repository(tmp_path.resolve() / "repository")
    (top / "AGENTS.md").write_text("- Always use tabs.\n")
    (top / "CLAUDE.md").write_text("@AGENTS.md\n\n- Never push to main.\n")
    (top / "NOTES.md").write_text("The shop sells shoes.\n")
    commit_all(top)
    person = open_in(top, caller="command")
    person.documents.accept()
    person.constraints.add("Be brief.")
    return Clients(lambda **options: open_in(top, **options), monkeypatch).start


@pytest.mark.parametrize(
    ("client", "rules"),
    [
        ("claude-code", {"Be brief."}),
        ("codex-mcp-client", {"Be brief.", "Never push to main."}),
        ("gemini-cli", {"Be brief.", "Never push to main.", "Always use tabs."}),
    ],
)
def test_each_client_gets_what_its_own_documents_do_not_say(start: Start, client: str, rules: set[str]) -> None:
    text = start(client).brief(budget=2_000).text
    every = {"Be brief.", "Never push to main.", "Always use tabs."}
    assert {rule for rule in every if rule in text} == rules
    assert "The shop sells shoes." in text


@pytest.mark.parametrize("own", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"])
def test_claude_code_loads_agents_md_only_where_the_project_has_no_file_of_its_own(
    open_in: Callable[..., Satchel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    top = make_repository(tmp_path.resolve() / "repository")
    (top / "AGENTS.md").write_text("- Always use tabs.\n")
    commit_all(top)
    open_in(top, caller="command").documents.accept()
    start = Clients(lambda **options: open_in(top, **options), monkeypatch).start
    assert "Always use tabs." not in start("claude-code").brief(budget=2_000).text
    (top / own).parent.mkdir(exist_ok=True)
    (top / own).write_text("Be kind.\n")
    assert "Always use tabs." in start("claude-code").brief(budget=2_000).text
    (top / own).unlink()
    (top / "AGENTS.md").unlink()
    assert "Always use tabs." in start("claude-code").brief(budget=2_000).text


def test_a_text_that_the_person_edited_is_briefed_to_all(start: Start, open_in: Callable[..., Satchel]) -> None:
    server = start("claude-code")
    top = server.workplace.files_root
    assert top is not None
    (Path(top) / "CLAUDE.md").write_text("@AGENTS.md\n\n- Never push to main or to release.\n")
    commit_all(Path(top))
    person = open_in(Path(top), caller="command")
    person.documents.accept(texts={"CLAUDE.md:3": "Never push to main, ask ann."})
    assert "Never push to main, ask ann." in start("claude-code").brief(budget=2_000).text

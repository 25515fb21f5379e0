"""What briefings say of notes whose files have changed since."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.base import git_commands
from satchel.keep import citations


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests compared counts in none."""
    monkeypatch.setattr(citations, "_comparisons", {})


@pytest.fixture
def noted(satchel: Satchel, project: Path) -> Satchel:
    """A Satchel with three notes on files, of which the first matches ``gateway`` best."""
    for name in "abc":
        (project / f"{name}.py").write_text(f"import os\n{name} = 1\n")
    satchel.entries.write("discovery", "the gateway, the gateway drops tokens", file="a.py:2")
    satchel.entries.write("discovery", "the gateway has a port", file="b.py:1-2")
    satchel.entries.write(
        "discovery", "the gateway is started at last by the host, as all that listens is", file="c.py"
    )
    return satchel


def lines(satchel: Satchel, query: str | None = "gateway") -> list[str]:
    text = satchel.brief(query=query, budget=2_000).text
    return [line for line in text.splitlines() if line[:1] == "e" or line.startswith("note:")]


def test_of_what_stands_as_it_did_nothing_is_said(noted: Satchel) -> None:
    assert [line.partition(":")[0].split()[0] for line in lines(noted)] == ["e1", "e2", "e3"]
    assert "(" not in "".join(lines(noted))


def test_the_lines_that_are_cited_are_named(noted: Satchel) -> None:
    assert lines(noted)[1].startswith("e2 b.py:1-2: the gateway has a port")


@pytest.mark.parametrize("query", ["gateway", None])
def test_what_changed_or_is_gone_sinks_is_marked_and_counted(noted: Satchel, project: Path, query: str | None) -> None:
    (project / "a.py").write_text("import os\na = 2\n")
    (project / "c.py").unlink()
    shown = lines(noted, query)
    assert shown[0].startswith("e2 ")
    assert {line.partition(": ")[0] for line in shown[1:3]} == {"e1 a.py:2 (file changed since)", "e3 c.py (file gone)"}
    assert shown[3:] == ["note: 2 notes cite changed files"]


def test_what_moved_is_marked_and_does_not_sink(noted: Satchel, project: Path) -> None:
    (project / "a.py").write_text("import sys\nimport os\na = 1\n")
    assert [line.partition(": ")[0] for line in lines(noted)] == [
        "e1 a.py:2 (moved to line 3)",
        "e2 b.py:1-2",
        "e3 c.py",
    ]


def test_items_say_how_their_file_stands(noted: Satchel, project: Path) -> None:
    (project / "b.py").unlink()
    items = noted.brief(query="gateway", budget=2_000).items
    assert {item.ref: item.citation and item.citation.state for item in items} == {
        "e1": "unchanged",
        "e2": "gone",
        "e3": "unchanged",
    }


def test_a_review_issue_whose_file_changed_is_marked(satchel: Satchel, project: Path) -> None:
    (project / "a.py").write_text("a = 1\n")
    satchel.entries.write("review_issue", {"description": "a is one"}, file="a.py:1", task_id="T")
    (project / "a.py").write_text("a = 2\n")
    assert "a.py:1 (file changed since)" in satchel.brief(task_id="T", budget=2_000).text


def test_no_git_is_asked_where_nothing_is_gone_or_from_another_branch(
    noted: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_commands, "ask_git", None)
    (project / "a.py").write_text("other\n")
    assert lines(noted)[-1] == "note: 1 note cites a changed file"


def test_short_of_time_files_go_uncompared_and_nothing_else_is_missing(
    noted: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text("other\n")
    compare = citations.Comparing
    monkeypatch.setattr(citations, "Comparing", lambda root, _: compare(root, lambda: True))
    assert [line.split()[0] for line in lines(noted)] == ["e1", "e2", "e3"]

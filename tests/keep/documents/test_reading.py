"""Documents that git tracks: which are read, and what hostile ones cannot do."""

from __future__ import annotations

from pathlib import Path

import pytest

from keep.documents.conftest import Commit
from repositories import git
from satchel import Satchel
from satchel.base.errors import NotFound


def texts(satchel: Satchel) -> list[str]:
    return [one.text for one in satchel.documents.review().proposals]


def test_only_what_is_committed_on_the_branch_is_read(satchel: Satchel, commit: Commit, top: Path) -> None:
    commit({"AGENTS.md": "- Use tabs.\n"})
    (top / "AGENTS.md").write_text("- Use spaces.\n")
    (top / "CLAUDE.md").write_text("- Use nothing.\n")
    review = satchel.documents.review()
    assert (review.branch, review.documents) == ("main", ("AGENTS.md",))
    assert [one.text for one in review.proposals] == ["Use tabs."]


def test_the_default_branch_of_the_remote_counts_not_the_one_checked_out(
    satchel: Satchel, commit: Commit, top: Path
) -> None:
    commit({"AGENTS.md": "- Use tabs.\n"})
    git(top, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(top, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(top, "checkout", "--quiet", "-b", "feature")
    commit({"AGENTS.md": "- Use spaces.\n"})
    assert texts(satchel) == ["Use tabs."]


def test_globs_of_rule_files_and_folders_of_nested_documents_become_paths(satchel: Satchel, commit: Commit) -> None:
    rules = "Always type it.\n"
    commit(
        {
            ".cursor/rules/a.mdc": f"---\ndescription: x\nglobs: src/**/*.ts, *.tsx\nalwaysApply: false\n---\n{rules}",
            ".cursor/rules/all.mdc": "---\nglobs:\nalwaysApply: true\n---\nAlways smile.\n",
            ".github/instructions/py.instructions.md": '---\napplyTo: "**/*.py,tests/**"\n---\nAlways lint.\n',
            "api/AGENTS.md": "Never break the API.\n",
        }
    )
    found = {one.text: (one.paths, one.line) for one in satchel.documents.review().proposals}
    assert found == {
        "Always type it.": (("src/**/*.ts", "*.tsx"), 6),
        "Always smile.": ((), 5),
        "Always lint.": (("**/*.py", "tests/**"), 4),
        "Never break the API.": (("api/",), 1),
    }


def test_imports_stay_inside_and_links_are_not_followed(satchel: Satchel, commit: Commit, top: Path) -> None:
    (top.parent / "secret.md").write_text("- The secret must stay.\n")
    (top / "GEMINI.md").symlink_to("../secret.md")
    (top / "linked").symlink_to("..")
    commit(
        {
            "CLAUDE.md": "@docs/rules.md @../secret.md @~/secret.md @linked/secret.md `@docs/code.md`\n",
            "docs/rules.md": "- Use tabs.\n\n@../CLAUDE.md @more.md\n",
            "docs/more.md": "- Use LF.\n",
            "docs/code.md": "- Use nothing.\n",
        }
    )
    review = satchel.documents.review()
    assert set(review.documents) == {"CLAUDE.md", "docs/rules.md", "docs/more.md"}
    assert not any("secret must" in one.text for one in review.proposals)
    assert dict(review.skipped) == {
        "GEMINI.md": "it is a link",
        "@../secret.md in CLAUDE.md": "it is outside of the repository",
        "@~/secret.md in CLAUDE.md": "it is outside of the repository",
        "@linked/secret.md in CLAUDE.md": "there is no such file",
    }


def test_lines_of_imports_are_no_proposals_and_named_if_they_are_not_followed(satchel: Satchel, commit: Commit) -> None:
    commit(
        {
            "AGENTS.md": "@docs/rules.md\n@/etc/passwd @CLAUDE.md\n\n- Ask @ann first.\n- @docs/none.md\n",
            "CLAUDE.md": "@AGENTS.md\n\n1. @docs/more.md\n2. @AGENTS.md\n\n> @AGENTS.md\n",
            "docs/rules.md": "- Use tabs.\n",
            "docs/more.md": "- Use LF.\n",
        }
    )
    review = satchel.documents.review()
    assert [one.text for one in review.proposals] == ["Ask @ann first.", "Use LF."]
    assert dict(review.skipped) == {
        "@docs/rules.md in AGENTS.md": "such imports are not followed",
        "@/etc/passwd in AGENTS.md": "it is outside of the repository",
        "@docs/none.md in AGENTS.md": "there is no such file",
    }


def test_large_and_broken_documents_are_refused_with_the_reason(satchel: Satchel, commit: Commit, top: Path) -> None:
    (top / "CLAUDE.md").write_bytes(b"- Use \xff.\n")
    commit({"AGENTS.md": "- Never.\n" * 1_200_000, "GEMINI.md": "- Use tabs.\n"})
    review = satchel.documents.review()
    assert review.documents == ("GEMINI.md",)
    assert dict(review.skipped) == {
        "AGENTS.md": "it has 10.3 MiB; more than 1 is not read",
        "CLAUDE.md": "it is no readable text in UTF-8",
    }


def test_without_a_repository_or_a_commit_nothing_is_read(satchel: Satchel, top: Path) -> None:
    git(top, "checkout", "--quiet", "--orphan", "empty")
    git(top, "branch", "-D", "main")
    with pytest.raises(NotFound, match="git tracks no documents"):
        satchel.documents.review()

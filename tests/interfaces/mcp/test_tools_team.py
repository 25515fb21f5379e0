"""The tool get_team, called as agents of two clients call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.keep.sessions.caller import SERVER
from tool_asking import Asker, check_format

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def connect(open_in: Callable[..., Satchel], project: Path) -> Callable[[str], Asker]:
    """Connect a client by a name to the project's store."""

    def make(client: str) -> Asker:
        satchel = open_in(project, caller=SERVER)
        assert satchel.workplace.caller is not None
        satchel.workplace.caller.set_client(client, None)
        return Asker(satchel)

    return make


def test_each_client_sees_the_other_and_what_it_is_at(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("write_context", type="scratchpad", content={"iteration": 1, "done": True}, agent="ann", task_id="T1")
    claude.text("claim_files", paths=["src/"], agent="ann")
    codex.text("write_context", type="discovery", content="x", agent="ben")
    ann, ben = "client:claude task:T1", "client:codex"
    below = [" claims src/** (30 min left)", " last scratchpad e1, less than 1 min ago: done"]
    seen = "working, seen less than 1 min ago"
    assert claude.text("get_team").splitlines() == [
        "2 sessions, yours first",
        f"ann (your session) {ann}",
        *below,
        f"ben {ben} {seen}",
    ]
    assert codex.text("get_team", agent="ben").splitlines() == [
        "2 sessions, yours first",
        f"ben (your session) {ben}",
        f"ann {ann} {seen}",
        *below,
    ]


def test_who_is_alone_is_told_how_one_comes_to_be_listed(connect: Callable[[str], Asker]) -> None:
    claude = connect("claude-code")
    assert claude.text("get_team").splitlines() == [
        "No agent sessions yet: one that only reads is not listed.",
    ]
    connect("codex").text("write_context", type="discovery", content="x", agent="ben")
    assert claude.text("get_team").splitlines()[0] == "2 sessions, yours first"


def test_the_answer_is_json_where_that_is_asked_for(connect: Callable[[str], Asker]) -> None:
    claude = connect("claude-code")
    claude.text("write_context", type="discovery", content="x", agent="ann")
    check_format(claude, "get_team", {})
    assert [(one["agents"], one["own"]) for one in claude.fields("get_team")["sessions"]] == [(["ann"], True)]


@pytest.mark.parametrize("given", ["yes", 1])
def test_all_is_true_or_false(connect: Callable[[str], Asker], given: object) -> None:
    assert "all" in connect("claude-code").refused("get_team", all=given)


def test_what_an_agent_says_it_is_about_to_do_is_seen_by_others(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="x")
    claude.text("get_briefing", query="mend the  login")
    assert ' about to: "mend the login"' in codex.text("get_team").splitlines()
    assert ', about to "mend the login", ' in codex.text("get_briefing", query="tests of the login")


def test_so_is_what_the_first_of_a_project_says_before_anything_is_written(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("get_briefing", query="mend the login")
    assert ' about to: "mend the login"' in codex.text("get_team").splitlines()


def test_what_another_is_about_to_do_is_told_beside_what_it_claims_for_another_reason(
    connect: Callable[[str], Asker],
) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("get_briefing", query="mend the login")
    claude.text("claim_files", paths=["a.py"], reason="mend the login")
    assert "about to" not in codex.text("get_briefing", query="tests")
    claude.text("get_briefing", query="rename the session")
    assert ', holds a.py "mend the login", about to "rename the session", ' in codex.text("get_briefing", query="tests")


def test_an_error_ends_in_the_line_of_an_answer(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="x")
    claude.text("send_message", message="look at m1")
    refused = codex.refused("get_items", ids=["e99"])
    assert refused.splitlines()[-1].endswith(': "look at m1"')


def test_who_has_said_that_it_is_done_is_about_to_do_nothing(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="x")
    claude.text("get_briefing", query="mend the login")
    claude.text("write_context", type="scratchpad", content={"done": True})
    assert "about to" not in codex.text("get_team")


def test_who_has_recorded_a_change_since_is_about_to_do_nothing(connect: Callable[[str], Asker], project: Path) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="x")
    claude.text("get_briefing", query="mend the login")
    claude.text("claim_files", paths=["a.py"], reason="the login")
    assert "about to" in codex.text("get_team")
    (project / "a.py").write_text("login = 1\n")
    claude.text("release_files", description="the login is mended")
    assert "about to" not in codex.text("get_team")


def test_who_holds_a_file_is_told_once_who_was_refused_it(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("claim_files", paths=["a.py", "b.py"], agent="ann")
    codex.refused("claim_files", paths=["a.py", "b.py"], agent="ben{}")
    said = claude.text("get_team").splitlines()[-1]
    assert said == 'notice: "ben{}" was refused a.py, b.py, which you hold'
    assert "was refused" not in claude.text("get_team")
    claude.text("release_files", agent="ann")
    assert 'a.py, b.py are free now ("ben{}" was refused them less than 1 min ago)' in codex.text("get_team")


def test_a_claim_names_the_notes_of_others_on_its_files(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="the token is rotated first", file="a.py")
    said = claude.text("claim_files", paths=["a.py"]).splitlines()[-1]
    assert said == 'notice: notes: e1 on a.py "the token is rotated first" (get_items)'
    assert "notes:" not in codex.text("claim_files", paths=["b.py"])


def test_a_search_for_nothing_lists_what_is_newest(connect: Callable[[str], Asker]) -> None:
    claude = connect("claude-code")
    claude.text("write_context", type="discovery", content="one", agent="ann")
    claude.text("set_decision", key="ttl", value=300, agent="ann")
    claude.text("write_context", type="error", content="two", agent="ben")
    found = claude.fields("search")["results"]
    assert [one["id"] for one in found] == ["e2", "d1", "e1"]
    assert [one["id"] for one in claude.fields("search", kinds=["entry"], author="ann")["results"]] == ["e1"]
    assert [one["id"] for one in claude.fields("search", types=["error"])["results"]] == ["e2"]
    assert claude.text("search", limit=1).startswith("1 of 3 results, newest first, ")


def test_a_short_message_is_in_the_next_answer_once_and_a_long_one_is_counted(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    codex.text("write_context", type="discovery", content="x")
    claude.text("send_message", message="wait for me")
    assert codex.text("get_team").splitlines()[-1].endswith(': "wait for me"')
    assert "notice" not in codex.text("get_team")
    claude.text("send_message", message="x" * 2_000)
    assert codex.text("get_team").splitlines()[-1].startswith("notice: 1 unread message for ")


def test_a_claim_of_another_is_told_once_and_not_beside_the_answer_that_names_it(
    connect: Callable[[str], Asker],
) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("claim_files", shared=["a.py", "b.py"], reason="y" * 500)
    claimed = codex.text("claim_files", shared=["a.py", "b.py"])
    assert claimed.count("y" * 500) == 1
    assert "notice" not in claimed
    assert "notice" not in codex.text("write_context", type="discovery", content="x", file="a.py")


def test_files_that_another_comes_to_share_are_one_piece_of_news(
    connect: Callable[[str], Asker], clock: ManualClock
) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("claim_files", shared=["a.py", "b.py"])
    clock.advance(1)
    codex.text("claim_files", shared=["a.py", "b.py"], reason="y" * 500)
    news = claude.text("get_config").splitlines()[-1]
    assert news.startswith("notice: a.py, b.py, which you hold, are now shared by codex-")
    assert news.endswith(f': "{"y" * 500}"')


def test_a_session_without_claims_whose_scratchpad_says_so_is_done(connect: Callable[[str], Asker]) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("write_context", type="scratchpad", content={"done": True}, agent="ann")
    codex.text("write_context", type="discovery", content="x", agent="ben")
    assert "ann client:claude done, seen less than 1 min ago" in codex.text("get_team")


def test_a_release_says_what_others_changed_meanwhile_and_who_still_holds_the_files(
    connect: Callable[[str], Asker], clock: ManualClock
) -> None:
    claude, codex = connect("claude-code"), connect("codex-mcp-client")
    claude.text("claim_files", shared=["a.py", "b.py"])
    codex.text("claim_files", shared=["a.py", "b.py"])
    clock.advance(1)
    codex.text("record_file_change", file="a.py", change="modified")
    first, second, third, *_ = claude.text("release_files", paths=["a.py", "b.py"]).splitlines()
    assert first == "released a.py b.py"
    assert second.startswith("changed by codex-")
    assert second.endswith(" while you held it: a.py (f1)")
    assert third.endswith(" still holds a.py, b.py")

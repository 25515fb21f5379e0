"""The one screen of ``satchel status``, from records made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from satchel import AgentState, Team, TeamClaim, TeamSession
from satchel.brief.room.records import (
    Changed,
    Conflicts,
    FileConflict,
    ItemConflict,
    ItemVersion,
    Need,
    Needs,
    Party,
    Since,
    Status,
)
from satchel.interfaces.text.status import status_text
from tables import in_one_test

NOW, MINUTE = 1_795_000_000_000, 60_000

SESSION = TeamSession(
    *("0f" * 16, ("claude-3f2b",), "claude", None, None, "fix", None, None, "T1", None),
    claims=(TeamClaim("src/a.py", True, NOW),),
    claims_total=3,
    scratchpad=None,
    seen_at=NOW,
    ended_at=None,
    gone=False,
    own=False,
    state=AgentState("stuck", NOW - 12 * MINUTE, "T1: mock the whole network"),
    predecessor=None,
    predecessor_agent=None,
)
NEED = Need(
    *("message", "high", "which\nport?", "m7", None, "codex-5f45", NOW - 3 * MINUTE),
    ("answer", "read"),
)
PARTY = Party(
    *("claim", "src/a.py", "claude-3f2b", None, None, None), exclusive=True, began_at=NOW - MINUTE, expires_at=NOW
)
CHANGE = Changed("decision", "d4", "changed", "port: 8080", "human:ben", NOW - 120 * MINUTE, 9, before="80")


def a_status(*, needs: int = 1, sessions: int = 1, conflicts: int = 1, changes: int = 1) -> Status:
    conflict = FileConflict("src/a.py", True, (PARTY, replace(PARTY, kind="edit", agent="codex-5f45")))
    return Status(
        "shop",
        "human:ann",
        Needs("human:ann", (NEED,) * needs, needs, NOW),
        Team((SESSION,) * sessions, sessions, 0, NOW),
        Conflicts((conflict,) * conflicts, conflicts, (), NOW),
        Since("human:ann", (CHANGE,) * changes, (("decision", changes),), 9, None, NOW),
    )


def screen(status: Status, width: int = 80, height: int = 24) -> list[str]:
    return status_text(status, width, height, lambda text, _: text).split("\n")


def test_a_claim_that_an_ended_session_left_is_free() -> None:
    ended = replace(SESSION, state=AgentState("ended", NOW), gone=True, task_id=None, claims_total=1)
    status = a_status()
    lines = screen(replace(status, team=replace(status.team, sessions=(ended,))))
    assert "claude-3f2b, on fix, had claimed src/a.py: free to claim" in lines[4]


def test_a_refusal_stands_once_among_what_needs_the_person() -> None:
    text = "src/a.py is held by Mia"
    need = replace(NEED, kind="refusal", text=text, place="src/a.py", holder="human:Mia")
    waiting = replace(SESSION, state=AgentState("waiting", NOW, text))
    status = a_status()
    status = replace(status, needs=replace(status.needs, items=(need,)), team=replace(status.team, sessions=(waiting,)))
    lines = screen(status)
    assert lines[0].endswith("1 conflict")
    assert [line for line in lines if "src/a.py is held" in line or line.startswith(("Conflicts", "  conflict"))] == [
        lines[2]
    ]
    assert not any(line.startswith("Release") for line in lines)
    assert lines[4].startswith("  waiting    claude-3f2b for src/a.py, on fix")
    third = replace(PARTY, agent="gemini-1a2b")
    (conflict,) = status.conflicts.files
    conflict = replace(conflict, parties=(*conflict.parties, third))
    assert "1 conflict" in screen(replace(status, conflicts=replace(status.conflicts, files=(conflict,))))[0]


def test_a_refusal_by_the_persons_own_claim_names_the_command_that_releases_it() -> None:
    text = "a b/c.py is held by ann"
    need = replace(NEED, kind="refusal", text=text, place="a b/c.py", held_path="a b/**", holder="human:ann")
    status = a_status()
    lines = screen(replace(status, needs=replace(status.needs, items=(need,))))
    assert "Release: `satchel file release 'a b/**'`" in lines


def test_what_another_holds_or_changed_names_the_conflict_and_the_next_step() -> None:
    need = replace(NEED, kind="refusal", place="a.py", held_path="*.py", holder="human:Ida Berg")
    changed = replace(NEED, kind="overtaken", ref="d2", actions=("decide", "see"))
    status = a_status()
    lines = screen(replace(status, needs=replace(status.needs, items=(need, changed))), 160)
    ask = "`satchel message send --to 'human:Ida Berg' TEXT` asks"
    assert f"Conflict over a.py: {ask}, `satchel open` can end the claim" in lines
    assert "Conflict over d2: `satchel show d2` shows it, `satchel decide` sets it again" in lines


def test_claims_outside_of_a_session_are_among_the_agents() -> None:
    status = a_status()
    claim = TeamClaim("src/tax.py", True, NOW + 29 * MINUTE, agent="human:ann")
    lines = screen(replace(status, team=replace(status.team, claims=(claim,))))
    assert lines[5] == f"  {'claim':10} {'ann holds src/tax.py':55} 29 min left"


def test_a_decision_set_by_two_is_a_conflict_unless_it_needs_the_person_anyway() -> None:
    version = ItemVersion("5", "ben", None, NOW - MINUTE)
    decided = ItemConflict("d2", "retries", version, replace(version, text="3", agent="human:ann", at=NOW))
    status = a_status(conflicts=0)
    status = replace(status, conflicts=replace(status.conflicts, decided=(decided,)))
    lines = screen(status)
    assert "1 conflict" in lines[0]
    assert any(line.startswith("  conflict   d2 retries: ben set 5, ann set 3") for line in lines)
    draft = replace(NEED, kind="draft", ref="d2")
    lines = screen(replace(status, needs=replace(status.needs, items=(draft,))))
    assert "1 conflict" in lines[0]
    assert "Conflicts" not in lines


@in_one_test(
    ("state", "seen_min", "expected"),
    [
        (AgentState("working", NOW - 60 * MINUTE), 2, " seen 2 min ago"),
        (AgentState("working", NOW - 60 * MINUTE), 0, " seen <1 min ago"),
        (AgentState("waiting", NOW - 3 * MINUTE, "m7"), 1, " for 3 min"),
        (AgentState("ended", NOW - 3 * MINUTE), 3, " 3 min ago"),
    ],
)
def test_the_time_of_a_state_says_what_it_means(state: AgentState, seen_min: int, expected: str) -> None:
    session = replace(SESSION, state=state, seen_at=NOW - seen_min * MINUTE)
    status = a_status()
    line = screen(replace(status, team=replace(status.team, sessions=(session,))))[4]
    assert line.endswith(expected)
    assert len(line) == 80


def test_who_is_idle_is_not_counted_as_at_work() -> None:
    sessions = (SESSION, replace(SESSION, state=AgentState("idle", NOW)))
    status = a_status()
    head = screen(replace(status, team=replace(status.team, sessions=sessions, total=2)))[0]
    assert "1 agent at work and 1 idle" in head


def test_every_kind_of_need_has_its_next_step() -> None:
    needs = (
        Need("hook", "high", "claude PreToolUse fails", "hook:9", None, None, NOW, ("see",), remedy="do this"),
        Need("stuck", "high", "T1: the port is taken", "e3", None, "b c", NOW, ("answer", "see")),
        Need("rule", "low", "no floats", "c2", None, "ben", NOW, ("accept", "reject")),
    )
    status = replace(a_status(), needs=replace(a_status().needs, items=needs, total=3))
    assert screen(status, 160)[-4:-1] == [
        "Hook: do this",
        "Stuck: `satchel show e3` says more; answer with `satchel message send --to 'b c' TEXT`",
        "Decide: read `satchel show c2`, then `satchel accept c2` or `satchel reject c2`",
    ]


def test_the_commands_for_what_needs_somebody_are_whole_and_come_once_for_a_kind() -> None:
    needs = [
        *a_status().needs.items,
        Need("message", "low", "red", "m8", None, "ben", NOW, ()),
        Need("draft", "low", "rounding", "d2", None, "ben", NOW, ("accept", "reject")),
        Need("draft", "low", "port", "d3", None, "ben", NOW, ("accept", "reject")),
    ]
    status = replace(a_status(), needs=replace(a_status().needs, items=tuple(needs), total=4))
    assert screen(status)[-3:-1] == [
        "Answer: `satchel message send --reply-to m7 TEXT`",
        "Decide: read `satchel show d2`, then `satchel accept d2` or `satchel reject d2`",
    ]


def test_actions_in_the_persons_own_name_are_one_line_below_the_news() -> None:
    own = tuple(Changed("action", f"action:{n}", "done", "opened the pages", "human:ann", NOW, n) for n in (1, 2))
    status = a_status()
    for total, more in ((2, ""), (60, ", and 58 earlier")):
        lines = screen(replace(status, since=replace(status.since, own=own, own_total=total)))
        assert f"in your name: opened the pages (2 times){more}  " in lines[-3]


def test_an_action_that_was_undone_does_not_read_as_one_that_stands() -> None:
    own = (Changed("action", "action:1", "undone", "confirmed c4", "human:ann", NOW, 1),)
    status = a_status()
    lines = screen(replace(status, since=replace(status.since, own=own, own_total=1)))
    assert "in your name: confirmed c4, undone  " in lines[-3]


def test_one_screen_says_what_needs_whom_who_works_what_collides_and_what_changed() -> None:
    assert screen(a_status()) == [
        "shop, as ann: 1 needs you, 1 agent at work, 1 conflict",
        "Needs you",
        "  message    m7 codex-5f45: which port?                                    3 min",
        "Agents",
        "  stuck      claude-3f2b, T1: mock the whole network, on fix, holds…  for 12 min",
        "Conflicts",
        "  conflict   src/a.py: claude-3f2b claims it, codex-5f45 edited it, in…    1 min",
        "Last changes",
        "  decision   d4 changed by ben: port: 8080 (was 80)                          2 h",
        "Answer: `satchel message send --reply-to m7 TEXT`",
        "More: `satchel who`, `satchel message list`, `satchel show ID`, `satchel open`",
    ]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (200, 50)])
def test_many_rows_are_cut_to_the_screen_and_counted(width: int, height: int) -> None:
    lines = screen(a_status(needs=50, sessions=50, conflicts=50, changes=50), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert sum(line.endswith(" more") for line in lines) == 4


@pytest.mark.parametrize(
    ("is_gone", "expected"), [(False, "at least 50 agents at work"), (True, "49 agents at work")], ids=["live", "gone"]
)
def test_the_head_does_not_take_those_that_are_listed_for_all(is_gone: bool, expected: str) -> None:
    team = Team((*(SESSION,) * 49, replace(SESSION, gone=is_gone)), 338, 0, NOW)
    assert f" {expected}, " in screen(replace(a_status(), team=team), 200)[0]


def test_what_the_head_says_is_not_said_again() -> None:
    lines = screen(a_status(needs=0, sessions=0, conflicts=0))
    assert "nothing needs you" in lines[0]
    assert lines[1] == "No agents yet. Start a client here, or see `satchel setup --check`."
    assert not any("needs you" in line or "onflict" in line for line in lines[1:])


def test_an_empty_project_says_what_to_do_next() -> None:
    text = "\n".join(screen(a_status(needs=0, sessions=0, conflicts=0, changes=0)))
    assert "once `satchel setup` has connected it" in text


def test_stored_text_commands_no_terminal_and_wide_letters_take_two_columns() -> None:
    need = replace(NEED, text="\x1b[2J" + "字" * 60)
    status = replace(a_status(), needs=Needs("human:ann", (need,), 1, NOW))
    line = screen(status)[2]
    assert "\x1b" not in line
    assert (line.count("字"), line.endswith("…   3 min")) == (17, True)

"""Who is at work as agents and people are told, from records made by hand."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from satchel import AgentState, LastScratchpad, Team, TeamClaim, TeamSession
from satchel.base.clock import span_in_words
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import MAX_CHARS, fitting_text
from satchel.interfaces.text.team import show_team, team_text

NOW = 1_795_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

PLAIN = TeamSession(
    uid="0f" * 16,
    agents=("ann",),
    client=None,
    version=None,
    worktree=None,
    branch=None,
    commit=None,
    run_id=None,
    task_id=None,
    doing=None,
    claims=(),
    claims_total=0,
    scratchpad=None,
    seen_at=NOW - 4 * MINUTE,
    ended_at=None,
    gone=False,
    own=False,
    state=AgentState("working", NOW - HOUR),
    predecessor=None,
    predecessor_agent=None,
)
PAD = LastScratchpad("e12", "ann", False, "allow\nleeway", ("no clock", "no docs"), NOW - 5 * MINUTE)
FULL = replace(
    PLAIN,
    agents=("ann", "scout", "a tester"),
    client="claude",
    version="2.1 beta",
    worktree="/srv/fix",
    branch="fix",
    commit="1a2b3c4d",
    run_id="night",
    task_id="T1",
    claims=(
        TeamClaim("src/", True, NOW + 12 * MINUTE, reason='a "parser"'),
        TeamClaim("a b.py", False, NOW + 30_000, automatic=True),
    ),
    claims_total=5,
    scratchpad=PAD,
    predecessor="ab" * 16,
    predecessor_agent="ben",
)


def team(*sessions: TeamSession, total: int | None = None, earlier: int = 0, notes: tuple[str, ...] = ()) -> Team:
    return Team(sessions, len(sessions) if total is None else total, earlier, NOW, notes)


def line(session: TeamSession) -> str:
    (shown,) = team_text(team(session)).splitlines()[1:]
    return shown


def test_where_all_work_in_the_readers_worktree_none_is_named() -> None:
    own, other = (replace(PLAIN, worktree="desk:/srv/app", own=is_own) for is_own in (True, False))
    assert "worktree:" not in team_text(team(own, other))
    assert team_text(team(own, replace(other, worktree=None))).count("worktree:desk:/srv/app") == 1


def test_all_that_is_known_of_a_session_is_told() -> None:
    assert team_text(team(FULL)).splitlines() == [
        "1 session",
        "ann client:claude worktree:/srv/fix branch:fix run:night task:T1 "
        'with:scout with:"a tester" continues:ben working, seen 4 min ago',
        ' claims src/ (12 min left, "a \\"parser\\""); "a b.py" (shared, automatic, less than 1 min left); and 3 more',
        ' last scratchpad e12, 5 min ago: not done, next: "allow leeway", blocked by: "no clock; no docs"',
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "ann working, seen 4 min ago"),
        ({"agents": ()}, "- working, seen 4 min ago"),
        ({"agents": ("-",)}, '"-" working, seen 4 min ago'),
        ({"seen_at": NOW + MINUTE}, "ann working, seen less than 1 min ago"),
        ({"state": AgentState("silent", NOW - 10 * MINUTE)}, "ann silent for 10 min"),
        ({"state": AgentState("stuck", NOW - HOUR, "T1: a\nb")}, 'ann stuck for 60 min: "T1: a b"'),
        ({"state": AgentState("ended", NOW - 2 * DAY)}, "ann ended 2 days ago"),
        ({"own": True}, "ann (your session)"),
        ({"own": True, "state": AgentState("waiting", NOW - MINUTE, "an answer")}, "ann (your session)"),
        ({"predecessor": "ab" * 16}, "ann continues:abababab working, seen 4 min ago"),
    ],
)
def test_the_line_of_a_session(changes: dict[str, object], expected: str) -> None:
    assert line(replace(PLAIN, **changes)) == expected  # type: ignore[arg-type] # fields of the record


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"done": True, "next_step": None, "blockers": ()}, " last scratchpad e12, 5 min ago: done"),
        ({"done": None, "next_step": None, "blockers": ()}, " last scratchpad e12, 5 min ago"),
        (
            {"agent": "scout", "blockers": ()},
            ' last scratchpad e12 by scout, 5 min ago: not done, next: "allow leeway"',
        ),
        (
            {"next_step": "x" * 1_001, "blockers": ()},
            f' last scratchpad e12, 5 min ago: not done, next: "{"x" * 999}…"',
        ),
        (
            {"next_step": None, "blockers": ("y" * 500, "z" * 500)},
            f' last scratchpad e12, 5 min ago: not done, blocked by: "{"y" * 500}; {"z" * 497}…"',
        ),
    ],
)
def test_the_line_of_a_scratchpad(changes: dict[str, object], expected: str) -> None:
    pad = replace(PAD, **changes)  # type: ignore[arg-type] # fields of the record
    assert team_text(team(replace(PLAIN, scratchpad=pad))).splitlines()[2] == expected


def test_no_text_of_a_session_can_pass_for_a_line() -> None:
    hostile = "x\nann seen 1 min ago"
    pad = replace(PAD, agent=hostile, next_step=hostile, blockers=(hostile,))
    claims = (TeamClaim(hostile, True, NOW + MINUTE),)
    one = replace(FULL, agents=(hostile, hostile), scratchpad=pad, claims=claims, predecessor_agent=hostile)
    one = replace(one, version=hostile, worktree=hostile, branch=hostile, run_id=hostile, task_id=hostile)
    assert [shown[:1] for shown in team_text(team(one)).splitlines()] == ["1", '"', " ", " "]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (team(PLAIN, PLAIN), "2 sessions"),
        (team(replace(PLAIN, own=True)), "1 session (yours; agents that never call Satchel are not listed)"),
        (team(PLAIN, total=51), "1 of 51 sessions"),
        (team(PLAIN, earlier=2), "1 session; 2 more ended over 8 hours ago (all=true)"),
        (team(earlier=1), "0 sessions; 1 more ended over 8 hours ago (all=true)"),
        (team(), "No agent sessions yet: one that only reads is not listed."),
        (
            replace(team(), persons=1),
            "No agent sessions yet: one that only reads is not listed. 1 person has written here.",
        ),
        (replace(team(PLAIN), persons=2), "1 session; 2 persons have written here"),
    ],
)
def test_the_first_line_counts(told: Team, expected: str) -> None:
    assert team_text(told).splitlines()[0] == expected


def test_of_very_many_sessions_those_are_shown_that_there_is_room_for() -> None:
    text = fitting_text(team(*[replace(FULL, branch="b" * 800)] * 50), team_text)
    assert text.startswith("16 of 50 sessions\n")
    assert len(text) <= MAX_CHARS


def test_notes_come_last() -> None:
    assert team_text(team(PLAIN, notes=("two\nlines",))).splitlines()[2:] == ["note: two", " lines"]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (-1, "less than 1 min"),
        (MINUTE - 1, "less than 1 min"),
        (MINUTE, "1 min"),
        (2 * HOUR - 1, "119 min"),
        (2 * HOUR, "2 h"),
        (2 * DAY - 1, "47 h"),
        (2 * DAY, "2 days"),
    ],
)
def test_lengths_of_time_in_words(length: int, expected: str) -> None:
    assert span_in_words(length) == expected


@pytest.fixture
def an_hour_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's clock shows an hour more than UTC: 12:06."""
    monkeypatch.setenv("TZ", "EAST-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("an_hour_east")
def test_people_get_a_table_with_the_times_of_their_machine(capsys: pytest.CaptureFixture[str]) -> None:
    claims = (TeamClaim("src/", True, NOW + 12 * MINUTE), TeamClaim("docs/", False, NOW + DAY))
    full = replace(
        FULL, agents=("ann",), version="2", worktree=None, commit=None, run_id=None, claims=claims, claims_total=2
    )
    others = [
        replace(PLAIN, agents=("ben", "scout"), own=True, seen_at=NOW - HOUR),
        replace(PLAIN, agents=("cat",), state=AgentState("waiting", NOW - HOUR, "m7")),
        replace(PLAIN, agents=("dan",), state=AgentState("ended", NOW), claims=claims[:1], claims_total=8),
    ]
    show_team(team(replace(full, scratchpad=replace(PAD, blockers=(), next_step="leeway")), *others))
    shown = capsys.readouterr()
    cells = [re.split(" {2,}", row.strip()) for row in shown.out.splitlines()]
    assert cells[0] == ["agents", "client", "branch", "task", "state", "seen", "claims", "left off", "continues"]
    seen, left_off = "2026-11-18 12:02", 'not done, next: "leeway"'
    assert cells[2:] == [
        ["ann", "claude 2", "fix", "T1", "working, seen 4 min ago", seen, "src/ until 12:18", left_off, "ben"],
        ["docs/ until 2026-11-19 12:06"],
        ["ben, scout (you)", "working, seen 60 min ago", "2026-11-18 11:06"],
        ["cat", "waiting for 60 min", seen],
        ["m7"],
        ["dan", "ended less than 1 min ago", seen, "src/ free to claim"],
        ["and 7 more"],
    ]
    assert shown.err == "4 sessions\n"


@pytest.mark.usefixtures("an_hour_east")
def test_claims_outside_of_a_session_are_told_with_who_holds_them(capsys: pytest.CaptureFixture[str]) -> None:
    claims = (TeamClaim("src/tax.py", True, NOW + 12 * MINUTE, agent="human:Mia Roth"),)
    told = replace(team(PLAIN), claims=claims)
    assert team_text(told).splitlines()[-1] == '"human:Mia Roth" claims src/tax.py (12 min left)'
    show_team(told)
    assert capsys.readouterr().out.splitlines()[-1] == "Mia Roth holds src/tax.py until 12:18"


def test_people_are_told_of_nothing_how_to_see_more(capsys: pytest.CaptureFixture[str]) -> None:
    show_team(team(earlier=3))
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "0 sessions; 3 more ended over 8 hours ago (--all)\n")


def test_as_json_a_session_leaves_out_what_is_not_set() -> None:
    fields = fields_of(team(FULL, PLAIN), "sessions")
    assert (fields["total"], fields["earlier"], fields["asked_at"]) == (2, 0, "2026-11-18T11:06:40.000Z")
    full, plain = fields["sessions"]
    assert full["scratchpad"] == {
        "id": "e12",
        "agent": "ann",
        "done": False,
        "next_step": "allow\nleeway",
        "blockers": ["no clock", "no docs"],
        "created_at": "2026-11-18T11:01:40.000Z",
    }
    assert full["claims"][1] == {
        "path": "a b.py",
        "exclusive": False,
        "expires_at": "2026-11-18T11:07:10.000Z",
        "automatic": True,
    }
    assert plain == {
        "uid": "0f" * 16,
        "agents": ["ann"],
        "claims": [],
        "claims_total": 0,
        "seen_at": "2026-11-18T11:02:40.000Z",
        "gone": False,
        "own": False,
        "state": {"name": "working", "since_at": "2026-11-18T10:06:40.000Z", "reason": None},
    }

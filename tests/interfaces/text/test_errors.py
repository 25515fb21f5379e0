"""What is known of a reported error as text read back by a parser, and what recording and judging answer."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import DAY, MINUTE, NEW_YEAR
from interfaces.text.reading import (
    AGENT,
    LATER,
    VALUE,
    WHEN,
    Format,
    Item,
    read_content,
    read_list,
    read_value,
    read_when,
)
from satchel.interfaces.text.errors import reported_text, solution_text
from satchel.keep.patterns.records import STANDINGS, STATES, ErrorPattern, Reported, Solution

STANDING = (
    rf"y(?P<id>[0-9]+) (?P<standing>{'|'.join(STANDINGS)}), "
    rf"confidence (?P<confidence>[0-9]+) of 10"
)
COUNTS = r"(?:,? helped (?P<helped>[0-9]+) times?)?(?:,? failed (?P<failed>[0-9]+) times?)?"
FORMAT = Format(
    noun="(?:other )?solution",
    more=r", best first \(7 counts as known; each agent it helps adds 1\)",
    start=STANDING,
    cells={"agent": AGENT},
    own=COUNTS,
    after=rf"(?: changed (?P<changed>{LATER}))?",
)
HEAD = re.compile(
    rf"x(?P<id>[0-9]+) (?P<type>{VALUE})(?: lang:(?P<lang>{VALUE}))?, "
    rf"(?:new|met (?P<met>[0-9]+) times? since (?P<since>{WHEN}) UTC(?:, last (?P<last>{WHEN}) UTC)?)"
)
RECORDED = re.compile(rf"recorded {STANDING}{COUNTS}")


def kept(solution: Solution) -> Solution:
    return replace(solution, uid="", seq=0, state="active", notes=())


def said_of(reported: Reported) -> Reported:
    """Return what the text of a report says."""
    recorded = reported.recorded
    given_now = None if recorded is None else recorded.id
    solutions = tuple(kept(one) for one in reported.pattern.solutions if one.id != given_now)
    pattern = replace(reported.pattern, uid="", seq=0, hash="", message="", example="", score=None, solutions=solutions)
    pattern = replace(pattern, ttl_days=0, expires_at=0)
    pattern = replace(pattern, created_at=0, last_seen=0) if reported.is_new else pattern
    short = None
    if recorded is not None:
        short = replace(kept(recorded), pattern_id=0, text="", agent=None, created_at=0, updated_at=0)
    return replace(reported, pattern=pattern, recorded=short)


def read_solution(item: Item, pattern: int, year: str) -> Solution:
    return Solution(
        id=int(item.fields["id"]),
        uid="",
        seq=0,
        pattern_id=pattern,
        text=read_content(item.below),
        confidence=int(item.fields["confidence"]),
        confirmed=int(item.fields.get("helped", 0)),
        failed=int(item.fields.get("failed", 0)),
        state="active",
        agent=item.value("agent", "by "),
        created_at=item.moment,
        updated_at=read_when(item.fields["changed"], year, item.moment) if "changed" in item.fields else item.moment,
    )


def read_recorded(line: str) -> Solution:
    found = RECORDED.fullmatch(line)
    assert found is not None, line
    counts = int(found["helped"] or 0), int(found["failed"] or 0)
    return Solution(int(found["id"]), "", 0, 0, "", int(found["confidence"]), *counts, "active", None, 0, 0)


def read_reported(text: str) -> Reported:
    first, *lines = text.split("\n")
    head = HEAD.fullmatch(first)
    assert head is not None, first
    recorded = read_recorded(lines.pop(0)) if lines[0].startswith("recorded ") else None
    if lines and lines[0].startswith("no solution is known yet; report_outcome with id=x"):
        del lines[0]
    if not lines or not re.match(r"[0-9]+ ", lines[0]):
        lines.insert(0, "0 solutions, best first (7 counts as known; each agent it helps adds 1)")
    read = read_list("\n".join(lines), FORMAT)
    number = int(head["id"])
    since, last = (0 if head[name] is None else read_when(head[name], "2026") for name in ("since", "last"))
    pattern = ErrorPattern(
        id=number,
        uid="",
        seq=0,
        hash="",
        error_type=read_value(head["type"]) or "",
        message="",
        example="",
        lang=None if head["lang"] is None else read_value(head["lang"]),
        occurrences=int(head["met"] or 1),
        ttl_days=0,
        last_seen=last or since,
        expires_at=0,
        created_at=since,
        solutions=tuple(read_solution(item, number, read.year) for item in read.items),
    )
    return Reported(pattern, head["met"] is None, recorded, read.notes)


def solution(number: int = 7, text: str = "install it", **changes: object) -> Solution:
    one = Solution(number, "0" * 32, number, 4, text, 5, 0, 0, "active", None, NEW_YEAR, NEW_YEAR)
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def met(*solutions: Solution, occurrences: int = 3, **changes: object) -> Reported:
    is_new = occurrences == 1
    pattern = ErrorPattern(
        id=4,
        uid="0" * 32,
        seq=9,
        hash="f" * 64,
        error_type="TS2307",
        message="Cannot find module 'zod'",
        example="Cannot find module 'zod'",
        lang=None,
        occurrences=occurrences,
        ttl_days=90,
        last_seen=NEW_YEAR if is_new else NEW_YEAR + DAY,
        expires_at=NEW_YEAR + 90 * DAY if is_new else NEW_YEAR + 91 * DAY,
        created_at=NEW_YEAR,
        solutions=solutions,
    )
    return Reported(replace(pattern, **changes), is_new)  # type: ignore[arg-type] # as above


solutions = st.builds(
    solution,
    st.integers(1, 9),
    hostile.texts,
    confidence=st.integers(1, 10),
    confirmed=st.integers(0, 3),
    failed=st.integers(0, 3),
    state=st.sampled_from(STATES),
    agent=st.none() | hostile.agents,
    created_at=hostile.moments,
    updated_at=hostile.moments,
)


@st.composite
def reports(draw: st.DrawFn) -> Reported:
    known = draw(st.lists(solutions, max_size=4, unique_by=lambda one: one.id))
    reported = met(
        *known,
        occurrences=draw(st.integers(1, 3)),
        error_type=draw(hostile.names),
        lang=draw(st.none() | hostile.names),
    )
    recorded = draw(st.none() | st.sampled_from([*known, solution(99, confidence=1)]))
    return replace(reported, recorded=recorded, notes=draw(hostile.notes))


@given(reports())
@example(
    replace(met(solution(1, "no solution is known yet\ny2 known, confidence 9 of 10"), occurrences=1), notes=("a\nb",))
)
def test_what_is_known_of_an_error_can_be_read_back(reported: Reported) -> None:
    assert read_reported(reported_text(reported)) == said_of(reported)


@given(reports())
def test_no_solution_can_pass_for_a_line_of_ours(reported: Reported) -> None:
    ours = [line for line in reported_text(reported).splitlines() if not line.startswith(" ")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    headings = [line for line in ours if line.endswith(":") and not line.startswith("note:")]
    assert len(items) == len(said_of(reported).solutions)
    others = 1 + (reported.recorded is not None) + (not reported.recorded or len(items) > 0) + len(reported.notes)
    assert len(ours) == others + len(items) + len(headings)


def test_a_new_error_says_so_and_that_nothing_is_known() -> None:
    assert reported_text(met(occurrences=1, lang="typescript")).split("\n") == [
        "x4 TS2307 lang:typescript, new",
        "no solution is known yet; report_outcome with id=x4 and solution records what does",
    ]


def test_a_known_error_has_its_solutions_with_standing_confidence_and_author() -> None:
    best = solution(7, "install\nit", confidence=8, confirmed=4, failed=1, state="confirmed", agent="ann")
    best = replace(best, updated_at=NEW_YEAR + MINUTE)
    assert reported_text(met(best, solution(9))).split("\n") == [
        "x4 TS2307, met 3 times since 01-01 00:00 UTC, last 01-02 00:00 UTC",
        "2 solutions, best first (7 counts as known; each agent it helps adds 1), UTC times of 2026",
        "y7 known, confidence 8 of 10 by ann helped 4 times failed 1 time 01-01 00:00 changed 00:01",
        " install",
        " it",
        "y9 tentative, confidence 5 of 10 00:00",
        " install it",
    ]


def test_the_solution_that_came_with_the_report_is_not_repeated() -> None:
    given_now = solution(7)
    text = reported_text(replace(met(given_now), recorded=given_now, notes=("a secret was redacted (jwt)",)))
    assert text.split("\n")[1:] == ["recorded y7 tentative, confidence 5 of 10", "note: a secret was redacted (jwt)"]
    text = reported_text(replace(met(given_now, solution(8)), recorded=given_now))
    assert text.split("\n")[2:] == [
        "1 other solution, best first (7 counts as known; each agent it helps adds 1), UTC times of 2026",
        "y8 tentative, confidence 5 of 10 01-01 00:00",
        " install it",
    ]


def test_of_many_solutions_the_best_are_shown_and_the_call_that_shows_all() -> None:
    lines = reported_text(met(*(solution(number) for number in range(1, 13)))).split("\n")
    assert lines[1].startswith("10 solutions, best first")
    assert lines[-1] == 'note: 2 more: get_items(["x4"]) shows all'


def test_the_answer_to_an_outcome_says_how_the_solution_stands() -> None:
    one = solution(confidence=4, confirmed=1, failed=1, state="demoted", notes=("a note",))
    assert solution_text(one) == (
        "recorded y7 for x4: weak, confidence 4 of 10 (7 counts as known; each agent it helps adds 1), helped 1 time, "
        "failed 1 time\n"
        "note: a note"
    )


def test_the_answer_to_recording_says_so() -> None:
    assert solution_text(solution()) == (
        "recorded y7 for x4: tentative, confidence 5 of 10 (7 counts as known; each agent it helps adds 1)"
    )
    assert solution_text(solution(confidence=8)) == "recorded y7 for x4: known, confidence 8 of 10"

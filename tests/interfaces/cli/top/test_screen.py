"""What stands on the screen, in terminals of any size, whatever was stored."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from conftest import opened_once
from satchel.base.clock import DAY_MS
from satchel.interfaces.cli.top.room import Looked, Room
from satchel.interfaces.cli.top.rows import Ages, Row, Section, line_of, place_of, sections_of
from satchel.interfaces.cli.top.screen import Selected, drawn, section_lines, shared_out, wrapped
from satchel.keep.sessions.caller import COMMAND

MINUTE, HOUR = 60_000, 3_600_000
SIZES = [(40, 10), (40, 24), (80, 24), (119, 8), (120, 24), (200, 60), (10, 4), (1, 1)]


@pytest.fixture(scope="module")
def looked(request: pytest.FixtureRequest) -> Looked:
    """A room in which much has happened."""
    with opened_once(request, caller=COMMAND, agent="human") as satchel:
        for number in range(60):
            satchel.messages.send(f"question {number} " + "and more " * 30, to="human", type="request", agent="dev")
            satchel.decisions.set(f"key-{number}", "値" * 100, agent="dev")
        satchel.files.claim(["src/"], agent="ann")
        satchel.files.record("src/a.py", "modified", agent="ben")
        return Room(satchel, satchel, "human").look()


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def section(many: int, more: int = 0) -> Section:
    rows = tuple(Row(f"k{place}", Text(f"row {place}"), "1 min", "") for place in range(many))
    return Section("Title", many + more, rows, more, "Nothing.")


@pytest.mark.parametrize("size", SIZES)
def test_no_line_is_wider_than_the_terminal_and_there_are_no_more_than_fit(
    looked: Looked, size: tuple[int, int]
) -> None:
    width, height = size
    sections = sections_of(looked, Ages(looked.now))
    for chosen in range(4):
        lines = drawn(sections, Selected(chosen, len(sections[chosen].rows) // 2), width, height)
        assert len(lines) <= height
        assert all(cell_len(line.plain) <= width for line in lines)


def test_each_section_has_its_heading_with_its_number_and_count(looked: Looked) -> None:
    sections = sections_of(looked, Ages(looked.now))
    for width in (40, 80, 200):
        text = "\n".join(plain(drawn(sections, Selected(0, 0), width, 24)))
        for heading in ("1 Needs me 60", "2 Since I looked 61", "3 Who is where 0", "4 Collisions 1"):
            assert heading in text


def test_in_a_wide_terminal_two_sections_stand_beside_two(looked: Looked) -> None:
    first = plain(drawn(sections_of(looked, Ages(looked.now)), Selected(0, 0), 120, 24))[0]
    assert re.match(r"1 Needs me 60 +│ 3 Who is where 0", first)


def test_a_list_that_is_cut_says_how_many_more_there_are() -> None:
    assert plain(section_lines(section(5), 1, None, 40, 6))[1:] == [
        f"  row {place}".ljust(34) + " 1 min" for place in range(5)
    ]
    assert plain(section_lines(section(5), 1, None, 40, 5))[-1] == "  2 more"
    assert plain(section_lines(section(5, more=7), 1, None, 40, None))[-1] == "  7 more"
    assert plain(section_lines(section(5, more=7), 1, None, 40, 3))[-1] == "  11 more"


@pytest.mark.parametrize("room", range(2, 12))
def test_what_is_chosen_is_seen(room: int) -> None:
    for chosen in range(20):
        assert any(
            line.plain.startswith(f"> row {chosen} ") for line in section_lines(section(20), 1, chosen, 40, room)
        )


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(0, 80), st.data())
def test_lines_are_shared_out_so_that_none_is_left_while_one_wants_more(
    wanted: list[int], room: int, data: st.DataObject
) -> None:
    first = data.draw(st.none() | st.integers(0, len(wanted) - 1))
    given_out = shared_out(wanted, room, first)
    assert sum(given_out) == min(room, sum(wanted))
    assert all(got <= want for got, want in zip(given_out, wanted, strict=True))


@given(st.text(max_size=300))
def test_whatever_was_stored_is_one_line_without_commands(text: str) -> None:
    line = line_of(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", line)
    for one in wrapped(text, 20):
        assert "\x1b" not in one.plain
        assert cell_len(one.plain) <= 20


@pytest.mark.parametrize(
    ("passed", "words", "after"),
    [
        (0, "<1 min", MINUTE),
        (59_999, "<1 min", 1),
        (5 * MINUTE + 1, "5 min", MINUTE - 1),
        (3 * HOUR, "3 h", HOUR),
        (3 * DAY_MS + 1, "3 days", HOUR),
    ],
)
def test_an_age_is_right_until_the_time_that_it_names(passed: int, words: str, after: int) -> None:
    ages = Ages(100 * DAY_MS)
    assert ages.ago(ages.now - passed) == words
    assert ages.until == ages.now + after


@pytest.mark.parametrize(
    ("left", "words", "after"),
    [(5 * MINUTE, "5 min left", 1), (5 * MINUTE + 7, "5 min left", 8), (0, "<1 min left", HOUR)],
)
def test_what_is_left_is_right_until_the_time_that_it_names(left: int, words: str, after: int) -> None:
    ages = Ages(100 * DAY_MS)
    assert ages.left(ages.now + left) == words
    assert ages.until == ages.now + after


def test_what_was_chosen_stays_chosen_where_it_now_stands() -> None:
    rows = section(5).rows
    assert place_of(rows, "k3", 0) == 3
    assert place_of(rows, "gone", 4) == 4
    assert place_of(rows[:2], "k4", 4) == 1
    assert place_of((), "k4", 4) == 0

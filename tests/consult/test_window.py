"""The window: what a conversation may hold, the warning before it is full, and where to go on."""

from __future__ import annotations

import pytest

from satchel import InvalidInput, TooLarge
from satchel.base.tokens import TokenCounter
from satchel.consult.models import WindowFull, check_fits, next_conversation, room
from satchel.consult.records import Window
from tables import in_one_test

EXACT = TokenCounter("exact", True, None, lambda text, _kind: len(text))
ESTIMATE = TokenCounter("estimate", False, "no vocabulary", lambda text, _kind: len(text))


def test_room_is_the_window_without_the_answer_and_a_frame() -> None:
    assert room(Window(10_000, 1_000), EXACT) == 10_000 - 1_000 - 64


def test_an_estimating_counter_keeps_a_margin() -> None:
    assert room(Window(10_000, 1_000), ESTIMATE) == int((10_000 - 1_000 - 64) / 1.15)


@in_one_test("window", [Window(1_000, 1_000), Window(1_000, 936), Window(1_000, 0), Window(-5, 1)])
def test_a_window_without_room_is_refused(window: Window) -> None:
    with pytest.raises(InvalidInput, match="leaves no room"):
        room(window, EXACT)


def test_a_turn_that_fits_exactly_is_sent_and_one_token_more_is_not() -> None:
    assert check_fits(600, 400, 10, 1_000, "auth", ())
    with pytest.raises(
        WindowFull, match=r"holds 600 of 1,000 tokens and this turn would add 401.*conversation 'auth-2'"
    ) as e:
        check_fits(600, 401, 10, 1_000, "auth", ())
    assert e.value.continue_as == "auth-2"


def test_a_question_that_fits_no_session_is_too_large_rather_than_sent_elsewhere() -> None:
    with pytest.raises(TooLarge, match=r"take 1,001 tokens.*room for 1,000") as e:
        check_fits(600, 1_001, 1_001, 1_000, "auth", ())
    assert not isinstance(e.value, WindowFull)


@pytest.mark.parametrize(("added", "warns"), [(249, False), (250, True)])
def test_the_warning_begins_at_85_percent(added: int, warns: bool) -> None:
    warnings = check_fits(600, added, 10, 1_000, "auth", {"auth", "auth-2"})
    assert bool(warnings) is warns
    if warns:
        assert "85 % full: 850 of 1,000 tokens" in warnings[0]
        assert "'auth-3'" in warnings[0]


@in_one_test(
    ("conversation", "taken", "expected"),
    [
        ("auth", (), "auth-2"),
        ("auth", ("auth", "auth-2"), "auth-3"),
        ("auth-2", ("auth", "auth-2"), "auth-3"),
        ("auth-9", ("auth", "auth-9", "auth-10"), "auth-11"),
        ("issue-41", ("issue-41",), "issue-41-2"),
        ("-2", (), "-2-2"),
        ("x" * 200, (), "x" * 198 + "-2"),
        ("x" * 198 + "-2", (), "x" * 198 + "-3"),
    ],
)
def test_the_next_conversation_counts_on_from_a_number_of_ours_only(
    conversation: str, taken: tuple[str, ...], expected: str
) -> None:
    assert next_conversation(conversation, taken) == expected

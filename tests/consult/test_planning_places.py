"""What a plan says of where files are: attachments beside the context, and why a file is not in the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from consulting import COUNTER, Desk, desk_with, named
from satchel import Interrupted
from satchel.base.tokens import TokenCounter
from satchel.consult.models import room
from satchel.consult.records import (
    INLINE_SHARE,
    Content,
    Gathering,
    HeldBack,
    SourceFile,
    TurnRequest,
    Window,
    list_placements,
)

ASK = TurnRequest("s", "Why?", 0)


def why(desk: Desk) -> dict[str, str | None]:
    """Say why each file that overflowed is not in the prompt."""
    return {file.path: file.why for file in list_placements(desk.state.files)[1]}


class TestAttachments:
    def test_are_searched_in_their_turn_only_and_not_remembered(self) -> None:
        desk = desk_with("a.py", "b.py")
        plan = desk.turn(["a.py"], replace(ASK, attachments=desk.gathered(["b.py"])))
        assert list(plan.overflow) == ["b.py"]
        assert list(plan.files) == ["a.py"]
        assert plan.attachments == ("b.py",)
        assert not plan.has_overflowed
        assert not desk.turn(["a.py"]).overflow

    def test_that_are_context_too_are_context(self) -> None:
        desk = desk_with("a.py", "b.py")
        plan = desk.turn(request=replace(ASK, attachments=desk.gathered(["b.py"])))
        assert (named(plan, "file"), dict(plan.overflow), plan.attachments) == (["a.py", "b.py"], {}, ())

    def test_that_the_model_holds_are_brought_up_to_date_instead(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.write("b.py", desk.disk["b.py"].text + "more\n", age_ms=0)
        plan = desk.turn(["a.py"], replace(ASK, attachments=desk.gathered(["b.py"])))
        assert (named(plan, "diff"), dict(plan.overflow)) == (["b.py"], {})

    def test_held_back_are_reported_once(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.disk["b.py"].reason = "binary"
        held = Gathering((), (HeldBack("c", "special", "it is a pipe"), HeldBack("a.py", "special", "never")))
        attached = Gathering(desk.gathered(["b.py"]).files, held.held_back)
        plan = desk.turn(["a.py"], replace(ASK, attachments=attached))
        assert [one.path for one in plan.held_back] == ["b.py", "c"]


class TestRoomForSearches:
    def test_is_kept_where_the_first_turn_has_files_to_search(self) -> None:
        files = [f"{n:02}.py" for n in range(60)]
        without, kept = desk_with(*files), desk_with(*files)
        without.turn()
        kept.turn(request=replace(ASK, search_reserve=4_000))
        assert why(without).keys() < why(kept).keys()
        assert kept.state.held_tokens <= INLINE_SHARE * room(replace(kept.window, tokens=16_000), COUNTER) + 20

    def test_is_kept_where_it_has_attachments(self) -> None:
        files = [f"{n:02}.py" for n in range(14)]
        desk = desk_with(*files, "b.py")
        assert not desk.plan(files, replace(ASK, search_reserve=4_000)).has_overflowed
        attached = replace(ASK, search_reserve=4_000, attachments=desk.gathered(["b.py"]))
        assert desk.plan(files, attached).has_overflowed

    def test_is_not_kept_where_nothing_is_searched(self) -> None:
        desk = desk_with("a.py")
        plain = desk.plan().prompt
        assert desk.plan(request=TurnRequest("s", "What is wrong here?", 0, search_reserve=18_000)).prompt == plain

    def test_is_given_up_for_a_question_that_needs_it(self) -> None:
        desk = desk_with("a.py", "b.py")
        most = room(desk.window, COUNTER)
        long = replace(ASK, instructions="x" * 4 * (most - 800), search_reserve=4_000)
        plan = desk.plan(["a.py"], replace(long, attachments=desk.gathered(["b.py"])))
        assert most - 4_000 < plan.tokens <= most

    def test_is_kept_where_a_file_is_given_back_at_last(self) -> None:
        # with a counter that finds more in the whole than in its parts, as encodings may
        desk = desk_with(*(f"{n:02}.py" for n in range(30)))
        desk.counter = TokenCounter("less", True, None, lambda text, _: len(text) // 100)
        splits = []
        for tokens in range(1_200, 1_600):
            desk.window = Window(tokens, 100)
            plan = desk.plan(request=replace(ASK, search_reserve=100))
            for_files = Window(tokens - 100 * plan.has_overflowed, 100)
            assert plan.tokens <= INLINE_SHARE * room(for_files, desk.counter)
            splits.append(plan.has_overflowed)
        assert {*splits} == {True, False}

    def test_takes_no_file_to_be_read_twice(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(60)))
        assert desk.plan(request=replace(ASK, search_reserve=4_000)).has_overflowed
        assert len(desk.reads) == 60


class TestWhyAFileOverflowed:
    def test_there_was_no_room_beside_those_that_go_first(self) -> None:
        desk = desk_with("a.py", "b.py", "c.py")
        desk.window = Window(3_500, 100)
        desk.turn()
        assert why(desk) == {"c.py": "did not fit next to the files that go first"}

    def test_it_is_larger_than_all_that_files_may_take(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", "x" * 4 * int(INLINE_SHARE * room(desk.window, COUNTER)))
        desk.turn()
        assert why(desk) == {"large.py": "larger alone than the part of the window that files may take"}

    def test_it_just_fits_alone_but_not_beside_the_rest(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", "x" * 4 * (int(INLINE_SHARE * room(desk.window, COUNTER)) - 50))
        desk.turn()
        assert why(desk) == {"large.py": "did not fit next to the files that go first"}

    def test_it_came_when_there_was_no_room_any_more_or_after_others_had_overflowed(self) -> None:
        desk = desk_with("a.py")
        desk.window = Window(3_500, 100)
        desk.turn()
        desk.write("b.py", desk.disk["a.py"].text * 2)
        desk.turn()
        desk.write("c.py", "small")
        desk.turn()
        assert why(desk) == {
            "b.py": "new in turn 2, when it did not fit any more",
            "c.py": "new in turn 3, after others had overflowed in turn 2",
        }

    def test_it_stays_the_reason_when_the_file_changes_goes_and_comes_back(self) -> None:
        desk = desk_with("a.py", "b.py", "c.py")
        desk.window = Window(3_500, 100)
        desk.turn()
        before = why(desk)
        kept = desk.disk.pop("c.py")
        desk.turn()
        desk.disk["c.py"] = kept
        desk.write("c.py", "changed")
        desk.turn()
        assert why(desk) == before


def test_what_reading_raises_ends_the_planning() -> None:
    desk = desk_with("a.py", "b.py")

    def read(found: SourceFile) -> Content | HeldBack:
        if found.path == "b.py":
            raise Interrupted("the consultation was cancelled")
        return desk.read(found)

    with pytest.raises(Interrupted):
        desk.plan(read=read)

"""Turns, rule by rule: what is sent, what is not, where files stay, and when a conversation must end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from consult.answered_turns import Placement, placement_of
from consulting import COUNTER, LONG, Desk, Reader, blocks_of, desk_with, named
from satchel import TooLarge
from satchel.base.tokens import TokenCounter
from satchel.consult.models import WindowFull, room
from satchel.consult.planning import forgotten
from satchel.consult.prompts import tokens_of_past
from satchel.consult.records import INLINE_SHARE, PastTurn, TurnPlan, TurnRequest, Window

ASK = TurnRequest("s", "Why?", 0)


def listed(plan: TurnPlan, name: str) -> list[str]:
    return [path for block in blocks_of(plan.prompt) if block.name == name for path in block.paths]


def placements(plan: TurnPlan) -> dict[str, str]:
    return {path: placement_of(known).name.lower() for path, known in plan.files.items()}


class TestAnUnchangedTurn:
    def test_reads_and_sends_no_file(self) -> None:
        desk = desk_with("a.py", "b.py")
        assert named(desk.turn(), "file") == ["a.py", "b.py"]
        plan = desk.turn()
        assert desk.reads == []
        assert [block.name for block in blocks_of(plan.prompt)] == ["request"]
        assert plan.new_contents == {}

    def test_would_have_cost_every_file_in_a_full_resend(self) -> None:
        desk = desk_with("a.py", "b.py")
        first = desk.turn()
        assert first.resent_tokens == first.tokens
        plan = desk.turn()
        assert plan.resent_tokens == plan.tokens + sum(known.tokens for known in plan.files.values())

    def test_after_a_touch_reads_once_and_remembers_the_new_time(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.disk["a.py"].mtime_ns += 1
        assert named(desk.turn(), "file") == []
        assert desk.reads == ["a.py"]
        desk.turn()
        assert desk.reads == []

    def test_of_a_file_written_just_before_reads_it_once_more(self) -> None:
        desk = desk_with("b.py")
        desk.write("a.py", LONG, age_ms=500)
        desk.turn()
        desk.turn()
        assert desk.reads == ["a.py"]
        desk.turn()
        assert desk.reads == []

    def test_after_a_failed_one_sends_everything_again(self) -> None:
        desk = desk_with("a.py")
        lost = desk.plan()
        assert desk.plan() == lost
        assert named(desk.turn(), "file") == ["a.py"]

    def test_of_an_empty_context_is_no_first_turn(self) -> None:
        desk = Desk()
        desk.turn()
        assert desk.state.turns == 1
        desk.write("a.py", LONG)
        assert placements(desk.turn()) == {"a.py": "inline"}


class TestAChangedFile:
    def test_goes_as_a_diff_where_that_is_clearly_shorter(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.write("a.py", desk.disk["a.py"].text.replace("line 7 ", "line seven "), age_ms=0)
        plan = desk.turn()
        assert (named(plan, "diff"), named(plan, "file")) == (["a.py"], [])
        assert plan.tokens < 150
        assert plan.resent_tokens > 1_000
        assert desk.reader.files["a.py"] == desk.disk["a.py"].text

    def test_goes_as_a_diff_from_what_an_earlier_diff_made_of_it(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        for word in ("seven", "sieben"):
            desk.write("a.py", LONG.replace("line 7 ", f"line {word} "), age_ms=0)
            assert named(desk.turn(), "diff") == ["a.py"]
            assert desk.reader.files["a.py"] == desk.disk["a.py"].text

    def test_of_the_same_size_is_seen_within_one_step_of_the_clock(self) -> None:
        desk = desk_with("b.py")
        desk.write("a.py", LONG, age_ms=0)
        desk.turn()
        stat = desk.disk["a.py"].stat
        desk.disk["a.py"].text = LONG.replace("line 7 ", "line 8 ")
        assert desk.disk["a.py"].stat == stat
        assert named(desk.turn(), "diff") == ["a.py"]

    def test_of_the_same_size_is_seen_by_its_time(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.disk["a.py"].text = desk.disk["a.py"].text.replace("line 7 ", "line 8 ")
        desk.disk["a.py"].mtime_ns += 1
        assert named(desk.turn(), "diff") == ["a.py"]

    def test_goes_whole_and_says_that_it_replaces_where_most_of_it_changed(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.write("a.py", LONG.replace("file", "book"), age_ms=0)
        plan = desk.turn()
        assert [(b.name, b.attributes) for b in blocks_of(plan.prompt)][:-1] == [
            ("file", {"path": "a.py", "replaces": "yes"})
        ]

    @pytest.mark.parametrize("kept", [None, "another text"])
    def test_goes_whole_where_the_earlier_content_was_not_kept_as_it_was(self, kept: str | None) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.blobs = {} if kept is None else dict.fromkeys(desk.blobs, kept)
        desk.write("a.py", f"{LONG}more\n", age_ms=0)
        assert named(desk.turn(), "file") == ["a.py"]

    def test_grows_past_the_inline_share_and_stays(self) -> None:
        desk = desk_with("a.py")
        desk.window = Window(4_000, 100)
        desk.turn()
        desk.write("a.py", LONG.replace("file", "book") * 4, age_ms=0)
        plan = desk.turn()
        assert plan.tokens > INLINE_SHARE * room(desk.window, COUNTER) - 700
        assert placements(plan) == {"a.py": "inline"}

    def test_that_is_not_asked_for_is_not_sent_until_it_is(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.write("a.py", f"{LONG}more\n", age_ms=0)
        plan = desk.turn(["b.py"])
        assert len(blocks_of(plan.prompt)) == 1
        assert named(desk.turn(), "diff") == ["a.py"]


class TestTheSplit:
    def test_fills_a_share_of_the_room_and_leaves_the_rest_to_grow(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(50)))
        plan = desk.turn()
        share = INLINE_SHARE * room(desk.window, COUNTER)
        assert share - 700 < plan.tokens <= share
        assert set(placements(plan).values()) == {"inline", "overflow"}
        assert plan.has_overflowed
        assert any("can be searched" in note for note in plan.notes)

    def test_counts_a_long_question_against_the_files(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(14)))
        assert not desk.plan().has_overflowed
        plan = desk.turn(request=replace(ASK, instructions="long " * 4_000))
        assert plan.tokens <= INLINE_SHARE * room(desk.window, COUNTER)
        assert plan.has_overflowed

    def test_holds_though_a_whole_prompt_counts_more_than_its_parts(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(50)))
        uneven = TokenCounter("uneven", True, None, lambda text, _: len(text) // (3 if len(text) > 20_000 else 4))
        desk.counter = uneven
        plan = desk.turn()
        share = INLINE_SHARE * room(desk.window, uneven)
        assert share - 2_000 < plan.tokens <= share

    def test_is_the_same_for_any_window_later(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(50)))
        first = placements(desk.turn())
        for tokens in (200_000, 16_000, 1_000_000):
            desk.window = Window(tokens, 1_000)
            assert placements(desk.turn()) == first

    def test_sends_new_files_whole_while_nothing_ever_overflowed(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.write("b.py", LONG)
        plan = desk.turn()
        assert named(plan, "file") == ["b.py"]
        assert not plan.has_overflowed

    def test_lets_every_new_file_overflow_once_one_did_and_room_or_not(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", LONG * 40)
        desk.turn()
        del desk.disk["large.py"]
        desk.write("b.py", "small\n")
        plan = desk.turn()
        assert placements(plan)["b.py"] == "overflow"
        assert list(plan.overflow) == ["b.py"]
        assert any("overflowed before" in note for note in plan.notes)
        assert desk.turn(["a.py"]).has_overflowed
        desk.write("c.py", "small\n")
        assert placements(desk.turn())["c.py"] == "overflow"

    def test_counts_what_the_conversation_holds_when_a_new_file_comes(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.state = replace(desk.state, held_tokens=int(INLINE_SHARE * room(desk.window, COUNTER)) - 100)
        desk.write("b.py", LONG)
        assert placements(desk.plan())["b.py"] == "overflow"

    def test_says_that_a_priority_file_did_not_fit(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", LONG * 40)
        plan = desk.turn(request=replace(ASK, priority={"large.py"}))
        assert placements(plan) == {"a.py": "inline", "large.py": "overflow"}
        assert any("large.py has priority" in note for note in plan.notes)

    def test_puts_priority_before_size(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.write("c.py", LONG * 3)
        desk.window = Window(4_800, 100)
        assert placements(desk.plan()) == {"a.py": "inline", "b.py": "inline", "c.py": "overflow"}
        plan = desk.plan(request=replace(ASK, priority={"c.py"}))
        assert placements(plan) == {"a.py": "overflow", "b.py": "overflow", "c.py": "inline"}

    def test_can_be_turned_off_and_everything_is_sent_whole_every_turn(self) -> None:
        desk = desk_with("a.py", "b.py")
        full = replace(ASK, is_stable=False)
        desk.turn(request=full)
        desk.write("b.py", f"{LONG}more\n", age_ms=0)
        plan = desk.turn(request=full)
        assert named(plan, "file") == ["a.py", "b.py"]
        assert plan.resent_tokens == plan.tokens
        assert named(desk.turn(), "file") == []


class TestAFileThatGoes:
    def test_is_told_of_once(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        del desk.disk["a.py"]
        assert listed(desk.turn(), "removed") == ["a.py"]
        assert listed(desk.turn(), "removed") == []
        assert desk.state.files["a.py"].digest is None

    def test_and_comes_back_is_whole_again_in_its_old_place(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        kept = desk.disk.pop("a.py")
        desk.turn()
        desk.disk["a.py"] = kept
        plan = desk.turn()
        assert named(plan, "file") == ["a.py"]
        assert "replaces" not in blocks_of(plan.prompt)[0].attributes

    def test_under_another_name_is_a_removed_and_a_new_one(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.disk["c.py"] = desk.disk.pop("a.py")
        plan = desk.turn()
        assert (listed(plan, "removed"), named(plan, "file")) == (["a.py"], ["c.py"])

    def test_but_was_searched_is_told_of_and_announced_when_it_comes_back(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", LONG * 40)
        desk.turn()
        kept = desk.disk.pop("large.py")
        assert listed(desk.turn(), "removed") == ["large.py"]
        desk.disk["large.py"] = kept
        plan = desk.turn()
        assert list(plan.overflow) == ["large.py"]
        assert "Searchable:\nlarge.py\n" in plan.prompt
        assert "Searchable:\n" not in desk.turn().prompt

    def test_only_from_what_is_asked_for_stays(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        plan = desk.turn(["b.py"])
        assert listed(plan, "removed") == []
        assert plan.files["a.py"].digest is not None
        assert plan.resent_tokens - plan.tokens == plan.files["b.py"].tokens


class TestAFileHeldBack:
    @pytest.mark.parametrize("reason", ["secret_name", "binary"])
    def test_from_the_start_is_in_no_prompt_and_not_remembered(self, reason: str) -> None:
        desk = desk_with("a.py", "b.py")
        desk.disk["b.py"].reason = reason
        plan = desk.turn()
        assert [(one.path, one.reason) for one in plan.held_back] == [("b.py", reason)]
        assert "b.py" not in plan.prompt
        assert "b.py" not in plan.files

    @pytest.mark.parametrize("reason", ["secret_name", "binary"])
    def test_after_it_was_sent_is_told_of_once_and_whole_when_it_is_free_again(self, reason: str) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.disk["b.py"].reason = reason
        desk.disk["b.py"].mtime_ns += 1
        plan = desk.turn()
        assert listed(plan, "withheld") == ["b.py"]
        assert [one.path for one in plan.held_back] == ["b.py"]
        assert listed(desk.turn(), "withheld") == []
        desk.disk["b.py"].reason = None
        assert named(desk.turn(), "file") == ["b.py"]


class TestTheWindow:
    def test_is_counted_with_the_text_that_is_sent(self) -> None:
        desk = desk_with("a.py", "b.py")
        plan = desk.turn(request=replace(ASK, briefing="What is known."))
        assert plan.tokens == COUNTER.count(plan.prompt)
        assert "What is known." in plan.prompt

    def test_warns_before_it_is_full_and_then_names_the_next_session(self) -> None:
        desk = desk_with("a.py")
        most = room(desk.window, COUNTER)
        desk.turn()
        desk.state = replace(desk.state, held_tokens=int(0.84 * most))
        assert desk.plan().notes == ()
        desk.state = replace(desk.state, held_tokens=int(0.86 * most))
        assert "86 % full" in desk.plan().notes[0]
        desk.state = replace(desk.state, held_tokens=most)
        with pytest.raises(WindowFull, match="'s-2'"):
            desk.plan()
        with pytest.raises(WindowFull, match="'s-3'"):
            desk.plan(request=replace(ASK, taken={"s", "s-2"}))

    def test_of_another_model_that_is_too_small_ends_the_conversation(self) -> None:
        desk = desk_with("a.py", "b.py")
        desk.turn()
        desk.window = Window(1_500, 100)
        with pytest.raises(WindowFull):
            desk.plan()

    @pytest.mark.parametrize("turns", [0, 1])
    def test_that_the_question_alone_exceeds_is_no_matter_of_sessions(self, turns: int) -> None:
        desk = desk_with("a.py")
        for _ in range(turns):
            desk.turn()
        with pytest.raises(TooLarge, match="instructions") as error:
            desk.plan(request=replace(ASK, instructions="long " * 20_000))
        assert not isinstance(error.value, WindowFull)


class TestALostThread:
    def test_gets_everything_again_in_its_place(self) -> None:
        desk = desk_with(*(f"{n:02}.py" for n in range(50)))
        before = desk.turn()
        removed = desk.disk.popitem()[0]
        desk.turn()
        desk.state, desk.reader = forgotten(desk.state), Reader()
        plan = desk.turn()
        assert placements(plan) == placements(before)
        assert named(plan, "file") == named(before, "file")
        assert removed not in plan.prompt
        assert desk.state.provider_ref is not None

    def test_is_told_what_was_said_before_as_far_as_a_fifth_of_the_room_goes(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        desk.state, desk.reader = forgotten(desk.state), Reader()
        long = "so it is " * 500
        past = [PastTurn(n, f"question {n}", long) for n in range(1, 8)]
        plan = desk.turn(request=replace(ASK, earlier=past))
        turns = [block.attributes["turn"] for block in blocks_of(plan.prompt) if block.name == "answered"]
        taken = sum(tokens_of_past(one, COUNTER) for one in past if str(one.n) in turns)
        most = 0.2 * room(desk.window, COUNTER)
        assert turns == ["5", "6", "7"]
        assert taken <= most < taken + tokens_of_past(past[0], COUNTER)

    def test_is_told_less_of_what_was_said_where_the_files_need_the_room(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        most = room(desk.window, COUNTER)
        desk.write("a.py", "x" * 4 * int(0.9 * most))
        desk.state, desk.reader = forgotten(desk.state), Reader()
        past = [PastTurn(n, "how?", "so it is " * 500) for n in range(1, 8)]
        plan = desk.plan(request=replace(ASK, earlier=past))
        turns = [block.attributes["turn"] for block in blocks_of(plan.prompt) if block.name == "answered"]
        assert turns == ["7"]
        assert plan.tokens <= most < plan.tokens + tokens_of_past(past[0], COUNTER)
        desk.write("a.py", "x" * 4 * int(1.1 * most))
        with pytest.raises(WindowFull):
            desk.plan(request=replace(ASK, earlier=past))

    def test_that_goes_on_is_told_nothing_again(self) -> None:
        desk = desk_with("a.py")
        desk.turn()
        plan = desk.turn(request=replace(ASK, earlier=[PastTurn(1, "how?", "so")]))
        assert [block.name for block in blocks_of(plan.prompt)] == ["request"]

    def test_forgets_contents_but_no_place(self) -> None:
        desk = desk_with("a.py")
        desk.write("large.py", LONG * 40)
        desk.turn()
        lost = forgotten(desk.state)
        assert {path: known.digest for path, known in lost.files.items()} == {"a.py": None, "large.py": None}
        assert placement_of(lost.files["large.py"]) is Placement.OVERFLOW
        assert (lost.turns, lost.held_tokens, lost.provider_ref, lost.has_overflowed) == (1, 0, None, True)

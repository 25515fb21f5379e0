"""What is learned from errors that were only noted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brief.learning.loops import ERROR, pad, solutions, verdict
from satchel import NewEntry, Satchel
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


class TestErrorsThatAreOnlyNoted:
    """Entries of type error that nobody reported."""

    @pytest.mark.parametrize(
        ("content", "error_type", "message"),
        [
            ("ModuleNotFoundError: No module named 'foo'", "ModuleNotFoundError", "No module named 'foo'"),
            ("ValueError: bad\n  File x.py, line 3", "ValueError", "bad"),
            ("java.lang.NullPointerException: name is null", "java.lang.NullPointerException", "name is null"),
            ("std::IoError: gone", "std::IoError", "gone"),
            ("TS2307: Cannot find module 'x'", "TS2307", "Cannot find module 'x'"),
            ("error TS2307: Cannot find module 'x'", "TS2307", "Cannot find module 'x'"),
            ("error[E0308]: mismatched types", "E0308", "mismatched types"),
            ("Uncaught TypeError: f is no function", "TypeError", "f is no function"),
            ("Error: ENOENT: no such file", "Error", "ENOENT: no such file"),
            ("panic: runtime error: index out of range", "panic", "runtime error: index out of range"),
            ("DeprecationWarning: use y", "DeprecationWarning", "use y"),
        ],
    )
    def test_one_whose_first_line_names_its_type_is_learned_from(
        self, open_in: Callable[..., Satchel], project: Path, content: str, error_type: str, message: str
    ) -> None:
        satchel = open_in(project)
        satchel.entries.write("error", content, loop_id="L")
        entry = pad(satchel, 1, "do it right", test_status="passing")
        (pattern,) = satchel.patterns.find()
        assert (pattern.error_type, pattern.example.splitlines()[0]) == (error_type, message)
        assert ([one.text for one in pattern.solutions], pattern.occurrences) == (["do it right"], 1)
        assert entry.notes == (
            f"x1 {error_type}: y1 is stored as its fix (do it right); if not, report_outcome id=y1 helped=false",
        )

    @in_one_test(
        "content",
        [
            "the build fails on CI: no idea why",
            "Note: this is slow",
            "port8080: in use",
            "I saw ValueError: bad",
            "ValueError:",
            "ValueError: ",
            "Traceback (most recent call last):\nValueError: bad",
            "http://x.example/a: b",
            ": x",
        ],
    )
    def test_another_note_is_not(self, satchel: Satchel, content: str) -> None:
        satchel.entries.write("error", content, loop_id="L")
        pad(satchel, 1, "do it right", test_status="passing")
        assert satchel.patterns.find().total == 0

    @pytest.mark.parametrize("given", [{"loop_id": "M"}, {}, {"loop_id": "L", "type": "discovery"}])
    def test_nor_is_what_is_no_error_of_the_loop(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.entries.write(given.pop("type", "error"), "ValueError: bad", **given)
        pad(satchel, 1, "do it right", test_status="passing")
        assert satchel.patterns.find().total == 0

    def test_nor_one_of_before_the_last_success(self, satchel: Satchel) -> None:
        satchel.entries.write("error", "ValueError: bad", loop_id="L")
        pad(satchel, 1, test_status="passing")
        assert (solutions(satchel), pad(satchel, 2, "do it right", test_status="passing").notes) == ([], ())

    def test_nor_one_of_before_a_verdict_that_passed(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.entries.write("error", "ValueError: bad", loop_id="L")
        verdict(satchel)
        clock.advance(1_000)
        assert pad(satchel, 1, "do it right", test_status="passing").notes == ()

    def test_one_that_was_reported_too_is_counted_once(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="L")
        pad(dev, 1, "call it by name", test_status="passing")
        assert (dev.patterns.find().total, dev.patterns.get("x1").occurrences) == (1, 1)

    def test_one_whose_fix_was_told_gets_no_second(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="L")
        dev.patterns.solve("x1", "the real fix")
        pad(dev, 1, "call it by name", test_status="passing")
        assert solutions(dev) == ["the real fix"]

    def test_a_known_error_is_counted_once_more(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="M")
        pad(dev, 1, "call it by name", loop="M", test_status="passing")
        pattern = dev.patterns.get("x1")
        assert (pattern.occurrences, [one.text for one in pattern.solutions]) == (2, ["call it by name"])

    def test_a_batch_is_followed_in_its_order(self, satchel: Satchel) -> None:
        attempted = {"iteration": 1, "attempted": ["do it right"], "test_status": "passing"}
        batch = [
            NewEntry("error", "ValueError: before", loop_id="L"),
            NewEntry("scratchpad", attempted, loop_id="L"),
            NewEntry("error", "ValueError: after", loop_id="L"),
        ]
        written = satchel.entries.write_many(batch)
        assert [pattern.message for pattern in satchel.patterns.find()] == ["before"]
        assert ["x1" in "".join(entry.notes) for entry in written] == [False, True, False]

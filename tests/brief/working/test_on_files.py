"""What hooks tell of files, where the comparison takes long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.brief.working import on_files


def test_rules_that_were_not_compared_in_time_are_counted_with_the_call_that_lists_them(
    begin: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = begin()
    for number in range(3):
        hooks.constraints.add(f"rule {number}", paths=["src/"], agent="ben")
    monkeypatch.setattr(on_files, "_SECONDS", -1.0)
    for answer in (
        hooks.working.before_edit(str(project), [("src/a.py", "")]),
        hooks.working.after_read(str(project), [("src/b.py", "")]),
    ):
        assert answer.text.startswith("3 rules and decisions were not compared, for lack of time: get_items([")


def test_the_note_that_says_what_is_written_is_found_among_many_newer_ones(
    begin: Callable[..., Satchel], project: Path
) -> None:
    hooks = begin()
    hooks.entries.write("discovery", "chunks of a body arrive before its size is known", file="a.py", agent="ben")
    for number in range(40):
        hooks.entries.write("discovery", f"self raises in state {number}, so return none", file="a.py", agent="ben")
    code = "def check(self, body):\n    size = len(body)\n    if size > self.most: raise TooLarge\n    return None"
    text = hooks.working.before_edit(str(project), [("a.py", "")], text=code).text
    assert "chunks of a body arrive" in text
    assert "in state" not in text

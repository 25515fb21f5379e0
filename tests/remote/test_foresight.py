"""What a local program brings along unasked, since the call before was asked for it."""

from __future__ import annotations

from typing import Any

from satchel.remote.foresight import Foresight

ASKED: list[list[Any]] = [
    ["check_lines", ["src/app.py", "\0caller", "file"]],
    ["cited_in", ["\0caller", "src/app.py", 3, None]],
]


def test_the_next_call_is_foreseen_with_arguments_of_its_own() -> None:
    foresight = Foresight()
    foresight.learn("write_context", {"file": "src/app.py", "line": 3, "content": "x"}, ASKED)
    assert foresight.questions("write_context", {"file": "b.py", "line": 8, "content": "y"}) == [
        ["check_lines", ["b.py", "\0caller", "file"]],
        ["cited_in", ["\0caller", "b.py", 8, None]],
    ]


def test_a_call_without_such_an_argument_or_with_one_of_another_type_brings_nothing() -> None:
    foresight = Foresight()
    foresight.learn("write_context", {"file": "src/app.py", "line": 3}, ASKED)
    assert foresight.questions("write_context", {"file": None, "line": 3}) == []
    assert foresight.questions("write_context", {"file": ["src/app.py"], "line": 3}) == []
    assert foresight.questions("read_context", {"file": "src/app.py", "line": 3}) == []


def test_what_is_kept_of_earlier_calls_is_bounded() -> None:
    foresight = Foresight()
    for number in range(200):
        foresight.learn("read_context", {}, [["look_at", [f"file {number}"]], ["look_at", ["x" * 10_000]]])
        foresight.learn(f"call {number}", {}, ASKED)
    assert [question for question, _ in foresight.questions("call 199", {})] == ["check_lines", "cited_in"]
    assert foresight.questions("call 0", {}) == []
    assert len(foresight.questions("read_context", {})) <= 8

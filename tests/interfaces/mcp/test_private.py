"""What stands in <private> is never stored, whatever tool it is given to."""

from __future__ import annotations

from typing import Any

import pytest

from every_table import every_row
from tables import in_one_test
from tool_asking import Asker

SECRET = "zqxjkv"
PRIVATE = f"before <private>{SECRET} of mine</private> after"
UNCLOSED = f"before <PRIVATE>{SECRET} of mine"

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write_context", {"type": "discovery", "content": "TEXT"}),
    ("write_context", {"type": "scratchpad", "content": {"iteration": 1, "done": False, "next_step": "TEXT"}}),
    ("write_context", {"entries": [{"type": "error", "content": "TEXT"}]}),
    ("review_item", {"id": "e1", "verdict": "retract", "evidence": "TEXT"}),
    ("set_decision", {"key": "k", "value": "TEXT", "rationale": "TEXT"}),
    ("add_constraint", {"text": "TEXT"}),
    ("send_message", {"message": "TEXT", "payload": {"why": "TEXT"}}),
    ("record_file_change", {"file": "a.py", "change": "modified", "description": "TEXT"}),
    ("claim_files", {"paths": ["a.py"], "reason": "TEXT"}),
    ("report_error", {"error_type": "E", "message": "TEXT", "stack": "TEXT", "solution": "TEXT", "hints": ["TEXT"]}),
    ("save_package", {"summary": "TEXT", "content": "TEXT"}),
    ("save_strategy", {"topic": "t", "insight": "TEXT"}),
    ("start_run", {"run_id": "night", "title": "TEXT"}),
]


def with_text(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: with_text(one, text) for name, one in value.items()}
    if isinstance(value, list):
        return [with_text(one, text) for one in value]
    return text if value == "TEXT" else value


@pytest.mark.parametrize("text", [PRIVATE, UNCLOSED], ids=["closed", "unclosed"])
@in_one_test(("tool", "arguments"), CALLS)
def test_private_text_reaches_neither_the_store_nor_an_answer(
    empty: Asker, tool: str, arguments: dict[str, Any], text: str
) -> None:
    empty.text("write_context", type="discovery", content="an ordinary note", agent="ann")
    answer = empty.text(tool, **with_text(arguments, text), agent="ann")
    assert SECRET not in answer.lower()
    engine = empty.satchel.workplace.engine
    if engine.folder is None:
        with engine.read() as transaction:
            kept = repr(every_row(transaction)).encode()
        assert b"an ordinary note" in kept
    else:
        kept = b"".join(one.read_bytes() for one in engine.folder.iterdir() if one.is_file())
    assert SECRET.encode() not in kept.lower()


def test_its_writer_is_told(empty: Asker) -> None:
    assert "note: what stood in <private> was left out" in empty.text(
        "write_context", type="discovery", content=PRIVATE
    )


def test_a_text_that_is_all_private_is_refused_and_says_why(empty: Asker) -> None:
    refused = empty.refused("add_constraint", text=f"<private>{SECRET}</private>")
    assert "text is empty without what stood in <private>" in refused

"""The block in AGENTS.md as text: its preview, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.invisible import revealed
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import counted

if TYPE_CHECKING:
    from satchel.keep.documents.block import Block


def block_text(block: Block) -> str:
    """Return what was written, or would be."""
    if not block.changed:
        state = f"{block.file} is up to date"
    elif block.is_check:
        state = f"{block.file} is not up to date: run `satchel share --agents-md`"
    elif not block.text:
        state = f"{'removed' if block.done else 'would remove'} the block from {block.file}"
    else:
        state = f"{'wrote' if block.done else 'would write'} {counted(block.items, 'item')} into {block.file}"
    lines = [state]
    if block.text and block.changed and not block.done and not block.is_check:
        lines += ["", *revealed(block.text).split("\n")]
    if block.left_out:
        lines.append(f"{counted(block.left_out, 'item')} did not fit into 2,000 tokens")
    return "\n".join([*lines, *note_lines(block.notes)])


def block_question(block: Block) -> str | None:
    """Return the question before the first time, with what becomes public; None if there is nothing to do."""
    if block.is_check or not block.changed:
        return None
    if not block.is_first or not block.text:
        return ""
    return f"{revealed(block.text)}\nEveryone who reads {block.file} will see this. Write it?"

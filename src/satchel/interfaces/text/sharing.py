"""Shared text as text: confirmations, the list of proposals, and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import iso
from satchel.base.invisible import revealed
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import counted, value_text

if TYPE_CHECKING:
    from satchel.brief.settling import Settled
    from satchel.keep.documents.block import Block
    from satchel.keep.shared import records
    from satchel.keep.shared.folder import Problem

_MAX_SHOWN = 50


def sharing_text(done: records.Sharing) -> str:
    """Confirm which files were written, and which items were not shared."""
    head = f"{_did(done.done, 'wrote', 'write')} {counted(len(done.items), 'file')}"
    lines = [head + ("; commit them when you like" if done.done and done.items else ""), *_items(done.items)]
    lines += [f"not shared: {ref}: {reason}" for ref, reason in done.refused]
    return "\n".join(lines)


def unshared_text(done: records.Sharing) -> str:
    head = f"{counted(len(done.items), 'item')} {'no longer' if done.done else 'would no longer be'} shared"
    return "\n".join([head, *_items(done.items)])


def synced_text(done: records.Synced) -> str:
    lines = []
    if done.resolved:
        resolved = counted(len(done.resolved), "file")
        hint = "; git add them" if done.done else ""
        lines.append(f"{_did(done.done, 'resolved', 'resolve')} {resolved}{hint}: {' '.join(done.resolved)}")
    if done.taken:
        lines += [f"{_did(done.done, 'took', 'take')} from the default branch, as share.accept says:"]
        lines += _items(done.taken)
    if done.written:
        lines += [f"{_did(done.done, 'wrote', 'write')}, for you to commit:", *_items(done.written)]
    if done.ended:
        lines.append(f"{counted(len(done.ended), 'item')} no longer shared by others; nothing here was changed")
    if done.waiting:
        lines += [
            f"{counted(len(done.waiting), 'text')} waiting: `satchel share --diff`, then `satchel accept REF`",
            *_items(done.waiting),
        ]
    lines.append(f"{done.in_step} in step")
    return "\n".join([*lines, *_problems(done.problems), *note_lines(done.notes)])


def list_text(listed: records.SharedList) -> str:
    of = "" if listed.branch is None else f" with branch {value_text(listed.branch)}"
    head = f"{listed.waiting} waiting, {listed.in_step} shared{of}"
    hint = "Proposals from documents such as AGENTS.md: `satchel import docs`"
    return "\n".join([head, *_items(listed.items), *_problems(listed.problems), hint])


def settled_text(settled: Settled) -> str:
    """Confirm which proposals were accepted or rejected, each with what it says."""
    verb = "accepted" if settled.accepted else "rejected"
    lines = []
    for one in settled.items:
        item = f" as {one.item}" if one.item not in {None, one.ref} else ""
        done = "left out" if one.is_left_out else verb
        lines += [revealed(f"{done} {one.ref}{item}: {' '.join(one.text.split())}"), *note_lines(one.notes)]
    lines += [revealed(f"failed: {ref}: {reason}") for ref, reason in settled.failed]
    return "\n".join(lines) or f"{verb} nothing: nothing waits"


def differences_text(differences: records.Differences) -> str:
    if not differences.items:
        return "no proposals are waiting"
    return "\n\n".join("\n".join([_line(one.item), *one.lines]) for one in differences.items)


def checked_text(checked: records.Checked) -> str:
    lines = _problems(checked.problems, len(checked.problems))
    return "\n".join([*lines, f"{counted(checked.files, 'file')}, {counted(len(checked.problems), 'problem')}"])


def _did(is_done: bool, did: str, does: str) -> str:
    return did if is_done else f"would {does}"


def _items(items: Sequence[records.SharedItem]) -> list[str]:
    lines = [f"  {_line(one)}" for one in items[:_MAX_SHOWN]]
    more = len(items) - _MAX_SHOWN
    return lines + ([f"  and {more} more; --json lists all"] if more > 0 else [])


def _line(item: records.SharedItem) -> str:
    name = item.ref or item.uid[:8]
    parts = [name, item.kind]
    parts += [] if item.title is None else [value_text(item.title)]
    parts += [] if item.author is None else [f"by {value_text(item.author)}"]
    parts += [] if item.changed_at is None else [iso(item.changed_at)[:10]]
    parts += [] if item.file is None else [item.file]
    state = item.state if item.why is None else f"{item.state} ({item.why})"
    return f"{' '.join(parts)}: {state}"


def _problems(problems: Sequence[Problem], most: int = _MAX_SHOWN) -> list[str]:
    lines = [f"{one.file}{'' if one.line is None else f':{one.line}'}: {one.problem}" for one in problems[:most]]
    more = len(problems) - most
    return lines + ([f"and {more} more files with problems"] if more > 0 else [])


def block_text(block: Block) -> str:
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

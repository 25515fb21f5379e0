"""Where the files of a conversation are, and why: said alike of a turn that is planned and of one long past."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.consult.conversation_records import ListedFile
from satchel.consult.records import KnownFile, Overflow


def list_placements(files: Mapping[str, KnownFile]) -> tuple[tuple[ListedFile, ...], tuple[ListedFile, ...]]:
    """Return the files in the prompt and those that overflowed, each by path.

    Args:
        files: all that the conversation knows.
    """
    inline: list[ListedFile] = []
    overflow: list[ListedFile] = []
    first = min((known.first_turn for known in files.values() if known.why is not None), default=0)
    for _, known in sorted(files.items()):
        why = None if known.why is None else _told(known.why, known.first_turn, first)
        part = inline if why is None else overflow
        part.append(ListedFile(known.path, known.tokens, known.digest is None, why))
    return tuple(inline), tuple(overflow)


def _told(why: Overflow, turn: int, first: int) -> str:
    """Say why a file that came in a turn is not in the prompt, given the turn in which files overflowed first."""
    if why is Overflow.TOO_LARGE:
        return "larger alone than the part of the window that files may take"
    if why is Overflow.LATE:
        return f"new in turn {turn}, after others had overflowed in turn {first}"
    if turn == 1:
        return "did not fit beside the files that go first"
    return f"new in turn {turn}, when it did not fit any more"

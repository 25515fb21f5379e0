"""Decision records in the forms of MADR and Nygard: those that are accepted become decisions."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from satchel.keep.documents.records import DECISION, Piece

IS_RECORD = re.compile(
    r"(?:.*/)?(?:(?:adrs?|decisions|architecture[-_]decisions|decision[-_]records)/(?:adr[-_]?)?\d{1,6}[-_ .][^/]*"
    r"|adr[-_]?\d{1,6}[-_ .][^/]*)\.md"
).fullmatch
"""Whether a path is that of a decision record."""

_TITLE = re.compile(r"^#\s+(.+?)\s*$", re.MULTILINE)
_FRONT_STATUS = re.compile(r"^status:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_LINE_STATUS = re.compile(r"^\s*(?:[*-]\s+)?[*_]*status[*_]*:[*_]*\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_SECTION = re.compile(r"^##\s+(.+?)\s*$", re.MULTILINE)
_OVER = re.compile(r"(?i)\b(?:superseded|supplanted|replaced|deprecated|rejected)\b")
_ACCEPTED = re.compile(r"(?i)\W*accepted\b")


def read_record(path: str, front: str, text: str, first: int) -> Piece | str:
    """Return the decision that a record holds, or the reason that it holds none in force."""
    title = _TITLE.search(text)
    sections: dict[str, tuple[int, str]] = {}
    marks = list(_SECTION.finditer(text))
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        sections.setdefault(mark[1].lower(), (mark.start(), text[mark.end() : end].strip()))
    _, below = sections.get("status", (0, ""))
    preamble = text[: marks[0].start()] if marks else text
    one = _FRONT_STATUS.search(front) or _LINE_STATUS.search(preamble)
    status = one[1] if one else below
    if not status.strip():
        return "it is a decision record without a status"
    if _OVER.search(status) or not _ACCEPTED.match(status):
        return f"it is a decision record that is {status.strip().split(chr(10))[0].strip('*_ ')[:40].lower()}"
    names = ("decision outcome", "decision", "outcome")
    outcome = next((sections[name] for name in names if sections.get(name, (0, ""))[1]), None)
    if title is None or outcome is None:
        return "it is a decision record without a title or a decision"
    start, value = outcome
    about = ("context and problem statement", "context", "problem statement")
    reason = next((sections[name][1] for name in about if name in sections), "")
    line = first + text.count("\n", 0, start)
    return Piece(line, DECISION, value, text.strip(), PurePosixPath(path).stem[:200], reason)

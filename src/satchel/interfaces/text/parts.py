"""The small parts that compact texts are put together from: values, quoted where they must be, and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.paging import COUNTED
from satchel.find.kind import Kind

if TYPE_CHECKING:
    from satchel.keep.citations import Citation

NONE = "-"
"""What stands for no value; a value that is a dash itself is quoted."""

_PLAIN = re.compile(r"[^\s\"\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LINE_AT_END = re.compile(r":[0-9]+(?:-[0-9]+)?\Z")
_RAW_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def value_text(value: str | None) -> str:
    """Write a value so that it can be told from what stands around it."""
    if value is None:
        return NONE
    return value if value != NONE and _PLAIN.fullmatch(value) else quoted(value)


def place_text(file: str | None, line: int | None, last: int | None = None) -> str:
    """Write a file, and the lines in it if there are any, so that a colon in the name cannot be misread."""
    name = quoted(file) if file is not None and _LINE_AT_END.search(file) else value_text(file)
    return f"file:{name}" if line is None else f"file:{name}:{lines_text(line, last)}"


def lines_text(line: int, last: int | None) -> str:
    """Write the lines that are cited, as in ``12`` and ``12-20``."""
    return str(line) if last is None else f"{line}-{last}"


def citation_marks(citation: Citation) -> list[str]:
    """Say in parentheses what became of what an entry cites; nothing where it stands as it did."""
    marks = ", ".join(citation.marks)
    return [f"({marks})"] if marks else []


def quoted(value: str) -> str:
    """Return a text as a JSON string that no reader breaks into lines."""
    return json_line(value)


def json_line(value: object) -> str:
    """Return a JSON value without spaces between its parts, on what is one line for every reader."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # JSON allows these inside a string, and some readers break lines there
    return _RAW_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def content_lines(content: str, mark: str = "") -> list[str]:
    """Return content with a space before every line, so that it cannot pass for anything else.

    Args:
        mark: what stands before the first space.
    """
    for separator in "\u2028\u2029":  # some readers break lines here too
        content = content.replace(separator, f"{separator} ")
    return f"{mark} {content}".replace("\n", "\n ").split("\n")


def shared_value(values: Sequence[str | None]) -> str | None:
    """Return the value that more than half of at least two have."""
    # most_common(1) would load a module, after the write that this answers
    value, count = max(Counter(values).items(), key=lambda counted: counted[1])
    return value if count >= 2 and count * 2 > len(values) else None


def ended_text(kind: Kind, number: int, heir: int) -> str:
    """Say that an item holds no more: by which it was superseded, or that it was retracted, which is by itself."""
    return "retracted" if heir == number else f"superseded-by:{kind.ref(heir)}"


def counted(number: int, noun: str) -> str:
    """Write a number of things, as in ``1 message``, ``2,000 messages`` and ``3 strategies``."""
    return f"{number:,} {plural(noun, number)}"


def outcome_counts(helped: int, failed: int) -> tuple[str, ...]:
    """Return how often something helped and did not, without zero counts."""
    counts = (("helped", helped), ("failed", failed))
    return tuple(f"{what} {counted(count, 'time')}" for what, count in counts if count)


def shown_of(shown: int, total: int, noun: str) -> str:
    """Say how many of a list are shown, as in ``1 entry`` and ``20 of 27 entries``."""
    return counted(total, noun) if shown == total else f"{shown:,} of {total_text(shown, total)} {plural(noun, total)}"


def total_text(shown: int, total: int) -> str:
    """Write how many there are of what is listed in part, as in ``2,000`` and ``more than 10,000``."""
    return f"more than {COUNTED:,}" if shown and total > COUNTED else f"{total:,}"


def plural(noun: str, number: int) -> str:
    """Return a noun as it stands behind a number."""
    if number == 1:
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def times_text(year: str) -> str:
    """Say which year, and whose clock, the times below mean."""
    return f"UTC times of {year}"


def place_in_list(page: Any) -> list[str]:
    """Say what a page leaves out: what was skipped before it, and the argument that brings what follows.

    A page of what changed after a number says with which number to go on, whether now or later.
    """
    parts = [f"from offset {page.offset}"] if page.offset else []
    if getattr(page, "after_seq", None) is not None:
        return [*parts, f"{'later changes' if page.next_offset is None else 'next'}: after_seq={page.cursor}"]
    return parts if page.next_offset is None else [*parts, f"next: offset={page.next_offset}"]

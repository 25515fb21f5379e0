"""Removal of stack traces from a program's output."""

from __future__ import annotations

import re
from functools import cache

_SOURCE_AHEAD = 6
"""Maximum number of source and mark lines after a frame."""


def without_stacks(text: str) -> str:
    """Return a text without the stack lines that Python, JavaScript, Java, C#, Go and Rust print."""
    if "\n" not in text:
        return text
    lines = text.splitlines()
    frame, frame_with_source, marks, place, step, source, message, caret = _patterns()
    remaining: list[str] = []
    inside = -1
    below = 0
    in_backtrace = False
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        indent = len(line) - len(line.lstrip(" \t|"))
        if below and indent > inside and line.strip(" \t|"):
            below -= 1
            continue
        if below == _SOURCE_AHEAD and indent == inside and not message.match(line):
            # without indentation, the line below a frame is source unless it is a message
            below = 0
            continue
        below = 0
        in_backtrace = "stack backtrace:" in line or (in_backtrace and line[:1] == " ")
        if (match := frame_with_source.match(line)) is not None:
            inside, below = match.end(1), _SOURCE_AHEAD
        elif not (
            frame.match(line)
            or marks.fullmatch(line)
            or ("^" in after and caret.fullmatch(after))
            or (step.match(line) and (in_backtrace or source.match(after)))
            or (place.match(after) and _is_call(line))
            or (place.match(line) and number > 0 and _is_call(lines[number - 1]))
        ):
            remaining.append(line)
    whole = "\n".join(remaining)
    return whole if whole.strip() else text


def _is_call(line: str) -> bool:
    return line.endswith(")") or line.startswith("created by ")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    # in order: a frame, a frame with source below, marks below source, the second line of a Go frame, the two lines of
    # a Rust frame, a line that is not source, a mark below source
    return (
        re.compile(
            r"[ \t|+-]{0,80}+(?:"
            r"Traceback(?: \(most recent call last\))?:"
            r"|\[Previous line repeated \d+ more times?\]"
            r"|(?:async )?at (?:.*\(.*|.*:\d+|<anonymous>|native\b.*)$"  # JavaScript, Java, C#, Rust
            r"|\.\.\. \d+ (?:more|common frames omitted|lines matching\b)"
            r"|goroutine \d+ \[.*\]:|exit status [12]$"
            r"|stack backtrace:|note: run with `RUST_BACKTRACE=|note: [Ss]ome details are omitted"
            r"|@ (?:\.|multi )\S* \d+:\d+"  # webpack
            r")"
        ),
        re.compile(r"([ \t|+-]{0,80}+)(?:File \"[^\"\n]{1,1000}\", line \d+|[^\s:\"']{1,300}:\d+: in [\w<>.]+$)"),
        re.compile(r"(?=.)[\s|^~\-+>=_]*(?:\d{1,6}[\s|^~\-+=_]*)?"),
        re.compile(
            r"\s{0,40}(?:[A-Za-z]:)?[^\s:]{1,500}(?:\.(?:go|s)|(?<=\t)[^\s:]{1,8}):\d+(?: \+0x[0-9a-f]+.{0,200})?$"
            r"|\t(?:[A-Za-z]:)?[^\s:]{1,500}:\d+$"
        ),
        re.compile(r" {1,10}\d{1,5}: "),
        re.compile(r" {1,30}at \S"),
        re.compile(r"\s{0,40}(?:File \"|[A-Za-z_][\w.]{0,120}(?::|$)|\[|$)"),
        re.compile(r"[\s|]{0,200}\^[\s^~]{0,300}"),
    )

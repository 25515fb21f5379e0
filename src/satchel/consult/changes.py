"""What changed in a file since the model was given it, and how that is written."""

from __future__ import annotations

from collections.abc import Iterator

from satchel.consult.matching import matching_lines
from satchel.consult.records import FoundFile, KnownFile

RACY_MS = 2_000
"""How old a file must be when it is read for its time to show later changes: the coarsest clock of a file
system in use, FAT's, counts in steps of two seconds."""

_CONTEXT_LINES = 3
_NO_NEWLINE = "\\ No newline at end of file\n"


def is_surely_held(known: KnownFile, found: FoundFile) -> bool:
    """Tell whether a file is in the prompt with the content that it still has, without reading it."""
    return known.why is None and found.mtime_ns == known.mtime_ns and found.size == known.size


def telling_time(mtime_ns: int, read_at: int) -> int | None:
    """Return the time of a file if it will tell whether the file changes, or None.

    A file that was written shortly before it was read may be written again within one step of the clock, with the
    same size and time: only its content can tell, as for git's index (https://git-scm.com/docs/racy-git). So it is
    for a time in the future.

    Args:
        mtime_ns: of the file when it was read.
        read_at: a moment before that, in milliseconds UTC.
    """
    return mtime_ns if mtime_ns < (read_at - RACY_MS) * 1_000_000 else None


def unified_diff(old: str, new: str) -> str:
    """Write how a text became another, exactly: lines end at newlines alone and keep all other characters.

    The format is that of `diff -u` without the two lines that name the files
    (https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html).

    Returns:
        The hunks, empty for equal texts; time and memory are bounded, at the price of a longer diff.
    """
    before, after = _lines(old), _lines(new)
    written: list[str] = []
    for hunk in _hunks(before, after):
        low, new_low, _ = hunk[0]
        high, new_high = low, new_low
        body: list[str] = []
        for at, new_at, sign in hunk:
            line = after[new_at] if sign == "+" else before[at]
            body.append(f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}")
            high += sign != "+"
            new_high += sign != "-"
        written.append(f"@@ -{_range(low, high)} +{_range(new_low, new_high)} @@\n")
        written += body
    return "".join(written)


def _lines(text: str) -> list[str]:
    """Cut a text after each newline, and nowhere else; str.splitlines knows eight more ends of lines."""
    *whole, rest = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    if rest:
        lines.append(rest)
    return lines


def _range(low: int, high: int) -> str:
    """Name lines from low up to high as a hunk does: counted from 1; an empty range names the line before it."""
    return f"{low + 1 if high > low else low},{high - low}"


def _hunks(before: list[str], after: list[str]) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the changed places with the lines around them; each line with its places in both texts and its sign."""
    hunk: list[tuple[int, int, str]] = []
    at = new_at = 0
    for match, new_match in [*matching_lines(before, after), (len(before), len(after))]:
        if at < match or new_at < new_match:
            if not hunk:
                around = min(_CONTEXT_LINES, at, new_at)
                hunk += [(at - back, new_at - back, " ") for back in range(around, 0, -1)]
            hunk += [(gone, new_at, "-") for gone in range(at, match)]
            hunk += [(match, come, "+") for come in range(new_at, new_match)]
            at, new_at = match, new_match
        if hunk and match < len(before):
            hunk.append((match, new_match, " "))
            if all(sign == " " for _, _, sign in hunk[-2 * _CONTEXT_LINES - 1 :]):
                yield hunk[: -_CONTEXT_LINES - 1]
                hunk = []
        at, new_at = match + 1, new_match + 1
    if hunk:
        trailing = 0
        while hunk[-1 - trailing][2] == " ":
            trailing += 1
        yield hunk[: len(hunk) - max(0, trailing - _CONTEXT_LINES)]

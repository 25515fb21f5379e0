"""Changes of files since the model received them, and the stored contents that diffs are made from.

A missing content costs tokens only: its file is sent whole.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from satchel.consult.records import FoundFile, KnownFile, digest_of
from satchel.keep.expiry import PARTS, remove_contents
from satchel.redaction import finds_secret
from satchel.store.transaction import Transaction

_MAX_WORK = 3_000_000
"""Steps spent on one pair of texts, less than a second; what is left unmatched then counts as replaced."""


def matching_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair equal lines of two texts, both in rising order.

    Lines that occur once in each text are anchors (Bram Cohen's patience diff); where there are none, the shortest
    edit is searched (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986). difflib is no choice for any
    file that comes: 16,000 lines that change places in pairs took it 18 s, here 0.1, and four times as much for
    twice the lines; of 20,000 lines that all repeat it called every one changed when three were. Here the work is
    counted: the worst of a million lines took 2 s, of 20,000 0.3.
    """
    numbers: dict[str, int] = {}
    before = [numbers.setdefault(line, len(numbers)) for line in old]
    after = [numbers.setdefault(line, len(numbers)) for line in new]
    pairs: list[tuple[int, int]] = []
    work = _MAX_WORK
    waiting = [(0, len(before), 0, len(after))]
    while waiting:
        low, high, new_low, new_high = waiting.pop()
        while low < high and new_low < new_high and before[low] == after[new_low]:
            pairs.append((low, new_low))
            low, new_low = low + 1, new_low + 1
        while low < high and new_low < new_high and before[high - 1] == after[new_high - 1]:
            high, new_high = high - 1, new_high - 1
            pairs.append((high, new_high))
        work -= high - low + new_high - new_low
        if low == high or new_low == new_high or work <= 0:
            continue
        anchors = _anchors(before, low, high, after, new_low, new_high)
        if anchors:
            pairs += anchors
            for at, new_at in [*anchors, (high, new_high)]:
                waiting.append((low, at, new_low, new_at))
                low, new_low = at + 1, new_at + 1
        else:
            matches, spent = _shortest_edit(before[low:high], after[new_low:new_high], work)
            pairs += [(low + at, new_low + new_at) for at, new_at in matches]
            work -= spent
    pairs.sort()
    return pairs


def _anchors(
    before: list[int], low: int, high: int, after: list[int], new_low: int, new_high: int
) -> list[tuple[int, int]]:
    places: dict[int, int] = {}
    for at in range(new_low, new_high):
        places[after[at]] = -1 if after[at] in places else at
    places_before: dict[int, int] = {}
    for at in range(low, high):
        places_before[before[at]] = -1 if before[at] in places_before else at
    unique = [(at, places[line]) for line, at in places_before.items() if at >= 0 and places.get(line, -1) >= 0]
    # the longest rising subsequence, by patience sorting: piles of the smallest ends, with links back
    ends: list[int] = []
    tops: list[int] = []
    links: list[int] = []
    for number, (_, new_at) in enumerate(unique):
        pile = bisect_left(ends, new_at)
        links.append(tops[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(new_at)
            tops.append(number)
        else:
            ends[pile] = new_at
            tops[pile] = number
    run: list[tuple[int, int]] = []
    number = tops[-1] if tops else -1
    while number >= 0:
        run.append(unique[number])
        number = links[number]
    run.reverse()
    return run


def _shortest_edit(before: list[int], after: list[int], most: int) -> tuple[list[tuple[int, int]], int]:
    size, new_size = len(before), len(after)
    front = _Front(1, array("i", [0]))
    history: list[_Front] = []
    spent = 0
    for steps in range(size + new_size + 1):
        history.append(front)
        # diagonals beyond the edges of the texts hold nothing
        low, high = 2 * max(0, steps - new_size) - steps, steps - 2 * max(0, steps - size)
        reached = array("i")
        for diagonal in range(low, high + 1, 2):
            start, _ = _step(front, diagonal)
            at, new_at = start, start - diagonal
            while at < size and new_at < new_size and before[at] == after[new_at]:
                at, new_at = at + 1, new_at + 1
            reached.append(at)
            spent += 4 + at - start
            if at >= size and new_at >= new_size:
                return _walk_back(history, size, new_size), spent
        if spent > most:
            return [], spent
        front = _Front(low, reached)
    raise AssertionError("removing every line and adding every other is always an edit")


class _Front(NamedTuple):
    """Lines of the old text that the best edits of so many steps reach, on every other diagonal from the lowest on.

    In an array, since all fronts are kept: as dictionaries they took 80 MB where no edit was found in time.
    """

    low: int
    reached: array[int]


def _step(front: _Front, diagonal: int) -> tuple[int, bool]:
    low, reached = front
    place = (diagonal - 1 - low) // 2
    if place < 0:
        return reached[0], True
    if place + 1 < len(reached) and reached[place] < reached[place + 1]:
        return reached[place + 1], True
    return reached[place] + 1, False


def _walk_back(history: list[_Front], at: int, new_at: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for front in reversed(history):
        start, adds = _step(front, at - new_at)
        while at > start:
            at, new_at = at - 1, new_at - 1
            pairs.append((at, new_at))
        at, new_at = (at, new_at - 1) if adds else (at - 1, new_at)
    return pairs


RACY_MS = 2_000
"""How old a file must be when it is read for its time to show later changes: the coarsest clock of a file
system in use, FAT's, counts in steps of two seconds."""

_CONTEXT_LINES = 3
_NO_NEWLINE = "\\ No newline at end of file\n"


def is_surely_held(known: KnownFile, found: FoundFile) -> bool:
    """Check by size and time alone whether the prompt has a file's current content."""
    return known.why is None and found.mtime_ns == known.mtime_ns and found.size == known.size


def telling_time(mtime_ns: int, read_at: int) -> int | None:
    """Return the time of a file if it will tell whether the file changes, or None.

    A file that was written shortly before it was read may be written again within one step of the clock, with the
    same size and time: only its content can tell, as for git's index (https://git-scm.com/docs/racy-git). So it is
    for a time in the future.
    """
    return mtime_ns if mtime_ns < (read_at - RACY_MS) * 1_000_000 else None


def unified_diff(old: str, new: str) -> str:
    """Write how a text became another, exactly: lines end at newlines alone and keep all other characters.

    The format is that of `diff -u` without the two lines that name the files
    (https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html).
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
    *whole, rest = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    if rest:
        lines.append(rest)
    return lines


def _range(low: int, high: int) -> str:
    return f"{low + 1 if high > low else low},{high - low}"


def _hunks(before: list[str], after: list[str]) -> Iterator[list[tuple[int, int, str]]]:
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


MAX_CONTENT_BYTES = 64 * 1024 * 1024
"""How much the contents of a whole store take, compressed, unless configured."""

_ZLIB_LEVEL = 6
_TOUCH_MS = 3_600_000
FILLED = 0.9
"""Share of the limit that contents may take after some were removed."""


def pack_contents(contents: Mapping[bytes, str | bytes]) -> dict[bytes, bytes]:
    """Compress contents, outside any transaction. A text with a secret is left out: it is never stored."""
    return {
        digest: compress(content)
        for digest, content in contents.items()
        if isinstance(content, bytes) or finds_secret(content) is None
    }


def unpack_content(digest: bytes, compressed: bytes) -> bytes | None:
    """Return a content that was kept, or None where it is damaged or not what its digest says."""
    try:
        content = zlib.decompress(compressed)
    except zlib.error:
        return None
    return content if digest_of(content) == digest else None


def compress(content: str | bytes) -> bytes:
    """Return a content as it is stored; lone surrogates survive."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return zlib.compress(data, _ZLIB_LEVEL)


def cut_out(prompt: str, parts: Iterable[str]) -> str:
    """Put a zero byte, which no prompt has, in the place of each part of a prompt; the parts come in their order."""
    words, at = [], 0
    for part in parts:
        start = prompt.index(part, at)
        words.append(prompt[at:start])
        at = start + len(part)
    return "\0".join([*words, prompt[at:]])


def put_back(words: str, parts: Iterable[str]) -> str:
    """Undo :func:`cut_out`."""
    first, *rest = words.split("\0")
    return "".join([first, *(text for pair in zip(parts, rest, strict=True) for text in pair)])


def unpack_words(compressed: bytes) -> str | None:
    """Return a stored prompt, with zero bytes for its parts; None where it is damaged."""
    try:
        return zlib.decompress(compressed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):
        return None


def store_contents(
    transaction: Transaction, project_id: int, contents: Mapping[bytes, bytes], now: int
) -> dict[bytes, int]:
    """Keep contents, and return their ids.

    One that is there already counts as used, and is written again in case it was damaged.
    """
    transaction.many(
        """
        INSERT INTO blobs (project_id, digest, last_used, size, bytes) VALUES (:project, :digest, :now, :size, :bytes)
        ON CONFLICT (project_id, digest) DO UPDATE
        SET last_used = excluded.last_used, size = excluded.size, bytes = excluded.bytes
        """,
        [
            {"project": project_id, "digest": digest, "now": now, "size": len(compressed), "bytes": compressed}
            for digest, compressed in contents.items()
        ],
    )
    values = {"project": project_id, "now": now}
    return dict(
        transaction.all("SELECT digest, id FROM blobs WHERE project_id = :project AND last_used = :now", values)
        if contents
        else ()
    )


def touch_contents(transaction: Transaction, project_id: int, conversation_id: int, now: int) -> None:
    """Mark what a conversation may need as used; by the hour, so that most turns write nothing for it."""
    transaction.run(
        f"""
        UPDATE blobs SET last_used = :now
        WHERE project_id = :project AND last_used < :before
            AND (
                digest IN (
                    SELECT f.digest FROM conversation_folders d JOIN conversation_files f ON f.folder_id = d.id
                    WHERE d.conversation_id = :conversation
                )
                OR id IN (SELECT b.id FROM {PARTS} WHERE c.id = :conversation)
            )
        """,
        {"project": project_id, "conversation": conversation_id, "now": now, "before": now - _TOUCH_MS},
    )


def load_content(transaction: Transaction, project_id: int, digest: bytes) -> bytes | None:
    """Return the content of a digest; None where it is not kept, or not what it should be."""
    row = transaction.one(
        "SELECT bytes FROM blobs WHERE project_id = :project AND digest = :digest",
        {"project": project_id, "digest": digest},
    )
    return None if row is None else unpack_content(digest, row[0])


def trim_contents(transaction: Transaction, project_id: int, max_bytes: int) -> None:
    """Remove what is too much in a project: what no conversation needs, then the least recently used."""
    row = transaction.one("SELECT sum(size) FROM blobs WHERE project_id = :project", {"project": project_id})
    if row is None or (row[0] or 0) <= max_bytes:
        return
    remove_contents(transaction, project_id)
    transaction.run(
        """
        DELETE FROM blobs WHERE id IN (
            SELECT id FROM (
                SELECT id, sum(size) OVER (ORDER BY last_used DESC, id DESC) AS kept
                FROM blobs WHERE project_id = :project
            ) AS newest
            WHERE kept > :most
        )
        """,
        {"project": project_id, "most": int(max_bytes * FILLED)},
    )

"""Entries as compact text: what repeats is said once in the head, nothing is lost, nothing can be forged.

A page is a head line, then for each entry a line that begins with its short id and lines of content that begin with a
space. So no stored text can pass for a head or an entry. Fields of an entry line, each only where it differs from the
head: type, ``by`` agent, ``task:``, ``loop:``, ``file:`` with ``:line``, ``superseded-by:``, then month and day (where
they differ, before them the year where that differs) and the time to the millisecond, UTC. A value with a space or a
quote, and a file that ends as with a line number, is written as a JSON string; ``-`` stands for none.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from satchel.keep.entries import Entry, EntryPage
from satchel.keep.entries.records import entry_ref

_PLAIN = re.compile(r"[^\s\"\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LINE_AT_END = re.compile(r":[0-9]+\Z")
_ORDERS = {"newest": "newest first", "oldest": "oldest first", "relevance": "best first", "seq": "as changed"}
_NONE = "-"


def page_text(page: EntryPage) -> str:
    """Render a page of entries for an agent.

    Returns:
        Text that names the run, the total and what comes next, then the entries; the notes come last.
    """
    lines = [_head(page)]
    if page.entries:
        common = _common(page.entries)
        if common.line:
            lines.append(common.line)
        lines += [part for entry in page.entries for part in _entry_lines(entry, common)]
    lines += page.notes
    return "\n".join(lines)


def written_text(entries: Sequence[Entry]) -> str:
    """Say what was kept: ids, types, run and author, then what the writer should know."""
    first = entries[0]
    kept = ", ".join(f"{entry.ref} {entry.type}" for entry in entries)
    author = f" by {value_text(first.agent)}" if first.agent else ", author unnamed"
    lines = [f"kept {kept} in run {value_text(first.run_id)}{author}"]
    about_all = set(first.notes).intersection(*(entry.notes for entry in entries))
    for entry in entries:
        for note in entry.notes:
            line = note if note in about_all else f"{entry.ref}: {note}"
            if line not in lines:
                lines.append(line)
    return "\n".join(lines)


def value_text(value: str | None) -> str:
    """Write a value so that it can be told from what stands around it."""
    if value is None:
        return _NONE
    return value if value != _NONE and _PLAIN.fullmatch(value) else _quoted(value)


def place_text(file: str | None, line: int | None) -> str:
    """Write a file, and the line in it if there is one, so that a colon in the name cannot be misread."""
    name = _quoted(file) if file is not None and _LINE_AT_END.search(file) else value_text(file)
    return f"file:{name}" if line is None else f"file:{name}:{line}"


def content_lines(content: str) -> list[str]:
    """Return content with a space before every line, so that it cannot pass for anything else."""
    for separator in "\u2028\u2029":  # some readers break lines here too
        content = content.replace(separator, f"{separator} ")
    return [f" {line}" for line in content.split("\n")]


class _Common:
    """What most entries of a page share."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.type = _shared([entry.type for entry in entries])
        self.agent = _shared([entry.agent for entry in entries])
        self.task = _shared([entry.task_id for entry in entries])
        self.loop = _shared([entry.loop_id for entry in entries])
        self.file = _shared([entry.file for entry in entries])
        self.year = _year(entries[0].created_at)
        self.day = _shared([_day(entry.created_at, self.year) for entry in entries]) or ""
        parts = [self.type] if self.type else []
        parts += [f"by {value_text(self.agent)}"] if self.agent else []
        parts += [f"task:{value_text(self.task)}"] if self.task else []
        parts += [f"loop:{value_text(self.loop)}"] if self.loop else []
        parts += [place_text(self.file, None)] if self.file else []
        parts += [self.day] if self.day else []
        self.line = f"all {' '.join(parts)} unless noted" if parts else ""


def _common(entries: Sequence[Entry]) -> _Common:
    return _Common(entries)


def _shared(values: Sequence[str | None]) -> str | None:
    """Return the value that more than half of at least two entries have."""
    value, count = Counter(values).most_common(1)[0]
    return value if count >= 2 and count * 2 > len(values) else None


def _head(page: EntryPage) -> str:
    if page.run_id is None:
        return "0 entries"
    head = f"{len(page.entries)} of {page.total} entries of run {value_text(page.run_id)}"
    if page.entries:
        head += f", {_ORDERS[page.order]}, {_year(page.entries[0].created_at)} UTC"
    if page.next_offset is not None:
        head += f", next offset {page.next_offset}"
    return f"{head}, seq {page.cursor}"


def _entry_lines(entry: Entry, common: _Common) -> list[str]:
    fields = [entry.ref]
    if entry.type != common.type:
        fields.append(entry.type)
    if entry.agent != common.agent:
        fields.append(f"by {value_text(entry.agent)}")
    if entry.task_id != common.task:
        fields.append(f"task:{value_text(entry.task_id)}")
    if entry.loop_id != common.loop:
        fields.append(f"loop:{value_text(entry.loop_id)}")
    if entry.file != common.file or entry.line is not None:
        fields.append(place_text(entry.file, entry.line))
    if entry.superseded_by is not None:
        fields.append(f"superseded-by:{entry_ref(entry.superseded_by)}")
    day = _day(entry.created_at, common.year)
    if day != common.day:
        fields.append(day)
    fields.append(_time(entry.created_at))
    return [" ".join(fields), *content_lines(entry.content)]


def _quoted(value: str) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _year(moment: int) -> str:
    return _second(moment // 1_000)[:4]


def _day(moment: int, year: str) -> str:
    """Return month and day, with the year before them where it is not the one that the head names."""
    return _second(moment // 1_000)[:8].removeprefix(year)


def _time(moment: int) -> str:
    return f"{_second(moment // 1_000)[8:]}.{moment % 1_000:03d}"


@lru_cache(maxsize=1_024)
def _second(seconds: int) -> str:
    # entries of one page were often written within few seconds, and each is asked for three times
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))

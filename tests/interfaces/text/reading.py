"""A parser of the ledger's lists: it knows nothing but the format, and brings back what was said of each item."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

VALUE = r'(?:"(?:[^"\\]|\\.)*"|[^\s"]+)'
DAY = r"(?:[0-9]{4}-)?[0-9]{2}-[0-9]{2}"
TIME = r"[0-9]{2}:[0-9]{2}"
WHEN = rf"{DAY} {TIME}"
LATER = rf"(?:{DAY} )?{TIME}"
"""A time behind that of the item, without the day where that is the same."""
LAYER = rf"(?:presentation|business|data|infrastructure|cross-cutting|layer:{VALUE})"
AGENT = rf"by {VALUE}"
NAMES = r'(?:"(?:[^"\\]|\\.)*"|[^\s":]+)(?: (?!#|[0-9])(?:"(?:[^"\\]|\\.)*"|[^\s":]+)(?!\S))*'
SPAN = r"(?:less than 1 min|[0-9]+ (?:min|h|days))"
ORDERS = {
    "newest first": "newest",
    "oldest first": "oldest",
    "most urgent first": "priority",
    "best first": "relevance",
    "in order of change": "seq",
}
UNITS = {"days": 86_400_000, "h": 3_600_000, "min": 60_000}


@dataclass(frozen=True, slots=True)
class Format:
    """What a list looks like.

    Attributes:
        noun: pattern of what the head calls an item; several have an s at its end.
        more: pattern of what else the head says of them.
        start: pattern of what an item's line begins with.
        cells: patterns of the fields that can be said once for many.
        own: pattern of what stands between them and the day.
        after: pattern of what stands behind the time.
    """

    noun: str
    start: str
    cells: Mapping[str, str]
    own: str = ""
    after: str = ""
    more: str = ""

    @property
    def head(self) -> re.Pattern[str]:
        return re.compile(
            rf"(?P<count>[0-9]+)(?: of (?P<total>[0-9]+))? {self.noun}s?{self.more}"
            rf"(?:, (?P<order>{'|'.join(ORDERS)}))?(?:, UTC times of (?P<year>[0-9]{{4}}))?"
            r"(?:, from offset (?P<offset>[0-9]+))?"
            r"(?:, next: offset=(?P<next>[0-9]+)|, (?:next|later changes): after_seq=(?P<seq>[0-9]+))?"
            r"(?:; each(?P<all> .*) unless noted)?"
        )

    @property
    def item(self) -> re.Pattern[str]:
        cells = "".join(rf"(?: (?P<{name}>{pattern}))?" for name, pattern in self.cells.items())
        return re.compile(rf"{self.start}{cells}{self.own}(?: (?P<day>{DAY}))? (?P<time>{TIME}){self.after}")

    def stated(self, text: str) -> dict[str, str]:
        """Read what a head or a heading says of all below it; every field has a space before it."""
        said: dict[str, str] = {}
        while text:
            for name, pattern in self.cells.items():
                found = re.match(rf" ({pattern})(?= |\Z)", text)
                if name not in said and found:
                    said[name] = found[1]
                    text = text[found.end() :]
                    break
            else:
                raise AssertionError(text)
        return said


@dataclass(frozen=True, slots=True)
class Item:
    """An item's fields as they were written, its time, and the lines below it."""

    fields: dict[str, str]
    moment: int
    below: list[str] = field(default_factory=list)

    def value(self, name: str, mark: str = "") -> str | None:
        """Return a value without the mark before it; None where there is none."""
        return read_value(self.fields[name].removeprefix(mark)) if name in self.fields else None

    def said(self, name: str, mark: str = "") -> str:
        """Return a value that every item has."""
        value = self.value(name, mark)
        assert value is not None, name
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of names."""
        return read_names(self.fields.get(name, ""))


@dataclass(frozen=True, slots=True)
class List:
    """What was said of a page."""

    total: int
    offset: int
    next_offset: int | None
    cursor: int | None
    order: str | None
    year: str
    head: dict[str, str | None]
    items: list[Item]
    notes: tuple[str, ...]


def read_list(text: str, form: Format) -> List:
    """Read a list back; fails on any line that is no line of ours."""
    first, *lines = text.split("\n")
    head = form.head.fullmatch(first)
    assert head is not None, first
    year = head["year"] or ""
    usual = form.stated(head["all"] or "")
    heading: dict[str, str] = {}
    day = ""
    items: list[Item] = []
    notes: list[list[str]] = []
    for line in lines:
        if line.startswith("note: "):
            notes.append([line.removeprefix("note: ")])
        elif line.startswith(" "):
            (notes[-1] if notes else items[-1].below).append(line[1:])
        elif line.endswith(":") and form.item.fullmatch(line) is None:
            assert not notes
            heading = form.stated(f" {line[:-1]}")
            day = ""
        else:
            assert not notes
            found = form.item.fullmatch(line)
            assert found is not None, line
            fields = usual | heading | {name: value for name, value in found.groupdict().items() if value is not None}
            day = found["day"] or day
            items.append(Item(fields, read_moment(day, found["time"], year)))
    assert len(items) == int(head["count"])
    return List(
        total=int(head["total"] or head["count"]),
        offset=int(head["offset"] or 0),
        next_offset=int(head["next"]) if head["next"] else None,
        cursor=int(head["seq"]) if head["seq"] else None,
        order=ORDERS[head["order"]] if head["order"] else None,
        year=year,
        head=head.groupdict(),
        items=items,
        notes=tuple(map(read_content, notes)),
    )


def read_value(text: str) -> str | None:
    """Read a value; a dash is none."""
    if text.startswith('"'):
        value = json.loads(text)
        assert isinstance(value, str)
        return value
    return None if text == "-" else text


def read_names(text: str) -> tuple[str, ...]:
    """Read names with spaces between them; a dash is none."""
    return tuple(name for found in re.findall(VALUE, text) if (name := read_value(found)) is not None)


def read_moment(day: str, time: str, year: str = "") -> int:
    """Read a time in milliseconds UTC, a whole minute; a day without a year is of the given one."""
    whole = day if len(day) == 10 else f"{year}-{day}"
    moment = datetime.strptime(f"{whole} {time}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def read_when(text: str, year: str = "", same_day: int = 0) -> int:
    """Read a day and a time; one without a day is of that of a moment."""
    day, time = text.split(" ") if " " in text else (f"{datetime.fromtimestamp(same_day / 1_000, UTC):%Y-%m-%d}", text)
    return read_moment(day, time, year)


def read_span(text: str) -> int:
    """Read a length of time in milliseconds; less than a minute is none."""
    found = re.fullmatch(r"([0-9]+) ([a-z]+)", text)
    if found is None:
        assert text == "less than 1 min", text
        return 0
    return int(found[1]) * UNITS[found[2]]


def read_content(lines: Sequence[str]) -> str:
    """Put lines that stood behind a space together."""
    return "\n".join(lines).replace("\u2028 ", "\u2028").replace("\u2029 ", "\u2029")

"""The small parts that compact texts are put together from: values, quoted where they must be, and times."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

NONE = "-"
"""What stands for no value; a value that is a dash itself is quoted."""

_PLAIN = re.compile(r"[^\s\"\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LINE_AT_END = re.compile(r":[0-9]+\Z")
_RAW_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def value_text(value: str | None) -> str:
    """Write a value so that it can be told from what stands around it."""
    if value is None:
        return NONE
    return value if value != NONE and _PLAIN.fullmatch(value) else quoted(value)


def place_text(file: str | None, line: int | None) -> str:
    """Write a file, and the line in it if there is one, so that a colon in the name cannot be misread."""
    name = quoted(file) if file is not None and _LINE_AT_END.search(file) else value_text(file)
    return f"file:{name}" if line is None else f"file:{name}:{line}"


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


def year_of(moment: int) -> str:
    """Return the year of a time in milliseconds UTC."""
    return _second(moment // 1_000)[:4]


def day_of(moment: int, year: str = "") -> str:
    """Return month and day, with the year before them where it is not the one that was named already."""
    return _second(moment // 1_000)[:8].removeprefix(year)


def time_of(moment: int) -> str:
    """Return the time of day to the millisecond, as in ``033200.851``."""
    return f"{_second(moment // 1_000)[8:]}.{moment % 1_000:03d}"


@lru_cache(maxsize=1_024)
def _second(seconds: int) -> str:
    # items of one page were often written within few seconds, and each is asked for three times
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))

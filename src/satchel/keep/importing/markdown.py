"""Reading of Markdown files with front matter from the stores of other tools."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from satchel.keep.importing.values import contents_of
from satchel.keep.moving.records import Trouble

_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_BYTES = 1 << 20


def read_text(file: Path, kind: str, row: str, troubles: list[Trouble]) -> str | None:
    """Return the text of a regular file; None if it cannot be read as such, which is added to ``troubles``."""
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        problem = "it is a link or no regular file"
    elif status.st_size > _MAX_BYTES:
        problem = "it is larger than 1 MB"
    else:
        try:
            return contents_of(file).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not UTF-8"
    troubles.append(Trouble(kind, row, problem))
    return None


def split_front(text: str, field: re.Pattern[str]) -> tuple[dict[str, str], str]:
    """Return the fields of the front matter that match a pattern of name and value, and the text below it."""
    front = _FRONT.match(text)
    if front is None:
        return {}, text.strip()
    return {name: value.strip("\"'") for name, value in field.findall(front[1])}, text[front.end() :].strip()

"""The values of decisions as people and agents give them in text, and as people see them: a number, or text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satchel.keep.decisions.records import Value

# 007, 1_000 and 3.10 are not how a number is written back, so they are names that happen to be digits
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.(?:0|[0-9]*[1-9]))?(?:[eE][-+]?[0-9]+)?")


def typed_value(text: str) -> Value:
    """Read what was given: a number where it is written as one, else the text itself."""
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def shown_value(value: Value) -> str:
    """Write a value so that a text of digits can be told from the number."""
    return f'"{value}"' if isinstance(value, str) and _NUMBER.fullmatch(value) else str(value)

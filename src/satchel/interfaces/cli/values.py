"""The values of decisions as people type and see them: a number, or text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from satchel.keep.decisions.records import Value

# 007 and 1_000 are not how a number is written back, so they are names that happen to be digits
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def typed_value(text: str) -> Value:
    """Read what was typed: a number where it is written as one, else the text itself."""
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def shown_value(value: Value) -> str:
    """Write a value so that a text of digits can be told from the number."""
    return f'"{value}"' if isinstance(value, str) and _NUMBER.fullmatch(value) else str(value)


def number(text: str) -> float:
    """Read the number that an option takes; a whole one stays whole, however long."""
    read = typed_value(text)
    if isinstance(read, str):
        raise click.BadParameter(f"{text!r} is not a number")
    return read

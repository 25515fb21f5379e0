"""Texts in the person's editor."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from satchel.base.errors import InvalidInput


def edit_text(text: str, name: str) -> str | None:
    """Return a text as the person's editor leaves it; None if it is the same."""
    text = text if text.endswith("\n") else f"{text}\n"
    file = keep_text(text, name)
    before = file.read_bytes()
    remedy = "Correct VISUAL or EDITOR, then try again"
    try:
        click.edit(filename=str(file))
        written = file.read_bytes()
        after = written.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        problem, remedy = "what the editor wrote is not UTF-8", "Set the editor to UTF-8, then try again"
    except (click.ClickException, OSError, ValueError) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        problem = f"the editor failed ({reason})" if file.exists() else "the editor removed the file"
    else:
        file.unlink()
        return None if written == before else after
    if file.is_file() and file.read_bytes() == before:
        file.unlink()
    elif file.exists():
        remedy = f"{remedy}. Your text is kept in {file}"
    raise InvalidInput(f"{problem}; nothing was changed", remedy)


def keep_text(text: str, name: str) -> Path:
    """Write a text to a new temporary file that only this user can read."""
    descriptor, path = tempfile.mkstemp(prefix=f"satchel-{name}-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)

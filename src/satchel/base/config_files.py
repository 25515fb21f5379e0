"""Reading a configuration file that anyone may have put there: bounded, without waiting, and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from satchel.base.errors import InvalidInput, Refused

_MAX_BYTES = 1_048_576


def read_file(path: Path, *, links: bool, about: bytes = b"") -> dict[str, object]:
    """Return the tables of a file, or nothing where there is no file.

    Args:
        links: whether the path may be a link, as dotfiles of a user often are.
        about: a word; a file that does not hold it is not parsed, and nothing is returned.

    Raises:
        Refused: it is a link all the same, no regular file, or too large.
        InvalidInput: it cannot be read, or is not valid TOML.
    """
    # without waiting, since opening a pipe would wait for whatever writes to it
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return {}
    except OSError as error:
        if path.is_symlink() and not links:
            raise Refused(f"{path} is a link", "Put a file in its place, or remove it") from error
        raise InvalidInput(f"cannot be read ({error.strerror})", "None of its keys count") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is not a regular file", "Put a file in its place, or remove it")
        if status.st_size > _MAX_BYTES:
            raise Refused(f"{path} has {status.st_size} bytes; a configuration has at most {_MAX_BYTES}", "Remove it")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(_MAX_BYTES)
    except OSError as error:
        raise InvalidInput(f"cannot be read ({error.strerror})", "None of its keys count") from error
    finally:
        os.close(descriptor)
    if about not in raw or all(_sets_nothing(line) for line in map(bytes.strip, raw.splitlines())):
        return {}  # as `satchel init` writes it; parsing it, with what that loads, takes 3 ms of a start
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
        raise InvalidInput(f"is not valid TOML ({error})", "None of its keys count") from error


def _sets_nothing(line: bytes) -> bool:
    """Whether a line of TOML is empty, a comment, or the name of a table."""
    return not line or line.startswith(b"#") or (line.startswith(b"[") and line.endswith(b"]") and line.isascii())


def flat(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of tables, each with its table's name before it."""
    keys: dict[str, object] = {}
    for table, content in tables.items():
        if isinstance(content, dict):
            keys |= {f"{table}.{name}": value for name, value in content.items()}
        else:
            keys[table] = content
    return keys

"""Safe reading of configuration files of unknown origin: limited in size, without blocking or following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from satchel.base.errors import InvalidInput, Refused

_MAX_BYTES = 1_048_576


def read_file(path: Path, *, links: bool, about: bytes = b"") -> dict[str, object]:
    """Return the tables of a file; empty if it is missing.

    ``links`` allows links, as a user's dotfiles often are. A file without the word ``about`` is not parsed, and counts
    as empty. Refuses other links, irregular and too large files, and invalid TOML.
    """
    # opening a pipe would otherwise wait for a writer
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
        return {}  # as `satchel init` writes it; this saves loading the parser
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
        raise InvalidInput(f"is not valid TOML ({error})", "None of its keys count") from error


def _sets_nothing(line: bytes) -> bool:
    # empty, a comment, or the name of a table
    return not line or line.startswith(b"#") or (line.startswith(b"[") and line.endswith(b"]") and line.isascii())


def flat(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of all tables, prefixed with the table's name."""
    keys: dict[str, object] = {}
    for table, content in tables.items():
        if isinstance(content, dict):
            keys |= {f"{table}.{name}": value for name, value in content.items()}
        else:
            keys[table] = content
    return keys
